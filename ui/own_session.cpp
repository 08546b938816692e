#include "ui/own_session.h"

#include <QMetaObject>
#include <cmath>
#include <utility>

#include "core/config/run_config.h"
#include "core/train/training_session.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {

OwnSession::OwnSession(std::filesystem::path home, const BackendRegistry& registry, QObject* parent)
    : QObject(parent), home_(std::move(home)), registry_(registry) {}

OwnSession::~OwnSession() = default;

OwnSession::State OwnSession::state() const {
  if (!session_) return State::None;
  switch (session_->state()) {
    case TrainingSession::State::Preparing:
      return State::Preparing;
    case TrainingSession::State::Running:
      return State::Running;
    case TrainingSession::State::Ended:
      return State::Ended;
  }
  return State::None;
}

bool OwnSession::active() const {
  return state() == State::Preparing || state() == State::Running;
}

QString OwnSession::run_id() const {
  return session_ ? to_qt(session_->run_id()) : QString();
}

std::optional<Error> OwnSession::error() const {
  return session_ ? session_->error() : std::nullopt;
}

RunControl* OwnSession::control() const {
  return active() ? &session_->control() : nullptr;
}

namespace {

void refuse_second(bool active) {
  if (!active) return;
  throw Error(ErrorCode::Busy, "This window already trains a run.",
              "Stop it first, or launch the new run in a process of its own.");
}

}  // namespace

void OwnSession::start(const RunConfig& config) {
  refuse_second(active());
  session_.reset();
  adopt(TrainingSession::start(home_, registry_, config, [this] {
    QMetaObject::invokeMethod(this, &OwnSession::look, Qt::QueuedConnection);
  }));
}

void OwnSession::resume(const QString& run, std::optional<qint64> step) {
  refuse_second(active());
  session_.reset();
  adopt(TrainingSession::resume(
      home_, registry_, to_std(run), step ? std::optional<int64_t>(*step) : std::nullopt,
      [this] { QMetaObject::invokeMethod(this, &OwnSession::look, Qt::QueuedConnection); }));
}

void OwnSession::set_telemetry_every(double seconds) {
  telemetry_every_s_ = seconds;
  if (session_) {
    session_->control().set_telemetry_every(std::chrono::milliseconds(std::llround(seconds * 1000)));
  }
}

void OwnSession::adopt(std::unique_ptr<TrainingSession> session) {
  session_ = std::move(session);
  set_telemetry_every(telemetry_every_s_);
  listed_ = ended_ = false;
  Q_EMIT changed();
}

void OwnSession::look() {
  if (!session_) return;
  if (!listed_ && !run_id().isEmpty()) {
    listed_ = true;
    Q_EMIT listed(run_id());
  }
  Q_EMIT changed();
  if (!ended_ && state() == State::Ended) {
    ended_ = true;
    Q_EMIT ended(run_id());
  }
}

}  // namespace lathe::ui
