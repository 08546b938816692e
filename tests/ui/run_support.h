// Histories for tests of the Run and Runs pages: runs whose curves look like those of training, from fixed
// seeds.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/history/history_store.h"

namespace lathe::ui {

struct TestRun {
  std::string name = "test";
  int64_t updates = 400;
  int64_t tokens_per_update = 65536;
  double last_loss = 2.6;
  double tokens_per_s = 8400;
  int64_t eval_every = 50;                 // 0: never
  int64_t nan_at = -1;                     // a step whose loss is NaN
  RunStatus status = RunStatus::Finished;  // an active one stays held by the writer
  std::string reason = "All updates are made.";
  std::vector<std::string> settings{};  // "key=value" over the defaults
  std::vector<std::string> tags{};
  std::string notes{};
  uint64_t seed = 1;
};

inline UpdateRow test_update(const TestRun& run, int64_t step, std::mt19937_64& random) {
  std::normal_distribution<double> noise;
  const double s = static_cast<double>(step);
  UpdateRow row;
  row.step = step;
  row.tokens = step * run.tokens_per_update;
  row.time_ms = 1'780'000'000'000 + step * 7800;
  row.active_ms = step * 7800;
  row.loss = run.last_loss + 7.5 * std::exp(-s / 40) + 1.2 * std::exp(-s / 250) + 0.06 * noise(random);
  if (step == run.nan_at) row.loss = std::numeric_limits<double>::quiet_NaN();
  row.grad_norm = 0.6 + 3 * std::exp(-s / 30) + 0.1 * std::abs(noise(random));
  row.lr = 3e-4 * std::min(1.0, s / 50);
  row.step_ms =
      static_cast<double>(run.tokens_per_update) * 1000 / run.tokens_per_s * (1 + 0.01 * noise(random));
  row.forward_backward_ms = *row.step_ms * 0.94;
  row.update_ms = *row.step_ms * 0.06;
  row.data_wait_ms = 3 + std::abs(noise(random));
  row.tokens_per_s = static_cast<double>(run.tokens_per_update) * 1000 / *row.step_ms;
  row.tokens_per_s_end_to_end = *row.tokens_per_s * (step % 50 == 0 ? 0.7 : 0.98);
  row.memory_planned = 13.1 * 1073741824;
  row.memory_arena = 13.1 * 1073741824;
  row.memory_process = 13.5 * 1073741824;
  return row;
}

// Writes the run; `hold` receives the writer of a run that stays active.
inline std::string make_run(HistoryStore& store, const TestRun& run,
                            std::unique_ptr<RunWriter>* hold = nullptr) {
  RunConfig config;
  for (const std::string& assignment : run.settings) apply_assignment(config, assignment);
  RunInfo info;
  info.name = run.name;
  info.settings_json = to_json(config).dump();
  info.settings = setting_rows(config);
  info.device = "NVIDIA GeForce RTX 5080, 16 GiB";
  info.memory_source = "driver";
  info.planned_peak_bytes = 14'066'000'000;
  info.tags = run.tags;
  info.notes = run.notes;
  auto writer = store.create_run(info);
  writer->begin_session(1);
  std::mt19937_64 random(run.seed);
  for (int64_t step = 1; step <= run.updates; ++step) {
    const UpdateRow row = test_update(run, step, random);
    writer->add_update(row);
    if (run.eval_every > 0 && step % run.eval_every == 0) {
      EvaluationRow evaluation;
      static_cast<RowPosition&>(evaluation) = row;
      evaluation.set = "validation";
      evaluation.eval_loss = row.loss.value_or(0) + 0.12;
      writer->add_evaluation(evaluation);
      writer->add_sample(step, "It is a truth",
                         " universally acknowledged, that a single man in possession of a good fortune, must "
                         "be in want of a wife. However little known the feelings or views of such a man may "
                         "be on his first entering a neighbourhood,");
      writer->add_checkpoint({step, "checkpoints/step-" + std::to_string(step), 5'860'624'896, true, 0});
      writer->add_event(EventLevel::Info, "Checkpoint of step " + std::to_string(step) + " saved in 4.1 s.",
                        step);
    }
    if (step == run.nan_at)
      writer->add_event(EventLevel::Warning, "The loss is NaN: the update was skipped.", step);
  }
  LiveState live;
  live.state = run.status;
  live.phase = "micro-step";
  live.step = run.updates;
  live.micro_step = 9;
  live.micro_steps = 16;
  live.eta_ms = 183'000'000;
  writer->set_live(live);
  writer->flush();
  const std::string id = writer->id();
  if (is_active(run.status)) {
    if (hold != nullptr) *hold = std::move(writer);
  } else {
    writer->finish(run.status, run.reason);
  }
  return id;
}

}  // namespace lathe::ui
