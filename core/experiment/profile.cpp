#include "core/experiment/profile.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "core/config/derived.h"
#include "core/experiment/benchmark.h"
#include "core/train/model_state.h"
#include "core/train/step_io.h"
#include "kernels/api/cost.h"

namespace lathe {

Profile profile_model(PreparedModel& model, const CostModel& costs, int repetitions) {
  using Clock = std::chrono::steady_clock;
  Profile result;
  result.device = model.device.name;
  result.rates = costs.rates();
  Executable& executable = *model.executable;
  initialise_weights(model.program, executable, model.config.run.seed);
  // A learning rate of zero: repeating the update changes nothing.
  write_step_scalars(model.program, executable, model.config, {tokens_per_update(model.config), 0, 1, 0, 1});
  write_random_batch(model.program, executable, model.config.model.vocab, 1);
  executable.wait(executable.run(SequenceId::MicroFirst));

  for (const SequenceId sequence : {SequenceId::MicroRest, SequenceId::Update}) {
    SequenceProfile profile;
    profile.sequence = sequence;
    std::vector<double> walls;
    executable.wait(executable.run(sequence));
    // Back to back, as in training: the device's queue never runs dry between two of them.
    for (int i = 0; i < repetitions; ++i) {
      constexpr int kBatch = 4;
      const auto start = Clock::now();
      Ticket last = 0;
      for (int j = 0; j < kBatch; ++j) last = executable.run(sequence);
      executable.wait(last);
      walls.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count() / kBatch);
    }
    profile.wall_ms = median(walls);

    const auto& ops = model.program.sequence(sequence).ops;
    std::vector<std::vector<double>> times(ops.size());
    for (int i = 0; i < repetitions; ++i) {
      const std::vector<double> once = executable.profile(sequence);
      for (size_t op = 0; op < ops.size(); ++op) times[op].push_back(once[op]);
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      const OpCost cost = op_cost(model.program, ops[i]);
      OpTime time;
      time.op = static_cast<int>(i);
      time.kind = ops[i].kind;
      time.layer = ops[i].layer;
      time.phase = ops[i].phase;
      time.ms = median(times[i]);
      time.floor_ms = costs.usable() ? 1000 * costs.floor_seconds(model.program, ops[i]) : 0;
      time.flops = cost.executed_flops;
      time.bytes = cost.bytes;
      profile.sum_ms += time.ms;
      profile.ops.push_back(time);
    }
    result.sequences.push_back(std::move(profile));
  }
  return result;
}

void add_to_calibration(const PreparedModel& model, const Profile& profile, Calibration& calibration) {
  for (const SequenceProfile& sequence : profile.sequences) {
    const auto& ops = model.program.sequence(sequence.sequence).ops;
    for (const OpTime& time : sequence.ops) {
      calibration.add(model.program, ops[static_cast<size_t>(time.op)], time.ms);
    }
    if (sequence.sequence == SequenceId::MicroRest && sequence.sum_ms > 0) {
      calibration.step_factor = sequence.wall_ms / sequence.sum_ms;
    }
  }
  const MemoryReport memory = model.executable->memory();
  if (memory.overhead_bytes > 0 && !memory.inferred) {
    calibration.overhead_bytes = std::max(calibration.overhead_bytes.value_or(0), memory.overhead_bytes);
  }
}

std::vector<ProfileRow> by_kind(const SequenceProfile& profile) {
  std::map<std::string, ProfileRow> rows;
  for (const OpTime& time : profile.ops) {
    std::string name(op_kind_name(time.kind));
    if (time.phase == Phase::Recompute) name += " (recomputed)";
    ProfileRow& row = rows[name];
    row.name = name;
    ++row.count;
    row.ms += time.ms;
    row.floor_ms += time.floor_ms;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(),
            [](const ProfileRow& a, const ProfileRow& b) { return a.ms > b.ms; });
  return sorted;
}

nlohmann::ordered_json to_json(const Profile& profile) {
  nlohmann::ordered_json json;
  json["device"] = profile.device;
  json["rates"] = {{"matrix_tflops", profile.rates.matrix_flops / 1e12},
                   {"attention_tflops", profile.rates.attention_flops / 1e12},
                   {"memory_gb_per_s", profile.rates.memory_bytes / 1e9}};
  json["sequences"] = nlohmann::ordered_json::array();
  for (const SequenceProfile& sequence : profile.sequences) {
    nlohmann::ordered_json out;
    out["sequence"] = sequence_name(sequence.sequence);
    out["wall_ms"] = sequence.wall_ms;
    out["sum_ms"] = sequence.sum_ms;
    out["idle_share"] = sequence.idle_share();
    out["ops"] = nlohmann::ordered_json::array();
    for (const OpTime& time : sequence.ops) {
      out["ops"].push_back({{"op", time.op},
                            {"kind", op_kind_name(time.kind)},
                            {"layer", time.layer},
                            {"phase", phase_name(time.phase)},
                            {"ms", time.ms},
                            {"floor_ms", time.floor_ms},
                            {"flops", time.flops},
                            {"bytes", time.bytes}});
    }
    json["sequences"].push_back(std::move(out));
  }
  return json;
}

}  // namespace lathe
