// System reports what is there and keeps preferences; Help finds what it is asked for.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLineEdit>
#include <QProcess>
#include <QRegularExpression>
#include <QTextBrowser>

#include "core/config/setting_info.h"
#include "tests/ui/ui_support.h"
#include "ui/launch.h"
#include "ui/pages/help_page.h"
#include "ui/pages/system_page.h"
#include "ui/pages/system_report.h"
#include "ui/text.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

// The same subjects and words as on the command line.
TEST(SystemPage, Activated_ShowsTheDoctorsChecksAndFoldersAndVersions) {
  Surroundings surroundings;
  SystemPage page(surroundings.context);
  page.show();
  page.activated();
  ASSERT_TRUE(wait_until([&] { return page.report().contains(QStringLiteral("SQLite")); }));
  EXPECT_TRUE(page.report().contains(to_qt(surroundings.folder.path())));
  ASSERT_TRUE(page.checking());
  EXPECT_TRUE(page.report().contains(QStringLiteral("Checking…")));
  ASSERT_TRUE(wait_until([&] { return !page.checking(); }, 60000));

  QProcess doctor;
  doctor.start(lathe_program(),
               {QStringLiteral("--home"), to_qt(surroundings.folder.path()), QStringLiteral("--json"),
                QStringLiteral("doctor"), QStringLiteral("--quick")});
  ASSERT_TRUE(doctor.waitForFinished(60000));
  const ReportSection checks = doctor_section(doctor.readAllStandardOutput());
  ASSERT_GT(checks.lines.size(), 5U);
  for (const ReportLine& line : checks.lines)
    EXPECT_TRUE(page.report().contains(line.name)) << to_std(line.name);
  for (const char* subject : {"system", "display", "presets", "history"})
    EXPECT_TRUE(page.report().contains(QLatin1String(subject))) << subject;
}

TEST(SystemReport, Findings_KeepTheirMarks) {
  const ReportSection section = doctor_section(
      R"({"checks": [{"subject": "cuda", "finding": "bad", "text": "No NVIDIA driver. Install one."},
                     {"subject": "disk", "finding": "warning", "text": "9 GiB free"}]})");
  ASSERT_EQ(section.lines.size(), 2U);
  EXPECT_EQ(section.lines[0].mark, ReportLine::Mark::Bad);
  EXPECT_TRUE(report_text({section}).contains(QStringLiteral("BAD: No NVIDIA driver. Install one.")));
  EXPECT_TRUE(report_text({section}).contains(QStringLiteral("note: 9 GiB free")));
}

#ifndef _WIN32
TEST(SystemPage, HistoryFolder_IsUsedFromTheNextStartOnIfItCanBe) {
  Surroundings surroundings;
  const TemporaryFolder data("home");
  const QByteArray former = qgetenv("XDG_DATA_HOME");
  qputenv("XDG_DATA_HOME", QByteArray::fromStdString(to_utf8(data.path())));
  SystemPage page(surroundings.context);
  page.choose_history(to_qt(data.path() / "runs"));
  const auto* shown = page.findChild<ElidedLabel*>(QStringLiteral("history_folder"));
  EXPECT_TRUE(wait_until([&] { return shown->text().contains(QStringLiteral("next start")); }));
  EXPECT_EQ(default_home(), data.path() / "runs");
  page.choose_history(QStringLiteral("/proc/self"));
  EXPECT_TRUE(wait_until([&] { return surroundings.alerts.rowCount() == 1; }));
  EXPECT_EQ(default_home(), data.path() / "runs");
  former.isNull() ? qunsetenv("XDG_DATA_HOME") : qputenv("XDG_DATA_HOME", former);
}
#endif

TEST(SystemPage, Appearance_Chosen_IsKept) {
  Surroundings surroundings;
  {
    SystemPage page(surroundings.context);
    page.findChild<QComboBox*>(QStringLiteral("appearance"))->setCurrentIndex(2);
    auto* scale = page.findChild<QComboBox*>(QStringLiteral("scale"));
    scale->setCurrentIndex(scale->findData(1.5));
    auto* readings = page.findChild<QComboBox*>(QStringLiteral("readings"));
    readings->setCurrentIndex(readings->findData(5.0));
  }
  const Preferences again(surroundings.folder.path());
  EXPECT_EQ(again.appearance(), Appearance::Dark);
  EXPECT_EQ(again.scale(), 1.5);
  EXPECT_EQ(again.telemetry_every_s(), 5.0);
  EXPECT_EQ(stored_scale(surroundings.folder.path()), 1.5);
}

TEST(Help, EveryPlace_HasATopicWithAHeading) {
  const std::vector<HelpTopic> topics = load_help();
  for (int i = 0; i < kPlaceCount; ++i) {
    const QString wanted = place_topic(static_cast<Place>(i));
    const auto found = std::ranges::find(topics, wanted, &HelpTopic::name);
    ASSERT_NE(found, topics.end()) << to_std(wanted);
    EXPECT_GT(found->text.size(), 300);
    EXPECT_NE(found->title, wanted);
  }
  EXPECT_EQ(topics.front().name, QStringLiteral("index"));
}

TEST(Help, EveryLink_LeadsToATopic) {
  const std::vector<HelpTopic> topics = load_help();
  static const QRegularExpression link(QStringLiteral(R"(\]\(([a-z_]+)\.md(#[^)]*)?\))"));
  int links = 0;
  for (const HelpTopic& topic : topics) {
    for (auto match = link.globalMatch(topic.text); match.hasNext();) {
      const QString name = match.next().captured(1);
      EXPECT_NE(std::ranges::find(topics, name, &HelpTopic::name), topics.end())
          << to_std(topic.name) << " → " << to_std(name);
      ++links;
    }
  }
  EXPECT_GT(links, 5);
}

TEST(Help, Reference_HoldsEverySetting) {
  const std::vector<HelpTopic> topics = load_help();
  const auto reference = std::ranges::find(topics, QStringLiteral("settings"), &HelpTopic::name);
  ASSERT_NE(reference, topics.end());
  for (const SettingInfo& info : settings())
    EXPECT_TRUE(reference->text.contains(to_qt(info.name))) << info.key;
}

TEST(Help, Search_Words_RankTheTopicThatSpeaksOfThem) {
  Surroundings surroundings;
  HelpPage page(surroundings.context);
  const int all = page.listed_topics();
  page.findChild<QLineEdit*>()->setText(QStringLiteral("tokenizer vocabulary"));
  EXPECT_EQ(page.shown_topic(), QStringLiteral("data"));
  EXPECT_LT(page.listed_topics(), all);
  page.findChild<QLineEdit*>()->setText(QStringLiteral("xyzzy"));
  EXPECT_EQ(page.listed_topics(), 0);
  EXPECT_TRUE(page.findChild<QTextBrowser*>()->toPlainText().contains(QStringLiteral("xyzzy")));
  page.findChild<QLineEdit*>()->clear();
  EXPECT_EQ(page.listed_topics(), all);
}

TEST(Help, ShowTopic_SettingKey_ScrollsToIt) {
  Surroundings surroundings;
  HelpPage page(surroundings.context);
  page.resize(900, 500);
  page.show();
  page.show_topic(QStringLiteral("settings#memory.recompute"));
  EXPECT_EQ(page.shown_topic(), QStringLiteral("settings"));
  EXPECT_TRUE(page.findChild<QTextBrowser*>()->textCursor().selectedText().contains(
      QStringLiteral("memory.recompute")));
}

}  // namespace
}  // namespace lathe::ui
