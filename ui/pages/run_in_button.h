// Where a resumed run trains: the choice that stands beside each Resume, the same as beside Launch.
#pragma once

#include <QToolButton>

namespace lathe::ui {

struct AppContext;

class RunInButton : public QToolButton {
  Q_OBJECT
 public:
  enum class Form { Words, Arrow };  // an arrow where there is little room
  explicit RunInButton(AppContext& context, QWidget* parent = nullptr, Form form = Form::Words);

 private:
  void show_choice();

  AppContext& context_;
  const Form form_;
  QAction *here_, *own_;
};

// Why nothing can be resumed there now; empty: it can.
QString resume_hindrance(const AppContext& context);
// "on a thread of this window", for the tip of a Resume.
QString resume_place(const AppContext& context);

}  // namespace lathe::ui
