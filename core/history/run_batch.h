// What waits to be committed: a batch for the run's own file, and one for the catalogue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/metrics.h"
#include "core/history/run_types.h"

namespace lathe {

class Database;

// Rows in the order they came, within each kind.
struct RunBatch {
  std::vector<UpdateRow> updates;
  std::vector<EvaluationRow> evaluations;
  std::vector<GroupRow> groups;
  std::vector<TelemetryRow> telemetry;
  std::vector<EventRow> events;    // ids and sessions are given on writing
  std::vector<SampleRow> samples;  // likewise
  std::optional<LiveState> live;   // the newest only

  bool empty() const;
  size_t rows() const { return updates.size() + evaluations.size() + groups.size() + telemetry.size(); }
  void take(RunBatch& newer);  // appends what `newer` holds and empties it
};

// What the catalogue is to learn besides a run's progress.
struct CatalogueBatch {
  struct CheckpointChange {
    CheckpointRow checkpoint;
    bool put;  // false: remove
  };
  struct Answer {
    int64_t command;
    std::string text;
    bool done;
  };
  std::optional<RunInfo> info;
  std::optional<RunStatus> status;
  std::vector<CheckpointChange> checkpoints;
  std::vector<Answer> answers;

  bool empty() const;
  void take(CatalogueBatch& newer);
  // Not one transaction: every part may be written twice, so that after a failure in between the whole is
  // written again.
  void write(const Database& catalogue, std::string_view run) const;
};

}  // namespace lathe
