#include "ui/charts/series_data.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lathe::ui {
namespace {

constexpr size_t kFan = 16;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void Polyline::clear() {
  x.clear();
  y.clear();
}

void Polyline::add(double at, double value) {
  x.push_back(at);
  y.push_back(value);
}

void SeriesView::clear() {
  raw.clear();
  smooth.clear();
  bad.clear();
  every_point = false;
}

void SeriesData::Block::merge(const Block& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  bad = bad || other.bad;
}

void SeriesData::assign(PointColumns points) {
  x_.clear();
  y_.clear();
  low_.clear();
  high_.clear();
  marked_.clear();
  levels_.clear();
  smooth_.clear();
  bad_count_ = 0;
  append(points);
}

void SeriesData::append(const PointColumns& points) {
  const size_t from = size();
  const size_t count = points.size();
  if (count == 0) return;
  const bool extremes = !points.low.empty();
  if (extremes && low_.size() < from) {  // raw points so far: they are their own extremes
    low_ = high_ = y_;
    for (size_t i = 0; i < from; ++i) {
      if (!std::isfinite(y_[i])) low_[i] = high_[i] = kNan;
    }
    marked_.resize(from);
    for (size_t i = 0; i < from; ++i) marked_[i] = !std::isfinite(y_[i]);
  }
  x_.reserve(from + count);
  double last = from == 0 ? -std::numeric_limits<double>::infinity() : x_.back();
  for (const double at : points.x) x_.push_back(last = std::max(last, at));
  y_.insert(y_.end(), points.y.begin(), points.y.end());
  if (extremes || !low_.empty()) {
    const std::vector<double>& low = extremes ? points.low : points.y;
    const std::vector<double>& high = extremes ? points.high : points.y;
    low_.insert(low_.end(), low.begin(), low.end());
    high_.insert(high_.end(), high.begin(), high.end());
    for (size_t i = 0; i < count; ++i) {
      const bool bad = points.bad.empty() ? !std::isfinite(points.y[i]) : points.bad[i] != 0;
      marked_.push_back(bad);
    }
  }
  for (size_t i = from; i < size(); ++i) bad_count_ += point(i).bad;
  update_pyramid(from);
  update_smoothing(from);
}

SeriesData::Block SeriesData::point(size_t index) const {
  Block block;
  if (low_.empty()) {
    if (std::isfinite(y_[index])) {
      block.low = block.high = y_[index];
    } else {
      block.bad = true;
    }
    return block;
  }
  if (std::isfinite(low_[index])) block.low = low_[index];
  if (std::isfinite(high_[index])) block.high = high_[index];
  block.bad = marked_[index] != 0;
  return block;
}

void SeriesData::update_pyramid(size_t from) {
  size_t below = size();
  for (size_t level = 0; below > kFan; ++level) {
    if (level == levels_.size()) {
      levels_.emplace_back();
      from = 0;
    }
    const size_t count = (below + kFan - 1) / kFan;
    const size_t first = from / kFan;
    std::vector<Block>& blocks = levels_[level];
    blocks.resize(count);
    for (size_t i = first; i < count; ++i) {
      Block block;
      const size_t end = std::min((i + 1) * kFan, below);
      for (size_t child = i * kFan; child < end; ++child) {
        block.merge(level == 0 ? point(child) : levels_[level - 1][child]);
      }
      blocks[i] = block;
    }
    from = first;
    below = count;
  }
}

SeriesData::Block SeriesData::blocks(size_t first, size_t last) const {
  Block result;
  while (first < last) {
    size_t width = 1;
    size_t level = 0;  // 0: a point, k: a block of levels_[k - 1]
    while (level < levels_.size() && first % (width * kFan) == 0 && first + width * kFan <= last) {
      width *= kFan;
      ++level;
    }
    result.merge(level == 0 ? point(first) : levels_[level - 1][first / width]);
    first += width;
  }
  return result;
}

void SeriesData::set_smoothing(double weight) {
  weight = std::clamp(weight, 0.0, 0.9999);
  if (weight == weight_) return;
  weight_ = weight;
  update_smoothing(0);
}

void SeriesData::update_smoothing(size_t from) {
  if (weight_ == 0) {
    smooth_.clear();
    return;
  }
  if (from == 0 || smooth_.size() != from) {
    from = 0;
    average_ = 0;
    bias_ = 1;
  }
  smooth_.resize(size());
  for (size_t i = from; i < size(); ++i) {
    if (std::isfinite(y_[i])) {
      average_ = weight_ * average_ + (1 - weight_) * y_[i];
      bias_ *= weight_;
    }
    smooth_[i] = bias_ < 1 ? average_ / (1 - bias_) : kNan;
  }
}

std::optional<size_t> SeriesData::nearest(double at) const {
  if (empty()) return std::nullopt;
  const auto after = std::ranges::lower_bound(x_, at);
  if (after == x_.end()) return size() - 1;
  const auto index = static_cast<size_t>(after - x_.begin());
  if (index > 0 && at - x_[index - 1] < x_[index] - at) return index - 1;
  return index;
}

double SeriesData::minimum() const {
  const Block all = blocks(0, size());
  return all.finite() ? all.low : kNan;
}

double SeriesData::maximum() const {
  const Block all = blocks(0, size());
  return all.finite() ? all.high : kNan;
}

void SeriesData::add_column(size_t first, size_t last, SeriesView& view) const {
  const Block block = blocks(first, last);
  const double at = x_[first];
  if (block.bad) view.bad.push_back(at);
  if (!block.finite()) {
    view.raw.add(at, kNan);
    return;
  }
  if (block.low == block.high) {
    view.raw.add(at, block.low);
    return;
  }
  // From the end that is nearer to where the line is: a dense curve is then one stroke a column.
  const double before = view.raw.y.empty() ? kNan : view.raw.y.back();
  const bool from_high = std::abs(before - block.high) < std::abs(before - block.low);
  view.raw.add(at, from_high ? block.high : block.low);
  view.raw.add(at, from_high ? block.low : block.high);
  if (last == size() && std::isfinite(y_.back())) view.raw.add(x_.back(), y_.back());
}

size_t SeriesData::first_from(double at, size_t begin, size_t end) const {
  size_t stride = 1;
  while (begin + stride < end && x_[begin + stride] < at) {
    begin += stride;
    stride *= 2;
  }
  const auto point = [&](size_t index) { return x_.begin() + static_cast<std::ptrdiff_t>(index); };
  return static_cast<size_t>(std::lower_bound(point(begin), point(std::min(begin + stride, end)), at) -
                             x_.begin());
}

void SeriesData::view(double low, double high, int columns, SeriesView& view, int smooth_columns) const {
  view.clear();
  if (empty() || columns <= 0 || !(low <= high)) return;
  auto first = static_cast<size_t>(std::ranges::lower_bound(x_, low) - x_.begin());
  auto last = static_cast<size_t>(std::ranges::upper_bound(x_, high) - x_.begin());
  if (first > 0) --first;
  if (last < size()) ++last;
  if (first >= last) return;
  // Calls visit(begin, end) with the points of each column that has some.
  const auto for_each_column = [&](int count, const auto& visit) {
    const double width = (high - low) / count;
    size_t begin = first;
    for (int column = 0; begin < last && column < count; ++column) {
      const size_t end = column + 1 == count ? last : first_from(low + width * (column + 1), begin, last);
      if (end > begin) visit(begin, end);
      begin = end;
    }
  };
  view.every_point = last - first <= 2 * static_cast<size_t>(columns);
  if (view.every_point) {
    for (size_t i = first; i < last; ++i) add_column(i, i + 1, view);
  } else {
    for_each_column(columns, [&](size_t begin, size_t end) { add_column(begin, end, view); });
  }
  if (smooth_.empty()) return;
  for_each_column(smooth_columns > 0 ? smooth_columns : columns,
                  [&](size_t, size_t end) { view.smooth.add(x_[end - 1], smooth_[end - 1]); });
}

}  // namespace lathe::ui
