#include "core/config/value_json.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "core/config/size_text.h"
#include "core/config/text_util.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

using nlohmann::json;

[[noreturn]] void wrong_type(const json& given, std::string_view expected) {
  std::string shown = given.dump(-1, ' ', false, json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  throw Error(ErrorCode::InvalidConfig,
              fmt::format("expected {}, but {} is {}.", expected, shown,
                          given.is_array() || given.is_object() ? fmt::format("an {}", given.type_name())
                                                                : fmt::format("a {}", given.type_name())));
}

// Fields of one object of a list: reads those present, rejects the unknown.
class ObjectReader {
 public:
  ObjectReader(const json& object, std::string_view what, std::vector<std::string_view> known)
      : object_(object), known_(std::move(known)) {
    if (!object.is_object()) wrong_type(object, what);
    for (const auto& item : object.items()) {
      const std::string_view key = item.key();
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const std::string_view near = nearest(key, known_);
      throw Error(ErrorCode::InvalidConfig, fmt::format("{} has no member '{}'.", what, key),
                  near.empty() ? std::string() : fmt::format("Did you mean '{}'?", near));
    }
  }

  template <class T>
  void read(const char* name, T& value) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return;
    try {
      value_from_json(*found, value);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", name, error.what_happened()), error.what_to_do());
    }
  }

  void read(const char* name, std::optional<double>& value) const {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return;
    double number = 0;
    read(name, number);
    value = number;
  }

  void require(const char* name) const {
    if (!object_.contains(name)) {
      throw Error(ErrorCode::InvalidConfig, fmt::format("an entry lacks its '{}'.", name));
    }
  }

 private:
  const json& object_;
  std::vector<std::string_view> known_;
};

// Reads a list whole before it replaces `value`; errors name the entry.
template <class Item, class ReadItem>
void read_list(const json& given, std::vector<Item>& value, std::string_view expected, ReadItem read_item) {
  if (!given.is_array()) wrong_type(given, expected);
  std::vector<Item> items;
  items.reserve(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    try {
      items.push_back(read_item(given[i]));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("entry {}: {}", i + 1, error.what_happened()),
                  error.what_to_do());
    }
  }
  value = std::move(items);
}

}  // namespace

const std::string& require_string(const json& given, std::string_view expected) {
  if (!given.is_string()) wrong_type(given, expected);
  return given.get_ref<const std::string&>();
}

json value_to_json(std::int64_t value) {
  return value;
}
json value_to_json(double value) {
  return value;
}
json value_to_json(bool value) {
  return value;
}
json value_to_json(const std::string& value) {
  return value;
}
json value_to_json(const AutoInt& value) {
  return value.automatic ? json("auto") : json(value.value);
}
json value_to_json(const RecomputeSetting& value) {
  return value_text(value);
}
json value_to_json(const std::vector<std::string>& value) {
  return value;
}

json value_to_json(const std::vector<DataSource>& value) {
  json list = json::array();
  for (const DataSource& source : value) {
    list.push_back({{"path", source.path}, {"weight", source.weight}, {"from_tokens", source.from_tokens}});
  }
  return list;
}

json value_to_json(const std::vector<ParameterRule>& value) {
  json list = json::array();
  for (const ParameterRule& rule : value) {
    json item = {{"match", rule.match}, {"lr_factor", rule.lr_factor}};
    if (rule.weight_decay) item["weight_decay"] = *rule.weight_decay;
    if (rule.init_std) item["init_std"] = *rule.init_std;
    list.push_back(std::move(item));
  }
  return list;
}

void value_from_json(const json& given, std::int64_t& value) {
  if (given.is_string()) return parse_value(given.get_ref<const std::string&>(), value);
  if (given.is_number_unsigned()) {
    const auto number = given.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      wrong_type(given, "a whole number below 2^63");
    }
    value = static_cast<std::int64_t>(number);
  } else if (given.is_number_integer()) {
    value = given.get<std::int64_t>();
  } else if (given.is_number_float()) {
    const auto number = given.get<double>();  // 1e6 is a whole number that JSON calls a float
    if (!(std::abs(number) < 9.0e15) || number != std::floor(number)) wrong_type(given, "a whole number");
    value = static_cast<std::int64_t>(number);
  } else {
    wrong_type(given, "a whole number");
  }
}

void value_from_json(const json& given, double& value) {
  if (!given.is_number()) wrong_type(given, "a number");
  const auto number = given.get<double>();
  if (!std::isfinite(number)) wrong_type(given, "a finite number");
  value = number;
}

void value_from_json(const json& given, bool& value) {
  if (!given.is_boolean()) wrong_type(given, "true or false");
  value = given.get<bool>();
}

void value_from_json(const json& given, std::string& value) {
  value = require_string(given, "text");
}

void value_from_json(const json& given, AutoInt& value) {
  if (given.is_string()) return parse_value(given.get_ref<const std::string&>(), value);
  std::int64_t number = 0;
  value_from_json(given, number);
  value = {false, number};
}

void value_from_json(const json& given, RecomputeSetting& value) {
  parse_value(require_string(given, "a recompute level, a list of them, or \"auto\""), value);
}

void value_from_json(const json& given, std::vector<std::string>& value) {
  read_list(given, value, "a list of texts", [](const json& item) { return require_string(item, "text"); });
}

void value_from_json(const json& given, std::vector<DataSource>& value) {
  read_list(given, value, "a list of data sources", [](const json& item) {
    DataSource source;
    if (item.is_string()) {  // a path alone
      source.path = item.get<std::string>();
      return source;
    }
    const ObjectReader reader(item, "a data source", {"path", "weight", "from_tokens"});
    reader.require("path");
    reader.read("path", source.path);
    reader.read("weight", source.weight);
    reader.read("from_tokens", source.from_tokens);
    return source;
  });
}

void value_from_json(const json& given, std::vector<ParameterRule>& value) {
  read_list(given, value, "a list of parameter rules", [](const json& item) {
    ParameterRule rule;
    const ObjectReader reader(item, "a parameter rule", {"match", "lr_factor", "weight_decay", "init_std"});
    reader.require("match");
    reader.read("match", rule.match);
    reader.read("lr_factor", rule.lr_factor);
    reader.read("weight_decay", rule.weight_decay);
    reader.read("init_std", rule.init_std);
    return rule;
  });
}

}  // namespace lathe
