#include "core/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/config/config_json.h"
#include "core/config/derived.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "core/train/evaluate_set.h"
#include "core/train/generator.h"
#include "core/train/group_statistics.h"
#include "core/train/lr_schedule.h"
#include "core/train/norm_watch.h"
#include "core/train/step_io.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

constexpr int64_t kInFlight = 2;  // micro-steps the host runs ahead of the device: requests act that soon
constexpr int64_t kFailuresToGiveUp = 100;  // non-finite updates in a row
constexpr int64_t kRollbacksToGiveUp = 3;   // from the same step
constexpr int64_t kStatisticsEvery = 50;    // updates between norms per parameter group

double ms_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

}  // namespace

struct Trainer::Pending {
  int64_t step = 0;  // the update it makes
  double learning_rate = 0;
  int64_t valid_tokens = 0, tokens = 0;
  Cursor cursor_after;
  std::vector<Ticket> micro;
  Ticket update = -1;
  RunClock::Moment begin;
  double data_wait_ms = 0;
};

Trainer::Trainer(const TrainingJob& job, TrainingProgress progress, TrainingObserver observer)
    : job_(job),
      progress_(std::move(progress)),
      observer_(std::move(observer)),
      fetch_(job.program,
             {job.program.ports.loss_sums, job.program.ports.clip, job.program.ports.square_sums}) {
  if (progress_.cursor.is_null()) progress_.cursor = cursor_to_json(job_.data.sampler->cursor());
  result_.step = progress_.step;
  result_.checkpoint_step = -1;
}

Trainer::~Trainer() = default;

TrainingResult Trainer::run() {
  clock_.begin(progress_.active_ms, Clock::now());
  set_live(RunStatus::Running, "starting", 0);
  restart_feed();
  std::optional<Stop> stop;
  try {
    stop = loop();
  } catch (...) {
    feed_.reset();
    pending_.reset();
    for (const Command& command : open_commands_)
      job_.writer.answer_command(command.id, "the run failed", false);
    throw;
  }
  feed_.reset();
  result_.status = stop->status;
  result_.reason = stop->reason;
  result_.step = progress_.step;
  for (const Command& command : open_commands_) {
    const bool done = command.kind == CommandKind::Stop || command.kind == CommandKind::StopNow;
    job_.writer.answer_command(command.id, stop->reason, done);
  }
  open_commands_.clear();
  return result_;
}

void Trainer::restart_feed() {
  feed_.reset();
  job_.data.sampler->seek(cursor_from_json(progress_.cursor));
  feed_ = std::make_unique<UpdateFeed>(*job_.data.sampler, config().batch.micro_batch,
                                       config().batch.accumulation);
}

std::optional<Trainer::Stop> Trainer::loop() {
  while (true) {
    if (!pending_) {
      if (auto stop = reached_limit()) {
        if (auto failed = save(true)) return failed;
        if (config().run.eval_every > 0 && progress_.step % config().run.eval_every != 0) evaluate();
        return stop;
      }
    }
    if (auto stop = make_update()) return stop;
  }
}

std::optional<Trainer::Stop> Trainer::make_update() {
  Pending update;
  window_dropped_ = false;
  const auto data_asked = Clock::now();
  UpdateBatch batch = feed_->next();
  update.data_wait_ms = ms_between(data_asked, Clock::now());
  update.valid_tokens = batch.valid_tokens;
  update.tokens = batch.tokens;
  update.cursor_after = batch.cursor_after;
  if (auto stop = micro_steps(batch, update)) return stop;
  if (window_dropped_) return std::nullopt;
  const bool statistics = (progress_.step + 1) % kStatisticsEvery == 0;
  if (statistics) samples_before_ = sample_weights(job_.program, job_.executable);
  enqueue_update(batch, update);
  feed_->recycle(std::move(batch));
  pending_ = std::make_unique<Pending>(std::move(update));

  // Metrics are read one step late, behind the next update's first micro-step, unless something has to happen
  // here.
  const int64_t step = pending_->step;
  const auto due = [&](int64_t every) { return every > 0 && step % every == 0; };
  const RunConfig::Run& run = config().run;
  const bool out_of_time =
      run.wall_minutes > 0 && static_cast<double>(active_ms()) >= run.wall_minutes * 60000;
  const bool last = last_update(config()) && step >= *last_update(config());
  const bool boundary = due(run.eval_every) || due(run.checkpoint_every) || due(run.sample_every) ||
                        statistics || out_of_time || last || job_.control.update_request();
  if (!boundary && !job_.executable.finished(pending_->update)) return std::nullopt;
  if (auto stop = finish_update()) return stop;
  if (statistics) add_statistics();
  return between_updates();
}

std::optional<Trainer::Stop> Trainer::micro_steps(UpdateBatch& batch, Pending& update) {
  const auto count = static_cast<int64_t>(batch.micro.size());
  for (int64_t i = 0; i < count; ++i) {
    if (auto stop = between_micro_steps(i)) return stop;
    if (i == 0) clock_.begin_update(Clock::now());
    enqueue_micro_step(batch, static_cast<size_t>(i), update);
    if (i == 0 && pending_) {
      // The device is busy with this update already while the host looks at the one before.
      if (auto stop = finish_update()) return stop;
      if (window_dropped_) return std::nullopt;
    }
    if (i >= kInFlight) job_.executable.wait(update.micro[static_cast<size_t>(i - kInFlight)]);
  }
  return std::nullopt;
}

void Trainer::enqueue_micro_step(const UpdateBatch& batch, size_t index, Pending& update) {
  if (index == 0) {
    StepScalars scalars;
    scalars.valid_tokens = batch.valid_tokens;
    write_step_scalars(job_.program, job_.executable, config(), scalars);
  }
  write_batch(job_.program, job_.executable, batch.micro[index], batch.token_order[index]);
  update.micro.push_back(job_.executable.run(index == 0 ? SequenceId::MicroFirst : SequenceId::MicroRest));
}

void Trainer::enqueue_update(const UpdateBatch& batch, Pending& update) {
  update.step = progress_.step + 1;
  update.learning_rate = learning_rate(config(), progress_.step, progress_.tokens);
  update.begin = clock_.update_begin();
  write_step_scalars(job_.program, job_.executable, config(),
                     {batch.valid_tokens, update.learning_rate, progress_.optimizer_step + 1,
                      accepted_norm(config().guard, progress_), update.step});
  update.update = job_.executable.run(SequenceId::Update, fetch_.tensors());
}

std::optional<Trainer::Stop> Trainer::finish_update() {
  const std::unique_ptr<Pending> update = std::move(pending_);
  job_.executable.wait(update->micro.back());
  const auto backward_end = Clock::now();
  fetch_.wait(job_.executable, update->update);
  const auto end = Clock::now();
  const int64_t wall_ms = wall_clock_ms();  // of the same moment: rates times times must give the tokens
  const std::vector<double> sums = fetch_.values(0), clip = fetch_.values(1), square_sums = fetch_.values(2);
  const double loss = update->valid_tokens > 0 ? sums[0] / static_cast<double>(update->valid_tokens)
                                               : std::numeric_limits<double>::quiet_NaN();
  const double norm = clip[static_cast<size_t>(ClipResult::GradNorm)];
  const bool skipped = clip[static_cast<size_t>(ClipResult::Skip)] != 0;

  progress_.step = update->step;
  progress_.tokens += update->tokens;
  if (!skipped) ++progress_.optimizer_step;
  progress_.cursor = cursor_to_json(update->cursor_after);
  progress_.active_ms = clock_.active_ms(end);
  result_.last_loss = loss;
  if (job_.position) {
    job_.position->step = progress_.step;
    job_.position->tokens = progress_.tokens;
    job_.position->active_ms = progress_.active_ms;
  }

  const WindowTimes times = clock_.end_update(update->begin, backward_end, end);
  UpdateRow row;
  static_cast<RowPosition&>(row) = position();
  row.time_ms = wall_ms;
  row.active_ms = progress_.active_ms;
  row.loss = loss;
  row.grad_norm = norm;
  row.clip_factor = clip[static_cast<size_t>(ClipResult::Factor)];
  row.skipped = skipped ? 1 : 0;
  row.lr = update->learning_rate;
  row.valid_tokens = static_cast<double>(update->valid_tokens);
  row.data_wait_ms = update->data_wait_ms;
  row.forward_backward_ms = times.forward_backward_ms;
  row.update_ms = times.update_ms;
  row.step_ms = times.step_ms;
  row.tokens_per_s = 1000.0 * static_cast<double>(update->tokens) / times.step_ms;
  row.tokens_per_s_valid = 1000.0 * static_cast<double>(update->valid_tokens) / times.step_ms;
  row.tokens_per_s_end_to_end = 1000.0 * static_cast<double>(update->tokens) / times.end_to_end_ms;
  row.memory_planned = static_cast<double>(job_.estimate.process_bytes());
  const MemoryReport memory = job_.executable.memory();
  row.memory_arena = static_cast<double>(memory.arena_bytes);
  const bool host = job_.device.target.kind == DeviceKind::Cpu;
  row.memory_process = static_cast<double>(host ? process_memory().resident_bytes : memory.process_bytes);
  if (const std::optional<double> factor = speed_watch_.slower(times.step_ms)) {
    say(EventLevel::Warning,
        fmt::format("Updates now take {:.0f} ms, {:.1f} times as long as at the start of this session.",
                    times.step_ms, *factor));
  }
  job_.writer.add_update(row);
  if (observer_.on_update) observer_.on_update(row, eta_ms());
  return guard_update(*update, skipped, norm, culprit(square_sums, loss));
}

std::string Trainer::culprit(std::span<const double> square_sums, double loss) const {
  std::string names;
  int found = 0;
  if (!std::isfinite(loss)) names = "the loss", ++found;
  for (size_t i = 0; i < square_sums.size(); ++i) {
    if (std::isfinite(square_sums[i])) continue;
    if (++found <= 4)
      names += (names.empty() ? "" : ", ") + ("the gradient of " + job_.program.parameters[i].name);
  }
  if (found > 4) names += fmt::format(" and {} more", found - 4);
  return names;
}

std::optional<Trainer::Stop> Trainer::guard_update(const Pending& update, bool skipped, double norm,
                                                   const std::string& culprit) {
  const RunConfig::Guard& guard = config().guard;
  if (!culprit.empty() || !std::isfinite(norm)) {
    const std::string what = fmt::format("Update {}: {} is not finite; the weights are untouched.",
                                         update.step, culprit.empty() ? "the gradient norm" : culprit);
    say(EventLevel::Error, what);
    ++failures_in_a_row_;
    if (guard.non_finite == NonFinite::Stop) return Stop{RunStatus::Failed, what};
    if (failures_in_a_row_ >= kFailuresToGiveUp) {
      return Stop{RunStatus::Failed, fmt::format("{} updates in a row were not finite.", failures_in_a_row_)};
    }
    if (guard.non_finite == NonFinite::Rollback) return roll_back(what);
    return std::nullopt;
  }
  failures_in_a_row_ = 0;

  if (const std::optional<double> deviations = judge_norm(guard, progress_, norm)) {
    const std::string what =
        fmt::format("Update {}: gradient norm {:.3g}, {:.1f} standard deviations above its mean{}.",
                    update.step, norm, *deviations, skipped ? "; the update was skipped" : "");
    say(EventLevel::Warning, what);
    if (guard.norm_action == NormAction::Stop) return Stop{RunStatus::Failed, what};
  }
  return std::nullopt;
}

std::optional<Trainer::Stop> Trainer::roll_back(const std::string& why) {
  const std::vector<int64_t> steps = list_checkpoints(job_.writer.folder());
  if (steps.empty()) {
    return Stop{RunStatus::Failed, why + " There is no checkpoint to roll back to."};
  }
  const int64_t step = steps.back();
  rollbacks_at_step_ = step == last_rollback_step_ ? rollbacks_at_step_ + 1 : 1;
  last_rollback_step_ = step;
  if (rollbacks_at_step_ > kRollbacksToGiveUp) {
    return Stop{RunStatus::Failed, fmt::format("Rolled back to step {} {} times without getting past it.",
                                               step, kRollbacksToGiveUp)};
  }
  const nlohmann::json behind_failure = progress_.cursor;
  const auto folder = checkpoint_folder(job_.writer.folder(), step);
  const CheckpointManifest manifest = read_manifest(folder);
  verify_checkpoint(folder, manifest);  // before anything on the device changes
  load_checkpoint(folder, manifest, job_.program, job_.executable, LoadStates::WithStates);
  feed_.reset();
  progress_ = manifest.progress;
  job_.data.sampler->seek(cursor_from_json(behind_failure));
  const int64_t skip =
      config().guard.rollback_skip_updates * config().batch.accumulation * config().batch.micro_batch;
  job_.data.sampler->skip(skip);
  progress_.cursor = cursor_to_json(job_.data.sampler->cursor());
  job_.writer.begin_session(step + 1);
  clock_.set_back(progress_.active_ms, Clock::now());
  window_dropped_ = true;
  restart_feed();
  say(EventLevel::Warning,
      fmt::format("Rolled back to step {}; the data that led here is passed over.", step));
  return std::nullopt;
}

std::optional<Trainer::Stop> Trainer::between_updates() {
  take_commands();
  const RunConfig::Run& run = config().run;
  const int64_t step = progress_.step;
  const auto due = [&](int64_t every) { return every > 0 && step > 0 && step % every == 0; };
  // The checkpoint comes before anything that could fail.
  const bool asked = job_.control.take_save();
  if (asked || due(run.checkpoint_every)) {
    if (auto stop = save(true)) return stop;
    if (asked) answer(CommandKind::Save, fmt::format("saved at step {}", result_.checkpoint_step));
  }
  if (job_.control.stop_requested()) {
    if (auto stop = save(false)) return stop;
    return Stop{RunStatus::Stopped, fmt::format("Stopped on request and saved at step {}.", step)};
  }
  const bool evaluate_asked = job_.control.take_evaluate();
  if (evaluate_asked || due(run.eval_every)) {
    answer(CommandKind::Evaluate, fmt::format("evaluated at step {}", step), evaluate());
  }
  std::vector<std::string> prompts = job_.control.take_samples();
  if (due(run.sample_every)) {
    prompts.insert(prompts.end(), run.prompts.begin(), run.prompts.end());
    if (run.prompts.empty()) prompts.emplace_back();
  }
  if (!prompts.empty()) answer(CommandKind::Sample, fmt::format("sampled at step {}", step), sample(prompts));
  return std::nullopt;
}

std::optional<Trainer::Stop> Trainer::between_micro_steps(int64_t micro_step) {
  if (observer_.between_micro_steps) observer_.between_micro_steps(job_.control);
  take_commands();
  set_live(RunStatus::Running, "micro-step", micro_step + 1);
  std::string why_paused = "paused on request";
  if (const auto failure = job_.writer.failure()) {
    say(EventLevel::Error, fmt::format("The history can't be written: {}", failure->what_happened()));
    why_paused = fmt::format("{}: the history can't be written", kWaitsForDisk);
    job_.control.pause();
  }
  if (job_.control.paused()) {
    if (auto stop = pause(why_paused, micro_step)) return stop;
  }
  if (job_.control.stop_now_requested()) {
    // What the device has finished counts; the open window is dropped.
    if (pending_) {
      if (auto stop = finish_update()) return stop;
    }
    const std::vector<int64_t> steps = list_checkpoints(job_.writer.folder());
    return Stop{RunStatus::Stopped,
                fmt::format("Stopped at once at step {}, without saving; {}.", progress_.step,
                            steps.empty() ? "there is no checkpoint"
                                          : fmt::format("resumable at step {}", steps.back()))};
  }
  return std::nullopt;
}

std::optional<Trainer::Stop> Trainer::pause(const std::string& reason, int64_t micro_step) {
  if (pending_) {
    if (auto stop = finish_update()) return stop;
  }
  clock_.pause(Clock::now());
  set_live(RunStatus::Paused, reason, micro_step);
  say(EventLevel::Info,
      fmt::format("Paused at step {}, micro-step {}: {}.", progress_.step, micro_step, reason));
  answer(CommandKind::Pause, fmt::format("paused at step {}", progress_.step));
  while (job_.control.paused() && !job_.control.stopping()) {
    job_.control.wait_while_paused(100);
    if (observer_.between_micro_steps) observer_.between_micro_steps(job_.control);
    take_commands();
    set_live(RunStatus::Paused, reason, micro_step);
  }
  clock_.go_on(Clock::now());
  if (!job_.control.stopping()) {
    say(EventLevel::Info, fmt::format("Going on at step {}.", progress_.step));
    answer(CommandKind::Resume, fmt::format("going on at step {}", progress_.step));
    set_live(RunStatus::Running, "micro-step", micro_step);
  }
  return std::nullopt;
}

std::optional<Trainer::Stop> Trainer::save(bool retry_when_full) {
  const std::filesystem::path folder = checkpoint_folder(job_.writer.folder(), progress_.step);
  const std::vector<int64_t> existing = list_checkpoints(job_.writer.folder());
  if (std::find(existing.begin(), existing.end(), progress_.step) != existing.end()) {
    result_.checkpoint_step = progress_.step;
    return std::nullopt;
  }
  while (true) {
    set_live(job_.control.stopping() ? RunStatus::Stopping : RunStatus::Running, "saving", 0);
    progress_.active_ms = active_ms();
    try {
      // A run that dies right behind this save goes on from it: no update before it may be missing then.
      job_.writer.flush();
    } catch (const Error&) {
      // The writer keeps the rows, tries again and says so through failure(); the weights matter more.
    }
    CheckpointManifest manifest;
    manifest.progress = progress_;
    manifest.run = job_.writer.id();
    manifest.settings = to_json(config());
    manifest.kernel_selection = job_.executable.kernel_selection();
    manifest.device = job_.device.backend + ": " + job_.device.name;
    manifest.versions = job_.device.versions;
    try {
      write_checkpoint(folder, std::move(manifest), job_.program, job_.executable);
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::DiskFull && error.code() != ErrorCode::Io) throw;
      if (error.code() == ErrorCode::DiskFull) job_.writer.release_reserve();
      const std::string what =
          fmt::format("Saving at step {} failed: {}", progress_.step, error.what_happened());
      say(EventLevel::Error, what + " The previous checkpoint is untouched.");
      if (!retry_when_full || job_.control.stopping()) return Stop{RunStatus::Failed, what};
      job_.control.pause();
      const std::string why =
          fmt::format("{}: a checkpoint needs {}", kWaitsForDisk, bytes_text(checkpoint_bytes(job_.program)));
      if (auto stop = pause(why, 0)) return stop;
      if (job_.control.stopping()) return Stop{RunStatus::Failed, what};
    }
  }
  const int64_t bytes = checkpoint_bytes(job_.program);
  job_.writer.add_checkpoint({progress_.step, checkpoint_relative_path(progress_.step), bytes, true, 0});
  result_.checkpoint_step = progress_.step;
  say(EventLevel::Info,
      fmt::format("Saved a checkpoint at step {} ({}).", progress_.step, bytes_text(bytes)));
  if (observer_.on_checkpoint) observer_.on_checkpoint(folder, bytes);
  const std::vector<int64_t> steps = list_checkpoints(job_.writer.folder());
  for (const int64_t step : expendable_checkpoints(steps, config().run.keep_last, config().run.keep_every)) {
    remove_checkpoint(checkpoint_folder(job_.writer.folder(), step));
    job_.writer.remove_checkpoint(step);
  }
  return std::nullopt;
}

std::optional<Trainer::Stop> Trainer::reached_limit() const {
  const auto finished = [](std::string reason) { return Stop{RunStatus::Finished, std::move(reason)}; };
  if (const auto last = last_update(config()); last && progress_.step >= *last) {
    return finished(fmt::format("Reached {} updates, {} tokens.", progress_.step, progress_.tokens));
  }
  const double minutes = config().run.wall_minutes;
  if (minutes > 0 && static_cast<double>(active_ms()) >= minutes * 60000) {
    return finished(fmt::format("Reached {} minutes of training at step {}.", minutes, progress_.step));
  }
  return std::nullopt;
}

std::string Trainer::evaluate() {
  if (job_.data.validation.empty()) return "Not evaluated: no dataset of this run has a validation split.";
  bool first = true;
  for (const ValidationSet& set : job_.data.validation) {
    const auto start = Clock::now();
    const auto result =
        evaluate_set(job_.program, job_.executable, set, config().batch.micro_batch, [&](int64_t batch) {
          if (observer_.between_micro_steps) observer_.between_micro_steps(job_.control);
          set_live(RunStatus::Running, "evaluation", batch);
          return !job_.control.stop_now_requested();
        });
    if (!result) return "Not evaluated: the run was stopped.";
    EvaluationRow row;
    static_cast<RowPosition&>(row) = position();
    row.set = set.name();
    row.eval_loss = result->loss;
    row.eval_tokens = static_cast<double>(result->valid_tokens);
    row.eval_ms = ms_between(start, Clock::now());
    job_.writer.add_evaluation(row);
    if (first) result_.last_eval_loss = result->loss;
    first = false;
    if (observer_.on_evaluation) observer_.on_evaluation(row);
  }
  return {};
}

std::string Trainer::sample(const std::vector<std::string>& prompts) {
  if (!job_.data.tokenizer) return "Not sampled: no dataset of this run has a tokenizer.";
  if (job_.program.ports.logits == kNone)
    return "Not sampled: this run keeps no memory for it (run.sample_every is 0). Generate from a "
           "checkpoint.";
  set_live(RunStatus::Running, "sampling", 0);
  for (const std::string& prompt : prompts) {
    SamplingSettings settings;
    settings.seed =
        static_cast<uint64_t>(config().run.seed) * 1000003 + static_cast<uint64_t>(progress_.step);
    const std::string text =
        generate_text(job_.program, job_.executable, config().model.vocab, *job_.data.tokenizer, prompt,
                      config().run.sample_tokens, settings,
                      [&](const std::string&) { return !job_.control.stop_now_requested(); });
    job_.writer.add_sample(progress_.step, prompt, text);
    if (observer_.on_sample) observer_.on_sample(progress_.step, prompt, text);
  }
  return {};
}

void Trainer::add_statistics() {
  for (GroupRow& row : group_statistics(job_.program, job_.executable, samples_before_)) {
    static_cast<RowPosition&>(row) = position();
    job_.writer.add_group_stats(row);
  }
}

void Trainer::take_commands() {
  for (Command& command : job_.writer.poll_commands()) {
    switch (command.kind) {
      case CommandKind::Pause:
        job_.control.pause();
        break;
      case CommandKind::Resume:
        job_.control.resume();
        break;
      case CommandKind::Stop:
        job_.control.stop();
        break;
      case CommandKind::StopNow:
        job_.control.stop_now();
        break;
      case CommandKind::Save:
        job_.control.save();
        break;
      case CommandKind::Evaluate:
        job_.control.evaluate();
        break;
      case CommandKind::Sample:
        job_.control.sample(command.argument);
        break;
    }
    const bool already_running = command.kind == CommandKind::Resume && !job_.control.paused();
    open_commands_.push_back(std::move(command));
    if (already_running) answer(CommandKind::Resume, fmt::format("running at step {}", progress_.step));
  }
}

void Trainer::answer(CommandKind kind, const std::string& text, const std::string& trouble) {
  if (!trouble.empty()) say(EventLevel::Warning, trouble);
  std::erase_if(open_commands_, [&](const Command& command) {
    if (command.kind != kind) return false;
    job_.writer.answer_command(command.id, trouble.empty() ? text : trouble, trouble.empty());
    return true;
  });
}

void Trainer::say(EventLevel level, const std::string& text) {
  job_.writer.add_event(level, text, progress_.step);
  if (observer_.on_event) observer_.on_event(level, text);
}

void Trainer::set_live(RunStatus state, const std::string& phase, int64_t micro_step) {
  LiveState live;
  live.state = state;
  live.phase = phase;
  live.step = progress_.step;
  live.micro_step = micro_step;
  live.micro_steps = config().batch.accumulation;
  live.eta_ms = eta_ms();
  job_.writer.set_live(live);
}

RowPosition Trainer::position() const {
  RowPosition row;
  row.step = progress_.step;
  row.tokens = progress_.tokens;
  row.active_ms = active_ms();
  return row;
}

int64_t Trainer::active_ms() const {
  return clock_.active_ms(Clock::now());
}

std::optional<int64_t> Trainer::eta_ms() const {
  std::optional<double> left;
  const std::optional<double> per_update = clock_.ms_per_update();
  if (const auto last = last_update(config()); last && per_update)
    left = *per_update * static_cast<double>(*last - progress_.step);
  if (config().run.wall_minutes > 0) {
    const double wall = config().run.wall_minutes * 60000 - static_cast<double>(active_ms());
    left = left ? std::min(*left, wall) : wall;
  }
  if (!left) return std::nullopt;
  return static_cast<int64_t>(std::max(*left, 0.0));
}

}  // namespace lathe
