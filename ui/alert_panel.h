// The list of alerts beside the page: newest first, each with what to do.
#pragma once

#include <QWidget>

class QListView;
class QLabel;
class QPlainTextEdit;

namespace lathe::ui {

struct AppContext;

class AlertPanel : public QWidget {
  Q_OBJECT
 public:
  explicit AlertPanel(AppContext& context, QWidget* parent = nullptr);
  QListView* view() const { return view_; }

 private:
  void show_details();
  void open_run();

  AppContext& context_;
  QListView* view_;
  QLabel* empty_;
  QPlainTextEdit* details_;
};

}  // namespace lathe::ui
