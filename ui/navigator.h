// How one place of the window sends the user to another. Anyone emits, the main window listens, shows the
// place and hands the run to its page (Page::show_run, Page::show_runs, Page::show_topic).
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>

namespace lathe::ui {

enum class Place { New, Run, Runs, Data, System, Help };
inline constexpr int kPlaceCount = 6;

class Navigator : public QObject {
  Q_OBJECT
 public:
  explicit Navigator(QObject* parent = nullptr);

 Q_SIGNALS:
  void show_place(lathe::ui::Place place);
  // A process was started whose run will appear after run `after` (empty: the first): the window opens it
  // then, or shows the log's last lines when the process ended without one.
  void watch_for_run(const QString& after, const QString& log, qint64 process);
  void open_run(const QString& id);   // Run shows it
  void clone_run(const QString& id);  // New opens with its settings
  void resume_run(const QString& id,
                  qint64 step);              // checked and started by the window; step -1: newest checkpoint
  void use_dataset(const QString& folder);   // New takes it as its training data
  void open_dataset(const QString& folder);  // Data shows it
  void show_topic(const QString& topic);     // Help shows resources/help/<topic>.md
  void show_setting_help(const QString& key);  // Help shows the reference of one setting
};

}  // namespace lathe::ui
