#include "ui/forms/diff_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QTableWidget>
#include <QVBoxLayout>

#include "core/config/setting_info.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

DiffDialog::DiffDialog(const QString& a_name, const QString& b_name,
                       const std::vector<SettingDifference>& differences, QWidget* parent)
    : QDialog(parent), table_(new QTableWidget(static_cast<int>(differences.size()), 3)) {
  setWindowTitle(tr("%1 and %2").arg(a_name, b_name));
  resize(80 * Theme::grid, 50 * Theme::grid);
  table_->setHorizontalHeaderLabels({tr("Setting"), a_name, b_name});
  table_->setAccessibleName(tr("Settings that differ"));
  table_->verticalHeader()->hide();
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setWordWrap(true);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  for (int row = 0; row < table_->rowCount(); ++row) {
    const SettingDifference& difference = differences[static_cast<size_t>(row)];
    const SettingInfo& info = require_setting(difference.key);
    auto* name = new QTableWidgetItem(to_qt(info.label));
    name->setData(Qt::UserRole, to_qt(difference.key));
    name->setToolTip(to_qt(difference.key));
    table_->setItem(row, 0, name);
    table_->setItem(row, 1, new QTableWidgetItem(to_qt(difference.a_text)));
    table_->setItem(row, 2, new QTableWidgetItem(to_qt(difference.b_text)));
  }
  table_->resizeRowsToContents();
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(make_muted(differences.empty()
                                   ? tr("No setting differs.")
                                   : counted_text(static_cast<int64_t>(differences.size()),
                                                  tr("1 setting differs. Activate its row to go to it."),
                                                  tr("%1 settings differ. Activate a row to go to it."))));
  layout->addWidget(table_, 1);
  table_->setVisible(!differences.empty());
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  layout->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(table_, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* item) {
    Q_EMIT chosen(table_->item(item->row(), 0)->data(Qt::UserRole).toString());
  });
}

}  // namespace lathe::ui
