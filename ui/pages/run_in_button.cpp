#include "ui/pages/run_in_button.h"

#include <QActionGroup>
#include <QMenu>

#include "ui/app_context.h"
#include "ui/own_session.h"
#include "ui/preferences.h"

namespace lathe::ui {

RunInButton::RunInButton(AppContext& context, QWidget* parent, Form form)
    : QToolButton(parent), context_(context), form_(form) {
  setPopupMode(QToolButton::InstantPopup);
  setAccessibleName(tr("Where the run trains"));
  auto* menu = new QMenu(this);
  menu->setToolTipsVisible(true);
  auto* choice = new QActionGroup(menu);
  here_ = menu->addAction(tr("Train in this window"));
  here_->setToolTip(
      tr("On a thread of this window: closing the window ends the run, saved first if you like."));
  own_ = menu->addAction(tr("Train in its own process"));
  own_->setToolTip(tr("Outlives this window, its display server and a GPU fault."));
  for (QAction* action : {here_, own_}) {
    action->setCheckable(true);
    choice->addAction(action);
    connect(action, &QAction::triggered, this,
            [this] { context_.preferences.set_own_process(own_->isChecked()); });
  }
  setMenu(menu);
  connect(&context.preferences, &Preferences::changed, this, &RunInButton::show_choice);
  show_choice();
}

void RunInButton::show_choice() {
  const bool own = context_.preferences.own_process();
  (own ? own_ : here_)->setChecked(true);
  setText(form_ == Form::Arrow ? QStringLiteral("▾")
          : own                ? tr("In its own process ▾")
                               : tr("In this window ▾"));
  setToolTip(QStringLiteral("%1. %2").arg((own ? own_ : here_)->text(), (own ? own_ : here_)->toolTip()));
}

QString resume_hindrance(const AppContext& context) {
  if (context.preferences.own_process() || !context.session.active()) return {};
  return RunInButton::tr("A run trains in this window already: stop it first, or train in its own process.");
}

QString resume_place(const AppContext& context) {
  return context.preferences.own_process() ? RunInButton::tr("in a process of its own")
                                           : RunInButton::tr("on a thread of this window");
}

}  // namespace lathe::ui
