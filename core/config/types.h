// The value types of settings that are neither numbers, truth values nor text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// Each enum's text names stand right behind it, in the enumerators' order; choice_names() is found by
// argument-dependent lookup, and value_text.h turns the pair into text, JSON and form choices.

enum class Compute { Fp32, Bf16 };
constexpr auto choice_names(Compute) {
  return std::to_array<std::string_view>({"fp32", "bf16"});
}

// How weights and gradients are stored.
enum class Storage { Fp32, Bf16 };
constexpr auto choice_names(Storage) {
  return std::to_array<std::string_view>({"fp32", "bf16"});
}

// Where the bits that BF16 weights lose are kept: a whole FP32 copy, the lower 16 bits only, or nowhere.
enum class Master { Fp32, Split, None };
constexpr auto choice_names(Master) {
  return std::to_array<std::string_view>({"fp32", "split", "none"});
}

// How AdamW's two moments are stored; Int8 is written "8bit".
enum class State { Fp32, Bf16, Int8 };
constexpr auto choice_names(State) {
  return std::to_array<std::string_view>({"fp32", "bf16", "8bit"});
}

enum class Schedule { Constant, Cosine, Wsd, Linear };
constexpr auto choice_names(Schedule) {
  return std::to_array<std::string_view>({"constant", "cosine", "wsd", "linear"});
}

enum class ScheduleUnit { Updates, Tokens };
constexpr auto choice_names(ScheduleUnit) {
  return std::to_array<std::string_view>({"updates", "tokens"});
}

enum class NonFinite { Stop, Skip, Rollback };
constexpr auto choice_names(NonFinite) {
  return std::to_array<std::string_view>({"stop", "skip", "rollback"});
}

enum class NormAction { Warn, Skip, Stop };
constexpr auto choice_names(NormAction) {
  return std::to_array<std::string_view>({"warn", "skip", "stop"});
}

enum class Device { Automatic, Cpu, Cuda };
constexpr auto choice_names(Device) {
  return std::to_array<std::string_view>({"auto", "cpu", "cuda"});
}

// What a layer recomputes in its backward instead of saving it; each level includes those before it.
enum class RecomputeLevel { None, Norms, GateUp, Qkv, AttentionFfn, Block };
constexpr auto choice_names(RecomputeLevel) {
  return std::to_array<std::string_view>({"none", "norms", "gate_up", "qkv", "attention_ffn", "block"});
}

// Recompute level per layer. Text: "auto", "norms" (all layers), "norms*18,gate_up*6" (first 18, last 6).
struct RecomputeSetting {
  bool automatic = false;
  std::vector<RecomputeLevel> levels = {RecomputeLevel::Norms};  // 1 entry: all layers; else one per layer

  bool operator==(const RecomputeSetting&) const = default;
};

// A whole number, or "auto": Lathe chooses before step 1 and stores what it chose.
struct AutoInt {
  bool automatic = true;
  std::int64_t value = 0;  // meaningless, and kept 0, while automatic

  bool operator==(const AutoInt&) const = default;
};

// One dataset of the training mix. Several entries of one path change its weight as the run goes on.
struct DataSource {
  std::string path;              // dataset folder, UTF-8
  double weight = 1;             // share among the sources in force, not necessarily summing to 1
  std::int64_t from_tokens = 0;  // this weight applies from that token count of the run

  bool operator==(const DataSource&) const = default;
};

// A parameter group: the first rule whose glob matches a tensor's name governs it. Absent members mean
// the run's own value (optimizer.weight_decay, model.init_std).
struct ParameterRule {
  std::string match;     // glob on tensor names: * any text, ? one character
  double lr_factor = 1;  // times schedule.lr
  std::optional<double> weight_decay;
  std::optional<double> init_std;

  bool operator==(const ParameterRule&) const = default;
};

// The rules a run starts with: no weight decay on norm weights.
inline std::vector<ParameterRule> default_parameter_rules() {
  return {{"*norm*", 1.0, 0.0, std::nullopt}};
}

}  // namespace lathe
