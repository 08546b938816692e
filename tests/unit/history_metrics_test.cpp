// The catalogue of metrics says everything a chart or table needs, and says it once.
#include <gtest/gtest.h>

#include <set>

#include "core/history/metric_table.h"
#include "core/history/metrics.h"
#include "kernels/api/error.h"

namespace lathe {
namespace {

TEST(Metrics, All_HaveUniqueKeysAndLabelsAndADefinition) {
  std::set<std::string_view> keys, labels;
  for (const MetricInfo& info : metrics()) {
    EXPECT_TRUE(keys.insert(info.key).second) << info.key;
    EXPECT_TRUE(labels.insert(info.label).second) << info.label;
    EXPECT_TRUE(info.definition.ends_with('.')) << info.key;
    EXPECT_FALSE(info.group.empty()) << info.key;
    EXPECT_GE(info.smoothing, 0) << info.key;
    EXPECT_LT(info.smoothing, 1) << info.key;
    EXPECT_EQ(&metric(info.key), &info);
  }
}

TEST(Metrics, SpeedAndMemory_SayWhichKindTheyAre) {
  for (const MetricInfo& info : metrics()) {
    if (info.unit == "tokens/s" || info.group == "Memory") {
      EXPECT_NE(info.label.find('('), std::string_view::npos) << info.key << " needs its kind in its label";
    }
  }
}

TEST(Metrics, PerTable_AreAllOfThem) {
  size_t count = 0;
  for (const MetricTable table :
       {MetricTable::Updates, MetricTable::Evaluations, MetricTable::Groups, MetricTable::Telemetry}) {
    for (const MetricInfo& info : metrics(table)) EXPECT_EQ(info.table, table);
    count += metrics(table).size();
  }
  EXPECT_EQ(count, metrics().size());
  EXPECT_EQ(metric_values(UpdateRow{}).size(), metrics(MetricTable::Updates).size());
  EXPECT_EQ(metric_values(TelemetryRow{}).size(), metrics(MetricTable::Telemetry).size());
}

TEST(Metrics, UnknownKey_SuggestsTheNearest) {
  try {
    metric("grad_nrom");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_NE(error.what_to_do().find("grad_norm"), std::string::npos);
  }
  EXPECT_THROW(parse_axis("steps"), Error);
  EXPECT_EQ(parse_axis("tokens"), Axis::Tokens);
}

}  // namespace
}  // namespace lathe
