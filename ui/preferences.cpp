#include "ui/preferences.h"

#include <algorithm>

#include "ui/text.h"

namespace lathe::ui {
namespace {

QString file_of(const std::filesystem::path& home) {
  return to_qt(home / "preferences.ini");
}

double sane_scale(double scale) {
  return scale > 0 ? std::clamp(scale, 0.75, 3.0) : 1.0;
}

}  // namespace

Preferences::Preferences(const std::filesystem::path& home, QObject* parent)
    : QObject(parent), home_(to_qt(home)), settings_(file_of(home), QSettings::IniFormat) {}

Appearance Preferences::appearance() const {
  const QString name = value(QStringLiteral("appearance")).toString();
  if (name == QLatin1String("light")) return Appearance::Light;
  if (name == QLatin1String("dark")) return Appearance::Dark;
  return Appearance::System;
}

void Preferences::set_appearance(Appearance appearance) {
  set_typed(QStringLiteral("appearance"), appearance == Appearance::Light  ? QStringLiteral("light")
                                          : appearance == Appearance::Dark ? QStringLiteral("dark")
                                                                           : QStringLiteral("system"));
}

double Preferences::scale() const {
  return sane_scale(value(QStringLiteral("scale"), 1.0).toDouble());
}

void Preferences::set_scale(double scale) {
  set_typed(QStringLiteral("scale"), sane_scale(scale));
}

QString Preferences::data_folder() const {
  return value(QStringLiteral("data_folder"), home_ + QStringLiteral("/datasets")).toString();
}

void Preferences::set_data_folder(const QString& folder) {
  set_typed(QStringLiteral("data_folder"), folder);
}

bool Preferences::notifications() const {
  return value(QStringLiteral("notifications"), true).toBool();
}

void Preferences::set_notifications(bool on) {
  set_typed(QStringLiteral("notifications"), on);
}

bool Preferences::keep_awake() const {
  return value(QStringLiteral("keep_awake"), true).toBool();
}

void Preferences::set_keep_awake(bool on) {
  set_typed(QStringLiteral("keep_awake"), on);
}

bool Preferences::own_process() const {
  return value(QStringLiteral("new/run_in"), 0).toInt() == 1;
}

void Preferences::set_own_process(bool on) {
  set_typed(QStringLiteral("new/run_in"), on ? 1 : 0);
}

double Preferences::telemetry_every_s() const {
  const double seconds = value(QStringLiteral("telemetry_every_s"), 1.0).toDouble();
  return seconds > 0 ? std::clamp(seconds, 0.1, 3600.0) : 1.0;
}

void Preferences::set_telemetry_every_s(double seconds) {
  set_typed(QStringLiteral("telemetry_every_s"), seconds);
}

QVariant Preferences::value(const QString& key, const QVariant& otherwise) const {
  return settings_.value(key, otherwise);
}

void Preferences::set_value(const QString& key, const QVariant& value) {
  settings_.setValue(key, value);
}

void Preferences::set_typed(const QString& key, const QVariant& value) {
  settings_.setValue(key, value);
  Q_EMIT changed();
}

double stored_scale(const std::filesystem::path& home) {
  const QSettings settings(file_of(home), QSettings::IniFormat);
  return sane_scale(settings.value(QStringLiteral("scale"), 1.0).toDouble());
}

}  // namespace lathe::ui
