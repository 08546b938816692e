// The window around the pages: places, keys, alerts, closing with a run at work, drawing in both palettes.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QCloseEvent>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QTest>
#include <QThread>
#include <QToolButton>
#include <QTranslator>
#include <algorithm>
#include <cmath>
#include <ctime>

#include "core/config/presets.h"
#include "core/config/setting_info.h"
#include "tests/ui/ui_support.h"
#include "tests/ui/window_support.h"
#include "ui/alert_panel.h"
#include "ui/latest_job.h"
#include "ui/main_window.h"
#include "ui/pages/make_page.h"
#include "ui/pages/new_page.h"
#include "ui/text.h"
#include "ui/theme/icons.h"
#include "ui/theme/widgets.h"
#include "ui/training_guard.h"

namespace lathe::ui {
namespace {

double channel(double c) {
  return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

// WCAG 2.1 contrast ratio.
double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& c) {
    return 0.2126 * channel(c.redF()) + 0.7152 * channel(c.greenF()) + 0.0722 * channel(c.blueF());
  };
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor laid_over(const QColor& tint, const QColor& below) {
  const auto mix = [&](float over, float under) {
    return over * tint.alphaF() + under * (1 - tint.alphaF());
  };
  return QColor::fromRgbF(mix(tint.redF(), below.redF()), mix(tint.greenF(), below.greenF()),
                          mix(tint.blueF(), below.blueF()));
}

TEST(Theme, BothPalettes_Texts_ReachReadableContrast) {
  for (const Colors* colors : {&light_colors(), &dark_colors()}) {
    for (const QColor& text :
         {colors->text, colors->muted, colors->good, colors->warning, colors->bad, colors->accent}) {
      EXPECT_GE(contrast(text, colors->surface), 4.5) << to_std(text.name());
      EXPECT_GE(contrast(text, colors->window), 4.5) << to_std(text.name());
    }
    EXPECT_GE(contrast(colors->accent_text, colors->accent), 4.5);
    for (const QColor& below : {colors->surface, colors->window}) {
      EXPECT_GE(contrast(colors->good, laid_over(tint_of(Tone::Good), below)), 4.5);
      EXPECT_GE(contrast(colors->warning, laid_over(tint_of(Tone::Warning), below)), 4.5);
      EXPECT_GE(contrast(colors->bad, laid_over(tint_of(Tone::Bad), below)), 4.5);
    }
    for (const QColor& series : colors->series)
      EXPECT_GE(contrast(series, colors->surface), 3.0) << to_std(series.name());
  }
}

TEST(Icons, EveryName_Painted_LeavesInk) {
  const Theme theme;
  for (const QString& name : icon_names()) {
    const QImage image = theme.icon(name).pixmap(QSize(24, 24)).toImage();
    int inked = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) inked += qAlpha(image.pixel(x, y)) > 40 ? 1 : 0;
    }
    EXPECT_GT(inked, 15) << to_std(name);
    EXPECT_LT(inked, 24 * 24 * 3 / 4) << to_std(name);
  }
  for (int i = 0; i < kPlaceCount; ++i) EXPECT_TRUE(icon_names().contains(place_icon(static_cast<Place>(i))));
}

TEST(LatestJob, NewerJob_DropsTheAnswerOfTheOlder) {
  const Surroundings surroundings(false);
  LatestJob job;
  std::vector<int> answers;
  job.run(
      [] {
        QThread::msleep(50);
        return 1;
      },
      [&](int answer) { answers.push_back(answer); });
  job.run([] { return 2; }, [&](int answer) { answers.push_back(answer); });
  job.run([] { return 3; }, [&](int answer) { answers.push_back(answer); });
  ASSERT_TRUE(wait_until([&] { return !job.busy(); }));
  EXPECT_EQ(answers, std::vector<int>{3});
}

TEST(LatestJob, WorkThrows_ArrivesAsAnError) {
  const Surroundings surroundings(false);
  LatestJob job;
  std::string what;
  job.run([]() -> int { throw std::runtime_error("boom"); }, [](int) {},
          [&](const Error& error) { what = error.what_happened(); });
  ASSERT_TRUE(wait_until([&] { return !job.busy(); }));
  EXPECT_EQ(what, "boom");
}

TEST(LatestJob, DestroyedAtWork_NeverAnswers) {
  const Surroundings surroundings(false);
  bool answered = false;
  {
    LatestJob job;
    job.run(
        [] {
          QThread::msleep(30);
          return 1;
        },
        [&](int) { answered = true; });
  }
  QCoreApplication::processEvents();
  EXPECT_FALSE(answered);
}

TEST(Alerts, AddAndClear_PassTheModelTesterAndCountUnseen) {
  AlertList alerts;
  const QAbstractItemModelTester tester(&alerts, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (int i = 0; i < 600; ++i) alerts.add({Alert::Level::Info, QString::number(i)});
  EXPECT_EQ(alerts.rowCount(), 500);
  EXPECT_EQ(alerts.at(0).text, QStringLiteral("599"));
  EXPECT_EQ(alerts.unseen(), 600);
  alerts.mark_seen();
  EXPECT_EQ(alerts.unseen(), 0);
  alerts.clear();
  EXPECT_EQ(alerts.rowCount(), 0);
}

TEST(Text, Numbers_CarryUnitsAndThreeDigits) {
  EXPECT_EQ(bytes_text(0), QStringLiteral("0 B"));
  EXPECT_EQ(bytes_text(int64_t{1} << 30), QStringLiteral("1.00\u00a0GiB"));
  EXPECT_EQ(bytes_text((int64_t{1} << 30) - 1), QStringLiteral("1.00\u00a0GiB"));
  EXPECT_EQ(bytes_text(-(int64_t{512} << 20)), QStringLiteral("-512\u00a0MiB"));
  EXPECT_EQ(short_count_text(976770816), QStringLiteral("977\u00A0M"));
  EXPECT_EQ(short_count_text(999999), QStringLiteral("1\u00A0M"));
  EXPECT_EQ(duration_text(0.3104), QStringLiteral("310 ms"));
  EXPECT_EQ(duration_text(59.99), QStringLiteral("1 min 00 s"));
  EXPECT_EQ(duration_text(3600 * 25), QStringLiteral("1 d 1 h"));
  EXPECT_EQ(duration_text(-1), no_value());
}

TEST(Text, CountsAndSentences_ReadAsPeopleWriteThem) {
  const auto updates = [](int64_t count) {
    return counted_text(count, QStringLiteral("1 update"), QStringLiteral("%1 updates"));
  };
  EXPECT_EQ(updates(0), QStringLiteral("0 updates"));
  EXPECT_EQ(updates(1), QStringLiteral("1 update"));
  EXPECT_EQ(updates(1228), QStringLiteral("1,228 updates"));
  EXPECT_EQ(sentence_text(QStringLiteral("saved at step 12")), QStringLiteral("Saved at step 12."));
  EXPECT_EQ(sentence_text(QStringLiteral("Done.")), QStringLiteral("Done."));
  EXPECT_EQ(sentence_text({}), QString());
}

class ShellTest : public testing::Test {
 protected:
  void open() {
    window_ = std::make_unique<MainWindow>(surroundings_.context, make_page);
    ASSERT_TRUE(show_until_usable(*window_));
  }

  Surroundings surroundings_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(ShellTest, Window_SmallestSize_FitsALaptop) {
  open();
  EXPECT_LE(window_->minimumSizeHint().width(), 1024);
  EXPECT_LE(window_->minimumSizeHint().height(), 640);
  for (int i = 0; i < kPlaceCount; ++i) {
    const Page* page = window_->page(static_cast<Place>(i));
    EXPECT_LE(page->minimumSizeHint().width(), 1024 - 72) << i;
    EXPECT_LE(page->minimumSizeHint().height(), 620) << i;
  }
}

TEST_F(ShellTest, Keys_CtrlNumber_ShowsThePlace) {
  open();
  window_->activateWindow();
  for (int i = 0; i < kPlaceCount; ++i) {
    window_->show_place(static_cast<Place>(i));
    EXPECT_EQ(window_->place(), static_cast<Place>(i));
    auto* button =
        window_->findChild<QToolButton*>(QStringLiteral("rail_") + place_icon(static_cast<Place>(i)));
    ASSERT_NE(button, nullptr);
    EXPECT_TRUE(button->isChecked());
    EXPECT_FALSE(button->accessibleName().isEmpty());
  }
}

TEST_F(ShellTest, FirstStart_EmptyHistory_GetsTheSampleRunsOnce) {
  open();
  const auto runs = [&] { return surroundings_.context.open_history()->list({.tag = "sample"}); };
  ASSERT_TRUE(wait_until([&] { return runs().size() == 2; }));
  ASSERT_TRUE(wait_until(
      [&] { return surroundings_.preferences.value(QStringLiteral("runs/samples_imported")).toBool(); }));
  const auto history = surroundings_.context.open_history();
  for (const RunSummary& run : runs()) {
    EXPECT_GT(run.step, 100) << run.name;
    history->delete_run(run.id);
  }
  window_.reset();
  open();
  wait_until([] { return false; }, 500);
  EXPECT_TRUE(runs().empty()) << "deleted ones came back";
}

TEST_F(ShellTest, Rail_Clicked_ShowsThePlace) {
  open();
  QTest::mouseClick(window_->findChild<QToolButton*>(QStringLiteral("rail_system")), Qt::LeftButton);
  EXPECT_EQ(window_->place(), Place::System);
}

TEST_F(ShellTest, Navigator_ShowTopic_OpensHelp) {
  open();
  Q_EMIT surroundings_.navigator.show_topic(QStringLiteral("memory"));
  EXPECT_EQ(window_->place(), Place::Help);
}

TEST_F(ShellTest, Alert_Error_OpensTheListAndNotifiesWhenInTheBackground) {
  open();
  auto* panel = window_->findChild<AlertPanel*>();
  ASSERT_NE(panel, nullptr);
  EXPECT_TRUE(panel->isHidden());
  surroundings_.alerts.add(
      {Alert::Level::Error, QStringLiteral("The disk is full."), QStringLiteral("Free space.")});
  EXPECT_FALSE(panel->isHidden());
  if (!window_->isActiveWindow()) {
    ASSERT_EQ(surroundings_.desktop.notifications.size(), 1U);
    EXPECT_TRUE(surroundings_.desktop.notifications[0].urgent);
  }
}

TEST_F(ShellTest, EveryPage_Buttons_HaveNamesForScreenReaders) {
  open();
  for (int i = 0; i < kPlaceCount; ++i) {
    window_->show_place(static_cast<Place>(i));
    QCoreApplication::processEvents();
    for (const QAbstractButton* button :
         window_->page(static_cast<Place>(i))->findChildren<QAbstractButton*>()) {
      if (!button->isVisible() || button->objectName().startsWith(QLatin1String("qt_"))) continue;
      // The magnifying glass inside a search field: not a stop for the keyboard.
      if (button->inherits("QLineEditIconButton")) continue;
      const bool named =
          !button->text().isEmpty() || !button->accessibleName().isEmpty() || !button->toolTip().isEmpty();
      EXPECT_TRUE(named) << to_std(place_title(static_cast<Place>(i))) << " "
                         << button->metaObject()->className() << " " << to_std(button->objectName());
    }
  }
}

TEST_F(ShellTest, Theme_Switched_RepaintsEveryPage) {
  open();
  for (const bool dark : {true, false}) {
    surroundings_.theme.set_dark(dark);
    QCoreApplication::sendPostedEvents();  // the palette reaches a window by an event
    for (int i = 0; i < kPlaceCount; ++i) {
      window_->show_place(static_cast<Place>(i));
      const QImage image = window_->grab().toImage();
      // A corner of the window shows its ground.
      const QColor ground = image.pixelColor(image.width() - 3, image.height() - 3);
      EXPECT_EQ(ground.lightness() < 128, dark) << i;
      // And what a control draws: the face of a plain button.
      for (const auto* button : window_->page(window_->place())->findChildren<QPushButton*>()) {
        const QPoint top(button->width() / 2, 4);
        if (is_primary(*button) || !button->visibleRegion().contains(top)) continue;
        const QColor face = image.pixelColor(button->mapTo(window_.get(), top));
        EXPECT_EQ(face.lightness() < 128, dark) << i << to_std(button->text());
      }
    }
  }
}

// Every text goes through tr(): in a made-up language it comes back in brackets.
class PseudoTranslator : public QTranslator {
 public:
  bool isEmpty() const override { return false; }
  QString translate(const char*, const char* text, const char*, int n) const override {
    QString shown = QString::fromUtf8(text);
    if (n >= 0) shown.replace(QLatin1String("%n"), QString::number(n));
    return QChar(0x27E6) + shown + QChar(0x27E7);
  }
};

TEST_F(ShellTest, EveryPage_InAPseudoLanguage_ShowsOnlyTranslatedTexts) {
  PseudoTranslator pseudo;
  QCoreApplication::installTranslator(&pseudo);
  open();
  // Names of settings, presets and choices come from core's tables and files, the same in every language.
  QStringList names;
  for (const SettingInfo& info : settings()) {
    names << to_qt(info.label) << to_qt(info.section_label) << to_qt(info.unit);
  }
  for (const PresetInfo& preset : list_presets()) names << to_qt(preset.name);
  const QComboBox& devices = static_cast<NewPage*>(window_->page(Place::New))->devices();
  for (int i = 0; i < devices.count(); ++i) names << devices.itemText(i);
  for (const Place place : {Place::New, Place::Data, Place::System, Place::Help}) {
    window_->show_place(place);
    for (const QWidget* widget : window_->page(place)->findChildren<QWidget*>()) {
      QString text;
      if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) text = button->text();
      if (const auto* label = qobject_cast<const QLabel*>(widget)) text = label->text();
      const bool has_letters = std::ranges::any_of(text, [](QChar c) { return c.isLetter(); });
      if (!has_letters || !widget->isVisible() || names.contains(text)) continue;
      EXPECT_TRUE(text.contains(QChar(0x27E6))) << to_std(place_title(place)) << ": " << to_std(text);
    }
  }
  QCoreApplication::removeTranslator(&pseudo);
}

double thread_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// What the GUI thread spends on a keystroke in the form and on changing places.
TEST_F(ShellTest, KeystrokesAndPlaces_OnTheGuiThread_TakeMilliseconds) {
  open();
  auto* page = static_cast<NewPage*>(window_->page(Place::New));
  window_->show_place(Place::New);
  std::vector<double> keystrokes, places;
  for (int i = 0; i < 200; ++i) {
    const double begin = thread_cpu_ms();
    page->document().set_text("model.layers", QString::number(2 + i % 6));
    keystrokes.push_back(thread_cpu_ms() - begin);
    QCoreApplication::processEvents();
  }
  for (int i = 0; i < 60; ++i) {
    const double begin = thread_cpu_ms();
    window_->show_place(static_cast<Place>(i % kPlaceCount));
    places.push_back(thread_cpu_ms() - begin);
    QCoreApplication::processEvents();
  }
  std::ranges::sort(keystrokes);
  std::ranges::sort(places);
  RecordProperty("keystroke_p99_us", static_cast<int>(keystrokes[197] * 1e3));
  EXPECT_LT(keystrokes[197], 16) << "worst " << keystrokes.back();
  EXPECT_LT(keystrokes.back(), 50);
  EXPECT_LT(places.back(), 50);
}

TEST(ClosingQuestion, RunWithoutCheckpoint_SaysWhatIsLost) {
  const QString text = closing_question(QStringLiteral("abc"), {412, 0, 90});
  EXPECT_TRUE(text.contains(QStringLiteral("no checkpoint yet")));
  EXPECT_TRUE(text.contains(QStringLiteral("412 updates")));
  const QString saved = closing_question(QStringLiteral("abc"), {412, 400, 90});
  EXPECT_TRUE(saved.contains(QStringLiteral("step 400")));
  EXPECT_TRUE(saved.contains(QStringLiteral("12 updates")));
  EXPECT_TRUE(
      closing_question(QStringLiteral("abc"), {401, 400, 0}).contains(QStringLiteral("1 update not saved")));
}

}  // namespace
}  // namespace lathe::ui
