#include "ui/pages/new_changes_model.h"

#include <QFont>
#include <algorithm>
#include <cmath>

#include "ui/text.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

QString signed_text(double value, const QString& magnitude) {
  return (value < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + magnitude;
}

}  // namespace

ChangesModel::ChangesModel(const Theme& theme, QObject* parent)
    : QAbstractTableModel(parent), theme_(theme) {}

void ChangesModel::set_changes(std::vector<ProposedChange> changes) {
  beginResetModel();
  changes_ = std::move(changes);
  endResetModel();
}

bool ChangesModel::shows_speed() const {
  return std::ranges::any_of(changes_, [](const ProposedChange& change) { return change.speed != 0; });
}

int ChangesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(changes_.size());
}

int ChangesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ChangesModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const ProposedChange& change = at(index.row());
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) {
    switch (index.column()) {
      case kName:
        // A set of changes is a line for each.
        return change_text(change).replace(QStringLiteral(" + "), QStringLiteral("\n+ ")) +
               (change.changes_maths ? QStringLiteral("\u00A0*") : QString());
      case kMemory:
        return signed_text(static_cast<double>(change.memory_bytes),
                           bytes_text(std::abs(change.memory_bytes)));
      case kWork: {
        const double value = shows_speed() ? change.speed : change.work;
        if (std::abs(value) < 0.0005) return tr("same");
        return signed_text(value, percent_text(std::abs(value), 1));
      }
      case kVerdict:
        switch (change.verdict) {
          case Verdict::Fits:
            return tr("fits");
          case Verdict::Tight:
            return tr("tight");
          case Verdict::DoesNotFit:
            return tr("too large");
          case Verdict::Unknown:
            return no_value();
        }
        return {};
      default:
        return {};
    }
  }
  if (role == Qt::FontRole && change.combined) {
    QFont bold;
    bold.setWeight(QFont::DemiBold);
    return bold;
  }
  if (role == Qt::TextAlignmentRole) {
    return QVariant(index.column() == kName ? Qt::AlignLeft | Qt::AlignVCenter
                                            : Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role == Qt::ForegroundRole) {
    const Colors& colors = theme_.colors();
    if (index.column() == kMemory) return change.memory_bytes < 0 ? colors.good : colors.text;
    const double gain = shows_speed() ? change.speed : -change.work;
    if (index.column() == kWork && std::abs(gain) >= 0.0005) return gain > 0 ? colors.good : colors.warning;
    if (index.column() == kVerdict) {
      return change.verdict == Verdict::DoesNotFit ? colors.bad
             : change.verdict == Verdict::Tight    ? colors.warning
                                                   : colors.good;
    }
  }
  if (role == Qt::ToolTipRole) {
    return change.changes_maths
               ? tr("* This changes the numbers of training itself, not only memory and speed.")
               : tr("The same training within rounding; only memory and speed change.");
  }
  return {};
}

QVariant ChangesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant(section == kName ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignRight | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kMemory:
        return tr("Change of the process's planned memory");
      case kWork:
        return shows_speed() ? tr("Change of the predicted tokens/s")
                             : tr("Change of the executed FLOPs for each token, recomputation included");
      case kVerdict:
        return tr("The verdict after this change");
      default:
        return tr("Double-click, or Enter, applies a change; Undo takes it back.");
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kName:
      return tr("Change");
    case kMemory:
      return tr("Memory");
    case kWork:
      return shows_speed() ? tr("Speed") : tr("Work");
    case kVerdict:
      return tr("Verdict");
    default:
      return {};
  }
}

}  // namespace lathe::ui
