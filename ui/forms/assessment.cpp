#include "ui/forms/assessment.h"

#include <algorithm>

#include "core/config/validate.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "core/program/auto_settings.h"
#include "core/program/calibration.h"
#include "core/program/cost_model.h"
#include "core/program/gpu_table.h"
#include "core/program/program_builder.h"
#include "kernels/api/error.h"

namespace lathe::ui {

namespace {

// What is known of a GPU by its specification and by measurements kept in `home`.
void add_speed(DeviceChoice& choice, const GpuEntry* gpu, const std::filesystem::path& home,
               const std::string& driver_name) {
  const Calibration calibration = load_calibration(home, driver_name);
  if (gpu) choice.bf16_tflops = gpu->bf16_tflops;
  if (calibration.overhead_bytes) choice.overhead_bytes = *calibration.overhead_bytes;
  auto costs = std::make_shared<const CostModel>(gpu, calibration);
  if (costs->usable()) choice.costs = std::move(costs);
}

}  // namespace

std::vector<DeviceChoice> device_choices(const BackendRegistry& registry, const std::filesystem::path& home) {
  std::vector<DeviceChoice> choices;
  const GpuEntry* own_gpu = nullptr;
  for (const BackendEntry& entry : registry) {
    if (!entry.backend) continue;
    DeviceInfo info = entry.backend->device();
    if (info.target.kind == DeviceKind::Cpu) {
      // The device's memory is the machine's.
      const SystemMemory memory = system_memory();
      info.total_bytes = memory.total_bytes;
      info.free_bytes = memory.available_bytes;
    }
    DeviceChoice choice;
    choice.name = info.name + ", " + bytes_text(info.total_bytes);
    choice.target = info.target;
    choice.total_bytes = info.total_bytes;
    choice.others_bytes = std::max<int64_t>(0, info.total_bytes - info.free_bytes);
    choice.here = true;
    if (choice.gpu()) {
      own_gpu = find_gpu(info.name);
      add_speed(choice, own_gpu, home, info.name);
    }
    choices.push_back(std::move(choice));
  }
  for (const GpuEntry& gpu : gpu_table()) {
    if (&gpu == own_gpu) continue;
    DeviceChoice choice;
    choice.name = std::string(gpu.name) + ", " + bytes_text(gpu.memory_bytes);
    choice.target = gpu.target();
    choice.total_bytes = gpu.memory_bytes;
    // The driver's name has the maker in front; a calibration made on such a card holds for it.
    add_speed(choice, &gpu, home, "NVIDIA " + std::string(gpu.name));
    choices.push_back(std::move(choice));
  }
  return choices;
}

DeviceChoice other_card(int64_t bytes) {
  DeviceChoice choice;
  choice.name = "Another card, " + bytes_text(bytes);
  choice.target = {DeviceKind::Cuda, 120, true};
  choice.total_bytes = bytes;
  return choice;
}

int64_t budget_bytes(const RunConfig& config, const DeviceChoice& device) {
  if (!config.memory.vram_budget.automatic) return config.memory.vram_budget.value;
  const int64_t margin = device.gpu() ? config.memory.vram_margin : 0;
  return std::max<int64_t>(1, device.total_bytes - device.others_bytes - margin);
}

EstimateRequest estimate_request(const RunConfig& config, const DeviceChoice& device) {
  EstimateRequest request;
  request.target = device.target;
  request.budget_bytes = budget_bytes(config, device);
  request.overhead_bytes = device.overhead_bytes;
  request.costs = device.costs.get();
  return request;
}

namespace {

// With "auto" levels where none fits: those that save the most, to show how much is missing.
RunConfig resolve(const RunConfig& config, const EstimateRequest& request) {
  try {
    return resolve_auto(config, request);
  } catch (const Error&) {
    RunConfig least = config;
    if (least.memory.recompute.automatic) least.memory.recompute = {false, {RecomputeLevel::Block}};
    if (least.memory.loss_chunk_tokens.automatic) least.memory.loss_chunk_tokens = {false, 256};
    return least;
  }
}

}  // namespace

Assessment assess(const RunConfig& config, const DeviceChoice& device) {
  const double begin = monotonic_seconds();
  require_valid(config, Purpose::Estimate);
  Assessment result;
  result.device = device;
  result.config = config;
  const EstimateRequest request = estimate_request(config, device);
  result.budget = request.budget_bytes;
  result.resolved = resolve(config, request);
  const StepProgram program =
      build_step_program(result.resolved, training_options(result.resolved, request.target));
  const MemoryPlan plan = plan_memory(program);
  result.estimate = estimate(result.resolved, program, plan, request);
  const SequenceId peak = result.estimate.peak.sequence;
  const std::vector<int64_t> live = live_bytes(program, peak);
  const std::vector<Op>& ops = program.sequence(peak).ops;
  result.live.reserve(live.size());
  result.op_names.reserve(live.size());
  for (size_t i = 0; i < live.size(); ++i) {
    result.live.push_back({live[i], ops[i].phase});
    result.op_names.push_back(describe(ops[i]));
  }
  result.milliseconds = (monotonic_seconds() - begin) * 1e3;
  return result;
}

}  // namespace lathe::ui
