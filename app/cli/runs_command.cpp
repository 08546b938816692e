// `lathe runs`: look at runs, keep them in order, and steer those that train in another process.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/runs_view.h"
#include "core/history/compare.h"
#include "core/history/export.h"
#include "core/history/history_store.h"
#include "core/platform/files.h"

namespace lathe::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* run_help = "Run: its id, a unique beginning of it, its name, or 'last'";

HistoryStore open_store(const Context& context) {
  return HistoryStore(context.home.empty() ? default_home() : context.home);
}

// A run changed: says so, or prints it as JSON.
void print_change(const Context& context, const HistoryStore& store, const std::string& id,
                  const std::string& text) {
  print(context, to_json(store.summary(id)), [&] { std::cout << text << '\n'; });
}

void add_list(CLI::App& runs, Context& context) {
  struct Arguments {
    ListFilter filter;
    std::vector<std::string> statuses;
    size_t limit = 0;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand("list", "List runs, newest first");
  command->add_flag("--all", arguments->filter.archived, "Archived runs too");
  command->add_option("--tag", arguments->filter.tag, "Only runs with this tag");
  command->add_option("--search", arguments->filter.text,
                      "Only runs whose id, name or tags contain this text");
  command->add_option("--status", arguments->statuses, "Only runs in this state; may be repeated")
      ->check(CLI::IsMember(
          {"preparing", "running", "paused", "stopping", "finished", "stopped", "failed", "interrupted"}));
  command->add_option("--limit", arguments->limit, "At most this many (0: all)")->capture_default_str();
  command->footer(
      "Examples:\n"
      "  lathe runs list --status interrupted\n"
      "  lathe runs list --tag baseline --json | jq '.[].best_loss'");
  command->callback([arguments, &context] {
    for (const std::string& status : arguments->statuses)
      arguments->filter.statuses.push_back(parse_status(status));
    std::vector<RunSummary> found = open_store(context).list(arguments->filter);
    if (arguments->limit > 0 && found.size() > arguments->limit) found.resize(arguments->limit);
    Json document = Json::array();
    for (const RunSummary& run : found) document.push_back(to_json(run));
    print(context, document, [&] { std::cout << list_text(found); });
  });
}

void add_show(CLI::App& runs, Context& context) {
  auto run = std::make_shared<std::string>();
  CLI::App* command =
      runs.add_subcommand("show", "Show one run: outcome, checkpoints, settings, last events");
  command->add_option("run", *run, run_help)->required();
  command->footer("Examples:\n  lathe runs show last\n  lathe runs show last --json | jq .settings");
  command->callback([run, &context] {
    const HistoryStore store = open_store(context);
    const std::string id = store.find(*run);
    const RunDetails details = store.details(id);
    const std::vector<CheckpointRow> checkpoints = store.checkpoints(id);
    print(context, to_json(details, checkpoints), [&] {
      // A run whose numbers are gone or broken still has its row.
      std::unique_ptr<RunReader> reader;
      try {
        reader = store.open_reader(id);
      } catch (const Error& error) {
        std::cerr << "warning: " << error.what() << '\n';
      }
      std::cout << details_text(details, checkpoints, reader.get());
    });
  });
}

void add_compare(CLI::App& runs, Context& context) {
  auto chosen = std::make_shared<std::vector<std::string>>();
  CLI::App* command = runs.add_subcommand(
      "compare", "Compare runs: speed, peak memory, loss at equal tokens, and settings that differ");
  command->add_option("runs", *chosen, "Two runs or more, each by id, name or 'last'")
      ->required()
      ->expected(2, 64);
  command->footer("Example:\n  lathe runs compare baseline last");
  command->callback([chosen, &context] {
    const HistoryStore store = open_store(context);
    std::vector<std::string> ids;
    for (const std::string& run : *chosen) ids.push_back(store.find(run));
    const Comparison comparison = compare_runs(store, ids);
    print(context, to_json(comparison), [&] { std::cout << comparison_text(comparison); });
  });
}

void add_export(CLI::App& runs, Context& context) {
  struct Arguments {
    std::string run;
    std::string format;
    std::vector<std::string> tables;
    std::string output;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand("export", "Write every stored row of a run as CSV or JSON");
  command->add_option("run", arguments->run, run_help)->required();
  command
      ->add_option("--format", arguments->format,
                   "csv (one table) or json (default: csv, or json with --json)")
      ->check(CLI::IsMember({"csv", "json"}));
  command
      ->add_option("--table", arguments->tables,
                   "Table; may be repeated for JSON (default: updates for CSV, all for JSON)")
      ->check(CLI::IsMember(export_tables()));
  command->add_option("-o,--output", arguments->output, "File to write (default: standard output)");
  command->footer(
      "Rows that a resume superseded are included and marked. NaN and infinity: nan and inf in CSV, texts in "
      "JSON.\n"
      "Examples:\n"
      "  lathe runs export last -o updates.csv\n"
      "  lathe runs export last --table evaluations\n"
      "  lathe runs export last --format json -o run.json");
  command->callback([arguments, &context] {
    const bool json = arguments->format.empty() ? context.json : arguments->format == "json";
    std::vector<std::string> tables = arguments->tables;
    if (tables.empty()) tables = json ? export_tables() : std::vector<std::string>{"updates"};
    if (!json && tables.size() > 1) {
      throw Error(ErrorCode::InvalidArgument, "A CSV file holds one table.",
                  "Give one --table, or use --format json.");
    }
    const HistoryStore store = open_store(context);
    const std::string id = store.find(arguments->run);
    const auto reader = store.open_reader(id);
    const auto write = [&](std::ostream& out) {
      return json ? export_json(*reader, store.details(id), tables, out)
                  : export_csv(*reader, tables.front(), out);
    };
    if (arguments->output.empty()) {
      write(std::cout);
      return;
    }
    std::ofstream file(from_utf8(arguments->output), std::ios::binary | std::ios::trunc);
    if (!file) {
      throw Error(ErrorCode::Io, fmt::format("{} can't be written.", arguments->output),
                  "Check its folder and permissions.");
    }
    const int64_t rows = write(file);
    std::cerr << fmt::format("{} rows in {}\n", rows, arguments->output);
  });
}

void add_tag(CLI::App& runs, Context& context) {
  struct Arguments {
    std::string run;
    std::vector<std::string> tags;
    bool remove = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand("tag", "Add tags to a run, or remove them");
  command->add_option("run", arguments->run, run_help)->required();
  command->add_option("tags", arguments->tags, "Tags")->required();
  command->add_flag("--remove", arguments->remove, "Remove them instead");
  command->footer("Examples:\n  lathe runs tag last baseline fp8\n  lathe runs tag last fp8 --remove");
  command->callback([arguments, &context] {
    HistoryStore store = open_store(context);
    const std::string id = store.find(arguments->run);
    for (const std::string& tag : arguments->tags)
      arguments->remove ? store.remove_tag(id, tag) : store.add_tag(id, tag);
    print_change(context, store, id, fmt::format("{}: {}", id, fmt::join(store.summary(id).tags, ", ")));
  });
}

void add_note(CLI::App& runs, Context& context) {
  struct Arguments {
    std::string run;
    std::string text;
    bool append = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand("note", "Write the notes of a run");
  command->add_option("run", arguments->run, run_help)->required();
  command->add_option("text", arguments->text, "The notes; an empty text removes them")->required();
  command->add_flag("--append", arguments->append, "Add a line to what is there");
  command->footer("Example:\n  lathe runs note last \"loss spike at 1200: bad shard\" --append");
  command->callback([arguments, &context] {
    HistoryStore store = open_store(context);
    const std::string id = store.find(arguments->run);
    std::string notes = arguments->text;
    if (const std::string old = store.details(id).notes; arguments->append && !old.empty())
      notes = old + "\n" + notes;
    store.set_notes(id, notes);
    print_change(context, store, id, fmt::format("{}: noted", id));
  });
}

void add_rename(CLI::App& runs, Context& context) {
  struct Arguments {
    std::string run, name;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand("rename", "Give a run another name; its id stays");
  command->add_option("run", arguments->run, run_help)->required();
  command->add_option("name", arguments->name, "The new name")->required();
  command->footer("Example:\n  lathe runs rename last \"wide ffn\"");
  command->callback([arguments, &context] {
    HistoryStore store = open_store(context);
    const std::string id = store.find(arguments->run);
    store.rename(id, arguments->name);
    print_change(context, store, id, fmt::format("{}: now named {}", id, store.summary(id).name));
  });
}

void add_archive(CLI::App& runs, Context& context) {
  struct Arguments {
    std::vector<std::string> runs;
    bool undo = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand("archive", "Hide runs from the list; nothing is deleted");
  command->add_option("runs", arguments->runs, run_help)->required();
  command->add_flag("--undo", arguments->undo, "Show them again");
  command->footer("Examples:\n  lathe runs archive last\n  lathe runs archive baseline --undo");
  command->callback([arguments, &context] {
    HistoryStore store = open_store(context);
    Json document = Json::array();
    std::string text;
    for (const std::string& run : arguments->runs) {
      const std::string id = store.find(run);
      store.set_archived(id, !arguments->undo);
      document.push_back(to_json(store.summary(id)));
      text += fmt::format("{}: {}\n", id, arguments->undo ? "back in the list" : "archived");
    }
    print(context, document, [&] { std::cout << text; });
  });
}

void add_delete(CLI::App& runs, Context& context) {
  struct Arguments {
    std::vector<std::string> runs;
    bool yes = false, keep_checkpoints = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      runs.add_subcommand("delete", "Delete runs with their numbers and checkpoints, for good");
  command->add_option("runs", arguments->runs, run_help)->required();
  command->add_flag("--yes", arguments->yes, "Really do it; without it, only says what would be deleted");
  command->add_flag("--keep-checkpoints", arguments->keep_checkpoints,
                    "Leave the checkpoints folder where it is");
  command->footer(
      "A run that is being trained is not deleted (exit code 11).\nExample:\n  lathe runs delete 3f2k --yes");
  command->callback([arguments, &context] {
    HistoryStore store = open_store(context);
    // All of them must exist before the first one goes.
    std::vector<RunSummary> doomed;
    for (const std::string& run : arguments->runs) doomed.push_back(store.summary(store.find(run)));
    Json document = Json::array();
    std::string text;
    for (const RunSummary& run : doomed) {
      text +=
          fmt::format("{}{} ({}), {} steps, {} tokens, {}\n", arguments->yes ? "deleted " : "would delete ",
                      run.name, run.id, run.step, count_text(run.tokens), to_utf8(store.run_folder(run.id)));
      if (arguments->yes) {
        store.delete_run(
            run.id, arguments->keep_checkpoints ? DeleteFiles::KeepCheckpoints : DeleteFiles::Everything);
      }
      document.push_back({{"id", run.id}, {"name", run.name}, {"deleted", arguments->yes}});
    }
    print(context, document,
          [&] { std::cout << text << (arguments->yes ? "" : "Repeat with --yes to do it.\n"); });
    if (!arguments->yes) context.exit_code = exit_code(ErrorCode::InvalidArgument);
  });
}

// Waits until the trainer answered. A trainer that dies meanwhile doesn't answer; the store then does.
Command wait_for_answer(HistoryStore& store, const std::string& id, int64_t command_id, double timeout_s) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {
    const Command command = store.command(command_id);
    if (command.answered_ms) return command;
    if (!store.is_running(id)) store.repair_interrupted();
    if (std::chrono::steady_clock::now() >= deadline) {
      throw Error(
          ErrorCode::Busy,
          fmt::format(
              "Run {} hasn't answered within {:g} s. The request stands; it is read between micro-steps.", id,
              timeout_s),
          "Look at `lathe runs show`, or wait longer with --timeout.");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

CLI::App* add_request(CLI::App& runs, Context& context, const char* name, const char* help,
                      CommandKind kind) {
  struct Arguments {
    std::string run;
    double timeout_s = 60;
    bool now = false;
    std::string prompt;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = runs.add_subcommand(name, help);
  command->add_option("run", arguments->run, run_help)->required();
  command
      ->add_option("--timeout", arguments->timeout_s, "Seconds to wait for the run's answer; 0: don't wait")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (kind == CommandKind::Stop) {
    command->add_flag("--now", arguments->now, "Drop the open update and save nothing");
  }
  if (kind == CommandKind::Sample) {
    command->add_option("--prompt", arguments->prompt,
                        "The text to continue; empty: the start of a document");
  }
  command->callback([arguments, &context, kind] {
    HistoryStore store = open_store(context);
    const std::string id = store.find(arguments->run);
    const CommandKind asked = arguments->now ? CommandKind::StopNow : kind;
    const int64_t request = store.post_command(id, asked, arguments->prompt);
    Command answer = store.command(request);
    if (arguments->timeout_s > 0) answer = wait_for_answer(store, id, request, arguments->timeout_s);
    const bool stopped =
        kind == CommandKind::Stop && answer.answered_ms && !is_active(store.summary(id).status);
    Json document = {{"run", id},
                     {"request", command_name(asked)},
                     {"answered", answer.answered_ms.has_value()},
                     {"done", answer.done || stopped},
                     {"answer", answer.answer}};
    print(context, document, [&] {
      std::cout << fmt::format("{}: {}\n", id,
                               answer.answered_ms ? answer.answer : "requested, not waiting for the answer");
    });
    // Stopping a run that just ended by itself is no failure.
    if (answer.answered_ms && !answer.done && !stopped) context.exit_code = exit_code(ErrorCode::Cancelled);
  });
  return command;
}

}  // namespace

void register_runs_commands(CLI::App& app, Context& context) {
  CLI::App* runs = app.add_subcommand("runs", "List, compare, export and steer runs");
  runs->require_subcommand(1);
  runs->fallthrough();
  add_list(*runs, context);
  add_show(*runs, context);
  add_compare(*runs, context);
  add_export(*runs, context);
  add_tag(*runs, context);
  add_note(*runs, context);
  add_rename(*runs, context);
  add_archive(*runs, context);
  add_delete(*runs, context);
  add_request(*runs, context, "pause", "Pause a run that trains in another process; it keeps its memory",
              CommandKind::Pause)
      ->footer("Acts at the next micro-step.\nExample:\n  lathe runs pause last");
  add_request(*runs, context, "continue", "Let a paused run go on", CommandKind::Resume)
      ->footer(
          "For a run whose process has ended, use `lathe resume`.\nExample:\n  lathe runs continue last");
  add_request(*runs, context, "stop", "Finish the update, save a checkpoint, end the run", CommandKind::Stop)
      ->footer("Examples:\n  lathe runs stop last --timeout 300\n  lathe runs stop last --now");
  add_request(*runs, context, "evaluate", "Evaluate at the next update and go on", CommandKind::Evaluate)
      ->footer("Example:\n  lathe runs evaluate last");
  add_request(*runs, context, "sample", "Generate text at the next update and go on", CommandKind::Sample)
      ->footer("Example:\n  lathe runs sample last --prompt \"It is a truth\"");
  add_request(*runs, context, "save", "Save a checkpoint at the next update and go on", CommandKind::Save)
      ->footer("Example:\n  lathe runs save last");
  runs->footer(
      "Exit codes: 0 done, 3 no such run, 11 busy or no answer in time, 12 the run didn't do it.\n"
      "Examples:\n"
      "  lathe runs list\n"
      "  lathe runs compare baseline last\n"
      "  lathe runs stop last");
}

}  // namespace lathe::cli
