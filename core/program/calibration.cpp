#include "core/program/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {
constexpr int kFormat = 1;
}

std::string op_key(const StepProgram& program, const Op& op) {
  std::string key(op_kind_name(op.kind));
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
  const auto [entry, added] = op_ms.try_emplace(op_key(program, op), ms);
  if (!added) entry->second = std::min(entry->second, ms);
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
    const auto json = nlohmann::json::parse(read_file(path, int64_t{64} << 20));
    if (json.at("format").get<int>() != kFormat || json.at("gpu").get<std::string>() != gpu) return result;
    const std::string stored = json.at("versions").get<std::string>();
    if (!versions.empty() && stored != versions) return result;
    Calibration loaded;
    loaded.gpu = gpu;
    loaded.versions = stored;
    loaded.op_ms = json.at("op_ms").get<std::map<std::string, double>>();
    loaded.step_factor = json.at("step_factor").get<double>();
    if (json.contains("overhead_bytes")) loaded.overhead_bytes = json["overhead_bytes"].get<int64_t>();
    return loaded;
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
  json["step_factor"] = calibration.step_factor;
  if (calibration.overhead_bytes) json["overhead_bytes"] = *calibration.overhead_bytes;
  json["op_ms"] = calibration.op_ms;
  write_file_atomically(path, json.dump(1));
}

}  // namespace lathe
