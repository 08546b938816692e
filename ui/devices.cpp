#include "ui/devices.h"

#include <utility>

namespace lathe::ui {

Devices::Devices(QObject* parent) : QObject(parent) {}

void Devices::check(std::function<BackendRegistry()> make) {
  job_.run(std::move(make), [this](BackendRegistry registry) { set(std::move(registry)); });
}

void Devices::set(BackendRegistry registry) {
  registry_ = std::move(registry);
  ready_ = true;
  Q_EMIT ready_changed();
}

}  // namespace lathe::ui
