#include "ui/pages/new_run_picker.h"

#include <QDialogButtonBox>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/text.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

RunPicker::RunPicker(const QString& title, const std::vector<RunSummary>& runs, QWidget* parent)
    : QDialog(parent), filter_(new QLineEdit), list_(new QListWidget) {
  setWindowTitle(title);
  resize(60 * Theme::grid, 56 * Theme::grid);
  filter_->setPlaceholderText(tr("Filter runs"));
  filter_->setAccessibleName(tr("Filter runs"));
  filter_->setClearButtonEnabled(true);
  list_->setAccessibleName(tr("Runs"));
  for (const RunSummary& run : runs) {
    auto* item = new QListWidgetItem(tr("%1  ·  %2, step %3, %4")
                                         .arg(to_qt(run.name), to_qt(status_name(run.status)),
                                              count_text(run.step), date_time_text(run.created_ms)));
    item->setData(Qt::UserRole, to_qt(run.id));
    list_->addItem(item);
  }
  if (list_->count() > 0) list_->setCurrentRow(0);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(filter_);
  layout->addWidget(list_, 1);
  layout->addWidget(buttons);
  const auto choose = [this] {
    const QListWidgetItem* item = list_->currentItem();
    if (!item || item->isHidden()) return;
    Q_EMIT picked(item->data(Qt::UserRole).toString());
    accept();
  };
  connect(filter_, &QLineEdit::textChanged, this, &RunPicker::filter);
  connect(list_, &QListWidget::itemActivated, this, choose);
  connect(buttons, &QDialogButtonBox::accepted, this, choose);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  buttons->button(QDialogButtonBox::Ok)->setEnabled(!runs.empty());
}

void RunPicker::filter(const QString& text) {
  QListWidgetItem* first = nullptr;
  for (int row = 0; row < list_->count(); ++row) {
    QListWidgetItem* item = list_->item(row);
    item->setHidden(!item->text().contains(text, Qt::CaseInsensitive));
    if (!item->isHidden() && !first) first = item;
  }
  list_->setCurrentItem(first);
}

}  // namespace lathe::ui
