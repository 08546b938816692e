// The run that trains on a thread of this window, as the GUI thread sees it. At most one at a time; numbers
// come through the history, only state, end and errors come from here.
#pragma once

#include <QObject>
#include <QString>
#include <filesystem>
#include <memory>
#include <optional>

#include "kernels/api/backend.h"

namespace lathe {
class Error;
class RunControl;
struct RunConfig;
class TrainingSession;
}  // namespace lathe

namespace lathe::ui {

class OwnSession : public QObject {
  Q_OBJECT
 public:
  // `registry` must outlive this.
  OwnSession(std::filesystem::path home, const BackendRegistry& registry, QObject* parent = nullptr);
  ~OwnSession() override;  // stops now and waits; ask control()->stop() and wait for ended() to save first

  enum class State { None, Preparing, Running, Ended };
  State state() const;
  bool active() const;     // preparing or running
  QString run_id() const;  // empty before the run is listed
  std::optional<Error> error() const;

  // Each throws Error Busy while a run is active; failures later arrive through ended().
  void start(const RunConfig& config);
  void resume(const QString& run, std::optional<qint64> step = std::nullopt);

  // Between readings of the device, of this run and those that follow.
  void set_telemetry_every(double seconds);

  // Requests to the training thread; null when nothing is active.
  RunControl* control() const;

 Q_SIGNALS:
  void changed();                      // state() or run_id() changed
  void listed(const QString& run_id);  // the run is in the history from now on
  void ended(const QString& run_id);   // error() says whether well

 private:
  void adopt(std::unique_ptr<TrainingSession> session);
  void look();

  std::filesystem::path home_;
  const BackendRegistry& registry_;
  std::unique_ptr<TrainingSession> session_;
  double telemetry_every_s_ = 1;
  bool listed_ = false;
  bool ended_ = false;
};

}  // namespace lathe::ui
