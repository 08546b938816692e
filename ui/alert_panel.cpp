#include "ui/alert_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QPainter>
#include <QPlainTextEdit>
#include <QStyledItemDelegate>
#include <QTextDocument>
#include <QVBoxLayout>

#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/navigator.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

// Time and text, then what to do in a quieter colour, wrapped to the view.
class AlertDelegate : public QStyledItemDelegate {
 public:
  AlertDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem plain = option;
    initStyleOption(&plain, index);
    plain.text.clear();
    plain.widget->style()->drawControl(QStyle::CE_ItemViewItem, &plain, painter, plain.widget);
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    QTextDocument document;
    fill(document, index, option.rect.width(), selected);
    painter->save();
    painter->translate(option.rect.topLeft() + QPoint(Theme::grid, Theme::grid));
    document.drawContents(painter);
    painter->restore();
    painter->fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height() - 1),
                      level_color(index));
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QTextDocument document;
    const int width = option.widget ? option.widget->width() - 4 : 320;
    fill(document, index, width, false);
    return {width, static_cast<int>(document.size().height()) + 2 * Theme::grid};
  }

 private:
  QColor level_color(const QModelIndex& index) const {
    switch (static_cast<Alert::Level>(index.data(AlertList::kLevelRole).toInt())) {
      case Alert::Level::Info:
        return theme_.colors().accent;
      case Alert::Level::Warning:
        return theme_.colors().warning;
      case Alert::Level::Error:
        return theme_.colors().bad;
    }
    return {};
  }

  void fill(QTextDocument& document, const QModelIndex& index, int width, bool selected) const {
    const Colors& colors = theme_.colors();
    const QString text = (selected ? colors.accent_text : colors.text).name();
    const QString quiet = (selected ? colors.accent_text : colors.muted).name();
    document.setDocumentMargin(0);
    document.setTextWidth(width - 2 * Theme::grid);
    QString html =
        QStringLiteral("<span style='color:%1'>%2</span> <span style='color:%3'>%4</span>")
            .arg(quiet, index.data(AlertList::kTimeRole).toDateTime().toString(QStringLiteral("HH:mm:ss")),
                 text, index.data().toString().toHtmlEscaped());
    const QString advice = index.data(AlertList::kAdviceRole).toString();
    if (!advice.isEmpty())
      html += QStringLiteral("<br><span style='color:%1'>%2</span>").arg(quiet, advice.toHtmlEscaped());
    document.setHtml(html);
  }

  const Theme& theme_;
};

}  // namespace

AlertPanel::AlertPanel(AppContext& context, QWidget* parent)
    : QWidget(parent),
      context_(context),
      view_(new QListView),
      empty_(make_muted(tr("Nothing to report. Warnings, errors and ends of runs will stand here."))),
      details_(new QPlainTextEdit) {
  setFixedWidth(44 * Theme::grid);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, Theme::grid, 2 * Theme::grid, Theme::grid);
  auto* head = new QHBoxLayout;
  head->addWidget(make_title(tr("Alerts")));
  head->addStretch(1);
  auto* clear = make_button(tr("Clear"), tr("Empty the list"));
  auto* close = make_button(tr("Close"), tr("Hide the list (Ctrl+Shift+A)"));
  head->addWidget(clear);
  head->addWidget(close);
  column->addLayout(head);
  column->addWidget(empty_);
  column->addWidget(view_, 1);
  column->addWidget(details_);
  view_->setModel(&context.alerts);
  view_->setItemDelegate(new AlertDelegate(context.theme, view_));
  view_->setAccessibleName(tr("Alerts"));
  view_->setResizeMode(QListView::Adjust);
  view_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  details_->setReadOnly(true);
  details_->setFont(Theme::mono_font());
  details_->setMaximumHeight(24 * Theme::grid);
  details_->setAccessibleName(tr("Last log lines"));
  details_->hide();
  const auto refresh = [this] { empty_->setVisible(view_->model()->rowCount() == 0); };
  connect(&context.alerts, &QAbstractItemModel::rowsInserted, this, refresh);
  connect(&context.alerts, &QAbstractItemModel::modelReset, this, refresh);
  connect(clear, &QPushButton::clicked, &context.alerts, &AlertList::clear);
  connect(close, &QPushButton::clicked, this, &QWidget::hide);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, &AlertPanel::show_details);
  connect(view_, &QListView::activated, this, &AlertPanel::open_run);
  refresh();
}

void AlertPanel::show_details() {
  const QString details = view_->currentIndex().data(AlertList::kDetailsRole).toString();
  details_->setPlainText(details);
  details_->setVisible(!details.isEmpty());
}

void AlertPanel::open_run() {
  const QString run = view_->currentIndex().data(AlertList::kRunRole).toString();
  if (!run.isEmpty()) Q_EMIT context_.navigator.open_run(run);
}

}  // namespace lathe::ui
