#include "ui/theme/follow.h"

#include <QEvent>
#include <QWidget>
#include <utility>

#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

class Follower : public QObject {
 public:
  Follower(const Theme& theme, QWidget* widget, std::function<void()> dress)
      : QObject(widget), dress_(std::move(dress)) {
    connect(&theme, &Theme::changed, widget, [this, widget] {
      stale_ = !widget->isVisible();
      if (!stale_) dress_();
    });
    widget->installEventFilter(this);
  }

  bool eventFilter(QObject* widget, QEvent* event) override {
    if (event->type() == QEvent::Show && std::exchange(stale_, false)) dress_();
    return QObject::eventFilter(widget, event);
  }

 private:
  std::function<void()> dress_;
  bool stale_ = false;
};

}  // namespace

void follow_theme(const Theme& theme, QWidget* widget, std::function<void()> dress) {
  new Follower(theme, widget, std::move(dress));
}

}  // namespace lathe::ui
