// A place of the window: what the rail on the left switches between.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include "ui/navigator.h"

namespace lathe::ui {

struct AppContext;

// Pages are made after the window's first paint and live as long as the window. Nothing in a page may block
// the GUI thread for more than 50 ms: slow work goes through LatestJob (ui/latest_job.h).
class Page : public QWidget {
  Q_OBJECT
 public:
  Page(AppContext& context, Place place, QWidget* parent = nullptr);

  Place place() const { return place_; }
  AppContext& context() const { return context_; }

  virtual void activated() {}    // came into sight
  virtual void deactivated() {}  // went out of sight: stop polling what only this page shows

  virtual void show_run(const QString& /*id*/) {}          // Run: show it; New: take its settings
  virtual void show_runs(const QStringList& /*ids*/) {}    // Runs: tick and overlay them
  virtual void show_dataset(const QString& /*folder*/) {}  // Data: show it; New: train on it
  virtual void show_topic(const QString& /*topic*/) {}     // Help
  virtual void focus_search() {}                           // Ctrl+F
  virtual void ask_for_help();                             // F1

 private:
  AppContext& context_;
  Place place_;
};

// Title of a place, translated; its icon's name in the theme; its file under resources/help without .md.
QString place_title(Place place);
QString place_icon(Place place);
QString place_topic(Place place);

}  // namespace lathe::ui
