// The editors: numbers, auto numbers, switches, choices, texts, lists.
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QLocale>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QToolButton>
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/config/size_text.h"
#include "core/config/value_text.h"
#include "kernels/api/error.h"
#include "ui/forms/setting_editor.h"
#include "ui/text.h"
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

constexpr int kNumberWidth = 17 * Theme::grid;  // the eye finds unit and value together

void show_text(QLineEdit& line, const QString& text) {
  if (line.text() == text) return;
  const int cursor = line.cursorPosition();
  line.setText(text);
  line.setCursorPosition(std::min<int>(cursor, static_cast<int>(text.size())));
}

// What the table reads of a number as people do: without groups, its unit not apart. Anything else stays as
// it was typed.
QString plain_number(QString text) {
  text.remove(QLatin1Char(' ')).remove(QChar(0x00A0));
  const QString group = QLocale().groupSeparator();
  const QRegularExpression groups(
      QStringLiteral("^-?\\d{1,3}(%1\\d{3})+$").arg(QRegularExpression::escape(group)));
  // Where a point groups, it would be taken for the decimal one.
  if (group != QLatin1String(".") && groups.match(text).hasMatch()) text.remove(group);
  return text;
}

// The reverse, for reading: "32,000", "512 MiB", "3e-4".
QString readable_number(const QString& text, const SettingInfo& info) {
  const QString plain = plain_number(text);
  try {
    if (info.unit == "bytes") {
      QString bytes = to_qt(format_bytes(parse_whole_number(plain.toStdString())));
      const auto letter = std::ranges::find_if(bytes, [](QChar c) { return c.isLetter(); });
      if (letter != bytes.end()) bytes.insert(letter - bytes.begin(), QChar(0x00A0));
      return bytes;
    }
    if (info.type == SettingType::Real) {
      const double value = parse_real(plain.toStdString());
      const QString shortest = real_text(value);
      const bool whole = std::ranges::all_of(shortest, [](QChar c) { return c.isDigit(); });
      return whole && QLocale().groupSeparator() != QLatin1String(".") ? count_text(std::llround(value))
                                                                       : shortest;
    }
    const int64_t value = parse_whole_number(plain.toStdString());
    return QLocale().groupSeparator() == QLatin1String(".") ? QString::number(value) : count_text(value);
  } catch (const Error&) {
    return text;  // the reason stands beside the field
  }
}

// A line for numbers: up, down and page keys step. Digits are in groups except while one types.
class NumberLine : public QLineEdit {
 public:
  explicit NumberLine(SettingEditor& editor) : QLineEdit(&editor), editor_(editor) {
    setAlignment(Qt::AlignRight);
    setFixedWidth(kNumberWidth);
  }

  QString plain() const { return plain_number(text()); }
  void show_number(const QString& text) {
    show_text(*this, hasFocus() ? text : readable_number(text, editor_.info()));
  }

 protected:
  void focusInEvent(QFocusEvent* event) override {
    setText(plain());
    QLineEdit::focusInEvent(event);
  }
  void focusOutEvent(QFocusEvent* event) override {
    QLineEdit::focusOutEvent(event);
    setText(readable_number(text(), editor_.info()));
  }
  void keyPressEvent(QKeyEvent* event) override {
    switch (event->key()) {
      case Qt::Key_Up:
        return editor_.step(1);
      case Qt::Key_Down:
        return editor_.step(-1);
      case Qt::Key_PageUp:
        return editor_.step(10);
      case Qt::Key_PageDown:
        return editor_.step(-10);
      default:
        QLineEdit::keyPressEvent(event);
    }
  }

 private:
  SettingEditor& editor_;
};

// Whether two texts of a whole number say the same: the user may be typing "4k" where the value is 4096.
bool same_whole(const QString& a, const QString& b) {
  try {
    return parse_whole_number(a.toStdString()) == parse_whole_number(b.toStdString());
  } catch (const Error&) {
    return false;
  }
}

bool same_real(const QString& a, const QString& b) {
  try {
    return parse_real(a.toStdString()) == parse_real(b.toStdString());
  } catch (const Error&) {
    return false;
  }
}

class NumberEditor : public SettingEditor {
 public:
  NumberEditor(const SettingInfo& info, QWidget* parent)
      : SettingEditor(info, parent), line_(new NumberLine(*this)) {
    layout()->addWidget(line_);
    set_inner(line_);
    connect(line_, &QLineEdit::textEdited, this, [this] { Q_EMIT edited(text()); });
  }

  QString text() const override { return line_->plain(); }
  void set_text(const QString& text) override {
    const bool whole = info().type == SettingType::Integer;
    if (line_->hasFocus() && (whole ? same_whole(line_->plain(), text) : same_real(line_->plain(), text)))
      return;
    line_->show_number(text);
  }

  bool steppable() const override { return true; }
  void step(int steps) override {
    try {
      QString next;
      if (info().type == SettingType::Integer) {
        const int64_t value = parse_whole_number(text().toStdString());
        next = to_qt(value_text(stepped_whole(value, steps, info().range), info().unit));
      } else {
        next = real_text(stepped_real(parse_real(text().toStdString()), steps, info().range));
      }
      if (next == text()) return;
      line_->show_number(next);
      Q_EMIT edited(next);
    } catch (const Error&) {
      // Nothing to step from: the reason already stands beside the field.
    }
  }

 private:
  NumberLine* line_;
};

class AutoNumberEditor : public SettingEditor {
 public:
  AutoNumberEditor(const SettingInfo& info, QWidget* parent)
      : SettingEditor(info, parent), automatic_(new QCheckBox(tr("auto"))), line_(new NumberLine(*this)) {
    layout()->addWidget(automatic_);
    layout()->addWidget(line_);
    set_inner(line_);
    setFocusProxy(automatic_);
    automatic_->setAccessibleName(tr("%1: automatic").arg(to_qt(info.label)));
    automatic_->setToolTip(tr("Lathe chooses before step 1 and records what it chose"));
    connect(automatic_, &QCheckBox::toggled, this, [this](bool on) {
      line_->setHidden(on);
      if (!on) line_->show_number(chosen_.isEmpty() ? QStringLiteral("0") : plain_number(chosen_));
      Q_EMIT edited(text());
    });
    connect(line_, &QLineEdit::textEdited, this, [this] { Q_EMIT edited(text()); });
  }

  QString text() const override { return automatic_->isChecked() ? QStringLiteral("auto") : line_->plain(); }
  void set_text(const QString& text) override {
    const bool automatic = text == QLatin1String("auto");
    const QSignalBlocker blocker(automatic_);
    automatic_->setChecked(automatic);
    line_->setHidden(automatic);
    if (!automatic && !(line_->hasFocus() && same_whole(line_->plain(), text))) line_->show_number(text);
  }
  // Where typing starts from when "auto" is unchecked.
  void set_chosen(const QString& text) override { chosen_ = text; }

  bool steppable() const override { return !automatic_->isChecked(); }
  void step(int steps) override {
    if (!steppable()) return;
    try {
      const int64_t value =
          stepped_whole(parse_whole_number(line_->plain().toStdString()), steps, info().range);
      line_->show_number(to_qt(value_text(value, info().unit)));
      Q_EMIT edited(text());
    } catch (const Error&) {
      // As above.
    }
  }

 private:
  QCheckBox* automatic_;
  NumberLine* line_;
  QString chosen_;
};

class SwitchEditor : public SettingEditor {
 public:
  SwitchEditor(const SettingInfo& info, QWidget* parent) : SettingEditor(info, parent), box_(new QCheckBox) {
    layout()->addWidget(box_);
    set_inner(box_);
    connect(box_, &QCheckBox::toggled, this, [this] { Q_EMIT edited(text()); });
  }
  QString text() const override {
    return box_->isChecked() ? QStringLiteral("true") : QStringLiteral("false");
  }
  void set_text(const QString& text) override {
    const QSignalBlocker blocker(box_);
    box_->setChecked(text == QLatin1String("true"));
  }

 private:
  QCheckBox* box_;
};

// A wheel over a form must scroll it, not change what lies under the pointer.
class QuietCombo : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void wheelEvent(QWheelEvent* event) override { event->ignore(); }
};

class ChoiceEditor : public SettingEditor {
 public:
  ChoiceEditor(const SettingInfo& info, QWidget* parent) : SettingEditor(info, parent), box_(new QuietCombo) {
    for (const std::string_view choice : info.choices) box_->addItem(to_qt(choice));
    box_->setMinimumWidth(kNumberWidth);
    layout()->addWidget(box_);
    set_inner(box_);
    connect(box_, &QComboBox::currentTextChanged, this, &SettingEditor::edited);
  }
  QString text() const override { return box_->currentText(); }
  void set_text(const QString& text) override {
    const QSignalBlocker blocker(box_);
    box_->setCurrentText(text);
  }

 private:
  QuietCombo* box_;
};

// Levels to pick from; a list by layers may be typed.
class RecomputeEditor : public SettingEditor {
 public:
  RecomputeEditor(const SettingInfo& info, QWidget* parent)
      : SettingEditor(info, parent), box_(new QuietCombo) {
    box_->setEditable(true);
    box_->setMinimumWidth(kNumberWidth + 4 * Theme::grid);
    box_->setInsertPolicy(QComboBox::NoInsert);
    box_->addItem(QStringLiteral("auto"));
    for (const std::string_view level : choices<RecomputeLevel>) box_->addItem(to_qt(level));
    box_->setToolTip(tr("Pick a level for all layers, or type one per layer: norms*18,gate_up*6"));
    layout()->addWidget(box_);
    set_inner(box_);
    connect(box_, &QComboBox::currentTextChanged, this, &SettingEditor::edited);
  }
  QString text() const override { return box_->currentText(); }
  void set_text(const QString& text) override {
    if (box_->currentText() == text) return;
    const QSignalBlocker blocker(box_);
    box_->setCurrentText(text);
  }

 private:
  QuietCombo* box_;
};

// Asks for a dataset's folder, and hands it on.
QToolButton* make_browse(SettingEditor& editor, const QString& tip, std::function<void(const QString&)> use) {
  auto* browse = new QToolButton;
  browse->setText(QStringLiteral("…"));
  browse->setToolTip(tip);
  browse->setAccessibleName(tip);
  QObject::connect(browse, &QToolButton::clicked, &editor, [&editor, use = std::move(use)] {
    const QString folder = QFileDialog::getExistingDirectory(&editor, SettingEditor::tr("Dataset folder"));
    if (!folder.isEmpty()) use(folder);
  });
  return browse;
}

class LineEditor : public SettingEditor {
 public:
  LineEditor(const SettingInfo& info, QWidget* parent) : SettingEditor(info, parent), line_(new QLineEdit) {
    layout()->addWidget(line_);
    set_inner(line_);
    if (info.type == SettingType::Sources) {
      line_->setPlaceholderText(tr("dataset folder"));
      layout()->addWidget(make_browse(
          *this, tr("Choose a dataset folder; it is added to the mix"), [this](const QString& folder) {
            line_->setText(line_->text().isEmpty() ? folder : line_->text() + QStringLiteral(", ") + folder);
            Q_EMIT edited(line_->text());
          }));
    }
    connect(line_, &QLineEdit::textEdited, this, &SettingEditor::edited);
  }
  QString text() const override { return line_->text(); }
  void set_text(const QString& text) override {
    if (!line_->hasFocus()) {
      line_->setText(text);
      line_->setCursorPosition(0);
    } else if (!says(text)) {
      show_text(*line_, text);
    }
  }

 private:
  // While a list is typed its text may be another spelling of the same value.
  bool says(const QString& text) const {
    RunConfig typed;
    try {
      info().set_text(typed, line_->text().toStdString());
    } catch (const Error&) {
      return false;
    }
    return to_qt(info().get_text(typed, info().unit)) == text;
  }

  QLineEdit* line_;
};

class LinesEditor : public SettingEditor {
 public:
  LinesEditor(const SettingInfo& info, QWidget* parent)
      : SettingEditor(info, parent), box_(new QPlainTextEdit) {
    box_->setTabChangesFocus(true);
    box_->setPlaceholderText(tr("one a line"));
    box_->setFixedHeight(box_->fontMetrics().lineSpacing() * 3 + 16);
    layout()->addWidget(box_);
    set_inner(box_);
    if (info.key == "data.validation") {
      QToolButton* browse = make_browse(*this, tr("Choose a dataset folder to evaluate on"),
                                        [this](const QString& folder) { box_->appendPlainText(folder); });
      layout()->addWidget(browse);
      layout()->setAlignment(browse, Qt::AlignTop);
    }
    connect(box_, &QPlainTextEdit::textChanged, this, [this] { Q_EMIT edited(text()); });
  }
  QString text() const override { return box_->toPlainText(); }
  void set_text(const QString& text) override {
    if (says(text)) return;
    const QSignalBlocker blocker(box_);
    box_->setPlainText(text);
  }

 private:
  bool says(const QString& text) const {
    RunConfig typed, wanted;
    try {
      info().set_text(typed, box_->toPlainText().toStdString());
      info().set_text(wanted, text.toStdString());
    } catch (const Error&) {
      return false;
    }
    return info().equal(typed, wanted);
  }
  QPlainTextEdit* box_;
};

}  // namespace

SettingEditor* make_setting_editor(const SettingInfo& info, QWidget* parent) {
  switch (info.type) {
    case SettingType::Integer:
    case SettingType::Real:
      return new NumberEditor(info, parent);
    case SettingType::AutoInteger:
      return new AutoNumberEditor(info, parent);
    case SettingType::Boolean:
      return new SwitchEditor(info, parent);
    case SettingType::Choice:
      return new ChoiceEditor(info, parent);
    case SettingType::Recompute:
      return new RecomputeEditor(info, parent);
    case SettingType::TextList:
      return new LinesEditor(info, parent);
    case SettingType::Text:
    case SettingType::Sources:
    case SettingType::Rules:
      return new LineEditor(info, parent);
  }
  return new LineEditor(info, parent);
}

}  // namespace lathe::ui
