// Every place in light and dark at four screens: nothing is cut off, squeezed or overlapping, and the
// pictures are the golden ones (golden.h: how to look at them, how to renew them). The tabs of Run, Runs and
// Data are checked for their layout only.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QImage>
#include <QPainter>
#include <QTabWidget>
#include <QTableView>
#include <QTextBrowser>
#include <fstream>

#include "core/data/dataset.h"
#include "core/experiment/profile.h"
#include "core/platform/files.h"
#include "tests/ui/golden.h"
#include "tests/ui/layout_check.h"
#include "tests/ui/run_support.h"
#include "tests/ui/ui_support.h"
#include "tests/ui/window_support.h"
#include "ui/forms/config_document.h"
#include "ui/main_window.h"
#include "ui/models/runs_model.h"
#include "ui/pages/data_job.h"
#include "ui/pages/data_page.h"
#include "ui/pages/make_page.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_page.h"
#include "ui/pages/run_page.h"
#include "ui/pages/run_profile_tab.h"
#include "ui/pages/run_tabs.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_page.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

struct Screen {
  const char* name;
  QSize logical;
  double scale;
};
constexpr Screen kScreens[] = {{"1024x640", {1024, 640}, 1},
                               {"1366x768", {1366, 768}, 1},
                               {"2560x1440", {1706, 960}, 1.5},
                               {"3840x2160", {1920, 1080}, 2}};
constexpr int kBlock = 32;  // logical pixels
constexpr int kSettleMs = 250;

void settle(int ms = kSettleMs) {
  QElapsedTimer timer;
  timer.start();
  wait_until([&] { return timer.elapsed() > ms; }, ms + 1000);
}

// A profile as `lathe profile` writes it.
Profile test_profile() {
  Profile profile;
  profile.device = "NVIDIA GeForce RTX 5080";
  profile.rates = {88e12, 56e12, 816e9, 2e-6};
  SequenceProfile step, update;
  step.sequence = SequenceId::MicroRest;
  update.sequence = SequenceId::Update;
  const auto add = [](SequenceProfile& to, OpKind kind, int layer, Phase phase, double ms, double floor) {
    to.ops.push_back({static_cast<int>(to.ops.size()), kind, layer, phase, ms, floor, ms * 8e10, ms * 5e8});
    to.sum_ms += ms;
  };
  for (int layer = 0; layer < 24; ++layer) {
    add(step, OpKind::RmsNorm, layer, Phase::Forward, 0.061, 0.044);
    add(step, OpKind::Linear, layer, Phase::Forward, 3.42, 2.91);
    add(step, OpKind::Attention, layer, Phase::Forward, 1.18, 0.66);
    add(step, OpKind::SwiGlu, layer, Phase::Forward, 0.171, 0.143);
    add(step, OpKind::Linear, layer, Phase::Recompute, 1.51, 1.31);
    add(step, OpKind::LinearBackwardInput, layer, Phase::Backward, 3.38, 2.91);
    add(step, OpKind::LinearBackwardWeight, layer, Phase::Backward, 3.61, 2.91);
    add(step, OpKind::AttentionBackward, layer, Phase::Backward, 2.94, 1.65);
  }
  add(step, OpKind::ClassifierLoss, kNone, Phase::Backward, 9.8, 8.7);
  step.wall_ms = step.sum_ms * 1.013;
  add(update, OpKind::GradientNorm, kNone, Phase::Update, 4.9, 4.8);
  add(update, OpKind::AdamW, kNone, Phase::Update, 21.4, 19.2);
  update.wall_ms = update.sum_ms * 1.004;
  profile.sequences = {step, update};
  return profile;
}

class Places : public testing::Test {
 protected:
  void SetUp() override {
    HistoryStore store(surroundings_.folder.path());
    make_run(store, {.name = "baseline bf16",
                     .updates = 900,
                     .last_loss = 2.72,
                     .tokens_per_s = 8350,
                     .tags = {"baseline"}});
    make_run(store, {.name = "recompute norms",
                     .updates = 820,
                     .last_loss = 2.71,
                     .tokens_per_s = 10120,
                     .settings = {"memory.recompute=norms", "batch.micro_batch=2"},
                     .tags = {"speed"},
                     .seed = 2});
    make_run(store, {.name = "lr 6e-4",
                     .updates = 610,
                     .last_loss = 2.66,
                     .nan_at = 433,
                     .status = RunStatus::Failed,
                     .reason = "The loss was NaN at step 433.",
                     .settings = {"schedule.lr=6e-4"},
                     .seed = 3});
    make_run(store, {.name = "stopped early",
                     .updates = 210,
                     .status = RunStatus::Stopped,
                     .reason = "Stopped on request after step 210.",
                     .seed = 4});
    running_ = make_run(store,
                        {.name = "977m, long run",
                         .updates = 1250,
                         .last_loss = 2.58,
                         .nan_at = 700,
                         .status = RunStatus::Running,
                         .settings = {"run.updates=40000"},
                         .notes = "Watch the spike at 700.",
                         .seed = 5},
                        &writer_);
    write_file_atomically(store.run_folder(running_) / kProfileFile, to_json(test_profile()).dump());
    build_dataset();
    window_ = std::make_unique<MainWindow>(surroundings_.context, make_page);
    ASSERT_TRUE(show_until_usable(*window_));
  }

  void build_dataset() {
    const std::filesystem::path text = surroundings_.folder.path() / "foxes.txt";
    std::ofstream file(text);
    for (int i = 0; i < 200; ++i) {
      for (int j = 0; j <= i % 7; ++j)
        file << "The quick brown fox jumps over the lazy dog number " << i << ".\n";
      file << "<|endoftext|>\n";
    }
    file.close();
    BuildOptions options;
    options.inputs = {text};
    options.train_vocab = 300;
    options.validation_fraction = 0.1;
    options.threads = 1;
    const std::filesystem::path target = to_path(surroundings_.preferences.data_folder()) / "foxes";
    std::filesystem::create_directories(target.parent_path());
    lathe::build_dataset(target, options);
  }

  template <class PageType>
  PageType& page(Place place) {
    return *static_cast<PageType*>(window_->page(place));
  }

  // The place at every screen in light and dark, as it was; `masked` widgets show what differs from machine
  // to machine.
  void check_everywhere(const QString& golden, const std::vector<QWidget*>& masked = {}) {
    for (const Screen& screen : kScreens) {
      for (const bool dark : {false, true}) check(golden, screen, dark, masked);
    }
  }
  // The layout alone, where there is the least room.
  void check_layout(const QString& name) { check(name, kScreens[0], false, {}, false); }
  void check(const QString& name, const Screen& screen, bool dark, const std::vector<QWidget*>& masked = {},
             bool picture = true) {
    surroundings_.theme.set_dark(dark);
    window_->resize(screen.logical);
    settle();
    ASSERT_EQ(window_->size(), screen.logical);
    for (const QString& fault : LayoutCheck::faults(*window_)) {
      ADD_FAILURE() << to_std(name) << " at " << screen.name << ": " << to_std(fault);
    }
    if (!picture) return;
    QImage image((QSizeF(screen.logical) * screen.scale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(screen.scale);
    window_->render(&image);
    QPainter painter(&image);
    for (QWidget* widget : masked) {
      painter.fillRect(QRect(widget->mapTo(window_.get(), QPoint(0, 0)), widget->size()), Qt::gray);
    }
    painter.end();
    image.setDevicePixelRatio(1);
    expect_golden(image, static_cast<int>(kBlock * screen.scale),
                  QStringLiteral("%1_%2_%3")
                      .arg(name, QString::fromLatin1(screen.name),
                           dark ? QStringLiteral("dark") : QStringLiteral("light")));
  }

  Surroundings surroundings_;
  std::unique_ptr<RunWriter> writer_;
  std::string running_;
  std::unique_ptr<MainWindow> window_;
};

// The reference model against the card it is made for, as anyone can choose it.
TEST_F(Places, New) {
  window_->show_place(Place::New);
  auto& shown = page<NewPage>(Place::New);
  shown.load_preset_named(QStringLiteral("977m"));
  shown.devices().setCurrentIndex(shown.devices().findText(QStringLiteral("RTX 5080"), Qt::MatchContains));
  shown.document().set_text("optimizer.state", QStringLiteral("8bit"));
  settle(400);
  const NewAssessor& assessor = shown.assessor();
  ASSERT_TRUE(wait_until(
      [&] { return assessor.assessment() && !assessor.pending() && !assessor.changes_pending(); }, 60'000));
  check_everywhere(QStringLiteral("new"));
  // Nothing alone helps here: the set of changes that does takes several lines.
  shown.document().set_text("batch.micro_batch", QStringLiteral("7"));
  shown.document().set_text("optimizer.state", QStringLiteral("fp32"));
  ASSERT_TRUE(wait_until(
      [&] {
        return !assessor.pending() && !assessor.changes_pending() && !assessor.changes().empty() &&
               assessor.changes().front().combined;
      },
      60'000));
  check_layout(QStringLiteral("new, a set of changes"));
}

TEST_F(Places, Run) {
  Q_EMIT surroundings_.navigator.open_run(to_qt(running_));
  auto& shown = page<RunPage>(Place::Run);
  ASSERT_TRUE(wait_until([&] { return shown.complete(); }));
  check_everywhere(QStringLiteral("run"));
}

TEST_F(Places, RunTabs) {
  Q_EMIT surroundings_.navigator.open_run(to_qt(running_));
  auto& shown = page<RunPage>(Place::Run);
  ASSERT_TRUE(wait_until([&] { return shown.complete(); }));
  for (int tab = 1; tab < shown.tabs().count(); ++tab) {
    shown.tabs().setCurrentIndex(tab);
    const bool profile = shown.tabs().currentWidget() == &shown.profile();
    ASSERT_TRUE(!profile || wait_until([&] { return !shown.profile().empty(); }));
    check_layout(QStringLiteral("run, tab %1").arg(tab));
  }
}

TEST_F(Places, RunProfile) {
  Q_EMIT surroundings_.navigator.open_run(to_qt(running_));
  auto& shown = page<RunPage>(Place::Run);
  ASSERT_TRUE(wait_until([&] { return shown.complete(); }));
  shown.tabs().setCurrentWidget(&shown.profile());
  ASSERT_TRUE(wait_until([&] { return !shown.profile().empty(); }));
  check(QStringLiteral("run_profile"), kScreens[1], false);
}

TEST_F(Places, RunFinished) {
  HistoryStore store(surroundings_.folder.path());
  Q_EMIT surroundings_.navigator.open_run(to_qt(store.find("baseline bf16")));
  ASSERT_TRUE(wait_until([&] { return page<RunPage>(Place::Run).complete(); }));
  check(QStringLiteral("run_finished"), kScreens[0], true);
}

TEST_F(Places, Runs) {
  window_->show_place(Place::Runs);
  auto& shown = page<RunsPage>(Place::Runs);
  ASSERT_TRUE(wait_until([&] { return shown.model().rowCount() == 5; }));
  check_everywhere(QStringLiteral("runs"));
}

TEST_F(Places, RunsCompared) {
  window_->show_place(Place::Runs);
  auto& shown = page<RunsPage>(Place::Runs);
  ASSERT_TRUE(wait_until([&] { return shown.model().rowCount() == 5; }));
  QStringList ids;
  for (int row = 1; row < 5; ++row) ids << to_qt(shown.model().row(row).id);
  shown.show_runs(ids);
  shown.pin_baseline(ids.back());
  ASSERT_TRUE(wait_until([&] { return shown.compare().outcomes().rowCount() == 4; }));
  shown.table().selectRow(1);
  settle(600);
  check(QStringLiteral("runs_compared"), kScreens[1], false);
  check(QStringLiteral("runs_compared"), kScreens[0], true);
  for (int tab = 1; tab < shown.compare().tabs().count(); ++tab) {
    shown.compare().tabs().setCurrentIndex(tab);
    check_layout(QStringLiteral("runs, tab %1").arg(tab));
  }
}

TEST_F(Places, Data) {
  window_->show_place(Place::Data);
  auto& shown = page<DataPage>(Place::Data);
  ASSERT_TRUE(wait_until([&] { return shown.current_folder().endsWith(QStringLiteral("foxes")); }));
  settle(600);
  check_everywhere(QStringLiteral("data"));
  for (int tab = 1; tab < shown.tabs().count(); ++tab) {
    shown.tabs().setCurrentIndex(tab);
    check_layout(QStringLiteral("data, tab %1").arg(tab));
  }
}

TEST_F(Places, System) {
  window_->show_place(Place::System);
  settle(600);
  check_everywhere(QStringLiteral("system"), {window_->page(Place::System)->findChild<QTextBrowser*>()});
}

// The manual's text changes with every feature: the picture is of what stands around it.
TEST_F(Places, Help) {
  window_->show_place(Place::Help);
  settle(600);
  check_everywhere(QStringLiteral("help"), {window_->page(Place::Help)->findChild<QTextBrowser*>()});
}

// The same with nothing in it: each place offers one action.
TEST(EmptyPlaces, Layout) {
  Surroundings surroundings;
  surroundings.preferences.set_value(QStringLiteral("runs/samples_imported"), true);
  MainWindow window(surroundings.context, make_page);
  ASSERT_TRUE(show_until_usable(window));
  for (const Screen& screen : kScreens) {
    window.resize(screen.logical);
    for (int i = 0; i < kPlaceCount; ++i) {
      window.show_place(static_cast<Place>(i));
      settle(400);
      for (const QString& fault : LayoutCheck::faults(window)) {
        ADD_FAILURE() << "place " << i << " at " << window.width() << " (" << screen.name << ")"
                      << ": " << to_std(fault);
      }
    }
  }
}

}  // namespace
}  // namespace lathe::ui
