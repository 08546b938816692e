// The points of one series, ready to be drawn at any zoom in time proportional to the pixels: a pyramid of
// minima and maxima over blocks of 16, 256, … points, and the debiased moving average.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "ui/charts/chart_types.h"

namespace lathe::ui {

// A polyline; NaN breaks it.
struct Polyline {
  std::vector<double> x, y;
  void clear();
  void add(double at, double value);
};

// What of a series is drawn: all points while they are fewer than the pixels, else minimum and maximum of
// each pixel column, so that no extreme is lost, and the series' last value.
struct SeriesView {
  Polyline raw;
  Polyline smooth;           // at most one point a pixel column; empty without smoothing
  std::vector<double> bad;   // x of NaN and infinite values, at most one a pixel column
  bool every_point = false;  // nothing was decimated
  void clear();
};

class SeriesData {
 public:
  void assign(PointColumns points);
  // Points that follow. x that goes back (a wall clock set back) is held at the last one.
  void append(const PointColumns& points);
  // Weight of the old average in [0, 1); 0: none. The average is debiased: it starts at the first value
  // instead of at zero. NaN and infinity don't enter it.
  void set_smoothing(double weight);

  size_t size() const { return x_.size(); }
  bool empty() const { return x_.empty(); }
  double x(size_t index) const { return x_[index]; }
  double y(size_t index) const { return y_[index]; }
  double smooth(size_t index) const { return smooth_.empty() ? y_[index] : smooth_[index]; }
  bool is_smoothed() const { return !smooth_.empty(); }
  // The point nearest to `at`; nothing when there is none.
  std::optional<size_t> nearest(double at) const;
  // Smallest and largest finite value of all points; NaN when there is none.
  double minimum() const;
  double maximum() const;
  size_t bad_count() const { return bad_count_; }  // points with NaN or infinity

  // The part of the series in [low, high] (and one point beyond at each end), for `columns` pixels. The
  // moving average gets at most `smooth_columns` points; 0: as many as `columns`.
  void view(double low, double high, int columns, SeriesView& view, int smooth_columns = 0) const;

 private:
  struct Block {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    bool bad = false;
    bool finite() const { return low <= high; }
    void merge(const Block& other);
  };
  Block point(size_t index) const;
  Block blocks(size_t first, size_t last) const;  // of the points [first, last)
  void update_pyramid(size_t from);
  void update_smoothing(size_t from);
  void add_column(size_t first, size_t last, SeriesView& view) const;
  // The first point of [begin, end) at `at` or later, in time that grows with the logarithm of its distance.
  size_t first_from(double at, size_t begin, size_t end) const;

  std::vector<double> x_, y_;
  std::vector<double> low_, high_;     // empty: raw points
  std::vector<unsigned char> marked_;  // empty: y says whether a point is bad
  std::vector<std::vector<Block>> levels_;
  std::vector<double> smooth_;
  double weight_ = 0;
  double average_ = 0, bias_ = 1;  // running average, not yet debiased, and weight^(values seen)
  size_t bad_count_ = 0;
};

}  // namespace lathe::ui
