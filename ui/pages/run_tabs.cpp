#include "ui/pages/run_tabs.h"

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QIdentityProxyModel>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/app_context.h"
#include "ui/navigator.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

// Rows at or above a level whose text holds the words.
class EventsFilter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void set(int level, const QString& text) {
    level_ = level;
    text_ = text;
    invalidateFilter();
  }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex&) const override {
    const EventRow& event = static_cast<const EventsModel*>(sourceModel())->row(row);
    return static_cast<int>(event.level) >= level_ && to_qt(event.text).contains(text_, Qt::CaseInsensitive);
  }

 private:
  int level_ = 0;
  QString text_;
};

// Colours the level of warnings and errors.
class LevelModel : public QIdentityProxyModel {
 public:
  LevelModel(const Theme& theme, QObject* parent) : QIdentityProxyModel(parent), theme_(theme) {}
  QVariant data(const QModelIndex& index, int role) const override {
    if (role != Qt::ForegroundRole) return QIdentityProxyModel::data(index, role);
    const int level = index.data(EventsModel::kLevelRole).toInt();
    if (level == static_cast<int>(EventLevel::Error)) return theme_.colors().bad;
    if (level == static_cast<int>(EventLevel::Warning)) return theme_.colors().warning;
    return {};
  }

 private:
  const Theme& theme_;
};

QLineEdit* make_search(const QString& hint, QWidget* parent) {
  auto* search = new QLineEdit(parent);
  search->setPlaceholderText(hint);
  search->setClearButtonEnabled(true);
  search->setAccessibleName(hint);
  return search;
}

QVBoxLayout* make_layout(QWidget* widget) {
  auto* layout = new QVBoxLayout(widget);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  return layout;
}

}  // namespace

RunLogTab::RunLogTab(AppContext& context, QWidget* parent) : QWidget(parent) {
  model_ = new EventsModel(this);
  auto* filter = new EventsFilter(this);
  filter_ = filter;
  filter_->setSourceModel(model_);
  auto* colored = new LevelModel(context.theme, this);
  colored->setSourceModel(filter_);
  view_ = make_table(tr("Log"), this);
  view_->setModel(colored);
  view_->setColumnWidth(EventsModel::Time, 160);
  view_->setColumnWidth(EventsModel::Step, 80);
  view_->setColumnWidth(EventsModel::Level, 80);
  level_ = new QComboBox(this);
  level_->addItems({tr("Everything"), tr("Warnings and errors"), tr("Errors")});
  level_->setAccessibleName(tr("Levels shown"));
  search_ = make_search(tr("Search the log"), this);
  auto* copy = make_button(tr("Copy"), tr("Copies the selected lines, or all in sight"), this);
  auto* line = new QHBoxLayout;
  line->addWidget(search_, 1);
  line->addWidget(level_);
  line->addWidget(copy);
  auto* layout = make_layout(this);
  layout->addLayout(line);
  layout->addWidget(view_, 1);
  const auto apply_filter = [this, filter] { filter->set(level_->currentIndex(), search_->text()); };
  connect(level_, &QComboBox::currentIndexChanged, this, apply_filter);
  connect(search_, &QLineEdit::textChanged, this, apply_filter);
  connect(copy, &QPushButton::clicked, this, &RunLogTab::copy);
  auto* keys = new QShortcut(QKeySequence::Copy, view_, nullptr, nullptr, Qt::WidgetShortcut);
  connect(keys, &QShortcut::activated, this, &RunLogTab::copy);
}

void RunLogTab::focus_search() {
  search_->setFocus();
}

void RunLogTab::copy() const {
  QStringList lines;
  const auto add = [&](int row) {
    QStringList cells;
    for (int column = 0; column < view_->model()->columnCount(); ++column) {
      cells << view_->model()->index(row, column).data().toString();
    }
    lines << cells.join(QLatin1Char('\t'));
  };
  const QModelIndexList selected = view_->selectionModel()->selectedRows();
  for (const QModelIndex& index : selected) add(index.row());
  for (int row = 0; selected.isEmpty() && row < view_->model()->rowCount(); ++row) add(row);
  QGuiApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

void RunLogTab::apply(const RunDelta& delta) {
  const QScrollBar* bar = view_->verticalScrollBar();
  const bool at_end = bar->value() >= bar->maximum() - 4;
  if (delta.restart) model_->set_rows({});
  model_->append(delta.events);
  if (at_end && !delta.events.empty()) view_->scrollToBottom();
}

RunSamplesTab::RunSamplesTab(AppContext& context, QWidget* parent) : QWidget(parent) {
  model_ = new SamplesModel(this);
  auto* newest_first = new QSortFilterProxyModel(this);
  newest_first->setSourceModel(model_);
  newest_first->setSortRole(kSortRole);
  newest_first->sort(SamplesModel::Step, Qt::DescendingOrder);
  view_ = make_table(tr("Samples"), this);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setModel(newest_first);
  view_->setColumnWidth(SamplesModel::Step, 72);
  view_->setColumnWidth(SamplesModel::Prompt, 160);
  text_ = new QPlainTextEdit(this);
  text_->setReadOnly(true);
  text_->setAccessibleName(tr("Sample text"));
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  splitter->addWidget(view_);
  splitter->addWidget(text_);
  splitter->setStretchFactor(0, 2);
  splitter->setStretchFactor(1, 3);
  splitter->setChildrenCollapsible(false);
  auto* empty =
      new EmptyState(context.theme, QStringLiteral("sample"), tr("No samples yet"),
                     tr("The model writes to the run's prompts every so many updates, or when asked."),
                     tr("Sample now"), this);
  connect(empty, &EmptyState::triggered, this, &RunSamplesTab::sample_wanted);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(empty);
  stack_->addWidget(splitter);
  make_layout(this)->addWidget(stack_);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &RunSamplesTab::show_current);
}

void RunSamplesTab::show_current() {
  const auto* proxy = static_cast<const QSortFilterProxyModel*>(view_->model());
  const QModelIndex index = proxy->mapToSource(view_->currentIndex());
  if (!index.isValid()) {
    text_->clear();
    return;
  }
  const SampleRow& sample = model_->row(index.row());
  text_->setPlainText(to_qt(sample.prompt + sample.text));
}

void RunSamplesTab::apply(const RunDelta& delta) {
  const bool at_newest = !view_->currentIndex().isValid() || view_->currentIndex().row() == 0;
  if (delta.restart) model_->set_rows({});
  model_->append(delta.samples);
  stack_->setCurrentIndex(model_->rowCount() == 0 ? 0 : 1);
  if (at_newest && !delta.samples.empty()) view_->selectRow(0);
}

RunSettingsTab::RunSettingsTab(AppContext& context, QWidget* parent) : QWidget(parent) {
  model_ = new SettingsModel(this);
  filter_ = new QSortFilterProxyModel(this);
  filter_->setSourceModel(model_);
  filter_->setFilterKeyColumn(-1);
  filter_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  auto* view = make_table(tr("Settings"), this);
  view->setModel(filter_);
  view->setColumnWidth(SettingsModel::Label, 280);
  view->setColumnWidth(SettingsModel::Value, 240);
  view->setColumnWidth(SettingsModel::Default, 160);
  search_ = make_search(tr("Find a setting"), this);
  auto* copy =
      make_button(tr("Copy JSON"), tr("Copies all settings, as New and the command line read them"), this);
  auto* clone = make_button(tr("Clone to New"), tr("Opens New with these settings"), this);
  auto* line = new QHBoxLayout;
  line->addWidget(search_, 1);
  line->addWidget(copy);
  line->addWidget(clone);
  auto* layout = make_layout(this);
  layout->addLayout(line);
  layout->addWidget(view, 1);
  layout->addWidget(make_muted(
      tr("Bold: differs from the default. What was left to Lathe (auto) is shown as it was chosen."), this));
  connect(search_, &QLineEdit::textChanged, filter_, &QSortFilterProxyModel::setFilterFixedString);
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(json_); });
  connect(clone, &QPushButton::clicked, this,
          [this, &context] { Q_EMIT context.navigator.clone_run(to_qt(id_)); });
}

void RunSettingsTab::focus_search() {
  search_->setFocus();
}

void RunSettingsTab::apply(const RunDelta& delta) {
  if (!delta.details) return;
  const QString json = to_qt(delta.details->settings_json);
  if (delta.details->id == id_ && json == json_ && model_->rowCount() > 0) return;
  id_ = delta.details->id;
  json_ = json;
  model_->set_settings(delta.details->settings);
}

}  // namespace lathe::ui
