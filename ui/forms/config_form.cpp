#include "ui/forms/config_form.h"

#include <QApplication>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <utility>

#include "core/config/condition.h"
#include "core/config/setting_info.h"
#include "ui/forms/assessment.h"
#include "ui/forms/chosen_text.h"
#include "ui/forms/config_document.h"
#include "ui/forms/setting_editor.h"
#include "ui/forms/setting_row.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {

ConfigForm::ConfigForm(ConfigDocument& document, const Theme& theme, QWidget* parent)
    : QWidget(parent), document_(document), nothing_(make_muted({})), help_(make_muted({})) {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(Theme::grid);
  nothing_->hide();
  column->addWidget(nothing_);
  for (const SettingInfo& info : settings()) {
    if (groups_.empty() || groups_.back().rows.front()->info().section != info.section) {
      groups_.push_back({new Card(to_qt(info.section_label)), {}});
      column->addWidget(groups_.back().card);
    }
    auto* row = new SettingRow(info, theme);
    groups_.back().card->body()->addWidget(row);
    groups_.back().rows.push_back(row);
    const std::string key(info.key);
    rows_[key] = row;
    connect(row, &SettingRow::edited, this,
            [this, key](const QString& text) { document_.set_text(key, text); });
    connect(row, &SettingRow::reset_asked, this, [this, key] { document_.reset(key); });
    connect(row, &SettingRow::pointed_at, this, [this, row] { show_help(*row); });
  }
  column->addStretch(1);
  scroll_ = make_scroll_column(content);

  auto* help_card = new Card;
  help_card->body()->addWidget(help_);
  help_->setTextFormat(Qt::RichText);
  help_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(help_, &QLabel::linkActivated, this, &ConfigForm::help_asked);
  help_->setAlignment(Qt::AlignTop);
  help_->setAccessibleName(tr("Help on the setting"));
  help_->setText(
      tr("Point at a setting to read what it does. Drag a label sideways, or press the arrow keys, to change "
         "a number."));
  // Four lines, always: a help text must not push the form about.
  help_->setFixedHeight(help_->fontMetrics().lineSpacing() * 4 + 4);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  layout->addWidget(scroll_, 1);
  auto* foot = new QVBoxLayout;
  foot->setContentsMargins(0, 0, scroll_bar_width(), 0);
  foot->addWidget(help_card);
  layout->addLayout(foot);

  connect(&document_, &ConfigDocument::changed, this, &ConfigForm::refresh);
  refresh();
}

void ConfigForm::refresh() {
  const RunConfig& config = document_.config();
  std::map<std::string, const Problem*> by_key;
  const std::vector<Problem> problems = document_.problems();
  for (const Problem& problem : problems) by_key.try_emplace(problem.key, &problem);
  for (const auto& [key, row] : rows_) {
    const SettingInfo& info = row->info();
    const bool changed = !info.equal(config, document_.base());
    row->show_value(config, document_.text(key), changed,
                    changed ? to_qt(info.get_text(document_.base(), info.unit)) : QString());
    const auto found = by_key.find(key);
    if (found == by_key.end()) {
      row->show_problem({}, {});
    } else {
      row->show_problem(to_qt(found->second->message), to_qt(found->second->advice));
    }
  }
  show_chosen(problems.empty());
  if (query_ == QLatin1String("changed")) apply_filter();
}

void ConfigForm::show_assessment(std::shared_ptr<const Assessment> assessment, bool stale) {
  assessment_ = std::move(assessment);
  stale_ = stale;
  show_chosen(document_.can_estimate());
}

void ConfigForm::show_chosen(bool valid) {
  for (const auto& [key, row] : rows_) {
    const bool automatic = document_.text(key) == QLatin1String("auto");
    row->show_chosen(valid ? chosen_text(key, document_.config(), assessment_.get()) : QString(),
                     automatic && stale_);
  }
}

void ConfigForm::set_filter(const QString& query) {
  query_ = query.trimmed();
  apply_filter();
}

void ConfigForm::apply_filter() {
  const bool only_changed = query_ == QLatin1String("changed");
  int shown = 0;
  for (const Group& group : groups_) {
    int here = 0;
    for (SettingRow* row : group.rows) {
      const bool show =
          only_changed ? !row->info().equal(document_.config(), document_.base()) : row->matches(query_);
      row->setVisible(show);
      here += show ? 1 : 0;
    }
    group.card->setVisible(here > 0);
    shown += here;
  }
  nothing_->setVisible(shown == 0);
  nothing_->setText(only_changed ? tr("Nothing is changed from %1.").arg(document_.base_name())
                                 : tr("No setting speaks of “%1”.").arg(query_));
}

int ConfigForm::visible_rows() const {
  int shown = 0;
  for (const auto& [key, row] : rows_) shown += row->isHidden() ? 0 : 1;
  return shown;
}

QString ConfigForm::focused_key() const {
  const QWidget* focus = QApplication::focusWidget();
  for (const auto& [key, row] : rows_) {
    if (row->isAncestorOf(focus)) return to_qt(key);
  }
  return {};
}

SettingRow* ConfigForm::row(const std::string& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : found->second;
}

void ConfigForm::go_to(const std::string& key) {
  SettingRow* target = row(key);
  if (!target) return;
  if (target->isHidden()) set_filter({});
  scroll_->ensureWidgetVisible(target, 0, 6 * Theme::grid);
  target->editor().setFocus(Qt::OtherFocusReason);
}

void ConfigForm::show_help(const SettingRow& row) {
  const SettingInfo& info = row.info();
  QStringList facts;
  facts << QStringLiteral("<tt>%1</tt>").arg(to_qt(info.key));
  facts << tr("default %1")
               .arg(default_text(info).empty() ? tr("nothing") : to_qt(default_text(info)).toHtmlEscaped());
  const std::string range = info.range.text(info.unit);
  if (!range.empty()) facts << to_qt(range).toHtmlEscaped();
  if (info.affects != kNothing) facts << tr("affects %1").arg(to_qt(affects_text(info.affects)));
  facts << tr("may change: %1").arg(to_qt(change_rule_name(info.change)));
  if (!info.enabled_if.empty() && !is_enabled(document_.config(), info)) {
    facts << tr("has an effect only if %1")
                 .arg(to_qt(condition_words(parse_condition(info.enabled_if))).toHtmlEscaped());
  }
  facts << QStringLiteral("<a href=\"%1\">%2</a>").arg(to_qt(info.key), tr("More"));
  help_->setText(QStringLiteral("<b>%1</b> %2<br>%3")
                     .arg(to_qt(info.label).toHtmlEscaped(), to_qt(info.help).toHtmlEscaped(),
                          facts.join(QStringLiteral(" · "))));
  Q_EMIT pointed_at(to_qt(info.key));
}

}  // namespace lathe::ui
