#include "ui/models/comparison_models.h"

#include <QFont>
#include <QLocale>
#include <algorithm>
#include <cmath>

#include "core/config/setting_info.h"
#include "ui/charts/chart_types.h"
#include "ui/models/run_text.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

size_t index_of(const Comparison& comparison, const QString& run) {
  const auto found = std::ranges::find(comparison.outcomes, to_std(run), &RunOutcome::id);
  return found == comparison.outcomes.end() ? 0 : static_cast<size_t>(found - comparison.outcomes.begin());
}

QString signed_text(double value, int decimals, const QString& unit = {}) {
  const QString sign = value > 0   ? QStringLiteral("+")
                       : value < 0 ? QStringLiteral("−")
                                   : QStringLiteral("±");
  return sign + number_text(std::abs(value), decimals) + unit;
}

QFont bold() {
  QFont font;
  font.setBold(true);
  return font;
}

}  // namespace

SettingsDiffModel::SettingsDiffModel(QObject* parent) : QAbstractTableModel(parent) {}

void SettingsDiffModel::set_comparison(const Comparison& comparison, const QString& baseline) {
  beginResetModel();
  comparison_ = comparison;
  baseline_ = static_cast<int>(index_of(comparison, baseline));
  endResetModel();
}

int SettingsDiffModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(comparison_.settings.size());
}

int SettingsDiffModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 1 + static_cast<int>(comparison_.outcomes.size());
}

QVariant SettingsDiffModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto& setting = comparison_.settings[static_cast<size_t>(index.row())];
  if (index.column() == 0) {
    if (role == Qt::DisplayRole) return setting_label(setting.key);
    if (role == Qt::ToolTipRole) {
      const SettingInfo* info = find_setting(setting.key);
      return info == nullptr ? to_qt(setting.key) : to_qt(info->help);
    }
    return {};
  }
  const auto& text = setting.texts[static_cast<size_t>(index.column() - 1)];
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return text ? to_qt(*text) : no_value();
  if (role == Qt::FontRole && text != setting.texts[static_cast<size_t>(baseline_)]) return bold();
  return {};
}

QVariant SettingsDiffModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= columnCount()) {
    return QAbstractTableModel::headerData(section, orientation, role);
  }
  if (section == 0) return tr("Setting");
  const QString name = to_qt(comparison_.outcomes[static_cast<size_t>(section - 1)].name);
  return section - 1 == baseline_ ? tr("%1 (baseline)").arg(name) : name;
}

OutcomesModel::OutcomesModel(QObject* parent) : QAbstractTableModel(parent) {}

void OutcomesModel::set_comparison(const Comparison& comparison, const QString& baseline) {
  beginResetModel();
  comparison_ = comparison;
  baseline_ = index_of(comparison, baseline);
  endResetModel();
}

QString OutcomesModel::id_of(int row) const {
  return row < 0 || row >= rowCount() ? QString() : to_qt(comparison_.outcomes[static_cast<size_t>(row)].id);
}

int OutcomesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(comparison_.outcomes.size());
}

int OutcomesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(ColumnCount);
}

QString OutcomesModel::text(const RunOutcome& run, int column) const {
  const RunOutcome& base = comparison_.outcomes[baseline_];
  const bool is_base = &run == &base;
  const QString none = no_value();
  const QString percent = QStringLiteral("%");
  switch (column) {
    case Run:
      return is_base ? tr("%1 (baseline)").arg(to_qt(run.name)) : to_qt(run.name);
    case TokensPerSecond:
      return run.tokens_per_s_median ? quantity_text(*run.tokens_per_s_median, Quantity::Count) : none;
    case Spread:
      return run.tokens_per_s_spread ? QStringLiteral("± ") + number_text(*run.tokens_per_s_spread / 2, 0)
                                     : none;
    case Speedup:
      if (is_base || !run.tokens_per_s_median || !base.tokens_per_s_median || *base.tokens_per_s_median <= 0)
        return none;
      return signed_text((*run.tokens_per_s_median / *base.tokens_per_s_median - 1) * 100, 1, percent);
    case Memory:
      return optional_bytes(run.peak_memory_bytes);
    case MemoryDelta: {
      if (is_base || !run.peak_memory_bytes || !base.peak_memory_bytes) return none;
      const int64_t delta = *run.peak_memory_bytes - *base.peak_memory_bytes;
      const QString sign = delta < 0   ? QStringLiteral("−")
                           : delta > 0 ? QStringLiteral("+")
                                       : QStringLiteral("±");
      return sign + bytes_text(std::abs(delta));
    }
    case Loss:
      return optional_text(run.loss_at_equal_tokens, 4);
    case LossDelta:
      if (is_base || !run.loss_at_equal_tokens || !base.loss_at_equal_tokens) return none;
      return signed_text(*run.loss_at_equal_tokens - *base.loss_at_equal_tokens, 4);
    default:
      return {};
  }
}

QVariant OutcomesModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const RunOutcome& run = comparison_.outcomes[static_cast<size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text(run, index.column());
    case Qt::DecorationRole:
      return index.column() == Run && color_of_ ? QVariant(color_of_(to_qt(run.id))) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant((index.column() == Run ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::FontRole:
      return static_cast<size_t>(index.row()) == baseline_ ? QVariant(bold()) : QVariant();
    case Qt::ToolTipRole:
      if (index.column() == Memory) return memory_source_text(run.memory_source);
      return index.column() == Run ? to_qt(run.id) : QVariant();
    default:
      return {};
  }
}

QVariant OutcomesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return QAbstractTableModel::headerData(section, orientation, role);
  if (role == Qt::TextAlignmentRole) {
    return QVariant((section == Run ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  if (role == Qt::DisplayRole) {
    switch (section) {
      case Run:
        return tr("Run");
      case TokensPerSecond:
        return tr("Tokens/s");
      case Spread:
        return tr("Spread");
      case Speedup:
        return tr("Tokens/s vs baseline");
      case Memory:
        return tr("Peak memory");
      case MemoryDelta:
        return tr("Peak vs baseline");
      case Loss:
        return tr("Loss");
      case LossDelta:
        return tr("Loss vs baseline");
      default:
        return {};
    }
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case TokensPerSecond:
        return tr("Steady, nominal, step only: median over the updates after each session's warm-up");
      case Spread:
        return tr("Half the interquartile range");
      case Speedup:
        return tr("Tokens/s against the baseline");
      case Memory:
        return tr("Largest memory the process held on the device");
      case Loss:
        return tr("Mean training loss of the last 32 updates up to %1 tokens, which all runs have seen")
            .arg(count_text(comparison_.equal_tokens));
      default:
        return {};
    }
  }
  return {};
}

}  // namespace lathe::ui
