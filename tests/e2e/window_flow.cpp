// A person's hour with the window, with mouse and keyboard on a real window (Xvfb and a window manager; run
// by window_test.py): build a dataset, break a setting and mend it, train, pause, stop, resume, clone,
// compare, import a foreign log, export. And a run of another process, watched and steered.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <fstream>
#include <sstream>

#include "core/history/history_store.h"
#include "core/history/run_reader.h"
#include "tests/e2e/person.h"
#include "ui/charts/chart.h"
#include "ui/charts/series_data.h"
#include "ui/forms/config_document.h"
#include "ui/forms/config_form.h"
#include "ui/main_window.h"
#include "ui/models/comparison_models.h"
#include "ui/models/runs_filter.h"
#include "ui/models/runs_model.h"
#include "ui/pages/data_build_dialog.h"
#include "ui/pages/data_job.h"
#include "ui/pages/data_page.h"
#include "ui/pages/make_page.h"
#include "ui/pages/new_launch_bar.h"
#include "ui/pages/new_page.h"
#include "ui/pages/run_chart_board.h"
#include "ui/pages/run_charts.h"
#include "ui/pages/run_controls.h"
#include "ui/pages/run_page.h"
#include "ui/pages/runs_compare.h"
#include "ui/pages/runs_page.h"

namespace lathe::ui {
namespace {

constexpr int kPatienceMs = Person::kPatienceMs;

// Rows of a CSV file by the names of its columns; nothing is quoted in ours.
std::vector<std::map<std::string, std::string>> csv_rows(const std::filesystem::path& file) {
  std::ifstream in(file);
  const auto fields = [](const std::string& line) {
    std::vector<std::string> all;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) all.push_back(field);
    return all;
  };
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = fields(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> values = fields(line);
    for (size_t i = 0; i < values.size(); ++i) {
      if (i == 0) rows.emplace_back();
      rows.back()[names.at(i)] = values[i];
    }
  }
  return rows;
}

int pixels_of(const QImage& image, const QColor& color) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y).rgb() == color.rgb();
  }
  return count;
}

// SetUp and TearDown run on the window's thread, everything else on the person's (see person.h).
class WindowFlow : public ::testing::Test {
 protected:
  void SetUp() override { open_window(); }

  void open_window() {
    window_ = std::make_unique<MainWindow>(surroundings_.context, make_page);
    bool usable = false;
    QObject::connect(window_.get(), &MainWindow::usable, window_.get(), [&usable] { usable = true; });
    window_->show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get(), kPatienceMs)) << "no window manager?";
    ASSERT_TRUE(wait_until([&] { return usable; }, kPatienceMs));
  }

  NewPage& new_page() { return *static_cast<NewPage*>(window_->page(Place::New)); }
  RunPage& run_page() { return *static_cast<RunPage*>(window_->page(Place::Run)); }
  RunsPage& runs_page() { return *static_cast<RunsPage*>(window_->page(Place::Runs)); }
  DataPage& data_page() { return *static_cast<DataPage*>(window_->page(Place::Data)); }

  void go(Place place) {
    ASSERT_TRUE(Person::click([&]() -> QWidget* {
      return window_->findChild<QToolButton*>(QStringLiteral("rail_") + place_icon(place));
    }));
    ASSERT_TRUE(Person::eventually([&] { return window_->place() == place; }));
  }

  // Replaces the text of a field.
  void fill(const std::function<QLineEdit*()>& field, const QString& text) {
    ASSERT_TRUE(Person::click([&]() -> QWidget* { return field(); }));
    ASSERT_TRUE(Person::eventually([&] { return field()->hasFocus(); }));
    ASSERT_TRUE(Person::press("ctrl+a") && Person::write(text));
    ASSERT_TRUE(Person::eventually([&] { return field()->text() == text; })) << to_std(text);
  }
  // Finds a setting and types its value.
  void type(const char* key, const QString& text) {
    fill([&] { return new_page().findChild<QLineEdit*>(QStringLiteral("search")); }, QLatin1String(key));
    fill([&] { return new_page().form().findChild<QLineEdit*>(QLatin1String(key)); }, text);
  }
  // Answers the file dialog that has come.
  void choose_file(const std::filesystem::path& file) {
    ASSERT_TRUE(Person::eventually([] {
      QWidget* dialog = QApplication::activeModalWidget();
      return dialog != nullptr && dialog->inherits("QFileDialog") && dialog->isActiveWindow();
    }));
    ASSERT_TRUE(Person::press("ctrl+a") && Person::write(to_qt(file)) && Person::press("Return"));
    ASSERT_TRUE(Person::waited([] {
      if (!Person::on_gui([] {
            QWidget* dialog = QApplication::activeModalWidget();
            return dialog != nullptr && dialog->inherits("QFileDialog");
          }))
        return true;
      Person::press("Return");  // the first one may only have closed the list of completions
      return false;
    }));
  }

  std::filesystem::path write_text() {
    const std::filesystem::path path = surroundings_.folder.path() / "foxes.txt";
    std::ofstream file(path);
    for (int i = 0; i < 300; ++i)
      file << "The quick brown fox number " << i << " jumps over the lazy dog.\n<|endoftext|>\n";
    return path;
  }

  void build_dataset() {
    go(Place::Data);
    ASSERT_TRUE(Person::click_button(QStringLiteral("Build…"), [&]() -> QWidget* { return &data_page(); }));
    const auto dialog = [&] { return data_page().findChild<BuildDialog*>(); };
    ASSERT_TRUE(Person::click_button(QStringLiteral("Add files…"), dialog));
    choose_file(write_text());
    ASSERT_TRUE(Person::eventually([&] { return dialog()->options().inputs.size() == 1; }));
    ASSERT_TRUE(Person::click([&]() -> QWidget* { return dialog()->findChild<QSpinBox*>(); }));
    ASSERT_TRUE(Person::press("ctrl+a") && Person::write(QStringLiteral("300")));
    ASSERT_TRUE(Person::eventually([&] { return dialog()->options().train_vocab == 300; }));
    ASSERT_TRUE(Person::click_button(QStringLiteral("Build"), dialog));
    ASSERT_TRUE(Person::eventually([&] {
      return !data_page().job().busy() && data_page().current_folder().endsWith(QStringLiteral("foxes"));
    }));
    ASSERT_TRUE(
        Person::click_button(QStringLiteral("Train on it"), [&]() -> QWidget* { return &data_page(); }));
    ASSERT_TRUE(Person::eventually([&] {
      return window_->place() == Place::New && new_page().document().config().data.sources.size() == 1;
    }));
  }

  RunSummary summary(const QString& run) {
    return surroundings_.context.open_history()->summary(to_std(run));
  }
  bool reached(const QString& run, RunStatus status) {
    return Person::waited([&] { return summary(run).status == status; });
  }
  bool passes_step(const QString& run, int64_t step) {
    return Person::waited([&] { return summary(run).step >= step; });
  }
  bool session_over() {
    return Person::eventually([&] { return !surroundings_.session.active(); });
  }
  void press(CommandKind kind) {
    // Pause and Go on share a button; what it says lags behind the history by a look.
    const bool resume = kind == CommandKind::Resume;
    ASSERT_TRUE(Person::click([&]() -> QWidget* {
      QPushButton* button = run_page().controls().button(kind);
      return (button->text() == QStringLiteral("Go on")) == resume ? button : nullptr;
    })) << command_name(kind);
  }
  // Launches and returns the run's id, once its page is there.
  QString launch() {
    const QString before = Person::on_gui([&] { return surroundings_.session.run_id(); });
    EXPECT_TRUE(Person::click([&]() -> QWidget* { return new_page().launch_bar().launch_button(); }))
        << to_std(Person::on_gui([&] { return new_page().launch_bar().reason(); }));
    EXPECT_TRUE(Person::eventually([&] {
      return !surroundings_.session.run_id().isEmpty() && surroundings_.session.run_id() != before &&
             window_->place() == Place::Run;
    }));
    return Person::on_gui([&] { return surroundings_.session.run_id(); });
  }
  QModelIndex row_of(const QString& run) {
    const RunsModel& model = runs_page().model();
    return runs_page().filter().mapFromSource(model.index(model.row_of(run), RunsModel::Name));
  }
  void choose_run(const QString& run) {
    go(Place::Runs);
    ASSERT_TRUE(Person::click_cell(runs_page().table(),
                                   [&] { return row_of(run).siblingAtColumn(RunsModel::Status); }));
    ASSERT_TRUE(Person::eventually([&] {
      const QModelIndexList rows = runs_page().table().selectionModel()->selectedRows();
      return rows.size() == 1 && rows.front().row() == row_of(run).row();
    }));
  }
  void tick(const QString& run) {
    ASSERT_TRUE(Person::click_cell(
        runs_page().table(), [&] { return row_of(run); }, Person::Part::Tick));
    ASSERT_TRUE(Person::eventually([&] { return runs_page().model().ticked().contains(run); }));
  }
  void choose_in_chart_menu(const char* chart, const QString& entry) {
    ASSERT_TRUE(Person::click([&]() -> QWidget* {
      return runs_page()
          .compare()
          .board()
          .chart(QLatin1String(chart))
          ->findChild<QToolButton*>(QStringLiteral("more"));
    }));
    ASSERT_TRUE(Person::click_menu(entry));
  }
  std::vector<double> stored_losses(const QString& run) {
    const auto reader = surroundings_.context.open_history()->open_reader(to_std(run));
    return reader->series({.metrics = {"loss"}}).columns[0].last;
  }
  // The points of the loss as the Run page draws them.
  std::pair<std::vector<double>, std::vector<double>> drawn_losses() {
    return Person::on_gui([&] {
      const SeriesData& data =
          run_page().charts().board().chart(QStringLiteral("loss"))->data(QStringLiteral("loss"));
      std::pair<std::vector<double>, std::vector<double>> points;
      for (size_t i = 0; i < data.size(); ++i) {
        points.first.push_back(data.x(i));
        points.second.push_back(data.y(i));
      }
      return points;
    });
  }

  void get_through_the_day();
  void watch_another_process();

  Surroundings surroundings_;
  std::unique_ptr<MainWindow> window_;
};

void WindowFlow::get_through_the_day() {
  build_dataset();
  type("model.vocab", QStringLiteral("300"));
  type("schedule.warmup", QStringLiteral("2"));
  type("run.updates", QStringLiteral("100000"));
  type("run.eval_every", QStringLiteral("0"));

  // A setting that can't be, then mended.
  type("model.heads", QStringLiteral("5"));
  EXPECT_FALSE(Person::on_gui([&] { return new_page().launch_bar().launch_button()->isEnabled(); }));
  EXPECT_FALSE(Person::on_gui([&] { return new_page().document().problems().empty(); }));
  type("model.heads", QStringLiteral("4"));
  ASSERT_TRUE(Person::eventually([&] { return new_page().document().problems(true).empty(); }));

  const QString first = launch();
  ASSERT_TRUE(passes_step(first, 5));
  ASSERT_TRUE(Person::eventually([&] { return run_page().run() == first; }));
  ASSERT_TRUE(Person::waited([&] { return drawn_losses().first.size() >= 5; }));
  press(CommandKind::Pause);
  ASSERT_TRUE(reached(first, RunStatus::Paused));
  const int64_t paused_at = summary(first).step;
  press(CommandKind::Resume);
  ASSERT_TRUE(passes_step(first, paused_at + 2));
  press(CommandKind::Stop);
  ASSERT_TRUE(reached(first, RunStatus::Stopped));
  ASSERT_TRUE(session_over());
  const std::optional<int64_t> saved = summary(first).last_checkpoint_step;
  ASSERT_TRUE(saved.has_value());

  // Resume from Runs: the first new step is the next one.
  choose_run(first);
  ASSERT_TRUE(Person::click_button(QStringLiteral("Resume"), [&]() -> QWidget* { return &runs_page(); }));
  ASSERT_TRUE(passes_step(first, *saved + 3));
  ASSERT_TRUE(Person::eventually([&] { return window_->place() == Place::Run; }));
  press(CommandKind::Stop);
  ASSERT_TRUE(reached(first, RunStatus::Stopped));
  ASSERT_TRUE(session_over());
  const auto sessions = surroundings_.context.open_history()->open_reader(to_std(first))->sessions();
  ASSERT_EQ(sessions.size(), 2U);
  EXPECT_EQ(sessions[1].first_step, *saved + 1);

  // The same run again with another learning rate.
  choose_run(first);
  ASSERT_TRUE(
      Person::click_button(QStringLiteral("Clone to New"), [&]() -> QWidget* { return &runs_page(); }));
  const QString first_name = to_qt(summary(first).name);
  ASSERT_TRUE(Person::eventually(
      [&] { return window_->place() == Place::New && new_page().document().base_name() == first_name; }));
  type("schedule.lr", QStringLiteral("5e-4"));
  type("run.updates", QStringLiteral("12"));
  const QString second = launch();
  ASSERT_NE(second, first);
  ASSERT_TRUE(reached(second, RunStatus::Finished))
      << status_name(summary(second).status) << " at step " << summary(second).step << ": "
      << summary(second).status_reason;

  // Side by side: the learning rate is among what differs.
  go(Place::Runs);
  tick(first);
  tick(second);
  ASSERT_TRUE(Person::click([&]() -> std::optional<Person::Target> {
    QTabBar* bar = runs_page().compare().tabs().tabBar();
    return Person::Target{bar, bar->tabRect(2).center()};
  }));
  ASSERT_TRUE(Person::eventually([&] {
    const SettingsDiffModel& settings = runs_page().compare().settings();
    for (int row = 0; row < settings.rowCount(); ++row) {
      for (int column = 0; column < settings.columnCount(); ++column) {
        if (settings.index(row, column).data().toString().contains(QStringLiteral("5e-4"))) return true;
      }
    }
    return false;
  }));

  // A foreign log becomes a run, and the baseline.
  const std::filesystem::path log = surroundings_.folder.path() / "pytorch.csv";
  std::ofstream(log) << "step,loss,tokens_per_sec\n1,9.5,8100\n2,8.7,8150\n3,8.1,8140\n";
  ASSERT_TRUE(
      Person::click_button(QStringLiteral("Import log…"), [&]() -> QWidget* { return &runs_page(); }));
  choose_file(log);
  ASSERT_TRUE(Person::click_button(QStringLiteral("Import")));
  QString foreign;
  ASSERT_TRUE(Person::eventually([&] {
    foreign = runs_page().model().baseline();
    return !foreign.isEmpty() && runs_page().model().ticked().contains(foreign);
  }));
  EXPECT_EQ(stored_losses(foreign), (std::vector<double>{9.5, 8.7, 8.1}));
  ASSERT_TRUE(Person::eventually([&] {
    const OutcomesModel& outcomes = runs_page().compare().outcomes();
    return outcomes.rowCount() == 3 &&
           outcomes.index(0, OutcomesModel::Speedup).data().toString().contains(QLatin1Char('%'));
  }));

  // Files: a chart as PNG, every row as CSV.
  ASSERT_TRUE(Person::click([&]() -> std::optional<Person::Target> {
    QTabBar* bar = runs_page().compare().tabs().tabBar();
    return Person::Target{bar, bar->tabRect(0).center()};
  }));
  ASSERT_TRUE(Person::eventually([&] {
    const Chart* loss = runs_page().compare().board().chart(QStringLiteral("loss"));
    return loss->series_keys().size() == 3 && loss->data(second).size() == 12;
  }));
  const std::filesystem::path png = surroundings_.folder.path() / "loss.png";
  choose_in_chart_menu("loss", QStringLiteral("Export picture…"));
  ASSERT_TRUE(Person::click_button(QStringLiteral("Export…")));
  choose_file(png);
  ASSERT_TRUE(Person::waited([&] { return std::filesystem::exists(png); }));
  const QImage picture(to_qt(png));
  EXPECT_EQ(picture.size(), QSize(1920, 960));
  if (const QString folder = qEnvironmentVariable("LATHE_PICTURES"); !folder.isEmpty())
    picture.save(folder + QStringLiteral("/exported.png"));
  for (const QString& run : {first, second, foreign}) {
    EXPECT_GT(pixels_of(picture, Person::on_gui([&] { return runs_page().compare().color_of(run); })), 20)
        << to_std(run);
  }
  choose_in_chart_menu("loss", QStringLiteral("Export every row as CSV…"));
  choose_file(surroundings_.folder.path() / "rows.csv");
  for (const QString& run : {first, second, foreign}) {
    const std::filesystem::path csv = surroundings_.folder.path() / ("rows-" + to_std(run) + ".csv");
    ASSERT_TRUE(Person::waited([&] { return std::filesystem::exists(csv); })) << csv;
    std::vector<double> losses;
    for (const auto& row : csv_rows(csv)) {
      if (row.at("superseded") == "0") losses.push_back(std::stod(row.at("loss")));
    }
    EXPECT_EQ(losses, stored_losses(run)) << to_std(run);
    EXPECT_FALSE(losses.empty());
  }
}

void WindowFlow::watch_another_process() {
  build_dataset();
  QProcess training;
  training.setProgram(qEnvironmentVariable("LATHE"));
  training.setArguments(
      {QStringLiteral("--home"), to_qt(surroundings_.folder.path()), QStringLiteral("train"),
       QStringLiteral("--preset"), QStringLiteral("tiny"), QStringLiteral("--data"),
       Person::on_gui([&] { return data_page().current_folder(); }), QStringLiteral("--set"),
       QStringLiteral("model.vocab=300"), QStringLiteral("--set"), QStringLiteral("run.updates=100000"),
       QStringLiteral("--set"), QStringLiteral("run.eval_every=0"), QStringLiteral("--set"),
       QStringLiteral("run.name=elsewhere")});
  training.setStandardOutputFile(QProcess::nullDevice());
  training.start();
  go(Place::Runs);
  QString run;
  ASSERT_TRUE(Person::eventually([&] {
    for (int row = 0; row < runs_page().model().rowCount(); ++row) {
      if (runs_page().model().row(row).name == "elsewhere") run = to_qt(runs_page().model().row(row).id);
    }
    return !run.isEmpty();
  }));
  choose_run(run);
  ASSERT_TRUE(Person::click_button(QStringLiteral("Open"), [&]() -> QWidget* { return &runs_page(); }));
  ASSERT_TRUE(Person::eventually([&] { return window_->place() == Place::Run && run_page().run() == run; }));
  // Points arrive while it trains.
  ASSERT_TRUE(Person::waited([&] { return drawn_losses().first.size() >= 3; }));
  const size_t some = drawn_losses().first.size();
  ASSERT_TRUE(Person::waited([&] { return drawn_losses().first.size() > some; }));
  press(CommandKind::Pause);
  ASSERT_TRUE(reached(run, RunStatus::Paused));
  press(CommandKind::Resume);
  ASSERT_TRUE(passes_step(run, summary(run).step + 2));
  press(CommandKind::Stop);
  ASSERT_TRUE(reached(run, RunStatus::Stopped));
  ASSERT_TRUE(training.waitForFinished(kPatienceMs));
  EXPECT_TRUE(summary(run).last_checkpoint_step.has_value());

  // The curve drawn live is the one a new window draws afterwards, and the stored one.
  const std::vector<double> stored = stored_losses(run);
  ASSERT_TRUE(Person::waited([&] { return drawn_losses().second.size() == stored.size(); }));
  const auto live = drawn_losses();
  EXPECT_EQ(live.second, stored);
  Person::on_gui([&] {
    window_.reset();
    open_window();
    return true;
  });
  choose_run(run);
  ASSERT_TRUE(Person::press("Return"));
  ASSERT_TRUE(Person::eventually([&] { return run_page().run() == run && run_page().complete(); }));
  EXPECT_EQ(drawn_losses(), live);
}

TEST_F(WindowFlow, OnePerson_FromTextToComparison_GetsThere) {
  Person::play([this] { get_through_the_day(); });
}

TEST_F(WindowFlow, RunOfAnotherProcess_Watched_ObeysTheButtons) {
  if (qEnvironmentVariableIsEmpty("LATHE"))
    GTEST_SKIP() << "LATHE names no program: run through window_test.py";
  Person::play([this] { watch_another_process(); });
}

}  // namespace
}  // namespace lathe::ui
