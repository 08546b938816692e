// The numbers of a run one looks for first, large: step, loss, tokens/s, MFU, time left, memory; and how far
// the run and the update at work have come.
#pragma once

#include <QLabel>
#include <QWidget>
#include <optional>

#include "ui/models/run_feed.h"

namespace lathe::ui {

struct AppContext;
class Theme;

// A line that fills up; thinner than any style draws a progress bar.
class ThinBar : public QWidget {
  Q_OBJECT
 public:
  ThinBar(const Theme& theme, const QString& name, QWidget* parent = nullptr);
  void set_fraction(double fraction);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  double fraction_ = 0;
};

class RunNumbers : public QWidget {
  Q_OBJECT
 public:
  explicit RunNumbers(AppContext& context, QWidget* parent = nullptr);

  // Metrics it needs besides those of the charts.
  static std::vector<std::string> metrics();
  void apply(const RunDelta& delta);
  void clear();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Tile {
    QWidget* card;
    QLabel* caption;
    QLabel* value;
    QLabel* detail;
  };
  Tile add_tile(const QString& caption, const QString& tip);
  void take(const FeedPoints& points);
  void take(const RunDetails& run);
  void show_numbers();
  void show_mfu();
  void show_progress();

  Tile step_, loss_, speed_, mfu_, time_, memory_;
  ThinBar *run_progress_, *progress_;
  QLabel* phase_;
  std::optional<RunDetails> details_;
  std::optional<int64_t> last_update_;  // the run is to make
  bool mfu_known_ = false;
  double flops_per_token_ = 0, peak_flops_ = 0;  // 0: not known
  std::optional<LiveState> live_;
  std::optional<double> last_loss_, memory_now_;
  // Debiased average of tokens/s end to end: single updates jump with every evaluation.
  double end_to_end_ = 0, end_to_end_weight_ = 0;
};

}  // namespace lathe::ui
