#include "core/history/level_of_detail.h"

#include <algorithm>
#include <cmath>

namespace lathe {

void Bucket::add(int64_t seq, int64_t row_session, const RowPosition& position,
                 std::span<const MetricValue> values) {
  if (rows == 0) {
    first_seq = seq;
    session = row_session;
    first = position;
    columns.assign(values.size(), {});
  }
  last_seq = seq;
  last = position;
  ++rows;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const double value = *values[i];
    BucketColumn& column = columns[i];
    column.last = value;
    if (!std::isfinite(value)) {
      ++column.non_finite;
      continue;
    }
    column.min = column.min ? std::min(*column.min, value) : value;
    column.max = column.max ? std::max(*column.max, value) : value;
  }
}

}  // namespace lathe
