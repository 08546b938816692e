#include "core/config/config_json.h"

#include <fmt/core.h>

#include <set>
#include <vector>

#include "core/config/setting_info.h"
#include "core/config/text_util.h"
#include "core/platform/files.h"
#include "core/platform/json.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMaxFileBytes = 16 << 20;  // far above any settings file

// Collects what is wrong in a document, to be thrown at once.
class Findings {
 public:
  void add(std::string message, const std::string& advice = {}) {
    if (!advice.empty()) message += " " + advice;
    messages_.push_back(std::move(message));
  }

  void throw_if_any() const {
    if (messages_.empty()) return;
    if (messages_.size() == 1) throw Error(ErrorCode::InvalidConfig, messages_.front());
    std::string text = fmt::format("{} problems in the settings:", messages_.size());
    for (const std::string& message : messages_) text += "\n  - " + message;
    throw Error(ErrorCode::InvalidConfig, text);
  }

 private:
  std::vector<std::string> messages_;
};

bool is_section(std::string_view name) {
  for (const SettingInfo& info : settings()) {
    if (info.section == name) return true;
  }
  return false;
}

std::string suggestion(std::string_view unknown) {
  const std::string_view near = nearest_key(unknown);
  if (near.empty()) return "`lathe settings` lists all settings.";
  return fmt::format("Did you mean '{}'?", near);
}

std::string section_suggestion(std::string_view unknown) {
  std::vector<std::string_view> sections;
  for (const SettingInfo& info : settings()) {
    if (sections.empty() || sections.back() != info.section) sections.push_back(info.section);
  }
  const std::string_view near = nearest(unknown, sections);
  return near.empty() ? suggestion(unknown) : fmt::format("Did you mean '{}'?", near);
}

void read_section(const std::string& section, const json& content, RunConfig& config, Findings& findings) {
  if (!content.is_object()) {
    findings.add(fmt::format("{}: expected an object of settings, but it is of type {}.", section,
                             content.type_name()));
    return;
  }
  for (const auto& item : content.items()) {
    const std::string key = section + "." + item.key();
    const SettingInfo* info = find_setting(key);
    if (info == nullptr) {
      findings.add(fmt::format("There is no setting '{}'.", key), suggestion(key));
      continue;
    }
    try {
      info->set_json(config, item.value());
    } catch (const Error& error) {
      findings.add(fmt::format("{}: {}", key, error.what_happened()), error.what_to_do());
    }
  }
}

// JSON text to a document. The library would keep the last of two equal keys and follow any depth.
json parse_document(std::string_view text) {
  if (json_depth(text) > kMaxJsonDepth) {
    throw Error(ErrorCode::InvalidConfig, fmt::format("It is nested deeper than {} levels.", kMaxJsonDepth));
  }
  std::vector<std::set<std::string>> keys;  // keys seen in each object that is open
  const json::parser_callback_t check = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw Error(ErrorCode::InvalidConfig,
                  fmt::format("The key '{}' is given twice.", value.get<std::string>()), "Keep one of them.");
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: ..." without its first part.
    const std::string_view message = error.what();
    const std::size_t end = message.find("] ");
    throw Error(ErrorCode::InvalidConfig,
                fmt::format("It is not JSON: {}.", end == message.npos ? message : message.substr(end + 2)),
                "Mend the file at that place, or write a new one with the wanted settings only.");
  }
}

template <class Function>
auto naming(const std::string& origin, Function function) {
  try {
    return function();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidConfig) throw;
    throw Error(error.code(), fmt::format("{}: {}", origin, error.what_happened()), error.what_to_do());
  }
}

ordered_json write(const RunConfig& config, const RunConfig* base) {
  ordered_json document = ordered_json::object();
  for (const SettingInfo& info : settings()) {
    if (base != nullptr && info.equal(config, *base)) continue;
    document[std::string(info.section)][std::string(info.name)] = info.get_json(config);
  }
  return document;
}

}  // namespace

ordered_json to_json(const RunConfig& config) {
  return write(config, nullptr);
}

ordered_json to_json_differences(const RunConfig& config, const RunConfig& base) {
  return write(config, &base);
}

RunConfig from_json(const json& document, const RunConfig& base) {
  if (!document.is_object()) {
    throw Error(
        ErrorCode::InvalidConfig,
        fmt::format("Settings are an object of sections, but this JSON is of type {}.", document.type_name()),
        R"(Write {"model": {"layers": 12}}.)");
  }
  RunConfig config = base;
  Findings findings;
  for (const auto& item : document.items()) {
    if (item.key() == "about") {
      if (!item.value().is_string()) findings.add("about: expected text.");
    } else if (is_section(item.key())) {
      read_section(item.key(), item.value(), config, findings);
    } else if (item.value().is_object()) {
      findings.add(fmt::format("There is no section '{}'.", item.key()), section_suggestion(item.key()));
    } else {
      findings.add(fmt::format("There is no section '{}'.", item.key()), suggestion(item.key()));
    }
  }
  findings.throw_if_any();
  return config;
}

RunConfig from_json_text(std::string_view text, const RunConfig& base, const std::string& origin) {
  return naming(origin, [&] { return from_json(parse_document(text), base); });
}

json read_json_file(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMaxFileBytes);
  return naming(to_utf8(path), [&] { return parse_document(text); });
}

RunConfig load_config(const std::filesystem::path& path, const RunConfig& base) {
  return from_json_text(read_file(path, kMaxFileBytes), base, to_utf8(path));
}

void save_config(const RunConfig& config, const std::filesystem::path& path) {
  write_file_atomically(path, to_json(config).dump(2) + "\n");
}

}  // namespace lathe
