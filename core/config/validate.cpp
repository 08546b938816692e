#include "core/config/validate.h"

#include <fmt/core.h>

#include <cmath>
#include <string_view>

#include "core/config/rules.h"
#include "core/config/setting_info.h"
#include "core/config/size_text.h"
#include "core/config/value_text.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

// Checks one value against its row; the overloads cover every type the table holds.
class RangeCheck {
 public:
  explicit RangeCheck(std::vector<Problem>& problems) : problems_(problems) {}

  void operator()(const SettingInfo& info, std::int64_t value) {
    number(info, static_cast<double>(value), value);
  }
  void operator()(const SettingInfo& info, double value) { number(info, value, value); }
  void operator()(const SettingInfo& info, const AutoInt& value) {
    if (!value.automatic) number(info, static_cast<double>(value.value), value.value);
  }
  void operator()(const SettingInfo&, bool) {}
  void operator()(const SettingInfo& info, const std::string& value) { text(info, value); }
  void operator()(const SettingInfo& info, const std::vector<std::string>& value) {
    for (const std::string& item : value) text(info, item);
  }
  // Values with members of their own are checked as a whole in rules.cpp.
  void operator()(const SettingInfo&, const RecomputeSetting&) {}
  void operator()(const SettingInfo&, const std::vector<DataSource>&) {}
  void operator()(const SettingInfo&, const std::vector<ParameterRule>&) {}

  template <ChoiceEnum Enum>
  void operator()(const SettingInfo& info, Enum value) {
    if (static_cast<std::size_t>(value) < choices<Enum>.size()) return;
    add(info, "holds a value that is none of its choices.", "Choose " + join_choices(info.choices) + ".");
  }

 private:
  template <class Number>
  void number(const SettingInfo& info, double value, Number shown) {
    if (std::isfinite(value) && info.range.contains(value)) return;
    add(info, fmt::format("is {}, outside {}.", value_text(shown, info.unit), range_text(info)),
        fmt::format("Choose a value in {}.", range_text(info)));
  }

  void text(const SettingInfo& info, const std::string& value) {
    if (value.find('\0') != std::string::npos || !is_utf8(value)) {
      add(info, "holds bytes that are not UTF-8 text.", "Write it as UTF-8.");
    }
  }

  static std::string range_text(const SettingInfo& info) {
    return info.range.bounded() ? "the range " + info.range.text(info.unit)
                                : std::string("the finite numbers");
  }

  void add(const SettingInfo& info, std::string_view message, std::string advice) {
    problems_.push_back({std::string(info.key), fmt::format("{} {}", info.key, message), std::move(advice)});
  }

  std::vector<Problem>& problems_;
};

}  // namespace

std::vector<Problem> validate(const RunConfig& config, Purpose purpose) {
  std::vector<Problem> problems;
  for_each_setting(config, RangeCheck(problems));
  check_rules(config, problems);
  if (purpose == Purpose::Train) check_training(config, problems);
  return problems;
}

void require_valid(const RunConfig& config, Purpose purpose) {
  const std::vector<Problem> problems = validate(config, purpose);
  if (problems.empty()) return;
  if (problems.size() == 1) {
    throw Error(ErrorCode::InvalidConfig, problems.front().message, problems.front().advice);
  }
  std::string text = fmt::format("{} settings are wrong:", problems.size());
  for (const Problem& problem : problems) text += fmt::format("\n  - {} {}", problem.message, problem.advice);
  throw Error(ErrorCode::InvalidConfig, text);
}

}  // namespace lathe
