#include "ui/models/runs_model.h"

#include <QFont>
#include <QPixmap>
#include <cmath>
#include <limits>

#include "ui/charts/chart_types.h"
#include "ui/models/run_text.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

using Columns = std::vector<RowsModel<ListedRun>::Column>;

QVariant sortable(const std::optional<double>& value) {
  return value && !std::isnan(*value) ? *value : std::numeric_limits<double>::infinity();
}

QVariant sortable(const std::optional<int64_t>& value) {
  return value ? static_cast<double>(*value) : std::numeric_limits<double>::infinity();
}

QString rate_text(const std::optional<double>& value) {
  return value ? quantity_text(*value, Quantity::Count) : no_value();
}

QString joined(const std::vector<std::string>& texts) {
  QStringList list;
  for (const std::string& text : texts) list << to_qt(text);
  return list.join(QStringLiteral(", "));
}

QString first_line(const std::string& text) {
  return to_qt(std::string_view(text).substr(0, text.find('\n')));
}

Columns make_columns() {
  const auto tr = [](const char* text) { return RunsModel::tr(text); };
  using Run = const ListedRun&;
  return {
      {tr("Run"),
       tr("Name. Tick a run to open it; tick up to ten to lay them over one another"),
       false,
       [](Run run) { return to_qt(run.name); },
       {},
       [](Run run) { return run_title(run); }},
      {tr("Status"),
       tr("What the run is doing, or how it ended"),
       false,
       [](Run run) { return status_text(run.status); },
       {},
       [](Run run) { return to_qt(run.status_reason); }},
      {tr("Loss"), tr("Training loss over the whole run"), false, [](Run) { return QString(); },
       [](Run run) { return sortable(run.last_loss); },
       [](Run run) {
         return RunsModel::tr("Training loss: best %1, last %2")
             .arg(optional_text(run.best_loss, 4), optional_text(run.last_loss, 4));
       }},
      {tr("Step"), tr("Updates made"), true, [](Run run) { return count_text(run.step); },
       [](Run run) { return static_cast<qlonglong>(run.step); }},
      {tr("Best loss"), tr("Smallest training loss, nats/token"), true,
       [](Run run) { return optional_text(run.best_loss, 4); },
       [](Run run) { return sortable(run.best_loss); }},
      {tr("Last loss"), tr("Training loss of the last update, nats/token"), true,
       [](Run run) { return optional_text(run.last_loss, 4); },
       [](Run run) { return sortable(run.last_loss); }},
      {tr("Validation"), tr("Last loss on the first validation set, nats/token"), true,
       [](Run run) { return optional_text(run.last_eval_loss, 4); },
       [](Run run) { return sortable(run.last_eval_loss); }},
      {tr("Tokens/s"), tr("Nominal, step only: median of the last 64 updates"), true,
       [](Run run) { return rate_text(run.tokens_per_s); },
       [](Run run) { return sortable(run.tokens_per_s); }},
      {tr("Predicted"), tr("Tokens/s predicted before launch: nominal, step only"), true,
       [](Run run) { return rate_text(run.predicted_tokens_per_s); },
       [](Run run) { return sortable(run.predicted_tokens_per_s); }},
      {tr("Peak"), tr("Largest memory the process held on the device"), true,
       [](Run run) { return optional_bytes(run.measured_peak_bytes); },
       [](Run run) { return sortable(run.measured_peak_bytes); }},
      {tr("Planned"), tr("Peak memory promised before launch"), true,
       [](Run run) { return optional_bytes(run.planned_peak_bytes); },
       [](Run run) { return sortable(run.planned_peak_bytes); }},
      {tr("Time"), tr("Time spent training, pauses left out"), true,
       [](Run run) {
         return run.active_ms > 0 ? duration_text(static_cast<double>(run.active_ms) / 1000) : no_value();
       },
       [](Run run) { return static_cast<qlonglong>(run.active_ms); }},
      {tr("Tokens"), tr("Positions consumed, nominal"), true,
       [](Run run) { return quantity_text(static_cast<double>(run.tokens), Quantity::Count); },
       [](Run run) { return static_cast<qlonglong>(run.tokens); }},
      {tr("Created"), tr("When the run was made"), false,
       [](Run run) { return date_time_text(run.created_ms); },
       [](Run run) { return static_cast<qlonglong>(run.created_ms); }},
      {tr("Tags"),
       {},
       false,
       [](Run run) { return joined(run.tags); },
       {},
       [](Run run) { return joined(run.tags); }},
      {tr("Notes"),
       {},
       false,
       [](Run run) { return first_line(run.notes); },
       {},
       [](Run run) { return to_qt(run.notes); }},
      {tr("Device"),
       tr("What the run trains or trained on"),
       false,
       [](Run run) { return to_qt(run.device); },
       {},
       [](Run run) { return to_qt(run.device); }},
      {tr("Id"), tr("What the command line calls the run"), false, [](Run run) { return to_qt(run.id); }},
  };
}

bool same(const ListedRun& a, const ListedRun& b) {
  return a.name == b.name && a.status == b.status && a.step == b.step && a.tokens == b.tokens &&
         a.active_ms == b.active_ms && a.archived == b.archived && a.tags == b.tags && a.notes == b.notes &&
         a.last_loss == b.last_loss && a.last_eval_loss == b.last_eval_loss &&
         a.tokens_per_s == b.tokens_per_s && a.status_reason == b.status_reason &&
         a.measured_peak_bytes == b.measured_peak_bytes && a.last_checkpoint_step == b.last_checkpoint_step &&
         a.device == b.device && a.planned_peak_bytes == b.planned_peak_bytes &&
         a.finished_ms == b.finished_ms;
}

}  // namespace

RunsModel::RunsModel(QObject* parent) : RowsModel(make_columns(), parent) {}

void RunsModel::set_runs(const std::vector<ListedRun>& runs) {
  QSet<QString> there;
  for (const ListedRun& run : runs) there.insert(to_qt(run.id));
  for (int row = rowCount() - 1; row >= 0; --row) {
    if (there.contains(to_qt(this->row(row).id))) continue;
    beginRemoveRows({}, row, row);
    rows_.erase(rows_.begin() + row);
    endRemoveRows();
  }
  if (rows_.empty() && !runs.empty()) {
    beginInsertRows({}, 0, static_cast<int>(runs.size()) - 1);
    rows_ = runs;
    endInsertRows();
  }
  // The list is ordered by creation, which never changes: what isn't where it belongs is new.
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i < rows_.size() && rows_[i].id == runs[i].id) {
      if (!same(rows_[i], runs[i])) update_row(static_cast<int>(i), runs[i]);
      continue;
    }
    beginInsertRows({}, static_cast<int>(i), static_cast<int>(i));
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(i), runs[i]);
    endInsertRows();
  }
  QStringList kept;
  for (const QString& id : ticked_) {
    if (there.contains(id)) kept << id;
  }
  if (kept != ticked_) {
    ticked_ = kept;
    Q_EMIT ticked_changed(ticked_);
  }
}

int RunsModel::row_of(const QString& id) const {
  const std::string wanted = to_std(id);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].id == wanted) return static_cast<int>(i);
  }
  return -1;
}

const ListedRun* RunsModel::find(const QString& id) const {
  const int row = row_of(id);
  return row < 0 ? nullptr : &rows_[static_cast<size_t>(row)];
}

void RunsModel::row_changed(const QString& id) {
  const int row = row_of(id);
  if (row >= 0) Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
}

void RunsModel::set_ticked(const QStringList& ids) {
  QStringList next;
  for (const QString& id : ids) {
    if (row_of(id) >= 0 && !next.contains(id) && next.size() < kMostTicked) next << id;
  }
  if (next == ticked_) return;
  const QStringList before = std::exchange(ticked_, next);
  Q_EMIT ticked_changed(ticked_);
  for (const QString& id : before + next) row_changed(id);
}

void RunsModel::set_color_of(std::function<QColor(const QString&)> color_of) {
  color_of_ = std::move(color_of);
  for (const QString& id : ticked_) row_changed(id);
}

void RunsModel::set_baseline(const QString& id) {
  const QString before = std::exchange(baseline_, id);
  row_changed(before);
  row_changed(id);
}

QVariant RunsModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const ListedRun& run = row(index.row());
  switch (role) {
    case kIdRole:
      return to_qt(run.id);
    case kStatusRole:
      return static_cast<int>(run.status);
    case kBaselineRole:
      return to_qt(run.id) == baseline_;
    case kSparklineRole:
      return QVariant::fromValue(QList<float>(run.sparkline.begin(), run.sparkline.end()));
    case Qt::CheckStateRole:
      if (index.column() != Name) return {};
      return ticked_.contains(to_qt(run.id)) ? Qt::Checked : Qt::Unchecked;
    case Qt::DecorationRole:
      if (index.column() == Name && color_of_ && ticked_.contains(to_qt(run.id)))
        return color_of_(to_qt(run.id));
      return {};
    case Qt::EditRole:
      if (index.column() == Name) return to_qt(run.name);
      return {};
    case Qt::FontRole: {
      QFont font;
      if (index.column() == Name && to_qt(run.id) == baseline_) {
        font.setBold(true);
        return font;
      }
      if (run.archived) {
        font.setItalic(true);
        return font;
      }
      return {};
    }
    case Qt::AccessibleTextRole:
      if (index.column() == Curve) return tr("last loss %1").arg(optional_text(run.last_loss, 4));
      if (index.column() == Name && to_qt(run.id) == baseline_)
        return tr("%1, baseline").arg(to_qt(run.name));
      return RowsModel::data(index, Qt::DisplayRole);
    default:
      return RowsModel::data(index, role);
  }
}

bool RunsModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid) || index.column() != Name) return false;
  const QString id = to_qt(row(index.row()).id);
  if (role == Qt::EditRole) {
    const QString name = value.toString().trimmed();
    if (name != to_qt(row(index.row()).name)) Q_EMIT rename_wanted(id, name);
    return true;
  }
  if (role != Qt::CheckStateRole) return false;
  QStringList next = ticked_;
  if (value.toInt() == Qt::Checked) {
    if (next.size() == kMostTicked) {
      Q_EMIT too_many_ticked();
      return false;
    }
    next << id;
  } else {
    next.removeAll(id);
  }
  set_ticked(next);
  return true;
}

Qt::ItemFlags RunsModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = RowsModel::flags(index);
  return index.isValid() && index.column() == Name ? flags | Qt::ItemIsUserCheckable | Qt::ItemIsEditable
                                                   : flags;
}

}  // namespace lathe::ui
