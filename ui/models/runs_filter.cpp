#include "ui/models/runs_filter.h"

#include "ui/models/run_text.h"
#include "ui/models/runs_model.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

bool any_contains(const std::vector<std::string>& texts, const QString& word) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    return to_qt(text).contains(word, Qt::CaseInsensitive);
  });
}

bool matches(const ListedRun& run, const QString& word) {
  const auto in_field = [&](const char* name) -> std::optional<QString> {
    const QString prefix = QString::fromLatin1(name);
    return word.startsWith(prefix, Qt::CaseInsensitive) ? std::optional(word.mid(prefix.size()))
                                                        : std::nullopt;
  };
  if (const auto wanted = in_field("status:"))
    return status_text(run.status).startsWith(*wanted, Qt::CaseInsensitive);
  if (const auto wanted = in_field("tag:")) return any_contains(run.tags, *wanted);
  return any_contains({run.name, run.id, run.notes, run.device}, word) || any_contains(run.tags, word) ||
         status_text(run.status).contains(word, Qt::CaseInsensitive);
}

}  // namespace

RunsFilter::RunsFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(kSortRole);
  setSortCaseSensitivity(Qt::CaseInsensitive);
  setSortLocaleAware(true);
}

void RunsFilter::set_text(const QString& text) {
  words_ = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  invalidateFilter();
}

void RunsFilter::set_show_archived(bool on) {
  show_archived_ = on;
  invalidateFilter();
}

bool RunsFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const auto* model = static_cast<const RunsModel*>(sourceModel());
  const ListedRun& run = model->row(row);
  if (run.archived && !show_archived_) return false;
  return std::all_of(words_.begin(), words_.end(), [&](const QString& word) { return matches(run, word); });
}

}  // namespace lathe::ui
