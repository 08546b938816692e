// Reads the numbers of one run, while it trains or after. One reader belongs to one thread; it never keeps
// the writer waiting.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/metrics.h"
#include "core/history/run_types.h"

namespace lathe {

class Database;

// How many rows one point stands for. Every table is stored in all three; a bucket never spans two sessions.
enum class Resolution : int64_t { Raw = 1, Rows64 = 64, Rows4096 = 4096 };

struct SeriesQuery {
  std::vector<std::string> metrics;  // keys, all of one table
  std::string part;                  // validation set or parameter group; empty: rows of all of them
  Axis axis = Axis::Step;
  Resolution resolution = Resolution::Raw;
  int64_t after_seq =
      0;  // only points whose last row comes after it: pass the last one seen to fetch what is new
  int64_t first_step = 0;  // only points that reach into these steps
  int64_t last_step = std::numeric_limits<int64_t>::max();
  bool superseded = false;  // rows hidden by a resume too; Raw only
};

// Values of one metric, one entry a point. NaN and infinity are values; a row that didn't measure the metric
// has `missing` in Raw, and a bucket without any finite value has NaN in min and max.
struct SeriesColumn {
  std::vector<double> last;         // Raw: the value
  std::vector<double> min, max;     // of the finite values; empty in Raw
  std::vector<int32_t> non_finite;  // NaN and infinite values in the bucket; empty in Raw
  std::vector<uint8_t> present;     // 0: not measured (and last is NaN)
};

// Points in order of seq, which grows for ever; step may not (superseded rows).
struct Series {
  std::vector<int64_t> seq;  // last row of the point
  std::vector<int64_t> session;
  std::vector<double> x;          // position on the query's axis, in its stored unit; of the point's last row
  std::vector<double> x_first;    // of its first row; empty in Raw
  std::vector<std::string> part;  // only for tables with parts
  std::vector<SeriesColumn> columns;  // as query.metrics
  size_t size() const { return seq.size(); }
};

class RunReader {
 public:
  // Opens runs/<id>. Errors: NotFound; CorruptFile for a broken or foreign file; Unsupported for a newer one.
  explicit RunReader(const std::filesystem::path& run_folder);
  ~RunReader();
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;

  // Changes when the writer committed; compare with the value before. Costs microseconds: poll it every 100
  // ms.
  int64_t data_version() const;
  // Grows when points were hidden (a resume or a roll-back): what was read before is void, read again from
  // seq 0.
  int64_t generation() const;

  Series series(const SeriesQuery& query) const;
  // The finest resolution that needs at most `max_points` points for the visible rows of the table.
  Resolution resolution_for(MetricTable table, int64_t max_points) const;
  int64_t row_count(MetricTable table, bool superseded = false) const;
  std::vector<std::string> parts(
      MetricTable table) const;  // validation sets or parameter groups seen, sorted

  std::vector<SessionRow> sessions() const;
  std::vector<EventRow> events(int64_t after_id = 0) const;
  std::vector<SampleRow> samples(int64_t after_id = 0, bool superseded = false) const;
  std::optional<LiveState> live() const;

  const std::filesystem::path& folder() const { return folder_; }

  // For core/history's own export and comparison.
  Database& database() const { return *database_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Database> database_;
};

}  // namespace lathe
