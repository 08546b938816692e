#include "ui/charts/chart_table.h"

#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include "ui/charts/chart.h"
#include "ui/charts/series_data.h"

namespace lathe::ui {

SeriesTableModel::SeriesTableModel(QObject* parent) : QAbstractTableModel(parent) {}

void SeriesTableModel::set_series(const ChartInfo& info, const ChartAxis& axis, const SeriesData* data) {
  beginResetModel();
  info_ = info;
  axis_ = axis;
  x_.clear();
  y_.clear();
  smooth_.clear();
  for (size_t i = 0; data != nullptr && i < data->size(); ++i) {
    x_.push_back(data->x(i));
    y_.push_back(data->y(i));
    if (data->is_smoothed()) smooth_.push_back(data->smooth(i));
  }
  endResetModel();
}

int SeriesTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(x_.size());
}

int SeriesTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : smooth_.empty() ? 2 : 3;
}

QVariant SeriesTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  const auto row = static_cast<size_t>(index.row());
  switch (index.column()) {
    case 0:
      return quantity_text(x_[row], axis_.quantity);
    case 1:
      return quantity_text(y_[row], info_.quantity, info_.unit);
    default:
      return quantity_text(smooth_[row], info_.quantity, info_.unit);
  }
}

QVariant SeriesTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return QAbstractTableModel::headerData(section, orientation, role);
  }
  return section == 0 ? axis_.label : section == 1 ? info_.title : tr("Moving average");
}

void show_chart_table(const Chart& chart, const ChartAxis& axis, QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QDialog::tr("%1 as a table").arg(chart.info().title));
  auto* summary = new QLabel(chart.summary(), dialog);
  summary->setWordWrap(true);
  summary->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* choice = new QComboBox(dialog);
  choice->setAccessibleName(QDialog::tr("Series"));
  auto* view = new QTableView(dialog);
  view->setAccessibleName(chart.info().title);
  view->setAlternatingRowColors(true);
  view->verticalHeader()->hide();
  view->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  auto* model = new SeriesTableModel(dialog);
  view->setModel(model);
  // Copies, since the chart may change or go while the window is open.
  auto series = std::make_shared<std::vector<SeriesData>>();
  for (const QString& key : chart.series_keys()) {
    choice->addItem(chart.style(key).name);
    series->push_back(chart.data(key));
  }
  const auto show = [model, series, info = chart.info(), axis](int index) {
    const bool valid = index >= 0 && index < static_cast<int>(series->size());
    model->set_series(info, axis, valid ? &(*series)[static_cast<size_t>(index)] : nullptr);
  };
  QObject::connect(choice, &QComboBox::currentIndexChanged, dialog, show);
  show(choice->currentIndex());
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(summary);
  layout->addWidget(choice);
  layout->addWidget(view, 1);
  layout->addWidget(buttons);
  dialog->resize(560, 560);
  dialog->show();
}

}  // namespace lathe::ui
