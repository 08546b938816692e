#include "ui/forms/config_document.h"

#include <QElapsedTimer>
#include <QUndoCommand>
#include <utility>

#include "core/config/setting_info.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {

// One step of undo: the whole state before and after (a few kilobytes), so that loading a preset and typing a
// digit are undone in the same way.
class ConfigEdit : public QUndoCommand {
 public:
  ConfigEdit(ConfigDocument& document, ConfigDocument::State next, const QString& name, std::string key)
      : QUndoCommand(name),
        document_(document),
        before_(document.state()),
        after_(std::move(next)),
        key_(std::move(key)) {
    age_.start();
  }

  void undo() override { document_.set_state(before_, key_.empty()); }
  void redo() override { document_.set_state(after_, key_.empty()); }
  int id() const override { return key_.empty() ? -1 : 1; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = static_cast<const ConfigEdit*>(other);
    constexpr qint64 kOneEditMs = 1500;
    if (next->key_ != key_ || age_.elapsed() > kOneEditMs) return false;
    after_ = next->after_;
    age_.restart();
    return true;
  }

 private:
  ConfigDocument& document_;
  ConfigDocument::State before_, after_;
  std::string key_;
  QElapsedTimer age_;
};

ConfigDocument::ConfigDocument(QObject* parent) : QObject(parent), base_name_(tr("defaults")) {
  undo_.setUndoLimit(500);
}

bool ConfigDocument::set_text(const std::string& key, const QString& text) {
  State next = state();
  try {
    lathe::set_text(next.config, key, text.toStdString());
  } catch (const Error& error) {
    unreadable_[key] = {text, error.what_happened(), error.what_to_do()};
    Q_EMIT changed();
    return false;
  }
  const bool mended = unreadable_.erase(key) > 0;
  if (next.config == config_) {
    if (mended) Q_EMIT changed();
    return true;
  }
  push(std::move(next), tr("change %1").arg(to_qt(require_setting(key).label)), key);
  return true;
}

QString ConfigDocument::text(const std::string& key) const {
  const auto found = unreadable_.find(key);
  return found != unreadable_.end() ? found->second.text : to_qt(get_text(config_, key));
}

void ConfigDocument::load(const RunConfig& base, const QString& base_name, const RunConfig& config) {
  unreadable_.clear();
  push({config, base, base_name}, tr("load %1").arg(base_name), {});
}

void ConfigDocument::apply(const RunConfig& config, const QString& step_name) {
  unreadable_.clear();
  push({config, base_, base_name_}, step_name, {});
}

void ConfigDocument::reset(const std::string& key) {
  set_text(key, to_qt(get_text(base_, key)));
}

std::vector<SettingDifference> ConfigDocument::changes() const {
  return diff(base_, config_);
}

std::vector<Problem> ConfigDocument::problems(bool train) const {
  std::vector<Problem> problems;
  for (const auto& [key, typed] : unreadable_) problems.push_back({key, typed.reason, typed.advice});
  for (Problem& problem : validate(config_, train ? Purpose::Train : Purpose::Estimate)) {
    if (!unreadable_.contains(problem.key)) problems.push_back(std::move(problem));
  }
  return problems;
}

bool ConfigDocument::can_estimate() const {
  return readable() && validate(config_, Purpose::Estimate).empty();
}

void ConfigDocument::push(State next, const QString& name, const std::string& key) {
  undo_.push(new ConfigEdit(*this, std::move(next), name, key));
}

void ConfigDocument::set_state(const State& state, bool whole) {
  config_ = state.config;
  base_ = state.base;
  base_name_ = state.base_name;
  unreadable_.clear();
  if (whole) Q_EMIT loaded();
  Q_EMIT changed();
}

}  // namespace lathe::ui
