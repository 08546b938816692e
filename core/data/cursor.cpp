// A data position as JSON, exactly (all whole numbers).
#include <nlohmann/json.hpp>

#include "core/data/window_sampler.h"
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
    cursor.context = json.at("context").get<int64_t>();
    cursor.seed = json.at("seed").get<int64_t>();
    cursor.windows = json.at("windows").get<int64_t>();
    for (const auto& entry : json.at("sources")) {
      cursor.sources.push_back(
          {entry.at("name").get<std::string>(), entry.at("dataset_hash").get<std::string>(),
           entry.at("windows").get<int64_t>(), entry.at("windows_at_change").get<int64_t>()});
    }
    return cursor;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::CorruptFile, std::string("A data position can't be read: ") + error.what() + ".",
                "Use another checkpoint.");
  }
}

}  // namespace lathe
