#include "core/experiment/benchmark.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "core/config/derived.h"
#include "core/platform/process.h"
#include "core/program/calibration.h"
#include "core/program/gpu_table.h"
#include "core/train/model_state.h"
#include "core/train/step_io.h"
#include "core/train/update_feed.h"

namespace lathe {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

void write_random_batch(const StepProgram& program, Executable& executable, int64_t vocab, uint64_t seed) {
  const auto rows = static_cast<size_t>(program.tensor(program.ports.tokens).elements());
  std::mt19937_64 random(seed);
  Batch batch;
  batch.tokens.resize(rows);
  batch.targets.resize(rows);
  batch.document_start.assign(rows, 0);
  for (size_t i = 0; i < rows; ++i) {
    batch.tokens[i] = static_cast<int32_t>(random() % static_cast<uint64_t>(vocab));
    batch.targets[i] = static_cast<int32_t>(random() % static_cast<uint64_t>(vocab));
  }
  std::vector<int32_t> order;
  if (program.ports.token_order != kNone) sort_rows_by_token(batch.tokens, order);
  write_batch(program, executable, batch, order);
}

UpdateTimes time_updates(PreparedModel& model, const UpdateLoad& load) {
  Fetch fetch(model.program, {model.program.ports.loss_sums});
  Executable& executable = *model.executable;
  const int64_t accumulation = model.config.batch.accumulation;
  std::vector<double> totals, micro_times, update_times;
  int64_t step = 0;

  // As the trainer does it: two micro-steps ahead of the device, metrics read behind the next one's first.
  struct Open {
    Ticket last_micro, update;
  };
  std::optional<Open> open;
  Clock::time_point previous = Clock::now();
  const auto finish = [&] {
    executable.wait(open->last_micro);
    const auto micro_end = Clock::now();
    fetch.wait(executable, open->update);
    const auto end = Clock::now();
    micro_times.push_back(seconds_between(previous, micro_end));
    update_times.push_back(seconds_between(micro_end, end));
    totals.push_back(seconds_between(previous, end));
    previous = end;
    open.reset();
  };
  const auto update = [&] {
    std::vector<Ticket> micro;
    ++step;
    const double rate = model.config.schedule.lr * std::min(static_cast<double>(step) / 100, 1.0);
    write_step_scalars(model.program, executable, model.config,
                       {tokens_per_update(model.config), rate, step, 0, step});
    for (int64_t i = 0; i < accumulation; ++i) {
      write_random_batch(model.program, executable, model.config.model.vocab,
                         static_cast<uint64_t>(step * 1000 + i));
      micro.push_back(executable.run(i == 0 ? SequenceId::MicroFirst : SequenceId::MicroRest));
      if (i == 0 && open) finish();
      if (i >= 2) executable.wait(micro[static_cast<size_t>(i - 2)]);
    }
    open = Open{micro.back(), executable.run(SequenceId::Update, fetch.tensors())};
    if (executable.finished(open->update)) finish();
  };
  const auto drain = [&] {
    if (open) finish();
  };
  for (int64_t i = 0; i < load.warmup_updates; ++i) update();
  drain();
  totals.clear(), micro_times.clear(), update_times.clear();
  const auto start = previous = Clock::now();
  while (static_cast<int64_t>(totals.size()) < load.updates ||
         seconds_between(start, Clock::now()) < load.seconds) {
    update();
  }
  drain();

  UpdateTimes result;
  result.whole_s = seconds_between(start, Clock::now());
  result.updates = static_cast<int64_t>(totals.size());
  result.median_s = median(totals);
  result.min_s = *std::min_element(totals.begin(), totals.end());
  result.max_s = *std::max_element(totals.begin(), totals.end());
  result.micro_steps_s = median(micro_times);
  result.optimizer_s = median(update_times);
  result.loss = fetch.values(0)[0] / static_cast<double>(tokens_per_update(model.config));
  return result;
}

BenchmarkResult run_benchmark(const RunConfig& config, const BackendRegistry& registry,
                              const BenchmarkRequest& request) {
  BenchmarkResult result;
  PrepareRequest prepare;
  prepare.home = request.home;
  prepare.graphs = request.graphs;
  const auto begin = Clock::now();
  PreparedModel model = plan_model(config, registry, prepare);
  allocate_model(model, registry, prepare);
  Executable& executable = *model.executable;
  initialise_weights(model.program, executable, model.config.run.seed);
  result.prepare_s = seconds_between(begin, Clock::now());
  result.times = time_updates(model, request.load);
  result.estimate = model.estimate;
  result.device = model.device;
  result.memory = executable.memory();
  const bool host = model.device.target.kind == DeviceKind::Cpu;
  result.peak_process_bytes = host ? process_memory().peak_resident_bytes : result.memory.process_bytes;
  result.tokens_per_update = tokens_per_update(model.config);
  const double tokens = static_cast<double>(result.tokens_per_update);
  result.tokens_per_s = tokens / result.times.median_s;
  result.tokens_per_s_end_to_end = tokens * static_cast<double>(result.times.updates) / result.times.whole_s;
  result.model_flops_per_s = result.estimate.model_flops_per_token * result.tokens_per_s;
  result.executed_flops_per_s = result.estimate.executed_flops_per_token * result.tokens_per_s;
  if (const GpuEntry* gpu = find_gpu(model.device.name)) result.spec_flops_per_s = gpu->bf16_tflops * 1e12;
  if (!request.home.empty()) {
    const Calibration calibration =
        load_calibration(request.home, model.device.name, calibration_versions(model.device));
    if (calibration.rates) result.measured_flops_per_s = calibration.rates->matrix_flops;
  }
  return result;
}

nlohmann::ordered_json to_json(const BenchmarkResult& result) {
  nlohmann::ordered_json json;
  json["device"] = result.device.name;
  json["backend"] = result.device.backend;
  for (const auto& [name, version] : result.device.versions) json["versions"][name] = version;
  json["parameters"] = result.estimate.parameters;
  json["tokens_per_update"] = result.tokens_per_update;
  json["updates"] = result.times.updates;
  json["prepare_s"] = result.prepare_s;
  json["update_s"] = {
      {"median", result.times.median_s}, {"min", result.times.min_s}, {"max", result.times.max_s}};
  json["micro_steps_s"] = result.times.micro_steps_s;
  json["optimizer_s"] = result.times.optimizer_s;
  json["tokens_per_s"] = result.tokens_per_s;
  json["tokens_per_s_end_to_end"] = result.tokens_per_s_end_to_end;
  json["arena_bytes"] = result.memory.arena_bytes;
  json["planned_arena_bytes"] = result.estimate.arena_bytes;
  json["planned_process_bytes"] = result.estimate.process_bytes();
  json["process_bytes"] = result.peak_process_bytes;
  json["overhead_bytes"] = result.memory.overhead_bytes;
  json["model_tflops_per_s"] = result.model_flops_per_s / 1e12;
  json["executed_tflops_per_s"] = result.executed_flops_per_s / 1e12;
  const auto utilisation = [&](const char* key, const std::optional<double>& rate) {
    if (!rate) return;
    json[key] = {{"rate_tflops", *rate / 1e12},
                 {"mfu", result.model_flops_per_s / *rate},
                 {"hfu", result.executed_flops_per_s / *rate}};
  };
  utilisation("over_specification", result.spec_flops_per_s);
  utilisation("over_measured", result.measured_flops_per_s);
  if (result.estimate.tokens_per_s > 0) json["predicted"] = prediction_json(result.estimate);
  json["loss"] = result.times.loss;
  return json;
}

}  // namespace lathe
