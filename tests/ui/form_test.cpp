// The form: every setting of the table goes into its editor and out again, problems stand beside their
// fields, undo takes back what was done.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QTest>
#include <cmath>

#include "core/config/presets.h"
#include "core/config/setting_info.h"
#include "tests/ui/ui_support.h"
#include "tests/unit/config_random.h"
#include "ui/forms/config_document.h"
#include "ui/forms/config_form.h"
#include "ui/forms/setting_editor.h"
#include "ui/forms/setting_row.h"
#include "ui/text.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

class FormTest : public testing::Test {
 protected:
  Surroundings surroundings_;
  ConfigDocument document_;
  ConfigForm form_{document_, surroundings_.theme};

  SettingEditor& editor(const std::string& key) { return form_.row(key)->editor(); }
};

TEST_F(FormTest, EveryEditor_ShownValue_GivesTheSameTextBack) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const RunConfig config = test::random_values(seed);
    document_.load(config, QStringLiteral("random"));
    for (const SettingInfo& info : settings()) {
      const std::string key(info.key);
      RunConfig back;
      ASSERT_NO_THROW(set_text(back, key, to_std(editor(key).text()))) << key;
      EXPECT_TRUE(info.equal(back, config)) << key << " shown as " << to_std(editor(key).text());
    }
  }
}

TEST_F(FormTest, EveryEditor_TypedValue_ReachesTheDocument) {
  const RunConfig wanted = test::random_values(7);
  for (const SettingInfo& info : settings()) {
    const std::string key(info.key);
    Q_EMIT editor(key).edited(to_qt(info.get_text(wanted, info.unit)));
    EXPECT_TRUE(info.equal(document_.config(), wanted)) << key;
  }
  EXPECT_EQ(document_.config(), wanted);
}

TEST_F(FormTest, NumberEditor_TypedWithSuffix_IsReadAndLeftAsTyped) {
  auto* line = form_.findChild<QLineEdit*>(QStringLiteral("model.context"));
  ASSERT_NE(line, nullptr);
  form_.show();
  QTest::mouseClick(line, Qt::LeftButton);
  line->setFocus();
  line->selectAll();
  QTest::keyClicks(line, QStringLiteral("2k"));
  EXPECT_EQ(document_.config().model.context, 2048);
}

TEST_F(FormTest, NumberEditor_NotBeingEdited_GroupsDigits) {
  auto* vocab = form_.findChild<QLineEdit*>(QStringLiteral("model.vocab"));
  auto* margin = form_.findChild<QLineEdit*>(QStringLiteral("memory.vram_margin"));
  ASSERT_TRUE(vocab != nullptr && margin != nullptr);
  EXPECT_EQ(vocab->text(), QStringLiteral("32,000"));
  EXPECT_EQ(margin->text(), QStringLiteral("512\u00A0MiB"));
  form_.show();
  form_.activateWindow();
  vocab->setFocus(Qt::TabFocusReason);
  ASSERT_TRUE(wait_until([&] { return vocab->hasFocus(); }));
  EXPECT_EQ(vocab->text(), QStringLiteral("32000"));
  vocab->selectAll();
  QTest::keyClicks(vocab, QStringLiteral("64k"));
  EXPECT_EQ(document_.config().model.vocab, 65536);
  margin->setFocus();
  EXPECT_EQ(vocab->text(), QStringLiteral("65,536"));
  EXPECT_EQ(editor("model.vocab").text(), QStringLiteral("65536"));
  EXPECT_EQ(document_.undo_stack().count(), 1) << "leaving a field changes nothing";
}

TEST_F(FormTest, NumberEditor_ArrowKeys_StepTheValue) {
  auto* line = form_.findChild<QLineEdit*>(QStringLiteral("batch.micro_batch"));
  ASSERT_NE(line, nullptr);
  QTest::keyClick(line, Qt::Key_Up);
  EXPECT_EQ(document_.config().batch.micro_batch, 2);
  QTest::keyClick(line, Qt::Key_Down);
  QTest::keyClick(line, Qt::Key_Down);
  EXPECT_EQ(document_.config().batch.micro_batch, 1) << "the range ends at 1";
}

TEST_F(FormTest, DragLabel_DraggedSideways_StepsTheValue) {
  SettingRow* row = form_.row("batch.micro_batch");
  form_.resize(600, 800);
  form_.show();
  auto* label = row->findChild<DragLabel*>();
  QTest::mousePress(label, Qt::LeftButton, {}, QPoint(5, 5));
  QMouseEvent move(QEvent::MouseMove, QPointF(5 + 12 * 3, 5), label->mapToGlobal(QPointF(41, 5)),
                   Qt::NoButton, Qt::LeftButton, {});
  QApplication::sendEvent(label, &move);
  EXPECT_EQ(document_.config().batch.micro_batch, 4);
}

TEST_F(FormTest, Document_UnreadableText_KeepsValueTextAndReason) {
  EXPECT_FALSE(document_.set_text("model.layers", QStringLiteral("many")));
  EXPECT_EQ(document_.config().model.layers, 24);
  EXPECT_EQ(document_.text("model.layers"), QStringLiteral("many"));
  ASSERT_FALSE(document_.problems().empty());
  EXPECT_EQ(document_.problems().front().key, "model.layers");
  EXPECT_FALSE(document_.can_estimate());
  EXPECT_TRUE(document_.set_text("model.layers", QStringLiteral("12")));
  EXPECT_TRUE(document_.problems().empty());
  EXPECT_EQ(document_.config().model.layers, 12);
}

TEST_F(FormTest, Row_SettingBreaksARule_SaysWhyAndMends) {
  document_.set_text("model.kv_heads", QStringLiteral("5"));
  form_.show();
  auto* row = form_.row("model.kv_heads");
  bool said = false;
  for (const QLabel* label : row->findChildren<QLabel*>())
    said |= label->text().contains(QStringLiteral("does not divide")) && !label->isHidden();
  EXPECT_TRUE(said);
  EXPECT_EQ(tone_of(*form_.findChild<QLineEdit*>(QStringLiteral("model.kv_heads"))), Tone::Bad);
  document_.set_text("model.kv_heads", QStringLiteral("4"));
  EXPECT_EQ(tone_of(*form_.findChild<QLineEdit*>(QStringLiteral("model.kv_heads"))), Tone::Plain);
}

TEST_F(FormTest, UndoStack_PresetLoad_IsOneStep) {
  document_.set_text("model.layers", QStringLiteral("12"));
  const RunConfig before = document_.config();
  const int steps = document_.undo_stack().count();
  document_.load(load_preset("tiny"), QStringLiteral("tiny"));
  EXPECT_EQ(document_.undo_stack().count(), steps + 1);
  EXPECT_EQ(document_.base_name(), QStringLiteral("tiny"));
  document_.undo_stack().undo();
  EXPECT_EQ(document_.config(), before);
  EXPECT_NE(document_.base_name(), QStringLiteral("tiny"));
  document_.undo_stack().redo();
  EXPECT_EQ(document_.config(), load_preset("tiny"));
}

TEST_F(FormTest, UndoStack_KeystrokesInOneField_AreOneStep) {
  document_.set_text("model.context", QStringLiteral("2"));
  document_.set_text("model.context", QStringLiteral("20"));
  document_.set_text("model.context", QStringLiteral("204"));
  document_.set_text("model.context", QStringLiteral("2048"));
  EXPECT_EQ(document_.undo_stack().count(), 1);
  document_.set_text("model.layers", QStringLiteral("12"));
  EXPECT_EQ(document_.undo_stack().count(), 2);
  document_.undo_stack().undo();
  document_.undo_stack().undo();
  EXPECT_EQ(document_.config(), RunConfig{});
}

TEST_F(FormTest, Document_Reset_TakesTheBaseValueBack) {
  document_.load(load_preset("tiny"), QStringLiteral("tiny"));
  document_.set_text("model.layers", QStringLiteral("7"));
  ASSERT_EQ(document_.changes().size(), 1U);
  EXPECT_EQ(document_.changes()[0].a_text, "4");
  document_.reset("model.layers");
  EXPECT_TRUE(document_.changes().empty());
}

TEST_F(FormTest, Filter_Words_ShowOnlyWhatSpeaksOfThem) {
  const int all = form_.visible_rows();
  EXPECT_EQ(all, static_cast<int>(settings().size()));
  form_.set_filter(QStringLiteral("weight decay"));
  EXPECT_GT(form_.visible_rows(), 0);
  EXPECT_LT(form_.visible_rows(), all / 4);
  EXPECT_FALSE(form_.row("optimizer.weight_decay")->isHidden());
  form_.set_filter(QStringLiteral("changed"));
  EXPECT_EQ(form_.visible_rows(), 0);
  document_.set_text("model.layers", QStringLiteral("12"));
  EXPECT_EQ(form_.visible_rows(), 1);
  form_.set_filter({});
  EXPECT_EQ(form_.visible_rows(), all);
}

TEST_F(FormTest, EveryRow_HasAccessibleNameAndToolTip) {
  for (const SettingInfo& info : settings()) {
    const auto* inner = form_.findChild<QWidget*>(to_qt(info.key));
    ASSERT_NE(inner, nullptr) << info.key;
    EXPECT_FALSE(inner->accessibleName().isEmpty()) << info.key;
    EXPECT_FALSE(form_.row(std::string(info.key))->toolTip().isEmpty()) << info.key;
  }
}

TEST(NumberSteps, Whole_UpAndDown_RetraceOnRoundValues) {
  const Range range{1, 1 << 20};
  EXPECT_EQ(stepped_whole(1, 1, range), 2);
  EXPECT_EQ(stepped_whole(1, -1, range), 1);
  EXPECT_EQ(stepped_whole(31, 1, range), 32);
  EXPECT_EQ(stepped_whole(32, 1, range), 34);
  EXPECT_EQ(stepped_whole(34, -1, range), 32);
  EXPECT_EQ(stepped_whole(32, -1, range), 31);
  EXPECT_EQ(stepped_whole(1792, 1, range), 1856);
  EXPECT_EQ(stepped_whole(1800, -1, range), 1792);
  for (int64_t value = 1; value < 5000; value = stepped_whole(value, 1, range)) {
    EXPECT_EQ(stepped_whole(stepped_whole(value, 1, range), -1, range), value);
  }
}

TEST(NumberSteps, Real_Steps_StayShort) {
  const Range unbounded{-INFINITY, INFINITY};
  EXPECT_EQ(stepped_real(3e-4, 1, unbounded), 3.1e-4);
  EXPECT_EQ(stepped_real(3e-4, -1, unbounded), 2.9e-4);
  EXPECT_EQ(stepped_real(0.95, 1, unbounded), 0.96);
  EXPECT_EQ(stepped_real(0, 1, unbounded), 0.1);
  EXPECT_LT(stepped_real(0.99, 5, Range{0, 1, true}), 1.0);
}

}  // namespace
}  // namespace lathe::ui
