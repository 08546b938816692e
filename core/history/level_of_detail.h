// Buckets of 64 and 4096 rows that stand in for them on a chart: minimum, maximum, last value and the count
// of non-finite ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/history/metrics.h"

namespace lathe {

// What a bucket knows of one metric.
struct BucketColumn {
  MetricValue min, max;    // of the finite values
  MetricValue last;        // last measured value, NaN and infinity included
  int64_t non_finite = 0;  // NaN and infinite values
  bool operator==(const BucketColumn&) const = default;
};

// Consecutive rows of one session.
struct Bucket {
  int64_t first_seq = 0, last_seq = 0;
  int64_t session = 0;
  int64_t rows = 0;
  RowPosition first, last;
  std::vector<BucketColumn> columns;  // one a metric of the table

  void add(int64_t seq, int64_t row_session, const RowPosition& position,
           std::span<const MetricValue> values);
};

}  // namespace lathe
