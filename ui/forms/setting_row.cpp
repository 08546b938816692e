#include "ui/forms/setting_row.h"

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QToolButton>

#include "core/config/condition.h"
#include "ui/forms/setting_editor.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {
constexpr int kPixelsPerStep = 12;
}

DragLabel::DragLabel(const QString& text, SettingEditor& editor, QWidget* parent)
    : QLabel(text, parent), editor_(editor) {
  setBuddy(&editor);
}

void DragLabel::enterEvent(QEnterEvent* event) {
  setCursor(editor_.steppable() && isEnabled() ? Qt::SizeHorCursor : Qt::ArrowCursor);
  QLabel::enterEvent(event);
}

void DragLabel::mousePressEvent(QMouseEvent* event) {
  last_x_ = event->position().toPoint().x();
  editor_.setFocus(Qt::MouseFocusReason);
}

void DragLabel::mouseMoveEvent(QMouseEvent* event) {
  if (!editor_.steppable()) return;
  const int steps = (event->position().toPoint().x() - last_x_) / kPixelsPerStep;
  if (steps == 0) return;
  last_x_ += steps * kPixelsPerStep;
  editor_.step(steps);
}

SettingRow::SettingRow(const SettingInfo& info, const Theme& theme, QWidget* parent)
    : QWidget(parent),
      info_(info),
      editor_(make_setting_editor(info, this)),
      label_(new DragLabel(to_qt(info.label), *editor_, this)),
      chosen_(new ElidedLabel({}, Qt::ElideRight, this)),
      unit_(make_muted({}, this)),
      reset_(new QToolButton(this)),
      problem_(new QLabel(this)) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(Theme::grid);
  grid->setVerticalSpacing(2);
  label_->setFixedWidth(20 * Theme::grid);
  set_tone(chosen_, Tone::Muted);
  chosen_->hide();
  unit_->setWordWrap(false);
  reset_->setIcon(theme.icon(QStringLiteral("undo")));
  reset_->setIconSize(QSize(14, 14));
  reset_->setFixedSize(3 * Theme::grid, 3 * Theme::grid);
  QSizePolicy keep = reset_->sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  reset_->setSizePolicy(keep);
  reset_->hide();
  grid->addWidget(label_, 0, 0, Qt::AlignVCenter);
  // Numbers and choices are narrow, with their unit right behind them; texts take the whole line.
  const bool narrow = info.type != SettingType::Text && info.type != SettingType::TextList &&
                      info.type != SettingType::Sources && info.type != SettingType::Rules;
  auto* line = new QHBoxLayout;
  line->setSpacing(Theme::grid);
  line->addWidget(editor_, narrow ? 0 : 1);
  line->addWidget(chosen_, 0, Qt::AlignVCenter);
  line->addWidget(unit_, 0, Qt::AlignVCenter);
  if (narrow) line->addStretch(1);
  grid->addLayout(line, 0, 1);
  grid->addWidget(reset_, 0, 2);
  grid->addWidget(problem_, 1, 1, 1, 2);
  grid->setColumnStretch(1, 1);
  set_tone(problem_, Tone::Bad);
  problem_->setWordWrap(true);
  problem_->hide();

  QString tip =
      QStringLiteral("<p>%1</p><p><tt>%2</tt>").arg(to_qt(info.help).toHtmlEscaped(), to_qt(info.key));
  const std::string range = info.range.text(info.unit);
  if (!range.empty()) tip += QStringLiteral(" · ") + to_qt(range).toHtmlEscaped();
  setToolTip(tip + QStringLiteral("</p>"));

  connect(editor_, &SettingEditor::edited, this, &SettingRow::edited);
  connect(reset_, &QToolButton::clicked, this, &SettingRow::reset_asked);
  for (QWidget* child : editor_->findChildren<QWidget*>()) child->installEventFilter(this);
}

void SettingRow::show_value(const RunConfig& config, const QString& text, bool changed,
                            const QString& base_text) {
  editor_->set_text(text);
  const bool enabled = is_enabled(config, info_);
  editor_->setEnabled(enabled);
  label_->setEnabled(enabled);
  const QString unit = to_qt(unit_text(config, info_));
  // Bytes are typed and shown with their unit: 512MiB.
  const QString shown = unit == QLatin1String("bytes") ? QString() : unit;
  unit_->setText(shown);
  unit_->setVisible(!shown.isEmpty());
  reset_->setVisible(changed);
  if (changed) {
    reset_->setToolTip(tr("Changed. Back to %1").arg(base_text.isEmpty() ? tr("nothing") : base_text));
    reset_->setAccessibleName(tr("Reset %1 to %2").arg(to_qt(info_.label), base_text));
  }
  QFont font = label_->font();
  if (font.bold() != changed) {
    font.setBold(changed);
    label_->setFont(font);
  }
}

void SettingRow::show_chosen(const QString& text, bool stale) {
  editor_->set_chosen(text);
  chosen_->set_text(text.isEmpty() ? QString() : tr("= %1").arg(text));
  chosen_->setVisible(!text.isEmpty());
  chosen_->setEnabled(!stale);
}

QString SettingRow::chosen() const {
  return chosen_->text();
}

void SettingRow::show_problem(const QString& message, const QString& advice) {
  const bool any = !message.isEmpty();
  editor_->set_invalid(any);
  const QString text = advice.isEmpty() ? message : message + QLatin1Char(' ') + advice;
  if (problem_->text() != text) problem_->setText(text);
  problem_->setVisible(any);
}

bool SettingRow::matches(const QString& query) const {
  const QString where = to_qt(info_.key) + QLatin1Char('\n') + to_qt(info_.label) + QLatin1Char('\n') +
                        to_qt(info_.help) + QLatin1Char('\n') + to_qt(info_.section_label);
  for (const QString& word : query.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    if (!where.contains(word, Qt::CaseInsensitive)) return false;
  }
  return true;
}

bool SettingRow::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusIn) Q_EMIT pointed_at();
  return QWidget::eventFilter(watched, event);
}

void SettingRow::enterEvent(QEnterEvent* event) {
  Q_EMIT pointed_at();
  QWidget::enterEvent(event);
}

}  // namespace lathe::ui
