#include "ui/pages/help_page.h"

#include <QDesktopServices>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QListWidget>
#include <QPointer>
#include <QSplitter>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextTable>
#include <QVBoxLayout>
#include <algorithm>

#include "core/config/reference.h"
#include "core/config/resources.h"
#include "core/history/metrics.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "ui/app_context.h"
#include "ui/text.h"
#include "ui/theme/follow.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

// The manual's order; topics that aren't named here follow by name.
const QStringList& topic_order() {
  static const QStringList order = {QStringLiteral("index"), QStringLiteral("new"),
                                    QStringLiteral("run"),   QStringLiteral("runs"),
                                    QStringLiteral("data"),  QStringLiteral("system")};
  return order;
}

qsizetype rank(const QString& name) {
  const qsizetype at = topic_order().indexOf(name);
  return at < 0 ? topic_order().size() : at;
}

QString first_heading(const QString& markdown, const QString& otherwise) {
  for (const QString& line : markdown.split(QLatin1Char('\n'))) {
    if (line.startsWith(QLatin1String("# "))) return line.mid(2).trimmed();
  }
  return otherwise;
}

// Qt's Markdown comes with cramped headings and double table borders: room above headings, hairlines in
// tables.
void set_type(QTextDocument& document, const Colors& colors) {
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    QTextBlockFormat format = block.blockFormat();
    const int level = format.headingLevel();
    const bool in_table = QTextCursor(block).currentTable() != nullptr;
    format.setTopMargin(level == 1 ? 0 : level > 1 ? 2 * Theme::grid : in_table ? 0 : 4);
    format.setBottomMargin(in_table ? 0 : level > 0 ? Theme::grid : 4);
    if (!in_table) format.setLineHeight(120, QTextBlockFormat::ProportionalHeight);
    QTextCursor(block).setBlockFormat(format);
  }
  for (QTextFrame* frame : document.rootFrame()->childFrames()) {
    auto* table = qobject_cast<QTextTable*>(frame);
    if (!table) continue;
    QTextTableFormat format = table->format();
    format.setBorderCollapse(true);
    format.setBorder(1);
    format.setBorderBrush(colors.border);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setCellPadding(5);
    format.setCellSpacing(0);
    format.setTopMargin(Theme::grid);
    format.setBottomMargin(Theme::grid);
    table->setFormat(format);
  }
}

// The catalogue of metrics as a topic: what each number means and its unit.
HelpTopic metrics_topic() {
  HelpTopic topic{QStringLiteral("metrics"), HelpPage::tr("Metrics"), {}};
  topic.text =
      QStringLiteral("# %1\n\n").arg(topic.title) +
      HelpPage::tr(
          "Every number a run stores, with its unit and what it means. The key is its name in CSV files.");
  std::string_view group;
  for (const MetricInfo& info : metrics()) {
    if (info.group != group) {
      group = info.group;
      topic.text += QStringLiteral("\n\n## ") + to_qt(group) + QLatin1Char('\n');
    }
    const QString unit = info.unit.empty() ? QString() : QStringLiteral(" (%1)").arg(to_qt(info.unit));
    topic.text += QStringLiteral("\n- **%1**%2 `%3`: %4")
                      .arg(to_qt(info.label), unit, to_qt(info.key), to_qt(info.definition));
  }
  return topic;
}

}  // namespace

std::vector<HelpTopic> load_help() {
  std::vector<HelpTopic> topics;
  for (const auto& entry : std::filesystem::directory_iterator(resources_folder() / "help")) {
    if (entry.path().extension() != ".md") continue;
    HelpTopic topic;
    topic.name = to_qt(entry.path().stem());
    topic.text = to_qt(read_file(entry.path()));
    topic.title = first_heading(topic.text, topic.name);
    topics.push_back(std::move(topic));
  }
  std::ranges::sort(topics, [](const HelpTopic& a, const HelpTopic& b) {
    return rank(a.name) != rank(b.name) ? rank(a.name) < rank(b.name) : a.name < b.name;
  });
  topics.push_back(metrics_topic());
  HelpTopic reference;
  reference.name = QStringLiteral("settings");
  reference.title = HelpPage::tr("Reference of settings");
  const std::vector<const SettingInfo*> all = search_settings("");
  reference.text = QStringLiteral("# %1\n\n").arg(reference.title) + to_qt(reference_markdown(all));
  topics.push_back(std::move(reference));
  return topics;
}

int relevance(const HelpTopic& topic, const QString& query) {
  int sum = 0;
  for (const QString& word : query.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    const auto found = static_cast<int>(topic.text.count(word, Qt::CaseInsensitive)) +
                       10 * static_cast<int>(topic.title.count(word, Qt::CaseInsensitive));
    if (found == 0) return 0;
    sum += found;
  }
  return std::max(sum, 1);
}

HelpPage::HelpPage(AppContext& context, QWidget* parent)
    : Page(context, Place::Help, parent),
      search_(new QLineEdit),
      list_(new QListWidget),
      view_(new QTextBrowser) {
  try {
    topics_ = load_help();
  } catch (const Error& error) {
    topics_ = {{QStringLiteral("index"), tr("No manual"),
                to_qt(error.what_happened()) + QLatin1Char('\n') + to_qt(error.what_to_do())}};
  } catch (const std::filesystem::filesystem_error& error) {
    topics_ = {{QStringLiteral("index"), tr("No manual"), QString::fromUtf8(error.what())}};
  }
  search_->setPlaceholderText(tr("Search the manual"));
  search_->setAccessibleName(tr("Search the manual"));
  search_->setClearButtonEnabled(true);
  search_->addAction(context.theme.icon(QStringLiteral("search")), QLineEdit::LeadingPosition);
  list_->setAccessibleName(tr("Topics"));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view_->setAccessibleName(tr("Manual"));
  view_->setOpenLinks(false);

  auto* side = new QWidget;
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(Theme::grid);
  column->addWidget(search_);
  column->addWidget(list_, 1);
  side->setMinimumWidth(32 * Theme::grid);
  auto* splitter = new QSplitter;
  splitter->addWidget(side);
  splitter->addWidget(view_);
  splitter->setStretchFactor(1, 1);
  splitter->setHandleWidth(2 * Theme::grid);
  splitter->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(2 * Theme::grid, Theme::grid, 2 * Theme::grid, Theme::grid);
  layout->setSpacing(Theme::grid);
  layout->addWidget(make_title(tr("Help")));
  layout->addWidget(splitter, 1);

  connect(search_, &QLineEdit::textChanged, this, &HelpPage::filter);
  connect(search_, &QLineEdit::returnPressed, this, [this] {
    if (!view_->find(search_->text().section(QLatin1Char(' '), 0, 0))) mark_found();
  });
  connect(list_, &QListWidget::currentItemChanged, this, &HelpPage::show_current);
  follow_theme(context.theme, this, [this] { show_current(); });
  connect(view_, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    // topic.md and #anchors stay here; the web opens outside.
    if (url.scheme().startsWith(QLatin1String("http"))) {
      QDesktopServices::openUrl(url);
      return;
    }
    QString topic = url.toString();
    show_topic(topic.replace(QLatin1String(".md"), QString()));
  });
  filter({});
}

void HelpPage::filter(const QString& query) {
  const QString before = shown_topic();
  std::vector<std::pair<int, const HelpTopic*>> found;
  for (const HelpTopic& topic : topics_) {
    if (const int score = relevance(topic, query); score > 0) found.push_back({score, &topic});
  }
  if (!query.trimmed().isEmpty()) {
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  }
  {
    const QSignalBlocker blocker(list_);
    list_->clear();
    for (const auto& [score, topic] : found) {
      auto* item = new QListWidgetItem(topic->title);
      item->setData(Qt::UserRole, topic->name);
      list_->addItem(item);
      if (topic->name == before && query.trimmed().isEmpty()) list_->setCurrentItem(item);
    }
    if (!list_->currentItem() && list_->count() > 0) list_->setCurrentRow(0);
  }
  show_current();
}

void HelpPage::show_current() {
  const QString name = shown_topic();
  const auto found = std::ranges::find(topics_, name, &HelpTopic::name);
  if (found == topics_.end()) {
    view_->setMarkdown(tr("Nothing in the manual speaks of “%1”.").arg(search_->text()));
    return;
  }
  // Written out of sight, where no line of it is laid out more than once.
  auto* document = new QTextDocument(view_);
  document->setUndoRedoEnabled(false);
  document->setDefaultFont(view_->font());
  document->setDocumentMargin(2 * Theme::grid);
  document->setMarkdown(found->text);
  set_type(*document, context().theme.colors());
  const QPointer<QTextDocument> before = view_->document();
  view_->setDocument(document);
  delete before;
  mark_found();
}

// Highlights every occurrence of the searched words and scrolls to the first.
void HelpPage::mark_found() {
  QList<QTextEdit::ExtraSelection> marks;
  QColor tint = context().theme.colors().warning;
  tint.setAlphaF(0.35F);
  for (const QString& word : search_->text().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    for (QTextCursor at = view_->document()->find(word); !at.isNull() && marks.size() < 500;
         at = view_->document()->find(word, at)) {
      QTextEdit::ExtraSelection mark;
      mark.cursor = at;
      mark.format.setBackground(tint);
      marks.append(mark);
    }
  }
  view_->setExtraSelections(marks);
  if (marks.isEmpty()) {
    view_->moveCursor(QTextCursor::Start);
  } else {
    QTextCursor first = marks.front().cursor;
    first.clearSelection();
    view_->setTextCursor(first);
    view_->ensureCursorVisible();
  }
}

// Lines of a readable length, however wide the window is.
void HelpPage::resizeEvent(QResizeEvent* event) {
  Page::resizeEvent(event);
  constexpr int kLineWidth = 104 * Theme::grid;
  view_->setLineWrapMode(view_->width() > kLineWidth ? QTextEdit::FixedPixelWidth : QTextEdit::WidgetWidth);
  view_->setLineWrapColumnOrWidth(kLineWidth);
}

void HelpPage::show_topic(const QString& topic) {
  const QString name = topic.section(QLatin1Char('#'), 0, 0), anchor = topic.section(QLatin1Char('#'), 1);
  search_->clear();
  for (int row = 0; row < list_->count(); ++row) {
    if (list_->item(row)->data(Qt::UserRole).toString() == name) list_->setCurrentRow(row);
  }
  if (!anchor.isEmpty()) {
    const QTextCursor at = view_->document()->find(anchor);
    if (!at.isNull()) {
      view_->setTextCursor(at);
      view_->ensureCursorVisible();
    }
  }
}

void HelpPage::focus_search() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

QString HelpPage::shown_topic() const {
  return list_->currentItem() ? list_->currentItem()->data(Qt::UserRole).toString() : QString();
}

int HelpPage::listed_topics() const {
  return list_->count();
}

}  // namespace lathe::ui
