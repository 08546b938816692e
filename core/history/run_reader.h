// Reads the numbers of one run, while it trains or after. One reader belongs to one thread; it never keeps
// the writer waiting.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/metrics.h"
#include "core/history/run_types.h"

namespace lathe {

class Database;

// How many rows one point stands for. Updates and telemetry are stored in all three, the other tables Raw
// only. A bucket never spans two sessions, so some stand for fewer rows.
enum class Resolution : int64_t { Raw = 1, Rows64 = 64, Rows4096 = 4096 };

struct SeriesQuery {
  std::vector<std::string> metrics{};  // keys, all of one table
  std::string part{};                  // validation set or parameter group; empty: rows of all of them
  Axis axis = Axis::Step;
  Resolution resolution = Resolution::Raw;
  // Only points whose last row comes after it: pass the last seq seen to fetch what is new. The bucket that
  // was still growing then comes again, with the same first_seq: it replaces the old one.
  int64_t after_seq = 0;
  int64_t first_step = 0;  // only points that reach into these steps
  int64_t last_step = std::numeric_limits<int64_t>::max();
  bool superseded = false;  // rows hidden by a resume too; Raw only
};

// Values of one metric, one entry a point. Values that weren't measured are NaN with present = 0; a measured
// NaN has 1.
struct SeriesColumn {
  std::vector<double> last{};         // Raw: the value. Else the last one measured in the bucket
  std::vector<double> min, max;       // of the finite values, NaN when there are none; empty in Raw
  std::vector<int64_t> non_finite{};  // NaN and infinite values in the bucket; empty in Raw
  std::vector<uint8_t> present{};
};

// Points in order of seq, which grows for ever. Steps grow too, unless superseded rows were asked for.
struct Series {
  std::vector<int64_t> seq{};        // last row of the point
  std::vector<int64_t> first_seq{};  // its first row; empty in Raw
  std::vector<int64_t> session{};
  std::vector<double> x{};  // position of the last row on the query's axis, in its stored unit (axis_info)
  std::vector<double> x_first{};        // of the first row; empty in Raw
  std::vector<std::string> part{};      // only for tables with parts
  std::vector<SeriesColumn> columns{};  // as query.metrics
  size_t size() const { return seq.size(); }
};

// A row as it is stored.
struct StoredRow {
  int64_t seq = 0;
  int64_t session = 0;
  bool superseded = false;
  RowPosition position{};
  std::string part{};
  std::vector<MetricValue> values{};  // as the metrics asked for
};

struct RowScan {
  MetricTable table = MetricTable::Updates;
  std::vector<std::string> metrics{};  // empty: all of the table
  std::string part{};                  // empty: all
  int64_t after_seq = 0;
  int64_t first_step = 0;
  int64_t last_step = std::numeric_limits<int64_t>::max();
  bool superseded = false;
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

  // Errors: NotFound for an unknown metric; InvalidArgument when the metrics are of several tables, or the
  // table isn't stored in that resolution.
  Series series(const SeriesQuery& query) const;
  // Calls `visit` for the rows of a table in order of seq; the row is reused from call to call. Sees one
  // moment of the run, whatever is written meanwhile.
  void scan(const RowScan& scan, const std::function<void(const StoredRow&)>& visit) const;
  // The finest resolution that needs at most `max_points` points for the visible rows of the table.
  Resolution resolution_for(MetricTable table, int64_t max_points) const;
  int64_t row_count(MetricTable table, bool superseded = false) const;
  int64_t last_seq(MetricTable table) const;  // 0: no row yet
  std::vector<std::string> parts(
      MetricTable table) const;  // validation sets or parameter groups seen, sorted

  std::vector<SessionRow> sessions() const;
  std::vector<EventRow> events(int64_t after_id = 0) const;
  std::vector<SampleRow> samples(int64_t after_id = 0, bool superseded = false) const;
  std::optional<LiveState> live() const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  // Rows of one session that no later session superseded.
  struct VisibleRange {
    int64_t first_seq, last_seq;
  };
  std::vector<VisibleRange> visible_ranges(MetricTable table) const;
  Series level_series(const SeriesQuery& query, MetricTable table) const;

  std::filesystem::path folder_;
  std::unique_ptr<Database> database_;
};

}  // namespace lathe
