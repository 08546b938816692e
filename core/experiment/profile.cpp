#include "core/experiment/profile.h"

#include <algorithm>
#include <map>

#include "core/config/derived.h"
#include "core/experiment/benchmark.h"
#include "core/platform/files.h"
#include "core/platform/json.h"
#include "core/train/model_state.h"
#include "kernels/api/cost.h"
#include "kernels/api/error.h"

namespace lathe {

Profile profile_model(PreparedModel& model, const CostModel& costs, const ProfileRequest& request) {
  Profile result;
  result.device = model.device.name;
  result.rates = costs.rates();
  Executable& executable = *model.executable;
  initialise_weights(model.program, executable, model.config.run.seed);

  // Under lasting load, like every measurement of speed: a rested H200 made a micro-step 3% faster than it
  // could go on making. The ops follow while the GPU is warm.
  const UpdateTimes update = time_updates(model, request.load);
  const int64_t accumulation = model.config.batch.accumulation;
  const SequenceId micro_step = accumulation > 1 ? SequenceId::MicroRest : SequenceId::MicroFirst;
  for (const auto& [sequence, wall_s] :
       {std::pair{micro_step, update.micro_steps_s / static_cast<double>(accumulation)},
        std::pair{SequenceId::Update, update.optimizer_s}}) {
    SequenceProfile profile;
    profile.sequence = sequence;
    profile.wall_ms = 1000 * wall_s;
    const auto& ops = model.program.sequence(sequence).ops;
    std::vector<std::vector<double>> times(ops.size());
    for (int i = 0; i < request.repetitions; ++i) {
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
    // Over what a prediction will add up, which is less than this profile's sum: the fastest timing of each
    // shape, of all layers. So one factor holds all that ops alone don't explain, and what was profiled is
    // predicted as it was timed.
    double sum_ms = 0;
    for (const Op& op : ops) sum_ms += calibration.op_ms(model.program, op).value_or(0);
    if (sum_ms > 0 && sequence.wall_ms > 0)
      calibration.add_sequence(sum_ms / static_cast<double>(ops.size()), sequence.wall_ms / sum_ms);
  }
}

std::vector<ProfileRow> profile_rows(const SequenceProfile& profile, ProfileBy by) {
  std::map<int, ProfileRow> rows;  // by place
  for (const OpTime& time : profile.ops) {
    const int place = by == ProfileBy::Layer   ? time.layer
                      : by == ProfileBy::Phase ? static_cast<int>(time.phase)
                                               : kind_place(time.kind, time.phase);
    ProfileRow& row = rows[place];
    if (by == ProfileBy::Kind) {
      row.name = kind_name(time.kind, time.phase);
    } else if (by == ProfileBy::Phase) {
      row.name = phase_name(time.phase);
    } else {
      row.name = time.layer == kNone ? "outside the layers" : "layer " + std::to_string(time.layer);
    }
    ++row.count;
    row.ms += time.ms;
    row.floor_ms += time.floor_ms;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [place, row] : rows) sorted.push_back(std::move(row));
  if (by == ProfileBy::Kind) {
    std::ranges::stable_sort(sorted, [](const ProfileRow& a, const ProfileRow& b) { return a.ms > b.ms; });
  }
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

namespace {

template <class Enum>
Enum by_name(const nlohmann::json& name, int count, std::string_view (*name_of)(Enum)) {
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name.get_ref<const std::string&>()) return static_cast<Enum>(i);
  }
  throw nlohmann::json::other_error::create(503, "unknown: " + name.get<std::string>(), nullptr);
}

SequenceProfile sequence_from_json(const nlohmann::json& json) {
  constexpr int kPhaseCount = static_cast<int>(Phase::Update) + 1;
  SequenceProfile profile;
  profile.sequence = by_name(json.at("sequence"), kSequenceCount, sequence_name);
  profile.wall_ms = json.at("wall_ms").get<double>();
  profile.sum_ms = json.at("sum_ms").get<double>();
  for (const nlohmann::json& op : json.at("ops")) {
    OpTime time;
    time.op = static_cast<int>(json_integer(op.at("op"), 0, 1 << 24));
    time.kind = by_name(op.at("kind"), kOpKindCount, op_kind_name);
    time.layer = static_cast<int>(json_integer(op.at("layer"), kNone, 1 << 24));
    time.phase = by_name(op.at("phase"), kPhaseCount, phase_name);
    time.ms = op.at("ms").get<double>();
    time.floor_ms = op.at("floor_ms").get<double>();
    time.flops = op.at("flops").get<double>();
    time.bytes = op.at("bytes").get<double>();
    profile.ops.push_back(time);
  }
  return profile;
}

}  // namespace

Profile read_profile(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  try {
    const nlohmann::json json = parse_json(text);
    Profile profile;
    profile.device = json.at("device").get<std::string>();
    const nlohmann::json& rates = json.at("rates");
    profile.rates.matrix_flops = rates.at("matrix_tflops").get<double>() * 1e12;
    profile.rates.attention_flops = rates.at("attention_tflops").get<double>() * 1e12;
    profile.rates.memory_bytes = rates.at("memory_gb_per_s").get<double>() * 1e9;
    for (const nlohmann::json& sequence : json.at("sequences"))
      profile.sequences.push_back(sequence_from_json(sequence));
    return profile;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::CorruptFile, to_utf8(file) + " is no profile: " + error.what(),
                "Measure it again with `lathe profile --run`.");
  }
}

}  // namespace lathe
