// Where a run stands, as its row in the catalogue says: kept up to date from the rows as they come, or read
// back from run.db.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/history/metrics.h"

namespace lathe {

class RunReader;

// A curve in at most 64 points, whatever its length: the mean of equally many rows each; doubling that number
// whenever the points run out. NaN and infinity spread into their point.
class Sparkline {
 public:
  void add(double value);
  std::vector<float> points() const;  // the last one may stand for fewer rows

 private:
  static constexpr size_t capacity = 64;
  std::vector<double> sums_;  // full points
  double open_sum_ = 0;
  int64_t open_rows_ = 0;
  int64_t rows_per_point_ = 1;
};

struct RunProgress {
  int64_t step = 0;
  int64_t tokens = 0;
  int64_t active_ms = 0;
  std::optional<double> best_loss;
  std::optional<double> last_loss;
  std::optional<double> last_eval_loss;
  std::string eval_set;  // whose loss last_eval_loss is: the first set seen
  std::optional<int64_t> measured_peak_bytes;
  Sparkline sparkline;

  void add(const UpdateRow& row);
  void add(const EvaluationRow& row);
  std::optional<double> tokens_per_s()
      const;  // median of the last 64 measured updates; skipped ones count too

 private:
  std::vector<double> recent_tokens_per_s_;  // a ring
  size_t next_ = 0;
};

// From the visible rows of a run.
RunProgress read_progress(const RunReader& reader);

}  // namespace lathe
