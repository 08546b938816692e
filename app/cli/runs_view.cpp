#include "app/cli/runs_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "app/cli/text_table.h"
#include "core/platform/files.h"
#include "core/platform/json.h"
#include "core/platform/process.h"

namespace lathe::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN: texts as in the export.
Json number(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (std::isnan(*value)) return "NaN";
  if (std::isinf(*value)) return *value > 0 ? "Infinity" : "-Infinity";
  return *value;
}

Json number(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json();
}

Json time_json(const std::optional<int64_t>& wall_ms) {
  return wall_ms ? Json(utc_text(*wall_ms)) : Json();
}

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4f}", *loss) : "-";
}

std::string speed_text(const std::optional<double>& speed) {
  return speed ? fmt::format("{:.0f}", *speed) : "-";
}

std::string memory_text(const std::optional<int64_t>& bytes) {
  return bytes ? bytes_text(*bytes) : "-";
}

std::string memory_label(std::string_view source) {
  if (source == "driver") return "process, reported by the driver";
  if (source == "inferred") return "process, inferred from arena and overhead";
  if (source == "host") return "process, resident set";
  return "process";
}

// The curve in one line of block characters, from its lowest to its highest finite point; x: NaN or infinity.
std::string sparkline_text(const std::vector<float>& points) {
  constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  float low = INFINITY, high = -INFINITY;
  for (const float point : points) {
    if (!std::isfinite(point)) continue;
    low = std::min(low, point);
    high = std::max(high, point);
  }
  std::string text;
  for (const float point : points) {
    if (!std::isfinite(point)) {
      text.push_back('x');
      continue;
    }
    const float height = high > low ? (point - low) / (high - low) : 0;
    text += blocks[std::clamp(static_cast<int>(height * 8), 0, 7)];
  }
  return text;
}

}  // namespace

std::string local_time(int64_t wall_ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(wall_ms / 1000)));
}

std::string duration(int64_t ms) {
  const int64_t seconds = ms / 1000, minutes = seconds / 60, hours = minutes / 60;
  if (seconds < 60) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
  if (minutes < 60) return fmt::format("{} min {:02} s", minutes, seconds % 60);
  if (hours < 24) return fmt::format("{} h {:02} min", hours, minutes % 60);
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

std::string count_text(int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 1000) return fmt::format("{}", count);
  if (count < 1'000'000) return fmt::format("{:.1f}k", value / 1e3);
  if (count < 1'000'000'000) return fmt::format("{:.2f}M", value / 1e6);
  return fmt::format("{:.3f}G", value / 1e9);
}

Json to_json(const RunSummary& run) {
  Json json = {{"id", run.id},
               {"name", run.name},
               {"status", status_name(run.status)},
               {"status_reason", run.status_reason},
               {"created", time_json(run.created_ms)},
               {"started", time_json(run.started_ms)},
               {"finished", time_json(run.finished_ms)},
               {"step", run.step},
               {"tokens", run.tokens},
               {"active_ms", run.active_ms},
               {"best_loss", number(run.best_loss)},
               {"last_loss", number(run.last_loss)},
               {"last_eval_loss", number(run.last_eval_loss)},
               {"tokens_per_s", number(run.tokens_per_s)},
               {"predicted_tokens_per_s", number(run.predicted_tokens_per_s)},
               {"planned_peak_bytes", number(run.planned_peak_bytes)},
               {"measured_peak_bytes", number(run.measured_peak_bytes)},
               {"last_checkpoint_step", number(run.last_checkpoint_step)},
               {"device", run.device},
               {"archived", run.archived},
               {"tags", run.tags}};
  json["parent"] = run.parent ? Json{{"run", run.parent->run}, {"step", run.parent->step}} : Json();
  return json;
}

Json to_json(const RunDetails& run, const std::vector<CheckpointRow>& checkpoints) {
  Json json = to_json(static_cast<const RunSummary&>(run));
  json["notes"] = run.notes;
  json["folder"] = to_utf8(run.folder);
  json["memory_source"] = run.memory_source;
  try {
    json["versions"] = parse_json<Json>(run.versions_json);
  } catch (const Json::exception&) {
    json["versions"] = Json();
  }
  json["settings"] = Json::object();
  for (const auto& [key, value] : run.settings) json["settings"][key] = value;
  json["checkpoints"] = Json::array();
  for (const CheckpointRow& checkpoint : checkpoints) {
    json["checkpoints"].push_back({{"step", checkpoint.step},
                                   {"path", checkpoint.path},
                                   {"bytes", checkpoint.bytes},
                                   {"complete", checkpoint.complete},
                                   {"created", time_json(checkpoint.created_ms)}});
  }
  return json;
}

Json to_json(const Comparison& comparison) {
  Json json = {
      {"equal_tokens", comparison.equal_tokens}, {"settings", Json::array()}, {"runs", Json::array()}};
  for (const DifferingSetting& difference : comparison.settings) {
    Json texts = Json::array();
    for (const auto& text : difference.texts) texts.push_back(text ? Json(*text) : Json());
    json["settings"].push_back({{"key", difference.key}, {"values", texts}});
  }
  for (const RunOutcome& run : comparison.outcomes) {
    json["runs"].push_back({{"id", run.id},
                            {"name", run.name},
                            {"tokens_per_s_median", number(run.tokens_per_s_median)},
                            {"tokens_per_s_spread", number(run.tokens_per_s_spread)},
                            {"peak_memory_bytes", number(run.peak_memory_bytes)},
                            {"memory_source", run.memory_source},
                            {"loss_at_equal_tokens", number(run.loss_at_equal_tokens)}});
  }
  return json;
}

std::string list_text(const std::vector<RunSummary>& runs) {
  if (runs.empty()) return "No runs. `lathe train` makes one.\n";
  TextTable table({"ID", "NAME", "STATUS", ">STEP", ">TOKENS", ">LOSS", ">BEST", ">VALIDATION", ">TOKENS/S",
                   ">PEAK", "CREATED", "TAGS"});
  for (const RunSummary& run : runs) {
    table.add({run.id, run.name,
               fmt::format("{}{}", status_name(run.status), run.archived ? " (archived)" : ""),
               fmt::format("{}", run.step), count_text(run.tokens), loss_text(run.last_loss),
               loss_text(run.best_loss), loss_text(run.last_eval_loss), speed_text(run.tokens_per_s),
               memory_text(run.measured_peak_bytes), local_time(run.created_ms),
               fmt::format("{}", fmt::join(run.tags, ", "))});
  }
  return table.text() +
         "LOSS, BEST: training loss, last and smallest. TOKENS/S: nominal, step only. PEAK: memory of the "
         "process, measured.\n";
}

std::string details_text(const RunDetails& run, const std::vector<CheckpointRow>& checkpoints,
                         const RunReader* reader) {
  TextTable facts({"", ""});
  const auto fact = [&facts](std::string name, std::string value) {
    if (!value.empty()) facts.add({std::move(name), std::move(value)});
  };
  fact("status", fmt::format("{}{}", status_name(run.status), run.archived ? ", archived" : ""));
  fact("reason", run.status_reason);
  if (run.parent) fact("forked from", fmt::format("{} at step {}", run.parent->run, run.parent->step));
  fact("tags", fmt::format("{}", fmt::join(run.tags, ", ")));
  fact("notes", run.notes);
  fact("created", local_time(run.created_ms));
  if (run.started_ms) fact("started", local_time(*run.started_ms));
  if (run.finished_ms) fact("ended", local_time(*run.finished_ms));
  fact("active time", duration(run.active_ms));
  fact("device", run.device);
  fact("folder", to_utf8(run.folder));
  fact("step", fmt::format("{}", run.step));
  fact("tokens (nominal)", fmt::format("{} ({})", run.tokens, count_text(run.tokens)));
  fact("training loss",
       fmt::format("{} last, {} smallest", loss_text(run.last_loss), loss_text(run.best_loss)));
  fact("", sparkline_text(run.sparkline));
  if (run.last_eval_loss) fact("validation loss", loss_text(run.last_eval_loss));
  fact("tokens/s (nominal, step only)", fmt::format("{} measured, {} predicted", speed_text(run.tokens_per_s),
                                                    speed_text(run.predicted_tokens_per_s)));
  fact(fmt::format("peak memory ({})", memory_label(run.memory_source)),
       fmt::format("{} measured, {} planned", memory_text(run.measured_peak_bytes),
                   memory_text(run.planned_peak_bytes)));
  if (const auto live = reader ? reader->live() : std::nullopt; live && is_active(run.status)) {
    fact("now", fmt::format("{}, {} {}/{}, {}", status_name(live->state), live->phase, live->micro_step,
                            live->micro_steps,
                            live->eta_ms ? fmt::format("about {} left", duration(*live->eta_ms))
                                         : std::string("no end in sight")));
  }
  // The table's empty headings make an empty first line.
  std::string text = fmt::format("{} ({}){}", run.name, run.id, facts.text());
  if (!checkpoints.empty()) {
    TextTable table({">STEP", ">SIZE", "SAVED", "PATH"});
    for (const CheckpointRow& checkpoint : checkpoints) {
      table.add({fmt::format("{}", checkpoint.step), bytes_text(checkpoint.bytes),
                 local_time(checkpoint.created_ms),
                 fmt::format("{}{}", checkpoint.path, checkpoint.complete ? "" : " (incomplete)")});
    }
    text.append("\nCheckpoints\n").append(table.text());
  }
  if (!run.settings.empty()) {
    TextTable table({"SETTING", "VALUE"});
    for (const auto& [key, value] : run.settings) table.add({key, value});
    text.append("\n").append(table.text());
  }
  if (reader) {
    const std::vector<EventRow> events = reader->events();
    if (!events.empty()) {
      TextTable table({"TIME", ">STEP", "LEVEL", "EVENT"});
      constexpr size_t shown = 20;
      for (size_t i = events.size() - std::min(shown, events.size()); i < events.size(); ++i) {
        table.add({local_time(events[i].time_ms), fmt::format("{}", events[i].step),
                   std::string(level_name(events[i].level)), events[i].text});
      }
      text.append("\n").append(table.text());
      if (events.size() > shown)
        text +=
            fmt::format("({} earlier events: `lathe runs export --table events`)\n", events.size() - shown);
    }
  }
  return text;
}

std::string comparison_text(const Comparison& comparison) {
  std::vector<std::string> headings = {""};
  std::vector<std::string> speed = {"tokens/s (nominal, step only), median ± half the interquartile range"};
  std::vector<std::string> memory = {"peak memory (process)"};
  std::vector<std::string> source = {"  how measured"};
  std::vector<std::string> loss = {
      fmt::format("training loss at {} tokens", count_text(comparison.equal_tokens))};
  for (const RunOutcome& run : comparison.outcomes) {
    headings.push_back(run.name == run.id ? run.id : fmt::format("{} ({})", run.name, run.id));
    speed.push_back(run.tokens_per_s_median ? fmt::format("{:.0f} ± {:.0f}", *run.tokens_per_s_median,
                                                          run.tokens_per_s_spread.value_or(0) / 2)
                                            : "-");
    memory.push_back(memory_text(run.peak_memory_bytes));
    source.push_back(run.memory_source.empty() ? "-" : run.memory_source);
    loss.push_back(loss_text(run.loss_at_equal_tokens));
  }
  TextTable table(std::move(headings));
  table.add(std::move(speed));
  table.add(std::move(memory));
  table.add(std::move(source));
  table.add(std::move(loss));
  table.add({});
  if (comparison.settings.empty()) table.add({"No setting differs."});
  for (const DifferingSetting& difference : comparison.settings) {
    std::vector<std::string> row = {difference.key};
    for (const auto& text : difference.texts) row.push_back(text.value_or("-"));
    table.add(std::move(row));
  }
  return table.text();
}

}  // namespace lathe::cli
