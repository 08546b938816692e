// The Run page over a run that was really trained: its checkpoint is verified byte by byte, writes text, and
// says so when it is damaged.
#include <gtest/gtest.h>

#include <fstream>

#include "core/config/presets.h"
#include "core/data/dataset_builder.h"
#include "core/train/training_run.h"
#include "tests/ui/ui_support.h"
#include "ui/pages/run_page.h"
#include "ui/pages/run_tabs.h"
#include "ui/pages/run_try_tab.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

TEST(RunPage, TrainedRun_VerifiesAndWrites) {
  Surroundings surroundings;
  const std::filesystem::path home = surroundings.folder.path();
  {
    std::ofstream text(home / "text.txt");
    for (int i = 0; i < 200; ++i) text << "The quick brown fox number " << i << " jumps.\n<|endoftext|>\n";
  }
  BuildOptions options;
  options.inputs = {home / "text.txt"};
  options.train_vocab = 300;
  options.threads = 1;
  build_dataset(home / "foxes", options);
  RunConfig config = load_preset("tiny");
  config.data.sources = {{to_utf8(home / "foxes")}};
  config.model.layers = 1;
  config.model.vocab = 300;
  config.model.context = 32;
  config.batch.micro_batch = 2;
  config.schedule.warmup = 1;
  config.run.updates = 3;
  config.run.eval_every = 0;
  std::string id;
  {
    HistoryStore history(home);
    const auto run = TrainingRun::create(history, surroundings.context.registry, config);
    RunControl control;
    ASSERT_EQ(run->execute(control, {}).status, RunStatus::Finished);
    id = run->id();
  }

  RunPage page(surroundings.context);
  page.show();
  page.activated();
  page.show_run(to_qt(id));
  ASSERT_TRUE(wait_until([&] { return page.checkpoints().model().rowCount() > 0; }));
  page.checkpoints().verify();
  ASSERT_TRUE(wait_until([&] { return page.checkpoints().verdict().startsWith(QStringLiteral("All ")); }))
      << to_std(page.checkpoints().verdict());

  page.try_it().choose_step(3);
  page.try_it().set_prompt(QStringLiteral("The quick"));
  page.try_it().set_length(12);
  page.try_it().write();
  ASSERT_TRUE(wait_until([&] { return !page.try_it().busy(); }, 60000));
  EXPECT_TRUE(wait_until([&] { return page.try_it().output().size() > 9; }))
      << to_std(page.try_it().output());
  EXPECT_TRUE(page.try_it().output().startsWith(QStringLiteral("The quick")));

  // One byte of one file changes.
  const CheckpointRow row = page.checkpoints().model().row(0);
  const std::filesystem::path folder = home / "runs" / id / from_utf8(row.path);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".bin") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.read(&byte, 1);
    file.seekp(0);
    file.put(static_cast<char>(byte ^ 1));
    break;
  }
  page.checkpoints().verify();
  EXPECT_TRUE(wait_until([&] { return page.checkpoints().verdict().contains(QStringLiteral(".bin")); }))
      << to_std(page.checkpoints().verdict());
}

}  // namespace
}  // namespace lathe::ui
