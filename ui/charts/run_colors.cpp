#include "ui/charts/run_colors.h"

#include <array>

namespace lathe::ui {

void RunColors::assign(const QStringList& runs) {
  constexpr int remembered = 200;
  std::array<QString, kSlots> taken;
  // Those who have a slot keep it first, so that a newcomer never pushes anybody out.
  for (const QString& run : runs) {
    const auto known = slots_.constFind(run);
    if (known != slots_.constEnd() && taken[static_cast<size_t>(*known)].isEmpty()) {
      taken[static_cast<size_t>(*known)] = run;
    }
  }
  for (const QString& run : runs) {
    const auto known = slots_.constFind(run);
    if (known != slots_.constEnd() && taken[static_cast<size_t>(*known)] == run) continue;
    for (size_t slot = 0; slot < taken.size(); ++slot) {
      if (!taken[slot].isEmpty()) continue;
      taken[slot] = run;
      slots_[run] = static_cast<int>(slot);
      order_.removeAll(run);
      order_ << run;
      break;
    }
  }
  while (order_.size() > remembered) slots_.remove(order_.takeFirst());
}

int RunColors::slot(const QString& run) const {
  return slots_.value(run, 0);
}

Qt::PenStyle RunColors::pen(int slot) {
  return slot < kSlots / 2 ? Qt::SolidLine : Qt::DashLine;
}

QJsonObject RunColors::state() const {
  QJsonObject state;
  for (const QString& run : order_) state[run] = slots_.value(run);
  return state;
}

void RunColors::restore(const QJsonObject& state) {
  for (auto it = state.begin(); it != state.end(); ++it) {
    const int slot = it.value().toInt(-1);
    if (slot < 0 || slot >= kSlots) continue;
    slots_[it.key()] = slot;
    order_ << it.key();
  }
}

}  // namespace lathe::ui
