// Data: builds with progress, cancels without leftovers, shows counts, windows and the first batch as they
// are.
#include <gtest/gtest.h>

#include <QDialogButtonBox>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <fstream>

#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/data/dataset.h"
#include "core/train/training_data.h"
#include "tests/ui/ui_support.h"
#include "ui/pages/data_build_dialog.h"
#include "ui/pages/data_facts.h"
#include "ui/pages/data_job.h"
#include "ui/pages/data_page.h"
#include "ui/pages/data_token_view.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

class DataTest : public testing::Test {
 protected:
  // A small text whose words are known.
  std::filesystem::path write_text(int documents = 60) {
    const std::filesystem::path path = surroundings_.folder.path() / "text.txt";
    std::ofstream file(path);
    for (int i = 0; i < documents; ++i) {
      for (int j = 0; j <= i % 7; ++j)
        file << "The quick brown fox jumps over the lazy dog number " << i << ".\n";
      file << "<|endoftext|>\n";
    }
    return path;
  }
  std::filesystem::path build(const char* name = "foxes") {
    BuildOptions options;
    options.inputs = {write_text()};
    options.train_vocab = 300;
    options.validation_fraction = 0.1;
    options.threads = 1;
    const std::filesystem::path target = to_path(surroundings_.preferences.data_folder()) / name;
    std::filesystem::create_directories(target.parent_path());
    build_dataset(target, options);
    return target;
  }

  Surroundings surroundings_;
};

TEST_F(DataTest, Job_Builds_ReportsProgressAndFinishes) {
  DataJob job;
  QString finished;
  int reports = 0;
  QObject::connect(&job, &DataJob::finished, &job, [&](const QString& folder) { finished = folder; });
  QObject::connect(&job, &DataJob::progressed, &job, [&](const DataProgress&) { ++reports; });
  BuildOptions options;
  options.inputs = {write_text()};
  options.train_vocab = 300;
  const std::filesystem::path target = surroundings_.folder.path() / "out" / "foxes";
  job.build(target, options);
  EXPECT_TRUE(job.busy());
  EXPECT_THROW(job.build(target, options), Error);
  ASSERT_TRUE(wait_until([&] { return !job.busy(); }, 60000));
  EXPECT_EQ(finished, to_qt(target));
  EXPECT_GT(reports, 0);
  EXPECT_NO_THROW(verify_dataset(target));
}

TEST_F(DataTest, Job_Cancelled_LeavesNothing) {
  DataJob job;
  std::optional<ErrorCode> code;
  QObject::connect(&job, &DataJob::failed, &job, [&](const Error& error) { code = error.code(); });
  BuildOptions options;
  options.inputs = {write_text(4000)};
  options.train_vocab = 300;
  const std::filesystem::path target = surroundings_.folder.path() / "out" / "foxes";
  job.build(target, options);
  job.cancel();
  ASSERT_TRUE(wait_until([&] { return !job.busy(); }, 60000));
  EXPECT_EQ(code, ErrorCode::Cancelled);
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(DataTest, Job_BrokenInput_NamesFileAndLeavesNothing) {
  const std::filesystem::path path = surroundings_.folder.path() / "broken.jsonl";
  std::ofstream(path) << "{\"text\": \"fine\"}\n{\"text\": oops}\n";
  DataJob job;
  std::string what;
  QObject::connect(&job, &DataJob::failed, &job, [&](const Error& error) { what = error.what_happened(); });
  BuildOptions options;
  options.inputs = {path};
  options.train_vocab = 300;
  job.build(surroundings_.folder.path() / "out" / "broken", options);
  ASSERT_TRUE(wait_until([&] { return !job.busy(); }, 60000));
  EXPECT_NE(what.find("broken.jsonl"), std::string::npos) << what;
  EXPECT_FALSE(std::filesystem::exists(surroundings_.folder.path() / "out" / "broken"));
}

TEST_F(DataTest, Facts_Dataset_CountWhatItHolds) {
  const std::filesystem::path folder = build();
  const DatasetFacts facts = read_dataset_facts(folder);
  const Dataset dataset(folder);
  EXPECT_EQ(facts.lengths.documents, dataset.documents(Split::Train));
  int64_t sum = 0;
  for (const int64_t count : facts.lengths.bins) sum += count;
  EXPECT_EQ(sum, facts.lengths.documents);
  EXPECT_NEAR(facts.lengths.mean * static_cast<double>(facts.lengths.documents),
              static_cast<double>(dataset.tokens(Split::Train)), 1);
}

TEST_F(DataTest, Window_Text_IsTheDatasetsTokens) {
  const std::filesystem::path folder = build();
  const TokenText text = read_window(folder, Split::Train, 2, 32);
  ASSERT_EQ(text.pieces.size(), 32U);
  const Dataset dataset(folder);
  std::vector<int32_t> tokens(32);
  dataset.read(Split::Train, 64, tokens);
  QString joined;
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(text.pieces[i].id, tokens[i]);
    joined += text.pieces[i].text;
  }
  EXPECT_TRUE(joined.contains(QStringLiteral("fox")) || joined.contains(QStringLiteral("dog")))
      << to_std(joined);
  EXPECT_THROW(read_window(folder, Split::Train, 1 << 20, 32), Error);
}

TEST_F(DataTest, FirstBatch_OfARun_EqualsWhatTheTrainerUploads) {
  RunConfig config;
  config.model.vocab = 300;
  config.model.context = 16;
  config.batch.micro_batch = 3;
  config.batch.accumulation = 2;
  config.data.sources = {{to_utf8(build()), 1, 0}};
  config.run.eval_every = 0;
  const TrainingData data = open_training_data(config);
  Batch batch;
  data.sampler->next(3, batch);
  data.sampler->next(3, batch);  // micro-step 2
  const TokenText row = read_first_batch(config, 1, 2);
  ASSERT_EQ(row.pieces.size(), 16U);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(row.pieces[i].id, batch.tokens[2 * 16 + i]);
}

TEST_F(DataTest, Page_WithoutDatasets_OffersTheSample) {
  DataPage page(surroundings_.context);
  page.resize(1000, 700);
  page.show();
  page.activated();
  bool offered = false;
  ASSERT_TRUE(wait_until([&] {
    for (const QPushButton* button : page.findChildren<QPushButton*>())
      offered |= button->isVisible() && button->text().contains(QStringLiteral("sample"));
    return offered;
  }));
}

TEST_F(DataTest, Page_WithDataset_ShowsFactsAndWindow) {
  const std::filesystem::path folder = build();
  DataPage page(surroundings_.context);
  page.resize(1000, 700);
  page.show();
  page.activated();
  ASSERT_TRUE(wait_until([&] {
    return page.list().count() == 1 && page.windows().toPlainText().contains(QStringLiteral("fox"));
  }));
  EXPECT_EQ(page.current_folder(), to_qt(folder));
}

// Of the newest run on this dataset, without a question.
TEST_F(DataTest, Page_FirstBatch_IsThatOfTheNewestRunOnTheDataset) {
  RunConfig config;
  config.model.vocab = 300;
  config.model.context = 16;
  config.run.eval_every = 0;
  const auto add = [&](const char* name, const std::filesystem::path& folder) {
    config.data.sources = {{to_utf8(folder), 1, 0}};
    RunInfo info;
    info.name = name;
    info.settings_json = to_json(config).dump();
    HistoryStore(surroundings_.folder.path()).create_run(info)->finish(RunStatus::Stopped, "");
  };
  const std::filesystem::path folder = build();
  DataPage page(surroundings_.context);
  page.resize(1000, 700);
  page.show();
  page.activated();
  ASSERT_TRUE(wait_until([&] { return page.batch().toPlainText().contains(QStringLiteral("another run")); }));
  add("older", folder);
  add("newer", folder);
  add("elsewhere", surroundings_.folder.path());
  page.activated();
  ASSERT_TRUE(wait_until([&] {
    return std::ranges::any_of(page.findChildren<QLabel*>(), [](const QLabel* label) {
      return label->text().startsWith(QStringLiteral("newer: "));
    });
  }));
  EXPECT_GT(page.batch().toPlainText().size(), 16);
}

TEST_F(DataTest, BuildDialog_Incomplete_SaysWhatIsMissing) {
  BuildDialog dialog(surroundings_.preferences.data_folder());
  const auto* button = dialog.findChild<QDialogButtonBox*>()->buttons().constFirst();
  const auto accept_enabled = [&] {
    for (const QAbstractButton* each : dialog.findChild<QDialogButtonBox*>()->buttons()) {
      if (each->text() == QStringLiteral("Build")) return each->isEnabled();
    }
    return false;
  };
  ASSERT_NE(button, nullptr);
  dialog.set_name(QStringLiteral("x"));
  EXPECT_FALSE(accept_enabled());
  dialog.add_inputs({to_qt(write_text())});
  EXPECT_TRUE(accept_enabled());
  dialog.set_name(QStringLiteral("a/b"));
  EXPECT_FALSE(accept_enabled());
  dialog.set_name(QStringLiteral("foxes"));
  dialog.set_vocab(300);
  EXPECT_EQ(dialog.options().inputs.size(), 1U);
  EXPECT_EQ(dialog.options().train_vocab, 300);
  EXPECT_EQ(dialog.target().filename(), "foxes");
}

}  // namespace
}  // namespace lathe::ui
