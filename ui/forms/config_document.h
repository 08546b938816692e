// The configuration being edited: values, what it is compared with, its problems, undo and redo. Editors and
// panels read it and write through it, and nobody else holds a copy.
#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <map>
#include <string>
#include <vector>

#include "core/config/config_text.h"
#include "core/config/run_config.h"
#include "core/config/validate.h"

namespace lathe::ui {

class ConfigDocument : public QObject {
  Q_OBJECT
 public:
  explicit ConfigDocument(QObject* parent = nullptr);

  const RunConfig& config() const { return config_; }
  // What "changed" is measured against: a preset, a file, a run.
  const RunConfig& base() const { return base_; }
  const QString& base_name() const { return base_name_; }

  // Sets one setting from its text form; one step of undo, joined with the step before when that set the same
  // setting a moment ago. Text that can't be read is kept aside with its reason (unreadable()) and the value
  // stays. Returns whether the text was read.
  bool set_text(const std::string& key, const QString& text);
  // The text of a setting, or what was typed in its place and can't be read.
  QString text(const std::string& key) const;

  // Replaces everything in one step of undo.
  void load(const RunConfig& config, const QString& base_name) { load(config, base_name, config); }
  // `config` is what is edited then, where it isn't all of the base.
  void load(const RunConfig& base, const QString& base_name, const RunConfig& config);
  // Several settings at once, one step of undo, under a name for the Undo button.
  void apply(const RunConfig& config, const QString& step_name);
  // Back to the base's value.
  void reset(const std::string& key);

  std::vector<SettingDifference> changes() const;  // base to config
  // Unreadable texts first, then validate()'s; of Purpose::Train when `train`.
  std::vector<Problem> problems(bool train = false) const;
  bool readable() const { return unreadable_.empty(); }
  bool can_estimate() const;  // readable, and valid for an estimate

  QUndoStack& undo_stack() { return undo_; }

 Q_SIGNALS:
  void changed();  // any value, base, or problem
  void loaded();   // base and possibly everything: forget scroll positions and partial input

 private:
  friend class ConfigEdit;
  struct State {
    RunConfig config;
    RunConfig base;
    QString base_name;
  };
  State state() const { return {config_, base_, base_name_}; }
  void set_state(const State& state, bool whole);
  void push(State next, const QString& name, const std::string& key);

  struct Unreadable {
    QString text;
    std::string reason;
    std::string advice;
  };
  RunConfig config_;
  RunConfig base_;
  QString base_name_;
  std::map<std::string, Unreadable> unreadable_;
  QUndoStack undo_;
};

}  // namespace lathe::ui
