#include "ui/devices.h"

#include <QProcess>
#include <utility>

#include "ui/launch.h"

namespace lathe::ui {

Devices::Devices(QObject* parent) : QObject(parent) {}

QString probe_in_child(const QString& program, const QStringList& arguments) {
  QProcess child;
  child.setStandardInputFile(QProcess::nullDevice());
  child.setProcessChannelMode(QProcess::MergedChannels);
  child.start(program, arguments);
  if (!child.waitForStarted(5000)) return {};
  constexpr int kPatienceMs = 30000;
  if (!child.waitForFinished(kPatienceMs)) {
    child.kill();
    child.waitForFinished(1000);
    return Devices::tr("The driver did not answer within %1 s.").arg(kPatienceMs / 1000);
  }
  // An exit code says that something is in the way, in words that System shows; only a crash is dangerous.
  if (child.exitStatus() == QProcess::NormalExit) return {};
  return Devices::tr("Asking the driver crashed the process that tried: %1")
      .arg(QString::fromUtf8(child.readAll()).right(400).simplified());
}

namespace {

QString program_or_nothing() {
  try {
    return lathe_program();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void Devices::check(std::function<BackendRegistry()> make, std::function<BackendRegistry()> make_safe) {
  job_.run(
      [make = std::move(make), make_safe = std::move(make_safe)] {
        const QString program = program_or_nothing();
        const QString broken =
            program.isEmpty() ? QString()
                              : probe_in_child(program, {QStringLiteral("doctor"), QStringLiteral("--probe"),
                                                         QStringLiteral("cuda"), QStringLiteral("--quick")});
        if (broken.isEmpty()) return make();
        BackendRegistry registry = make_safe();
        registry.insert(registry.begin(), BackendEntry{"cuda", nullptr, broken.toStdString()});
        return registry;
      },
      [this](BackendRegistry registry) { set(std::move(registry)); });
}

void Devices::set(BackendRegistry registry) {
  registry_ = std::move(registry);
  ready_ = true;
  Q_EMIT ready_changed();
}

}  // namespace lathe::ui
