// What a chart is told: colours, axes, kinds of quantities, the look of a series, and points.
#pragma once

#include <QColor>
#include <QString>
#include <Qt>
#include <vector>

namespace lathe::ui {

// How a number is scaled and written: bytes as MiB or GiB, milliseconds as s, min or h, counts as k, M or B.
enum class Quantity { Plain, Count, Bytes, Milliseconds, WallTime };

// The quantity a metric's or an axis' unit stands for ("bytes", "ms", "tokens", "tokens/s", …).
Quantity quantity_of_unit(const QString& unit);

// "2.413", "12.4 k", "7.81 GiB", "1 h 04 min", "14:05:12", in the application's locale. `unit` is written
// behind quantities that have none of their own ("tokens/s", "W"). NaN and infinity are written as such.
QString quantity_text(double value, Quantity quantity, const QString& unit = {});

// One x axis for a whole group of charts. Points carry x in the axis' stored unit (updates, tokens, ms).
struct ChartAxis {
  QString label = QStringLiteral("Step");
  Quantity quantity = Quantity::Count;
};

// Colours of everything in a chart but its series.
struct ChartColors {
  QColor background = Qt::white;
  QColor text = QColor(0x20, 0x24, 0x28);
  QColor muted = QColor(0x6b, 0x72, 0x80);
  QColor grid = QColor(0xe6, 0xe8, 0xeb);
  QColor alert = QColor(0xc0, 0x39, 0x2b);  // marks of NaN and infinity
  bool dark = false;
};

struct ChartInfo {
  QString key;         // names the chart in stored state and exported files
  QString title;       // "Training loss"
  QString unit;        // "nats/token"
  QString definition;  // one sentence, shown as a tooltip
  Quantity quantity = Quantity::Plain;
  bool log_allowed = false;  // whether a logarithmic y axis makes sense
  bool from_zero = false;    // y starts at zero
};

struct SeriesStyle {
  QString name;
  QColor color;
  Qt::PenStyle pen = Qt::SolidLine;
  bool smoothed = false;  // raw is drawn faint, the moving average strong
  bool markers = false;   // each point a disc: evaluations, few and far apart
};

// Points in order of x. Raw points have x and y; points that stand for several rows also have the extremes.
// A NaN or infinite y was measured as such and is marked in the chart; what wasn't measured isn't a point.
struct PointColumns {
  std::vector<double> x;
  std::vector<double> y;           // for several rows: the last value
  std::vector<double> low, high;   // of the finite values; empty for raw points
  std::vector<unsigned char> bad;  // whether NaN or infinity was among the rows; empty: y says it

  size_t size() const { return x.size(); }
};

}  // namespace lathe::ui
