#include "core/train/training_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/derived.h"
#include "core/config/setting_info.h"
#include "core/config/validate.h"
#include "core/platform/files.h"
#include "core/program/auto_settings.h"
#include "core/program/calibration.h"
#include "core/program/cost_model.h"
#include "core/program/memory_plan.h"
#include "core/program/program_builder.h"
#include "core/train/model_state.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

double gib(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

std::string device_name(const RunConfig& config) {
  switch (config.run.device) {
    case Device::Automatic:
      return "auto";
    case Device::Cpu:
      return "cpu";
    case Device::Cuda:
      return "cuda";
  }
  return "auto";
}

std::string device_text(const DeviceInfo& device) {
  if (device.total_bytes <= 0) return fmt::format("{} ({})", device.name, device.backend);
  return fmt::format("{} ({}, {})", device.name, device.backend, bytes_text(device.total_bytes));
}

nlohmann::ordered_json versions_json(const DeviceInfo& device) {
  nlohmann::ordered_json versions = nlohmann::ordered_json::object();
  for (const auto& [name, version] : device.versions) versions[name] = version;
  return versions;
}

RunInfo run_info(const PreparedModel& model) {
  RunInfo info;
  info.name = model.config.run.name;
  info.settings_json = to_json(model.config).dump();
  info.settings = setting_rows(model.config);
  info.device = device_text(model.device);
  info.versions_json = versions_json(model.device).dump();
  info.memory_source = model.device.target.kind == DeviceKind::Cpu ? "host" : "driver";
  info.planned_peak_bytes = model.estimate.process_bytes();
  if (model.estimate.tokens_per_s > 0) info.predicted_tokens_per_s = model.estimate.tokens_per_s;
  return info;
}

// A run must not find out at its first checkpoint that there is no room for it.
void require_disk_space(const PreparedModel& model, const std::filesystem::path& folder) {
  const int64_t one = checkpoint_bytes(model.program), free = free_disk_bytes(folder);
  // While a checkpoint is written the one before still stands.
  const int64_t least = 2 * one + (int64_t{64} << 20);
  if (free < least) {
    throw Error(ErrorCode::DiskFull,
                fmt::format("Checkpoints take {:.2f} GiB each and two must fit; {} has {:.2f} GiB free.",
                            gib(one), to_utf8(folder), gib(free)),
                "Free space there, or choose another folder with --home.");
  }
}

std::string disk_warning(const PreparedModel& model, const std::filesystem::path& folder) {
  const RunConfig::Run& run = model.config.run;
  int64_t count = run.keep_last + 1;
  if (run.keep_every > 0) count += last_update(model.config).value_or(0) / run.keep_every;
  const int64_t need = count * checkpoint_bytes(model.program), free = free_disk_bytes(folder);
  if (need <= free) return {};
  return fmt::format(
      "The checkpoints this run keeps will take {:.1f} GiB; {:.1f} GiB are free. It will pause when the "
      "disk is full.",
      gib(need), gib(free));
}

void load_start(const PreparedModel& model, const CheckpointReference& from, bool with_states) {
  load_checkpoint(from.folder, from.manifest, model.program, *model.executable,
                  with_states ? LoadStates::WithStates : LoadStates::WeightsOnly);
}

}  // namespace

PreparedModel plan_model(const RunConfig& config, const BackendRegistry& registry,
                         const PrepareRequest& request) {
  PreparedModel model;
  Backend& backend = find_backend(registry, device_name(config));
  model.device = backend.device();
  EstimateRequest estimate_request;
  estimate_request.target = model.device.target;
  const bool gpu = model.device.target.kind == DeviceKind::Cuda;
  // What was measured on this GPU before: the overhead beside the arena, and times to predict from.
  Calibration calibration;
  if (gpu && !request.home.empty()) calibration = load_calibration(request.home, model.device.name);
  if (calibration.overhead_bytes) estimate_request.overhead_bytes = *calibration.overhead_bytes;
  const CostModel costs(gpu ? find_gpu(model.device.name) : nullptr, calibration);
  estimate_request.costs = &costs;
  const int64_t margin = gpu ? config.memory.vram_margin : 0;
  estimate_request.budget_bytes = config.memory.vram_budget.automatic ? model.device.free_bytes - margin
                                                                      : config.memory.vram_budget.value;
  model.config = resolve_auto(config, estimate_request);

  BuildOptions options = training_options(model.config, model.device.target);
  options.train = request.train;
  options.evaluate = request.train ? options.evaluate : request.evaluate;
  options.generate = request.train ? options.generate : request.generate;
  model.program = build_step_program(model.config, options);
  const std::vector<std::string> refusals = backend.refusals(model.program);
  if (!refusals.empty()) {
    std::string text = fmt::format("{} can't run these settings:", model.device.name);
    for (const std::string& refusal : refusals) text += "\n  - " + refusal;
    throw Error(ErrorCode::Unsupported, text, "Change the settings named, or choose another run.device.");
  }
  model.plan = plan_memory(model.program);
  model.estimate = estimate(model.config, model.program, model.plan, estimate_request);
  if (model.estimate.verdict == Verdict::DoesNotFit) {
    throw Error(
        ErrorCode::OutOfMemory,
        fmt::format("These settings need {:.2f} GiB ({:.2f} planned, {:.2f} {}); {:.2f} GiB may be used.",
                    gib(model.estimate.process_bytes()), gib(model.estimate.arena_bytes),
                    gib(model.estimate.overhead_bytes), gpu ? "for driver and libraries" : "besides",
                    gib(estimate_request.budget_bytes)),
        "Raise memory.recompute, lower batch.micro_batch or loss_chunk_tokens, or choose smaller states; "
        "`lathe estimate` shows what each would save.");
  }
  return model;
}

void allocate_model(PreparedModel& model, const BackendRegistry& registry, const PrepareRequest& request) {
  Backend& backend = find_backend(registry, device_name(model.config));
  PrepareOptions options;
  options.threads = static_cast<int>(model.config.run.threads);
  options.kernel_selection = request.kernel_selection;
  options.graphs = request.graphs;
  if (!request.home.empty()) options.cache_folder = to_utf8(request.home / "kernels");
  model.executable = backend.prepare(model.program, model.plan, options);
  write_constants(model.program, *model.executable, model.config.model.rope_theta);
  if (!request.home.empty()) keep_overhead(request.home, model.device, model.executable->memory());
}

CheckpointReference find_checkpoint(const HistoryStore& history, const std::string& reference) {
  const size_t at = reference.rfind('@');
  std::optional<int64_t> wanted;
  if (at != std::string::npos) {
    const std::string digits = reference.substr(at + 1);
    if (digits.empty() || digits.size() > 15 || digits.find_first_not_of("0123456789") != std::string::npos) {
      throw Error(ErrorCode::InvalidArgument, fmt::format("'{}' names no step behind its @.", reference),
                  "Write RUN or RUN@STEP, for example last@500.");
    }
    wanted = std::stoll(digits);
  }
  CheckpointReference result;
  result.run = history.find(reference.substr(0, at));
  const std::filesystem::path folder = history.run_folder(result.run);
  const std::vector<int64_t> steps = list_checkpoints(folder);
  if (steps.empty()) {
    throw Error(ErrorCode::NotFound, fmt::format("Run {} has no complete checkpoint.", result.run),
                "Start it anew with `lathe train`.");
  }
  result.step = wanted.value_or(steps.back());
  if (std::find(steps.begin(), steps.end(), result.step) == steps.end()) {
    std::string known;
    for (const int64_t step : steps) known += (known.empty() ? "" : ", ") + std::to_string(step);
    throw Error(ErrorCode::NotFound,
                fmt::format("Run {} has no checkpoint at step {}.", result.run, result.step),
                fmt::format("It has steps {}.", known));
  }
  result.folder = checkpoint_folder(folder, result.step);
  result.manifest = read_manifest(result.folder);
  return result;
}

TextModel open_text_model(const HistoryStore& history, const BackendRegistry& registry,
                          const std::string& reference, Device device) {
  TextModel result;
  result.from = find_checkpoint(history, reference);
  RunConfig config = from_json(nlohmann::json::parse(result.from.manifest.settings.dump()));
  config.run.device = device;
  config.memory.vram_budget.automatic = true;
  for (const DataSource& source : config.data.sources) {
    const auto path = Dataset(from_utf8(source.path)).tokenizer_path();
    if (path && !result.tokenizer) result.tokenizer = std::make_shared<const Tokenizer>(*path);
  }
  if (!result.tokenizer) {
    throw Error(ErrorCode::NotFound, "No dataset of the run has a tokenizer.",
                "Import the dataset again with --tokenizer.");
  }
  PrepareRequest request;
  request.train = request.evaluate = false;
  request.generate = true;
  request.home = history.home();
  result.model = plan_model(config, registry, request);
  allocate_model(result.model, registry, request);
  load_checkpoint(result.from.folder, result.from.manifest, result.model.program, *result.model.executable,
                  LoadStates::WeightsOnly);
  return result;
}

std::string TextModel::generate(const std::string& prompt, int64_t tokens, const SamplingSettings& sampling,
                                const std::function<bool(const std::string&)>& on_text) {
  return generate_text(model.program, *model.executable, model.config.model.vocab, *tokenizer, prompt, tokens,
                       sampling, on_text);
}

TrainingRun::~TrainingRun() = default;

std::unique_ptr<TrainingRun> TrainingRun::create(HistoryStore& history, const BackendRegistry& registry,
                                                 const RunConfig& config) {
  require_valid(config, Purpose::Train);
  std::unique_ptr<TrainingRun> run(new TrainingRun);
  run->data_ = open_training_data(config);
  std::optional<CheckpointReference> from;
  if (!config.run.init_from.empty()) from = find_checkpoint(history, config.run.init_from);
  PrepareRequest request;
  request.home = history.home();
  run->model_ = plan_model(config, registry, request);
  require_disk_space(run->model_, history.home());

  RunInfo info = run_info(run->model_);
  if (from) info.parent = RunParent{from->run, from->step};
  run->writer_ = history.create_run(info);
  run->writer_->begin_session(1);
  try {
    allocate_model(run->model_, registry, request);
    run->backend_ = &find_backend(registry, device_name(run->model_.config));
    if (from) {
      load_start(run->model_, *from, run->model_.config.run.init_states);
      if (run->model_.config.run.init_states) {
        run->progress_.optimizer_step = from->manifest.progress.optimizer_step;
      }
    } else {
      initialise_weights(run->model_.program, *run->model_.executable, run->model_.config.run.seed);
    }
    if (const std::string warning = disk_warning(run->model_, history.home()); !warning.empty()) {
      run->writer_->add_event(EventLevel::Warning, warning, 0);
    }
  } catch (const std::exception& error) {
    run->writer_->add_event(EventLevel::Error, error.what(), 0);
    run->writer_->finish(RunStatus::Failed, error.what());
    throw;
  }
  return run;
}

std::unique_ptr<TrainingRun> TrainingRun::resume(
    HistoryStore& history, const BackendRegistry& registry, const std::string& reference,
    std::optional<int64_t> step, const std::function<RunConfig(const RunConfig&)>& overrides) {
  const CheckpointReference from =
      find_checkpoint(history, step ? fmt::format("{}@{}", reference, *step) : reference);
  const RunConfig before = from_json(nlohmann::json::parse(from.manifest.settings.dump()));
  const RunConfig config = overrides ? overrides(before) : before;
  for (const SettingDifference& difference : diff(before, config)) {
    const SettingInfo& setting = require_setting(difference.key);
    if (setting.change == ChangeRule::OnResume || setting.change == ChangeRule::Live) continue;
    throw Error(ErrorCode::InvalidConfig,
                fmt::format("{} can't change from {} to {} when a run is resumed.", difference.key,
                            difference.a_text, difference.b_text),
                fmt::format("Start a new run from its weights: lathe train --init-from {}@{} --set {}={}",
                            from.run, from.step, difference.key, difference.b_text));
  }
  require_valid(config, Purpose::Train);
  std::unique_ptr<TrainingRun> run(new TrainingRun);
  run->writer_ = history.open_writer(from.run);
  try {
    run->data_ = open_training_data(config);
    run->progress_ = from.manifest.progress;
    run->data_.sampler->seek(cursor_from_json(run->progress_.cursor));
    PrepareRequest request;
    request.kernel_selection = from.manifest.kernel_selection;
    request.home = history.home();
    run->model_ = plan_model(config, registry, request);
    require_disk_space(run->model_, history.home());
    remove_incomplete_checkpoints(run->writer_->folder());
    allocate_model(run->model_, registry, request);
    run->backend_ = &find_backend(registry, device_name(run->model_.config));
    load_checkpoint(from.folder, from.manifest, run->model_.program, *run->model_.executable,
                    LoadStates::WithStates);

    const DeviceInfo& device = run->model_.device;
    if (from.manifest.device != device.backend + ": " + device.name) {
      run->not_bitwise_ = fmt::format("it ran on {} before", from.manifest.device);
    } else if (from.manifest.versions != nlohmann::json(device.versions)) {
      run->not_bitwise_ = "driver or library versions changed";
    } else if (from.manifest.kernel_selection != run->model_.executable->kernel_selection()) {
      run->not_bitwise_ = "the recorded kernel selection could not be used again";
    }
    // A checkpoint later than the one resumed from belongs to the past that is now superseded.
    for (const int64_t later : list_checkpoints(run->writer_->folder())) {
      if (later <= from.step) continue;
      remove_checkpoint(checkpoint_folder(run->writer_->folder(), later));
      run->writer_->remove_checkpoint(later);
    }
    run->writer_->begin_session(from.step + 1);
    run->writer_->set_info(run_info(run->model_));
    run->writer_->add_event(
        EventLevel::Info,
        fmt::format("Resumed at step {}{}.", from.step,
                    run->not_bitwise_.empty() ? "" : "; not bitwise: " + run->not_bitwise_),
        from.step);
  } catch (const std::exception& error) {
    run->writer_->add_event(EventLevel::Error, std::string("Resuming failed: ") + error.what(), from.step);
    run->writer_->finish(RunStatus::Stopped, std::string("Resuming failed: ") + error.what());
    throw;
  }
  return run;
}

TrainingResult TrainingRun::execute(RunControl& control, const TrainingObserver& observer) {
  SharedPosition position;
  position.step = progress_.step;
  position.tokens = progress_.tokens;
  position.active_ms = progress_.active_ms;
  const TrainingJob job{model_.config, model_.program, model_.estimate, *model_.executable, model_.device,
                        data_,         *writer_,       control,         &position};
  try {
    const TrainingResult result = [&] {
      const Telemetry telemetry(*backend_, *writer_, position, control, model_.estimate.arena_bytes,
                                checkpoint_bytes(model_.program));
      return Trainer(job, progress_, observer).run();
    }();
    writer_->add_event(result.status == RunStatus::Failed ? EventLevel::Error : EventLevel::Info,
                       result.reason, result.step);
    writer_->finish(result.status, result.reason);
    return result;
  } catch (const std::exception& error) {
    writer_->release_reserve();
    writer_->add_event(EventLevel::Error, error.what());
    writer_->finish(RunStatus::Failed, error.what());
    throw;
  }
}

}  // namespace lathe
