#include "app/cli/progress_lines.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/config/derived.h"
#include "core/platform/files.h"
#include "core/platform/terminal.h"

namespace lathe::cli {

namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

// 976770816 as "976,770,816".
std::string grouped(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

}  // namespace

std::string duration_text(int64_t ms) {
  const int64_t seconds = (ms + 500) / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{}m {:02d}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h {:02d}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d {:02d}h", seconds / 86400, seconds / 3600 % 24);
}

ProgressLines::ProgressLines(bool json, const TrainingRun& run)
    : json_(json), terminal_(!json && is_terminal(stdout)), run_(run) {}

void ProgressLines::end_live_line() {
  if (live_) std::cout << '\n';
  live_ = false;
}

void ProgressLines::say(const std::string& text) {
  if (json_) {
    std::cout << Json{{"event", "message"}, {"text", text}}.dump() << std::endl;
    return;
  }
  end_live_line();
  std::cout << text << std::endl;
}

void ProgressLines::start() {
  const PreparedModel& model = run_.model();
  const Estimate& estimate = model.estimate;
  if (json_) {
    std::cout << Json{{"event", "start"},
                      {"run", run_.id()},
                      {"folder", to_utf8(run_.folder())},
                      {"device", model.device.name},
                      {"parameters", estimate.parameters},
                      {"planned_bytes", estimate.process_bytes()},
                      {"first_step", run_.first_step()}}
                     .dump()
              << std::endl;
    return;
  }
  say(fmt::format("Run {} on {}.", run_.id(), model.device.name));
  say(fmt::format("{} parameters, {} tokens an update; {} planned.", grouped(estimate.parameters),
                  grouped(estimate.tokens_per_update), bytes_text(estimate.process_bytes())));
  say(fmt::format("Data: {}.", describe_sources(*run_.data().sampler)));
  if (run_.first_step() > 1) {
    say(run_.not_bitwise().empty()
            ? fmt::format("Resuming bit for bit; the next update is {}.", run_.first_step())
            : fmt::format("Resuming, not bitwise ({}); the next update is {}.", run_.not_bitwise(),
                          run_.first_step()));
  }
}

void ProgressLines::update(const UpdateRow& row, std::optional<int64_t> eta_ms) {
  if (json_) {
    std::cout << Json{{"event", "update"},
                      {"step", row.step},
                      {"tokens", row.tokens},
                      {"loss", number(row.loss)},
                      {"grad_norm", number(row.grad_norm)},
                      {"lr", number(row.lr)},
                      {"tokens_per_s", number(row.tokens_per_s)},
                      {"tokens_per_s_end_to_end", number(row.tokens_per_s_end_to_end)},
                      {"skipped", row.skipped.value_or(0) != 0},
                      {"eta_ms", eta_ms ? Json(*eta_ms) : Json()}}
                     .dump()
              << std::endl;  // whoever reads a pipe watches live, too
    return;
  }
  const auto last = last_update(run_.model().config);
  const std::string step = last ? fmt::format("{}/{}", row.step, *last) : std::to_string(row.step);
  const std::string line = fmt::format(
      "step {}  loss {:.4f}  norm {:.3f}  lr {:.2e}  {:.0f} tokens/s{}{}", step, row.loss.value_or(NAN),
      row.grad_norm.value_or(NAN), row.lr.value_or(0), row.tokens_per_s.value_or(0),
      eta_ms ? "  ETA " + duration_text(*eta_ms) : "", row.skipped.value_or(0) != 0 ? "  skipped" : "");
  if (terminal_) {
    std::cout << '\r' << line << "\x1b[K" << std::flush;
    live_ = true;
  } else {
    std::cout << line << std::endl;
  }
}

TrainingObserver ProgressLines::observer() {
  TrainingObserver observer;
  observer.on_update = [this](const UpdateRow& row, std::optional<int64_t> eta_ms) { update(row, eta_ms); };
  observer.on_evaluation = [this](const EvaluationRow& row) {
    if (json_) {
      std::cout << Json{{"event", "evaluation"},
                        {"step", row.step},
                        {"set", row.set},
                        {"loss", number(row.eval_loss)},
                        {"tokens", number(row.eval_tokens)}}
                       .dump()
                << '\n';
    } else {
      say(fmt::format("step {}  validation loss {:.4f} on {} ({:.0f} tokens)", row.step,
                      row.eval_loss.value_or(NAN), row.set, row.eval_tokens.value_or(0)));
    }
  };
  observer.on_event = [this](EventLevel level, const std::string& text) {
    say(level == EventLevel::Info ? text : fmt::format("{}: {}", level_name(level), text));
  };
  observer.on_sample = [this](int64_t step, const std::string& prompt, const std::string& text) {
    if (json_) {
      std::cout << Json{{"event", "sample"}, {"step", step}, {"prompt", prompt}, {"text", text}}.dump()
                << '\n';
    } else {
      say(fmt::format("step {}  sample: {}{}", step, prompt, text));
    }
  };
  return observer;
}

void ProgressLines::finish(const TrainingResult& result) {
  if (json_) return;
  say(result.reason);
  if (result.last_eval_loss) say(fmt::format("Validation loss {:.4f}.", *result.last_eval_loss));
  if (result.checkpoint_step >= 0) {
    say(fmt::format("Checkpoint: {}", to_utf8(checkpoint_folder(run_.folder(), result.checkpoint_step))));
  }
  say(fmt::format("History: {} (lathe runs show {})", to_utf8(run_.folder() / "run.db"), run_.id()));
}

}  // namespace lathe::cli
