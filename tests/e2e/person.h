// A person at the window: a script on a thread of its own that looks at the screen, moves the mouse and
// types. Input comes from the X server (xdotool), so it reaches what is in front and nothing else; menus and
// dialogs may run their own event loops meanwhile, as they do for people.
#pragma once

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QApplication>
#include <QMenu>
#include <QProcess>
#include <QWidget>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "tests/ui/ui_support.h"
#include "ui/text.h"

namespace lathe::ui {

class Person {
 public:
  static constexpr int kPatienceMs = 120'000;  // the machine may be busy

  // What `look` sees, called on the window's thread.
  template <class Look>
  static auto on_gui(Look look) {
    decltype(look()) seen{};
    QMetaObject::invokeMethod(
        qApp, [&] { seen = look(); }, Qt::BlockingQueuedConnection);
    return seen;
  }

  // Runs the script while this thread is the window's. Whatever it leaves open is closed.
  static void play(const std::function<void()>& script) {
    std::atomic<bool> done = false;
    std::thread person([&] {
      script();
      while (on_gui([] {
        QWidget* open = QApplication::activePopupWidget();
        if (open == nullptr) open = QApplication::activeModalWidget();
        return open != nullptr && open->close();
      })) {
      }
      done = true;
    });
    while (!done) wait_until([&] { return done.load(); });
    person.join();
  }

  // Looks until it is true.
  static bool eventually(const std::function<bool()>& look) {
    return waited([&] { return on_gui(look); });
  }
  // The same without the window's thread: for files and the history.
  static bool waited(const std::function<bool()>& look) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    while (!look()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  // Where to click: a point of a widget, or nothing while it isn't there.
  struct Target {
    QWidget* widget = nullptr;
    QPoint at{};
  };
  using Find = std::function<std::optional<Target>()>;

  // Clicks there as soon as it is in sight, in front, and has stopped moving. False: that never came.
  static bool click(const Find& find) {
    std::optional<QPoint> before, now;
    const bool there = waited([&] {
      before = now;
      now = on_gui([&] { return place(find); });
      return now && now == before;
    });
    return there && xdotool({QStringLiteral("mousemove"), QString::number(now->x()),
                             QString::number(now->y()), QStringLiteral("click"), QStringLiteral("1")});
  }
  static bool click(const std::function<QWidget*()>& find) {
    return click([&]() -> std::optional<Target> {
      QWidget* widget = find();
      if (widget == nullptr || !widget->isEnabled()) return std::nullopt;
      return Target{widget, widget->rect().center()};
    });
  }
  // The button with this text, in the window in front unless told where.
  static bool click_button(
      const QString& text,
      const std::function<QWidget*()>& inside = [] { return QApplication::activeWindow(); }) {
    return click([&]() -> QWidget* {
      const QWidget* root = inside();
      if (root == nullptr) return nullptr;
      for (QAbstractButton* button : root->findChildren<QAbstractButton*>()) {
        if (button->isVisible() && button->text().remove(QLatin1Char('&')) == text && button->isEnabled())
          return button;
      }
      return nullptr;
    });
  }
  // A cell of a list, at its middle or, to tick it, on its box.
  enum class Part { Middle, Tick };
  static bool click_cell(QAbstractItemView& view, const std::function<QModelIndex()>& find,
                         Part part = Part::Middle) {
    return click([&]() -> std::optional<Target> {
      const QModelIndex index = find();
      if (!index.isValid()) return std::nullopt;
      view.scrollTo(index);
      const QRect cell = view.visualRect(index);
      constexpr int to_box = 14;  // from the cell's edge into the box
      return Target{view.viewport(),
                    part == Part::Tick ? QPoint(cell.left() + to_box, cell.center().y()) : cell.center()};
    });
  }
  // An entry of the menu that is open.
  static bool click_menu(const QString& text) {
    return click([&]() -> std::optional<Target> {
      auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
      if (menu == nullptr) return std::nullopt;
      for (QAction* action : menu->actions()) {
        if (action->text().remove(QLatin1Char('&')) == text && action->isEnabled())
          return Target{menu, menu->actionGeometry(action).center()};
      }
      return std::nullopt;
    });
  }

  static bool press(const char* keys) { return xdotool({QStringLiteral("key"), QLatin1String(keys)}); }
  static bool write(const QString& text) {
    return xdotool({QStringLiteral("type"), QStringLiteral("--delay"), QStringLiteral("12"),
                    QStringLiteral("--"), text});
  }

 private:
  // Global position of the target if a click there reaches it.
  static std::optional<QPoint> place(const Find& find) {
    const std::optional<Target> target = find();
    if (!target || !target->widget->isVisible()) return std::nullopt;
    const QPoint at = target->widget->mapToGlobal(target->at);
    const QWidget* hit = QApplication::widgetAt(at);
    if (hit != target->widget && !target->widget->isAncestorOf(hit)) return std::nullopt;
    const QWidget* blocking = QApplication::activeModalWidget();
    const QWidget* window = target->widget->window();
    if (blocking != nullptr && window != blocking && QApplication::activePopupWidget() == nullptr)
      return std::nullopt;
    return at;
  }

  static bool xdotool(const QStringList& words) {
    return QProcess::execute(QStringLiteral("xdotool"), words) == 0;
  }
};

}  // namespace lathe::ui
