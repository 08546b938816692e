// Where the time of a step goes: each op timed on the device beside its floor, and what is idle.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/experiment/benchmark.h"
#include "core/program/calibration.h"
#include "core/program/cost_model.h"
#include "core/train/training_run.h"

namespace lathe {

struct OpTime {
  int op = 0;  // index in the sequence
  OpKind kind = OpKind::Fill;
  int layer = kNone;
  Phase phase = Phase::Forward;
  double ms = 0;  // median over the repetitions
  double floor_ms =
      0;  // FLOPs over the rate or bytes over the bandwidth, whichever is longer; 0: no rates known
  double flops = 0, bytes = 0;
};

struct SequenceProfile {
  SequenceId sequence = SequenceId::MicroRest;
  std::vector<OpTime> ops;
  double sum_ms = 0;   // of the ops
  double wall_ms = 0;  // of the sequence in lasting training; of a micro-step the mean over an update
  // 1 - sum/wall: time in which no op ran. Negative where ops overlap or run faster in the graph.
  double idle_share() const { return wall_ms > 0 ? 1 - sum_ms / wall_ms : 0; }
};

struct Profile {
  std::string device;
  GpuRates rates;                          // behind the floors
  std::vector<SequenceProfile> sequences;  // micro-step and update
};

struct ProfileRequest {
  UpdateLoad load{.warmup_updates = 1, .updates = 2, .seconds = 4};
  int repetitions = 5;  // of each op; the median counts
};

// Times a micro-step and the update of a prepared training model on random tokens.
Profile profile_model(PreparedModel& model, const CostModel& costs, const ProfileRequest& request = {});

// Adds every op's time and both sequences' to what is known of this GPU.
void add_to_calibration(const PreparedModel& model, const Profile& profile, Calibration& calibration);

// What people read: sums by kind of op, longest first, or by layer or phase, in their order.
enum class ProfileBy { Kind, Layer, Phase };
struct ProfileRow {
  std::string name;  // "linear (recomputed)", "layer 3", "backward"
  int count = 0;
  double ms = 0, floor_ms = 0;
};
std::vector<ProfileRow> profile_rows(const SequenceProfile& profile, ProfileBy by);

nlohmann::ordered_json to_json(const Profile& profile);
// The file a run folder holds after `lathe profile --run`. Throws NotFound; CorruptFile when it is none.
inline constexpr const char* kProfileFile = "profile.json";
Profile read_profile(const std::filesystem::path& file);

}  // namespace lathe
