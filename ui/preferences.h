// What the user likes: a small file, preferences.ini, in the home folder. Written at once, read once.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QSettings>
#include <QString>
#include <QVariant>
#include <filesystem>

namespace lathe::ui {

enum class Appearance { System, Light, Dark };

class Preferences : public QObject {
  Q_OBJECT
 public:
  explicit Preferences(const std::filesystem::path& home, QObject* parent = nullptr);

  Appearance appearance() const;
  void set_appearance(Appearance appearance);
  // Factor on the system's own scale, 0.75 to 3; takes effect at the next start. WSLg has no fractional
  // scaling.
  double scale() const;
  void set_scale(double scale);
  QString data_folder() const;  // where new datasets go; default: datasets/ in the home folder
  void set_data_folder(const QString& folder);
  bool notifications() const;
  void set_notifications(bool on);
  bool keep_awake() const;  // no sleep of the computer while training
  void set_keep_awake(bool on);
  bool own_process() const;  // runs train in a process of their own, not in the window
  void set_own_process(bool on);
  double telemetry_every_s() const;  // between readings of the device while training
  void set_telemetry_every_s(double seconds);

  // The state a page remembers, under a key of its own: "runs/columns".
  QVariant value(const QString& key, const QVariant& otherwise = {}) const;
  void set_value(const QString& key, const QVariant& value);

 Q_SIGNALS:
  void changed();  // one of the typed preferences

 private:
  void set_typed(const QString& key, const QVariant& value);

  QString home_;
  QSettings settings_;
};

// The scale preference of a home folder before there is an application object (the factor is read by Qt
// then).
double stored_scale(const std::filesystem::path& home);

}  // namespace lathe::ui
