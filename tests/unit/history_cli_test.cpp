// `lathe runs` as a script sees it: output, JSON, exit codes, and requests that reach a running trainer.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "app/cli/commands.h"
#include "app/cli/runs_view.h"
#include "app/cli/text_table.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class HistoryCliTest : public HistoryTest {
 protected:
  struct Result {
    int exit_code = 0;
    std::string out, error;
    nlohmann::json json() const { return nlohmann::json::parse(out); }
  };

  // Runs `lathe runs …` in this process.
  Result lathe(std::vector<std::string> arguments) const {
    std::ostringstream out, error;
    auto* const old_out = std::cout.rdbuf(out.rdbuf());
    auto* const old_error = std::cerr.rdbuf(error.rdbuf());
    cli::Context context;
    context.home = home();
    CLI::App app;
    app.fallthrough();
    app.add_flag("--json", context.json);
    cli::register_runs_commands(app, context);
    arguments.insert(arguments.begin(), "runs");
    std::ranges::reverse(arguments);  // as CLI11 wants a vector
    Result result;
    try {
      app.parse(arguments);
      result.exit_code = context.exit_code;
    } catch (const CLI::ParseError&) {
      result.exit_code = 2;
    } catch (const Error& caught) {
      result.exit_code = cli::report(context, caught);
    }
    std::cout.rdbuf(old_out);
    std::cerr.rdbuf(old_error);
    result.out = out.str();
    result.error = error.str();
    return result;
  }

  std::string make_run(std::string name) const {
    HistoryStore store(home());
    auto writer = store.create_run(info(std::move(name)));
    writer->begin_session(1);
    for (int64_t step = 1; step <= 20; ++step) writer->add_update(update(step, step == 20 ? nan : 2.0));
    writer->finish(RunStatus::Finished, "All updates done.");
    return writer->id();
  }
};

TEST_F(HistoryCliTest, List_TextAndJson_ShowTheRuns) {
  EXPECT_THAT(lathe({"list"}).out, HasSubstr("No runs"));
  const std::string id = make_run("größer");
  const Result text = lathe({"list"});
  EXPECT_THAT(text.out, HasSubstr(id));
  EXPECT_THAT(text.out, HasSubstr("nominal, step only"));
  const auto json = lathe({"list", "--json"}).json();
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["name"], "größer");
  EXPECT_EQ(json[0]["best_loss"], 2.0);
  EXPECT_EQ(json[0]["last_loss"], "NaN");
  EXPECT_EQ(lathe({"list", "--status", "failed", "--json"}).json().size(), 0u);
  EXPECT_EQ(lathe({"list", "--status", "odd"}).exit_code, 2);
}

TEST_F(HistoryCliTest, Show_RunAndUnknownRun_AnswerInTheirWay) {
  const std::string id = make_run("a");
  const Result text = lathe({"show", "last"});
  for (const char* word : {"finished", "All updates done.", "model.layers", "CPU, 2 cores", "resident set"}) {
    EXPECT_THAT(text.out, HasSubstr(word));
  }
  const auto json = lathe({"show", "a", "--json"}).json();
  EXPECT_EQ(json["id"], id);
  EXPECT_EQ(json["settings"]["model.layers"], "2");
  EXPECT_EQ(json["versions"]["lathe"], "0.1.0");
  const Result missing = lathe({"show", "b", "--json"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_EQ(missing.json()["error"]["code"], "not_found");
}

TEST_F(HistoryCliTest, TagNoteRenameArchive_Run_ChangeIt) {
  const std::string id = make_run("a");
  EXPECT_EQ(lathe({"tag", "a", "x", "y"}).exit_code, 0);
  EXPECT_EQ(lathe({"tag", "a", "x", "--remove"}).exit_code, 0);
  EXPECT_EQ(lathe({"note", "a", "first"}).exit_code, 0);
  EXPECT_EQ(lathe({"note", "a", "second", "--append"}).exit_code, 0);
  EXPECT_EQ(lathe({"rename", "a", "new name"}).exit_code, 0);
  EXPECT_EQ(lathe({"archive", id}).exit_code, 0);
  const HistoryStore store(home());
  const RunDetails run = store.details(id);
  EXPECT_EQ(run.tags, std::vector<std::string>{"y"});
  EXPECT_EQ(run.notes, "first\nsecond");
  EXPECT_EQ(run.name, "new name");
  EXPECT_TRUE(run.archived);
  EXPECT_THAT(lathe({"list"}).out, HasSubstr("No runs"));
  EXPECT_THAT(lathe({"list", "--all"}).out, HasSubstr("archived"));
  EXPECT_EQ(lathe({"archive", id, "--undo"}).exit_code, 0);
  EXPECT_FALSE(store.summary(id).archived);
}

TEST_F(HistoryCliTest, Delete_WithoutYes_OnlyTells) {
  const std::string id = make_run("a");
  const Result asked = lathe({"delete", "a"});
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.out, HasSubstr("would delete"));
  const HistoryStore store(home());
  EXPECT_TRUE(std::filesystem::exists(store.run_folder(id)));
  EXPECT_EQ(lathe({"delete", "a", "missing", "--yes"}).exit_code, 3);
  EXPECT_TRUE(std::filesystem::exists(store.run_folder(id))) << "one bad name deletes nothing";
  EXPECT_EQ(lathe({"delete", "a", "--yes"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(store.run_folder(id)));
}

TEST_F(HistoryCliTest, Export_ToFileAndOutput_GivesEveryRow) {
  make_run("a");
  const Result csv = lathe({"export", "a"});
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 21);
  const auto file = scratch() / "run.json";
  EXPECT_EQ(lathe({"export", "a", "--format", "json", "-o", to_utf8(file)}).exit_code, 0);
  std::ifstream stream(file);
  EXPECT_EQ(nlohmann::json::parse(stream)["updates"].size(), 20u);
  EXPECT_EQ(lathe({"export", "a", "--table", "updates", "--table", "events"}).exit_code, 2);
  EXPECT_EQ(lathe({"export", "a", "-o", to_utf8(scratch() / "no" / "such" / "folder")}).exit_code, 5);
}

TEST_F(HistoryCliTest, Compare_TwoRuns_PrintsBoth) {
  make_run("a");
  make_run("b");
  const Result text = lathe({"compare", "a", "b"});
  EXPECT_THAT(text.out, HasSubstr("No setting differs."));
  EXPECT_THAT(text.out, HasSubstr("training loss at 20.0k tokens"));
  EXPECT_EQ(lathe({"compare", "a", "b", "--json"}).json()["runs"].size(), 2u);
  EXPECT_EQ(lathe({"compare", "a"}).exit_code, 2);
}

TEST_F(HistoryCliTest, Requests_RunningTrainer_ReachItAndReturnItsAnswer) {
  HistoryStore store(home());
  auto writer = store.create_run(info("live"));
  std::vector<CommandKind> seen;
  std::atomic<bool> stop = false;
  // The trainer: pauses when asked, refuses to save, never answers an evaluation, stops when asked.
  std::thread trainer([&] {
    writer->begin_session(1);
    while (!stop) {
      for (const Command& command : writer->poll_commands()) {
        seen.push_back(command.kind);
        if (command.kind == CommandKind::Pause) writer->answer_command(command.id, "Paused after step 3.");
        if (command.kind == CommandKind::Save)
          writer->answer_command(command.id, "No room on the disk.", false);
        if (command.kind == CommandKind::StopNow) {
          writer->finish(RunStatus::Stopped, "asked to");
          return;
        }
      }
      std::this_thread::sleep_for(5ms);
    }
  });
  const Result pause = lathe({"pause", "live"});
  EXPECT_EQ(pause.exit_code, 0);
  EXPECT_THAT(pause.out, HasSubstr("Paused after step 3."));
  const Result save = lathe({"save", "live", "--json"});
  EXPECT_EQ(save.exit_code, 12);
  EXPECT_EQ(save.json()["answer"], "No room on the disk.");
  EXPECT_EQ(lathe({"continue", "live", "--timeout", "0.3"}).exit_code, 11) << "nobody answers";
  EXPECT_EQ(lathe({"continue", "live", "--timeout", "0"}).exit_code, 0) << "not waiting";
  EXPECT_EQ(lathe({"delete", "live", "--yes"}).exit_code, 11);
  EXPECT_EQ(lathe({"stop", "live", "--now", "--timeout", "20"}).exit_code, 0)
      << "the run ended: that was asked for";
  stop = true;
  trainer.join();
  EXPECT_EQ(lathe({"pause", "live"}).exit_code, 2) << "nobody trains it";
  EXPECT_EQ(seen.front(), CommandKind::Pause);
}

TEST_F(HistoryCliTest, Requests_TrainerDiesMeanwhile_DontWaitForIt) {
  std::unique_ptr<RunWriter> writer;
  {
    HistoryStore store(home());
    writer = store.create_run(info("dying"));
  }
  std::thread death([&] {
    std::this_thread::sleep_for(300ms);
    writer.reset();
  });
  const Result result = lathe({"pause", "dying", "--timeout", "30"});
  death.join();
  EXPECT_EQ(result.exit_code, 12);
  EXPECT_THAT(result.out, HasSubstr("had ended"));
}

TEST(TextTable, Columns_WithUtf8AndLineBreaks_StayAligned) {
  cli::TextTable table({"NAME", ">N", "LAST"});
  table.add({"größer", "1", "a\nb"});
  table.add({"x", "100", ""});
  EXPECT_EQ(table.text(), "NAME      N  LAST\ngrößer    1  a b\nx       100\n");
}

TEST(RunsView, DurationsAndCounts_AreShort) {
  EXPECT_EQ(cli::duration(7300), "7.3 s");
  EXPECT_EQ(cli::duration(252'000), "4 min 12 s");
  EXPECT_EQ(cli::duration(3'900'000), "1 h 05 min");
  EXPECT_EQ(cli::duration(183'600'000), "2 d 03 h");
  EXPECT_EQ(cli::count_text(999), "999");
  EXPECT_EQ(cli::count_text(65'536), "65.5k");
  EXPECT_EQ(cli::count_text(1'230'000), "1.23M");
}

}  // namespace
}  // namespace lathe
