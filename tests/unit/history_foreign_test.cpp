// Foreign logs: each format, what is refused, and the run that comes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "core/history/foreign_log.h"
#include "core/history/history_store.h"
#include "core/history/line_pattern.h"
#include "core/history/sample_runs.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

class ForeignLog : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto file = folder_.path() / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  const ForeignColumn& column(const ForeignTable& table, const std::string& name) {
    const auto found = std::ranges::find(table.columns, name, &ForeignColumn::name);
    if (found == table.columns.end()) throw std::runtime_error("no column " + name);
    return *found;
  }
  std::string target(const ForeignTable& table, const std::string& name) {
    for (const auto& one : suggest_mapping(table).columns) {
      if (table.columns[one.column].name == name) return one.target;
    }
    return {};
  }
  TemporaryFolder folder_;
};

TEST_F(ForeignLog, Csv_QuotesSeparatorsAndNan) {
  const auto file =
      write("log.csv",
            "\xEF\xBB\xBFstep;train/loss;\"val;loss\"\r\n1;9.5;\r\n\r\n2;nan;\"3,25\"\r\nend of file\r\n");
  EXPECT_EQ(guess_foreign_format(file), ForeignFormat::Csv);
  const ForeignTable table = read_foreign_log(file, ForeignFormat::Csv);
  EXPECT_EQ(table.rows, 2);
  EXPECT_EQ(table.skipped, 1);
  EXPECT_THAT(table.first_skipped, testing::HasSubstr("end of file"));
  EXPECT_TRUE(std::isnan(*column(table, "train/loss").values[1]));
  EXPECT_FALSE(column(table, "val;loss").values[0].has_value());
  EXPECT_EQ(target(table, "train/loss"), "loss");
}

TEST_F(ForeignLog, JsonLines_NestedAndPythonsNan) {
  const auto file = write("log.jsonl",
                          "{\"step\": 1, \"train\": {\"loss\": NaN}, \"note\": \"NaN in text\"}\n{\"step\": "
                          "2, \"train\": {\"loss\": 4.5}, \"val\": {\"loss\": -Infinity}}\nnot json\n");
  EXPECT_EQ(guess_foreign_format(file), ForeignFormat::JsonLines);
  const ForeignTable table = read_foreign_log(file, ForeignFormat::JsonLines);
  EXPECT_EQ(table.rows, 2);
  EXPECT_TRUE(std::isnan(*column(table, "train.loss").values[0]));
  EXPECT_TRUE(std::isinf(*column(table, "val.loss").values[1]));
  EXPECT_EQ(target(table, "train.loss"), "loss");
  EXPECT_EQ(target(table, "val.loss"), "eval_loss");
}

TEST_F(ForeignLog, TrainerState_LogHistory) {
  const auto file =
      write("trainer_state.json",
            "{\"epoch\": 1,\n \"log_history\": [{\"loss\": 5.0, \"learning_rate\": 0.0003, \"step\": 10}, "
            "{\"eval_loss\": 4.8, \"step\": 10}, {\"loss\": 4.0, \"step\": 20}]}");
  EXPECT_EQ(guess_foreign_format(file), ForeignFormat::TrainerState);
  const ForeignTable table = read_foreign_log(file, ForeignFormat::TrainerState);
  EXPECT_EQ(table.rows, 3);
  HistoryStore store(folder_.path() / "home");
  const std::string id =
      import_foreign_log(store, table, suggest_mapping(table), {"hf", "trainer_state.json", "", {}});
  const auto reader = store.open_reader(id);
  SeriesQuery query;
  query.metrics = {"loss", "lr"};
  const Series updates = reader->series(query);
  EXPECT_EQ(updates.x, (std::vector<double>{10, 20}));
  EXPECT_EQ(updates.columns[0].last, (std::vector<double>{5, 4}));
  query.metrics = {"eval_loss"};
  EXPECT_EQ(reader->series(query).columns[0].last, std::vector<double>{4.8});
  EXPECT_EQ(store.summary(id).status, RunStatus::Finished);
  EXPECT_THAT(store.summary(id).tags, testing::ElementsAre("imported"));
}

TEST_F(ForeignLog, Lines_PatternIsFoundByItself) {
  const std::vector<std::string> lines = {
      "starting up", "2026-01-31 12:34:56,789 INFO step 10/500 | loss: 7.25 | lr=3.0e-04 | 8,412 tok/s",
      "saved"};
  const std::string pattern = suggest_pattern(lines);
  const LinePattern found(pattern);
  const auto values = found.match(lines[1]);
  ASSERT_TRUE(values.has_value()) << pattern;
  EXPECT_THAT(found.names(),
              testing::IsSupersetOf({std::string("step"), std::string("loss"), std::string("lr")}));
  EXPECT_FALSE(found.match(lines[0]).has_value());
}

// Lines as people's scripts print them: every number gets its own name, its unit with it, and means what it
// should.
TEST_F(ForeignLog, Lines_OfWellKnownScripts_AreUnderstood) {
  struct Case {
    const char* line;
    std::map<std::string, double> row;  // target: value
  };
  const Case cases[] = {
      {"iter 1 | loss 7.6 | lr 3.00e-03 | dt 59.60ms | 17067 tok/s",
       {{"step", 1}, {"loss", 7.6}, {"lr", 3e-3}, {"step_ms", 59.6}, {"tokens_per_s", 17067}}},
      {"iter 20: loss 10.9900, time 5000.00ms, mfu 30.12%",
       {{"step", 20}, {"loss", 10.99}, {"step_ms", 5000}}},
      {"step   250 | loss: 3.891422 | lr 6.0000e-04 | norm: 0.3141 | dt: 340.12ms | tok/sec: 1541464.95",
       {{"step", 250},
        {"loss", 3.891422},
        {"lr", 6e-4},
        {"grad_norm", 0.3141},
        {"step_ms", 340.12},
        {"tokens_per_s", 1541464.95}}},
      {"{'loss': 2.31, 'grad_norm': 1.25, 'learning_rate': 0.0003, 'epoch': 0.1}",
       {{"loss", 2.31}, {"grad_norm", 1.25}, {"lr", 3e-4}}},
      {"step 500: train loss 2.5000, val loss 2.7500", {{"step", 500}, {"loss", 2.5}, {"eval_loss", 2.75}}},
      {"2026-01-31 12:34:56 [INFO] step=10/500 loss=7.25 mem 12.5GB 8.5k tokens/s step_time 7.1s",
       {{"time", 1769862896000},
        {"step", 10},
        {"loss", 7.25},
        {"memory_process", 12.5 * (1 << 30)},
        {"tokens_per_s", 8500},
        {"step_ms", 7100}}},
  };
  for (const Case& one : cases) {
    const std::string pattern = suggest_pattern({one.line});
    const ForeignTable table =
        read_foreign_log(write("a.log", std::string(one.line) + "\n"), ForeignFormat::Lines, pattern);
    std::map<std::string, double> row;
    for (const ForeignMapping::Column& column : suggest_mapping(table).columns)
      row[column.target] = *table.columns[column.column].values.at(0) * column.factor;
    EXPECT_EQ(row.size(), one.row.size()) << pattern;
    for (const auto& [target, value] : one.row) {
      ASSERT_TRUE(row.contains(target)) << target << " in " << pattern;
      EXPECT_NEAR(row[target], value, 1e-9 * std::abs(value)) << target << " in " << pattern;
    }
  }
}

// A unit that grew into the name is seen by the size of its values.
TEST_F(ForeignLog, MemoryInGigabytes_HoweverItIsWritten) {
  for (const std::string name : {"memGB", "mem_gb", "memory (GB)", "vram_GiB"}) {
    const ForeignTable table =
        read_foreign_log(write("a.csv", "step,loss," + name + "\n1,9,12.5\n"), ForeignFormat::Csv);
    const ForeignMapping mapping = suggest_mapping(table);
    ASSERT_EQ(mapping.columns.size(), 3u) << name;
    EXPECT_EQ(mapping.columns[2].target, "memory_process") << name;
    EXPECT_EQ(mapping.columns[2].factor, 1024.0 * 1024 * 1024) << name;
  }
}

// Tokens a step follow from tokens/s and the step's time where the log doesn't count them.
TEST_F(ForeignLog, TokensPerStep_AreInferredFromSpeed) {
  const ForeignTable table = read_foreign_log(
      write("a.csv", "step,loss,dt_ms,tps\n1,9,59.6,17067\n2,8,60.1,17038\n"), ForeignFormat::Csv);
  EXPECT_EQ(suggest_mapping(table).tokens_per_step, 1024);
  const ForeignTable counted =
      read_foreign_log(write("b.csv", "step,tokens,dt_ms,tps\n1,1000,59.6,17067\n"), ForeignFormat::Csv);
  EXPECT_FALSE(suggest_mapping(counted).tokens_per_step);
}

TEST_F(ForeignLog, LinePattern_SpacesAndAnything) {
  const LinePattern pattern("step {step} {} loss {loss}");
  const auto found = pattern.match("x step   12 after 3 s,  loss  nan.");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ((*found)[0], "12");
  EXPECT_TRUE(std::isnan(*parse_log_number((*found)[1])));
  EXPECT_FALSE(pattern.match("step twelve loss 3").has_value());
  for (const char* bad : {"step", "{a}{b}", "{a} {a}", "{a", "{}"})
    EXPECT_THROW(LinePattern{bad}, Error) << bad;
}

TEST_F(ForeignLog, Numbers_AsLogsWriteThem) {
  EXPECT_EQ(parse_log_number("1,234"), 1234);
  EXPECT_EQ(parse_log_number(" +1.5e-3 "), 1.5e-3);
  EXPECT_EQ(parse_log_number("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_log_number("1970-01-01T00:00:01Z"), 1000);
  EXPECT_EQ(parse_log_number("1970-01-01 01:00:00.250+01:00"), 250);
  EXPECT_EQ(parse_log_number("2026-02-30"), std::nullopt);
  EXPECT_EQ(parse_log_number("12 apples"), std::nullopt);
  EXPECT_EQ(parse_log_number(""), std::nullopt);
}

TEST_F(ForeignLog, StepsThatGoBack_AreASecondSession) {
  const ForeignTable table =
      read_foreign_log(write("a.csv", "step,loss\n1,9\n2,8\n3,7\n3,7\n2,6\n3,5\n"), ForeignFormat::Csv);
  HistoryStore store(folder_.path() / "home");
  const std::string id = import_foreign_log(store, table, suggest_mapping(table), {"twice", "a.csv", "", {}});
  SeriesQuery query;
  query.metrics = {"loss"};
  const auto reader = store.open_reader(id);
  EXPECT_EQ(reader->series(query).columns[0].last, (std::vector<double>{9, 6, 5}));
  EXPECT_EQ(reader->sessions().size(), 2u);
}

TEST_F(ForeignLog, TokensPerStep_GiveTokensAndSpeed) {
  const ForeignTable table =
      read_foreign_log(write("a.csv", "iter,loss,dt\n1,9,2.0\n2,8,2.0\n"), ForeignFormat::Csv);
  ForeignMapping mapping = suggest_mapping(table);
  mapping.tokens_per_step = 65536;
  HistoryStore store(folder_.path() / "home");
  const RunSummary run =
      store.summary(import_foreign_log(store, table, mapping, {"", "a.csv", "", {"baseline"}}));
  EXPECT_EQ(run.tokens, 131072);
  EXPECT_NEAR(*run.tokens_per_s, 32768, 1e-6);
  EXPECT_EQ(run.active_ms, 4000);
  EXPECT_THAT(run.tags, testing::ElementsAre("baseline", "imported"));
}

TEST_F(ForeignLog, WhatCantBeImported_LeavesNoRun) {
  const ForeignTable table = read_foreign_log(write("a.csv", "step,loss\n1,9\n"), ForeignFormat::Csv);
  HistoryStore store(folder_.path() / "home");
  const ForeignRun run{"x", "a.csv", "", {}};
  EXPECT_THROW(import_foreign_log(store, table, {{{0, "step", 1}}, {}}, run), Error);
  EXPECT_THROW(import_foreign_log(store, table, {{{0, "loss", 1}, {1, "loss", 1}}, {}}, run), Error);
  EXPECT_THROW(import_foreign_log(store, table, {{{7, "loss", 1}}, {}}, run), Error);
  EXPECT_THROW(
      import_foreign_log(store, table, suggest_mapping(table), run, [](int64_t, int64_t) { return false; }),
      Error);
  EXPECT_TRUE(store.list({.archived = true}).empty());
}

TEST_F(ForeignLog, SampleRuns_ComeMarkedWithTheirNotes) {
  std::filesystem::create_directories(folder_.path() / "samples");
  write("samples/first look.csv", "step,tokens,active_ms,loss,eval_loss\n1,8,10,9,\n2,16,20,8,8.5\n");
  write("samples/first look.txt", "Recorded on a CPU.");
  HistoryStore store(folder_.path() / "home");
  EXPECT_TRUE(import_sample_runs(store, folder_.path() / "nothere").empty());
  const auto ids = import_sample_runs(store, folder_.path() / "samples");
  ASSERT_EQ(ids.size(), 1u);
  const RunDetails run = store.details(ids[0]);
  EXPECT_EQ(run.name, "first look");
  EXPECT_EQ(run.notes, "Recorded on a CPU.");
  EXPECT_EQ(run.active_ms, 20);
  EXPECT_EQ(run.last_eval_loss, 8.5);
  EXPECT_THAT(run.tags, testing::ElementsAre("imported", "sample"));
}

// Nested as deep as the file is long: skipped or refused, without following it down.
TEST_F(ForeignLog, DeepNesting_IsNotFollowed) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  const std::string lines = deep + "\n{\"step\": 1, \"loss\": 2}\n";
  const ForeignTable table = read_foreign_log(write("deep.jsonl", lines), ForeignFormat::JsonLines);
  EXPECT_EQ(table.rows, 1);
  EXPECT_EQ(table.skipped, 1);
  const auto state = write("deep.json", "{\"log_history\": " + std::string(100000, '[') + "}");
  EXPECT_THROW(read_foreign_log(state, ForeignFormat::TrainerState), Error);
  guess_foreign_format(state);
}

// A new name on every line would make a table of the file's length squared.
TEST_F(ForeignLog, ColumnsWithoutEnd_AreRefused) {
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "{\"m" + std::to_string(i) + "\":1}\n";
  EXPECT_THROW(read_foreign_log(write("wide.jsonl", lines), ForeignFormat::JsonLines), Error);
}

TEST_F(ForeignLog, BytesThatAreNoText_AreReplacedInNamesAndExamples) {
  const ForeignTable table =
      read_foreign_log(write("bytes.csv", "step,\xff\n1,2\n\xfe\n2,3\n"), ForeignFormat::Csv);
  EXPECT_EQ(table.columns[1].name, "\xEF\xBF\xBD");
  EXPECT_EQ(table.first_skipped.find('\xfe'), std::string::npos);
}

// Names that differ only in bytes that are no text are one column.
TEST_F(ForeignLog, PatternNamesThatAreNoText_ShareAColumn) {
  const ForeignTable table =
      read_foreign_log(write("names.log", "1 2 3\n4 5 6\n"), ForeignFormat::Lines, "{\xff} {\xfe} {loss}");
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[1].values, (std::vector<MetricValue>{3.0, 6.0}));
}

// One endless line, on which every place is a beginning that comes to nothing.
TEST_F(ForeignLog, LongLine_IsMatchedInTime) {
  std::string line;
  while (line.size() < 2000000) line += "step 1 ";
  EXPECT_FALSE(LinePattern("step {step} {} loss {loss}").match(line).has_value());
}

TEST_F(ForeignLog, NumbersAtTheirLimits_DontOverflow) {
  std::string text = "step,loss,dt\n";
  for (int i = 1; i <= 2000; ++i) text += std::to_string(i) + ",1,8e15\n";
  text += "8000000000000000,1,8e15\n";
  const ForeignTable table = read_foreign_log(write("far.csv", text), ForeignFormat::Csv);
  ForeignMapping mapping = suggest_mapping(table);
  mapping.tokens_per_step = 65536;
  HistoryStore store(folder_.path() / "home");
  const RunSummary run = store.summary(import_foreign_log(store, table, mapping, {"", "far.csv", "", {}}));
  EXPECT_EQ(run.tokens, 9000000000000000);
  EXPECT_EQ(run.active_ms, 9000000000000000);
}

TEST_F(ForeignLog, FilesThatAreNone_SayWhy) {
  EXPECT_THROW(read_foreign_log(folder_.path() / "nothere", ForeignFormat::Csv), Error);
  EXPECT_THROW(read_foreign_log(write("empty.csv", ""), ForeignFormat::Csv), Error);
  EXPECT_THROW(read_foreign_log(write("x.json", "{\"a\": 1}"), ForeignFormat::TrainerState), Error);
  EXPECT_THROW(read_foreign_log(write("y.json", "{broken"), ForeignFormat::TrainerState), Error);
  EXPECT_THROW(read_foreign_log(write("z.log", "nothing here\n"), ForeignFormat::Lines, "loss {loss}"),
               Error);
}

}  // namespace
}  // namespace lathe
