// Which of the theme's ten series colours a run wears: the same one in every chart and every session.
#pragma once

#include <QHash>
#include <QJsonObject>
#include <QString>
#include <QStringList>

namespace lathe::ui {

class RunColors {
 public:
  static constexpr int kSlots = 10;

  // Gives every run a slot of its own, up to kSlots runs. A run keeps the slot it once had unless another of
  // `runs` holds it. Call it with all the runs to be shown together, then ask slot().
  void assign(const QStringList& runs);
  int slot(const QString& run) const;  // 0 for a run never assigned
  static Qt::PenStyle pen(int slot);   // solid for the first five, dashed for the others: a
                                       // second sign for who can't tell the colours
  QJsonObject state() const;           // remembers the newest 200 runs
  void restore(const QJsonObject& state);

 private:
  QHash<QString, int> slots_;
  QStringList order_;  // oldest assignment first
};

}  // namespace lathe::ui
