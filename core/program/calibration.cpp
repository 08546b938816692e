#include "core/program/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/platform/files.h"
#include "core/platform/json.h"
#include "kernels/api/cost.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {
constexpr int kFormat = 2;
}

std::string op_key(const StepProgram& program, const Op& op) {
  std::string key(op_kind_name(op.kind));
  key += '|';
  for (const Operand& operand : op.operands) {
    if (operand.access == Access::Scratch) continue;
    if (operand.tensor == kNone) {
      key += " -";
      continue;
    }
    const Tensor& tensor = program.tensor(operand.tensor);
    key += fmt::format(" {}{}", "rwa=s"[static_cast<int>(operand.access)], dtype_name(tensor.dtype));
    for (int i = 0; i < tensor.shape.rank; ++i)
      key += fmt::format("{}{}", i == 0 ? ':' : 'x', tensor.shape[i]);
    if (!tensor.contiguous())
      key += fmt::format("/{}", tensor.strides[static_cast<size_t>(std::max(tensor.shape.rank - 3, 0))]);
  }
  return key;
}

void Calibration::add(const StepProgram& program, const Op& op, double ms) {
  if (ms <= 0) return;  // too short to be seen
  const OpCost cost = op_cost(program, op);
  const auto [entry, added] =
      ops.try_emplace(op_key(program, op), TimedOp{ms, cost.executed_flops, cost.bytes});
  if (!added) entry->second.ms = std::min(entry->second.ms, ms);
}

std::optional<double> Calibration::op_ms(const StepProgram& program, const Op& op) const {
  const auto timed = ops.find(op_key(program, op));
  return timed == ops.end() ? std::nullopt : std::optional(timed->second.ms);
}

void Calibration::add_sequence(double mean_op_ms, double factor) {
  std::erase_if(sequences, [&](const TimedSequence& old) {
    return std::fabs(std::log(old.mean_op_ms / mean_op_ms)) < std::log(1.1);
  });
  sequences.push_back({mean_op_ms, factor});
}

double Calibration::sequence_factor(double mean_op_ms) const {
  const auto distance = [&](const TimedSequence& timed) {
    return std::fabs(std::log(timed.mean_op_ms / mean_op_ms));
  };
  const auto nearest = std::ranges::min_element(sequences, {}, distance);
  return nearest == sequences.end() ? 1 : nearest->factor;
}

std::string calibration_versions(const DeviceInfo& device) {
  std::string text;
  for (const auto& [name, version] : device.versions)
    text += (text.empty() ? "" : ", ") + name + " " + version;
  return text;
}

std::filesystem::path calibration_path(const std::filesystem::path& home, std::string_view gpu) {
  std::string name;
  for (const char c : gpu)
    name += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '-';
  return home / "calibration" / (name + ".json");
}

Calibration load_calibration(const std::filesystem::path& home, std::string_view gpu,
                             std::string_view versions) {
  const std::filesystem::path path = calibration_path(home, gpu);
  Calibration result;
  result.gpu = gpu;
  result.versions = versions;
  try {
    if (!std::filesystem::exists(path)) return result;
    const auto json = parse_json(read_file(path, int64_t{64} << 20));
    if (json_integer(json.at("format")) != kFormat || json.at("gpu").get<std::string>() != gpu) return result;
    const std::string stored = json.at("versions").get<std::string>();
    if (!versions.empty() && stored != versions) return result;
    Calibration loaded;
    loaded.gpu = gpu;
    loaded.versions = stored;
    for (const auto& [key, numbers] : json.at("ops").items()) {
      loaded.ops[key] = {numbers.at(0).get<double>(), numbers.at(1).get<double>(),
                         numbers.at(2).get<double>()};
    }
    for (const auto& numbers : json.at("sequences")) {
      loaded.sequences.push_back({numbers.at(0).get<double>(), numbers.at(1).get<double>()});
    }
    if (json.contains("overhead_bytes")) loaded.overhead_bytes = json_count(json["overhead_bytes"]);
    if (json.contains("rates")) {
      const auto& rates = json["rates"];
      loaded.rates =
          GpuRates{rates.at("matrix_flops").get<double>(), rates.at("attention_flops").get<double>(),
                   rates.at("memory_bytes").get<double>()};
    }
    const auto is_rate = [](double rate) { return std::isfinite(rate) && rate > 0; };
    const auto is_time = [](const auto& entry) {
      const TimedOp& op = entry.second;
      return op.ms > 0 && op.flops >= 0 && op.bytes > 0 && std::isfinite(op.ms + op.flops + op.bytes);
    };
    const auto is_sequence = [](const TimedSequence& timed) {
      return timed.mean_op_ms > 0 && timed.factor > 0 && std::isfinite(timed.mean_op_ms + timed.factor);
    };
    const bool sound =
        std::ranges::all_of(loaded.ops, is_time) && std::ranges::all_of(loaded.sequences, is_sequence) &&
        (!loaded.rates || (is_rate(loaded.rates->matrix_flops) && is_rate(loaded.rates->attention_flops) &&
                           is_rate(loaded.rates->memory_bytes)));
    return sound ? loaded : result;
  } catch (const nlohmann::json::exception&) {
    return result;
  } catch (const Error&) {
    return result;
  } catch (const std::filesystem::filesystem_error&) {
    return result;
  }
}

void save_calibration(const std::filesystem::path& home, const Calibration& calibration) {
  const std::filesystem::path path = calibration_path(home, calibration.gpu);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["gpu"] = calibration.gpu;
  json["versions"] = calibration.versions;
  if (calibration.overhead_bytes) json["overhead_bytes"] = *calibration.overhead_bytes;
  if (calibration.rates) {
    json["rates"] = {{"matrix_flops", calibration.rates->matrix_flops},
                     {"attention_flops", calibration.rates->attention_flops},
                     {"memory_bytes", calibration.rates->memory_bytes}};
  }
  json["sequences"] = nlohmann::ordered_json::array();
  for (const TimedSequence& timed : calibration.sequences) {
    json["sequences"].push_back({timed.mean_op_ms, timed.factor});
  }
  json["ops"] = nlohmann::ordered_json::object();
  for (const auto& [key, op] : calibration.ops) json["ops"][key] = {op.ms, op.flops, op.bytes};
  write_file_atomically(path, json.dump(1));
}

void keep_overhead(const std::filesystem::path& home, const DeviceInfo& device, const MemoryReport& memory) {
  if (device.target.kind != DeviceKind::Cuda || memory.inferred || memory.overhead_bytes <= 0) return;
  Calibration calibration = load_calibration(home, device.name, calibration_versions(device));
  if (calibration.overhead_bytes.value_or(0) >= memory.overhead_bytes) return;
  calibration.overhead_bytes = memory.overhead_bytes;
  try {
    save_calibration(home, calibration);
  } catch (const Error&) {
    // An estimate will assume the overhead once more; no run stops for that.
  }
}

}  // namespace lathe
