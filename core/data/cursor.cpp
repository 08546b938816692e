// A data position as JSON, exactly (all whole numbers).
#include "core/data/window_sampler.h"
#include "core/platform/json.h"
#include "kernels/api/error.h"

namespace lathe {

nlohmann::json cursor_to_json(const Cursor& cursor) {
  nlohmann::json sources = nlohmann::json::array();
  for (const SourceCursor& source : cursor.sources) {
    sources.push_back({{"name", source.name},
                       {"dataset_hash", source.dataset_hash},
                       {"windows", source.windows},
                       {"windows_at_change", source.windows_at_change}});
  }
  return {
      {"context", cursor.context}, {"seed", cursor.seed}, {"windows", cursor.windows}, {"sources", sources}};
}

Cursor cursor_from_json(const nlohmann::json& json) {
  try {
    Cursor cursor;
    cursor.context = json_count(json.at("context"));
    cursor.seed = json_integer(json.at("seed"));
    cursor.windows = json_count(json.at("windows"));
    for (const auto& entry : json.at("sources")) {
      cursor.sources.push_back({entry.at("name").get<std::string>(),
                                entry.at("dataset_hash").get<std::string>(), json_count(entry.at("windows")),
                                json_count(entry.at("windows_at_change"))});
    }
    return cursor;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::CorruptFile, std::string("A data position can't be read: ") + error.what() + ".",
                "Use another checkpoint.");
  }
}

}  // namespace lathe
