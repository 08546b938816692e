// Linux desktops over D-Bus. Calls are asynchronous: a missing or hanging service never holds the window up.
#include <QDBusConnection>
#include <QDBusConnectionInterface>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusUnixFileDescriptor>
#include <QDBusVariant>
#include <QStringList>
#include <QVariantMap>

#include "ui/desktop/desktop_integration.h"

namespace lathe::ui {
namespace {

class DBusDesktop : public DesktopIntegration {
  Q_OBJECT
 public:
  DBusDesktop() {
    if (!session_.isConnected()) return;
    session_.connect(QString(), QStringLiteral("/org/freedesktop/portal/desktop"),
                     QStringLiteral("org.freedesktop.portal.Settings"), QStringLiteral("SettingChanged"),
                     this, SLOT(setting_changed(QString, QString, QDBusVariant)));
    QDBusMessage read = QDBusMessage::createMethodCall(
        QStringLiteral("org.freedesktop.portal.Desktop"), QStringLiteral("/org/freedesktop/portal/desktop"),
        QStringLiteral("org.freedesktop.portal.Settings"), QStringLiteral("Read"));
    read << QStringLiteral("org.freedesktop.appearance") << QStringLiteral("color-scheme");
    answer(session_.asyncCall(read, kTimeoutMs), [this](const QDBusMessage& reply) {
      if (reply.type() != QDBusMessage::ReplyMessage || reply.arguments().isEmpty()) return;
      // Read wraps the value in a variant of a variant.
      const QVariant outer = reply.arguments().constFirst().value<QDBusVariant>().variant();
      take_scheme(outer.canConvert<QDBusVariant>() ? outer.value<QDBusVariant>().variant() : outer);
    });
  }

  void notify(const Notification& notification) override {
    if (!session_.isConnected()) return;
    QDBusMessage call = QDBusMessage::createMethodCall(
        QStringLiteral("org.freedesktop.Notifications"), QStringLiteral("/org/freedesktop/Notifications"),
        QStringLiteral("org.freedesktop.Notifications"), QStringLiteral("Notify"));
    QVariantMap hints{
        {QStringLiteral("desktop-entry"), QStringLiteral("lathe-workbench")},
        {QStringLiteral("urgency"), QVariant::fromValue(static_cast<uchar>(notification.urgent ? 2 : 1))}};
    call << QStringLiteral("Lathe") << 0U << QStringLiteral("lathe") << notification.title
         << notification.text.toHtmlEscaped() << QStringList() << hints << -1;
    session_.asyncCall(call, kTimeoutMs);
  }

  void set_progress(std::optional<double> fraction) override {
    if (!session_.isConnected()) return;
    QDBusMessage signal = QDBusMessage::createSignal(QStringLiteral("/org/lathe/workbench"),
                                                     QStringLiteral("com.canonical.Unity.LauncherEntry"),
                                                     QStringLiteral("Update"));
    signal << QStringLiteral("application://lathe-workbench.desktop")
           << QVariantMap{{QStringLiteral("progress"), fraction.value_or(0)},
                          {QStringLiteral("progress-visible"), fraction.has_value()}};
    session_.send(signal);
  }

  // The inhibition holds as long as the descriptor that logind answers with is open.
  void inhibit_sleep(const QString& reason) override {
    wanted_ = true;
    QDBusConnection system = QDBusConnection::systemBus();
    if (!system.isConnected() || inhibitor_.isValid()) return;
    QDBusMessage call = QDBusMessage::createMethodCall(
        QStringLiteral("org.freedesktop.login1"), QStringLiteral("/org/freedesktop/login1"),
        QStringLiteral("org.freedesktop.login1.Manager"), QStringLiteral("Inhibit"));
    call << QStringLiteral("sleep:idle") << QStringLiteral("Lathe") << reason << QStringLiteral("block");
    answer(system.asyncCall(call, kTimeoutMs), [this](const QDBusMessage& reply) {
      if (reply.type() != QDBusMessage::ReplyMessage || reply.arguments().isEmpty()) return;
      if (wanted_) inhibitor_ = reply.arguments().constFirst().value<QDBusUnixFileDescriptor>();
    });
  }

  void release_sleep() override {
    wanted_ = false;
    inhibitor_ = QDBusUnixFileDescriptor();
  }

  bool sleep_inhibited() const override { return inhibitor_.isValid(); }
  std::optional<bool> prefers_dark() const override { return dark_; }

  QStringList abilities() const override {
    const bool bus = session_.isConnected();
    return {
        tr("Session bus: %1").arg(bus ? tr("connected") : tr("none; notifications stay inside the window")),
        tr("No sleep while training: %1")
            .arg(QDBusConnection::systemBus().isConnected() ? tr("asked of logind")
                                                            : tr("not possible here (no system bus)")),
        tr("Light or dark: %1").arg(dark_ ? tr("from the desktop portal") : tr("not told by the desktop"))};
  }

 private Q_SLOTS:
  void setting_changed(const QString& space, const QString& key, const QDBusVariant& value) {
    if (space == QLatin1String("org.freedesktop.appearance") && key == QLatin1String("color-scheme")) {
      take_scheme(value.variant());
    }
  }

 private:
  static constexpr int kTimeoutMs = 2000;

  template <class Function>
  void answer(const QDBusPendingCall& call, Function function) {
    auto* watcher = new QDBusPendingCallWatcher(call, this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [watcher, function] {
      function(watcher->reply());
      watcher->deleteLater();
    });
  }

  // 1: prefers dark, 2: prefers light, 0: no preference.
  void take_scheme(const QVariant& value) {
    const uint scheme = value.toUInt();
    const std::optional<bool> dark = scheme == 0 ? std::nullopt : std::optional(scheme == 1);
    if (dark == dark_) return;
    dark_ = dark;
    Q_EMIT appearance_changed();
  }

  QDBusConnection session_ = QDBusConnection::sessionBus();
  std::optional<bool> dark_;
  QDBusUnixFileDescriptor inhibitor_;
  bool wanted_ = false;
};

}  // namespace

std::unique_ptr<DesktopIntegration> make_desktop_integration() {
  return std::make_unique<DBusDesktop>();
}

}  // namespace lathe::ui

#include "desktop_dbus.moc"
