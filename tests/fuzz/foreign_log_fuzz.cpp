// Logs of other trainers under the fuzzer: from the first lines to the finished run, as the import dialog
// goes about it.
#include "core/history/foreign_log.h"
#include "core/history/line_pattern.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> log_words = {"NaN",   "-Infinity",
                                            "nan",   "inf",
                                            "1e308", "-1e18",
                                            "9e15",  "null",
                                            "true",  "2026-01-31T12:34:56Z",
                                            "1,234", "step",
                                            "loss",  "\"",
                                            ",",     "\n",
                                            "\r\n",  "\xEF\xBB\xBF",
                                            "{",     "}",
                                            "[",     std::string(70, '{')};

class ForeignLogFuzz : public HistoryTest {
 protected:
  ForeignLogFuzz() : HistoryTest(testing::fuzz_folder()) {}

  // Reads the file; every table that comes out can be mapped, and imported or refused.
  std::string read_log(const fs::path& file, ForeignFormat format, const std::string& pattern = {}) {
    guess_foreign_format(file);
    const ForeignTable table = read(file, format, pattern);
    for (const ForeignColumn& column : table.columns)
      EXPECT_EQ(static_cast<int64_t>(column.values.size()), table.rows);
    ForeignMapping mapping = suggest_mapping(table);
    const std::string answer = std::to_string(mapping.columns.size()) + " columns mapped";
    if (table.rows > 200 || inputs_++ % 64 != 0) return answer;  // an import costs more than a read
    if (inputs_ % 128 == 1) mapping.tokens_per_step = 65536;
    HistoryStore store(home());
    const std::string id = import_foreign_log(store, table, mapping, {"fuzz", "fuzz.log", "", {}});
    store.open_reader(id)->series({.metrics = {"loss"}});
    store.delete_run(id);
    return answer + " and imported";
  }

  void fuzz_log(const std::string& name, ForeignFormat format, const std::vector<std::string>& seeds) {
    const fs::path file = scratch() / name;
    testing::fuzz(name, seeds,
                  [&](const std::string& input) {
                    write(file, input);
                    return read_log(file, format);
                  },
                  {.words = log_words});
  }

 private:
  // Without the line that an error quotes, which makes every answer a new one.
  static ForeignTable read(const fs::path& file, ForeignFormat format, const std::string& pattern) {
    try {
      return read_foreign_log(file, format, pattern);
    } catch (const Error& error) {
      const std::string& what = error.what_happened();
      throw Error(error.code(), what.substr(0, what.find("; first refused")), error.what_to_do());
    }
  }

  int64_t inputs_ = 0;
};

TEST_F(ForeignLogFuzz, Csv_Mutated_IsReadOrRefused) {
  fuzz_log("log.csv", ForeignFormat::Csv,
           {"step,loss,lr,dt\n1,9.5,1e-3,12\n2,nan,1e-3,\n\n3,\"7,5\",\"1\"\"2\",9\n",
            "step;val/loss;time\r\n1;9.5;2026-01-31 12:34:56\r\n2;8;2026-01-31 12:34:57.5\r\n",
            "1\t9\n2\t8\n1\t7\n"});
}

TEST_F(ForeignLogFuzz, JsonLines_Mutated_IsReadOrRefused) {
  fuzz_log("log.jsonl", ForeignFormat::JsonLines,
           {"{\"step\": 1, \"train\": {\"loss\": NaN}, \"note\": \"NaN\"}\n{\"step\": 2, \"train\": "
            "{\"loss\": 4.5}, "
            "\"val\": {\"loss\": -Infinity, \"ok\": true}}\nno json\n{\"step\": 1, \"loss\": \"3\", "
            "\"list\": [1]}\n"});
}

TEST_F(ForeignLogFuzz, TrainerState_Mutated_IsReadOrRefused) {
  fuzz_log("trainer_state.json", ForeignFormat::TrainerState,
           {"{\"epoch\": 1,\n \"log_history\": [{\"loss\": 5.0, \"learning_rate\": 0.0003, \"step\": 10}, "
            "{\"eval_loss\": 4.8, \"step\": 10}, {\"loss\": 4.0, \"step\": 20}]}"});
}

// Lines by the pattern that the dialog suggests for them.
TEST_F(ForeignLogFuzz, Lines_Mutated_AreReadOrRefused) {
  const fs::path file = scratch() / "lines.log";
  testing::fuzz(
      "lines.log",
      {"starting up\n2026-01-31 12:34:56,789 INFO step 10/500 | loss: 7.25 | lr=3.0e-04 | 8,412 tok/s\n"
       "2026-01-31 12:34:57,789 INFO step 20/500 | loss: 7.00 | lr=3.0e-04 | 8,412 tok/s\nsaved\n",
       "step 1 loss 3.5\nstep 2 loss 3.25\nstep 3 loss nan\n"},
      [&](const std::string& input) {
        write(file, input);
        return read_log(file, ForeignFormat::Lines, suggest_pattern(first_lines(file, 50)));
      },
      {.words = log_words});
}

// A pattern that somebody types, over lines that it fits more or less. The input is the pattern, a line
// break, the log.
TEST_F(ForeignLogFuzz, PatternOverLines_Mutated_MatchesOrIsRefused) {
  const fs::path file = scratch() / "pattern.log";
  testing::fuzz("pattern",
                {"step {step} {} loss {loss}\nx step   12 after 3 s,  loss  nan.\nstep 3 loss 4\n",
                 "{time} {step}/{total} loss={loss}\n2026-01-31 12:34:56 1/2 loss=3\n"},
                [&](const std::string& input) {
                  const size_t end = std::min(input.find('\n'), input.size());
                  write(file, input.substr(std::min(end + 1, input.size())));
                  return read_log(file, ForeignFormat::Lines, input.substr(0, end));
                },
                {.words = {"{", "}", "{}", " {} ", "{loss}", "{step}", "step ", " loss ", "  ", "12", "nan",
                           "\n", "step 1 step 1 step 1 step 1 step 1 step 1 "}});
}

}  // namespace
}  // namespace lathe
