// The window: the rail of places on the left, the page in the middle, alerts, and what closing would do.
#pragma once

#include <QMainWindow>
#include <QTimer>
#include <array>
#include <functional>

#include "ui/latest_job.h"
#include "ui/navigator.h"

class QStackedWidget;
class QLabel;
class QPushButton;

namespace lathe::ui {

struct AppContext;
class ActiveRuns;
class AlertPanel;
class NavigationRail;
class Page;
class RunInButton;
class RunWatch;
class TrainingGuard;

// Makes the page of a place; called once a place, when it is first needed or the window is idle.
using PageFactory = std::function<Page*(AppContext&, Place, QWidget* parent)>;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  MainWindow(AppContext& context, PageFactory make_page, QWidget* parent = nullptr);
  ~MainWindow() override;

  Place place() const { return place_; }
  void show_place(Place place);
  Page* page(Place place);  // made when it isn't yet

 Q_SIGNALS:
  void first_painted();
  void usable();  // every page is made

 protected:
  void closeEvent(QCloseEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void connect_navigator();
  void make_shortcuts();
  void make_next_page();
  void resume(const QString& id, qint64 step);
  void look_into_history();
  void show_banner(const QString& text, const QString& action, bool resumes, std::function<void()> act);
  void update_title();
  void restore_geometry();

  AppContext& context_;
  PageFactory make_page_;
  Place place_ = Place::New, opened_at_ = Place::New;
  std::array<Page*, kPlaceCount> pages_{};
  bool painted_ = false;
  NavigationRail* rail_;
  QStackedWidget* stack_;
  AlertPanel* alerts_;
  QWidget* banner_;
  QLabel* banner_text_;
  QPushButton* banner_action_;
  RunInButton* banner_run_in_;
  std::function<void()> banner_act_;
  TrainingGuard* guard_;
  RunWatch* watch_;
  ActiveRuns* active_;
  bool looked_ = false;  // at what was active when the window opened
  LatestJob history_;
};

}  // namespace lathe::ui
