// Export gives every stored row, readable by others; comparison computes what it says.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/history/compare.h"
#include "core/history/export.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class HistoryExportTest : public HistoryTest {
 protected:
  // Two sessions: 1 to 10, then again from 6 to 8.
  std::string make_run(HistoryStore& store) {
    auto writer = store.create_run(info("a"));
    writer->begin_session(1);
    for (int64_t step = 1; step <= 10; ++step)
      writer->add_update(update(step, step == 2 ? nan : step == 3 ? infinity : 0.1));
    writer->begin_session(6);
    for (int64_t step = 6; step <= 8; ++step) writer->add_update(update(step, 0.2));
    EvaluationRow row;
    row.step = 8;
    row.set = "a \"quoted\", set";
    row.eval_loss = 2.5;
    writer->add_evaluation(row);
    writer->add_event(EventLevel::Info, "line\nbreak");
    writer->add_sample(8, "p", "t");
    writer->finish(RunStatus::Finished, "");
    return writer->id();
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(HistoryExportTest, Csv_Updates_HasEveryRowMarkedAndExact) {
  HistoryStore store(home());
  const auto reader = store.open_reader(make_run(store));
  std::ostringstream out;
  EXPECT_EQ(export_csv(*reader, "updates", out), 13);
  const auto lines = lines_of(out.str());
  ASSERT_EQ(lines.size(), 14u);
  EXPECT_THAT(lines[0], StartsWith("seq,session,superseded,step,tokens,time_ms,active_ms,loss,grad_norm,"));
  EXPECT_THAT(lines[1], StartsWith("1,1,0,1,1000,"));
  EXPECT_THAT(lines[1], HasSubstr(",0.1,1,,,0.001,"));
  EXPECT_THAT(lines[2], HasSubstr(",nan,0.5,"));
  EXPECT_THAT(lines[3], HasSubstr(",inf,0.3333333333333333,"));
  EXPECT_THAT(lines[5], StartsWith("5,1,0,5,"));
  EXPECT_THAT(lines[6], StartsWith("6,1,1,6,"));
  EXPECT_THAT(lines[13], StartsWith("13,2,0,8,"));
}

TEST_F(HistoryExportTest, Csv_TextWithQuotes_FollowsRfc4180) {
  HistoryStore store(home());
  const auto reader = store.open_reader(make_run(store));
  std::ostringstream evaluations, events;
  export_csv(*reader, "evaluations", evaluations);
  EXPECT_THAT(evaluations.str(), HasSubstr("\"a \"\"quoted\"\", set\",2.5,"));
  export_csv(*reader, "events", events);
  EXPECT_THAT(events.str(), HasSubstr("\"line\nbreak\""));
  error_of(ErrorCode::InvalidArgument, [&] { export_csv(*reader, "secrets", events); });
}

TEST_F(HistoryExportTest, Json_AllTables_IsOneValidDocument) {
  HistoryStore store(home());
  const std::string id = make_run(store);
  std::ostringstream out;
  EXPECT_EQ(export_json(*store.open_reader(id), store.details(id), export_tables(), out), 13 + 1 + 1 + 1 + 2);
  const auto document = nlohmann::json::parse(out.str());
  ASSERT_EQ(document["updates"].size(), 13u);
  EXPECT_EQ(document["updates"][1]["loss"], "NaN");
  EXPECT_EQ(document["updates"][2]["loss"], "Infinity");
  EXPECT_TRUE(document["updates"][0]["step_ms"].is_null());
  EXPECT_EQ(document["updates"][0]["grad_norm"], 1.0);
  EXPECT_EQ(document["updates"][5]["superseded"], true);
  EXPECT_EQ(document["run"]["settings"]["model.layers"], "2");
  EXPECT_EQ(document["sessions"].size(), 2u);
  EXPECT_EQ(document["metrics"].size(), metrics().size());
}

TEST_F(HistoryExportTest, Csv_StreamFails_SaysSo) {
  HistoryStore store(home());
  const auto reader = store.open_reader(make_run(store));
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  error_of(ErrorCode::Io, [&] { export_csv(*reader, "updates", out); });
}

TEST_F(HistoryExportTest, Compare_TwoRuns_ShowsDifferencesAndOutcomes) {
  HistoryStore store(home());
  const auto train = [&](RunInfo what, int64_t updates, double speed, double loss) {
    auto writer = store.create_run(what);
    writer->begin_session(1);
    for (int64_t step = 1; step <= updates; ++step) {
      UpdateRow row = update(step, loss + static_cast<double>(step));
      // A slow warm-up of ten updates must not count; then speeds 0, 1, 2, 3, 4 above `speed` in turn.
      row.tokens_per_s = step <= 10 ? 1.0 : speed + static_cast<double>(step % 5);
      row.memory_process = step == 50 ? 2e9 : 1e9;
      writer->add_update(row);
    }
    writer->finish(RunStatus::Finished, "");
    return writer->id();
  };
  RunInfo wide = info("wide");
  wide.settings[0].second = "4";
  wide.settings.erase(wide.settings.begin() + 1);
  wide.settings.emplace_back("only.here", "x");
  const std::string a = train(info("base"), 310, 1000, 0), b = train(wide, 160, 2000, 100);
  const Comparison comparison = compare_runs(store, {a, b});
  ASSERT_EQ(comparison.settings.size(), 3u);
  EXPECT_EQ(comparison.settings[0].key, "model.layers");
  EXPECT_THAT(comparison.settings[0].texts,
              ElementsAre(std::optional<std::string>("2"), std::optional<std::string>("4")));
  EXPECT_EQ(comparison.settings[1].texts[1], std::nullopt);
  EXPECT_EQ(comparison.settings[2].key, "only.here");
  EXPECT_EQ(comparison.equal_tokens, 160'000);
  EXPECT_EQ(comparison.outcomes[0].tokens_per_s_median, 1002.0);
  EXPECT_EQ(comparison.outcomes[1].tokens_per_s_median, 2002.0);
  EXPECT_EQ(comparison.outcomes[0].tokens_per_s_spread, 2.0);
  EXPECT_EQ(comparison.outcomes[0].peak_memory_bytes, 2'000'000'000);
  // The mean of steps 129 to 160.
  EXPECT_DOUBLE_EQ(comparison.outcomes[0].loss_at_equal_tokens.value(), 144.5);
  EXPECT_DOUBLE_EQ(comparison.outcomes[1].loss_at_equal_tokens.value(), 244.5);

  // A foreign log that counts no tokens and knows no settings takes nothing from the others.
  RunInfo foreign = info("log");
  foreign.settings.clear();
  auto writer = store.create_run(foreign);
  writer->begin_session(1);
  UpdateRow row = update(1, 3.0);
  row.tokens = 0;
  writer->add_update(row);
  writer->finish(RunStatus::Finished, "");
  const Comparison three = compare_runs(store, {a, b, writer->id()});
  EXPECT_EQ(three.settings.size(), 3u);
  EXPECT_EQ(three.settings[0].texts[2], std::nullopt);
  EXPECT_EQ(three.equal_tokens, 160'000);
  EXPECT_EQ(three.outcomes[0].loss_at_equal_tokens, comparison.outcomes[0].loss_at_equal_tokens);
  EXPECT_FALSE(three.outcomes[2].loss_at_equal_tokens);
}

}  // namespace
}  // namespace lathe
