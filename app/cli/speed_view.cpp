#include "app/cli/speed_view.h"

#include <fmt/format.h>

#include <cmath>

#include "app/cli/text_table.h"

namespace lathe::cli {

namespace {

std::string source_text(const GpuChoice& gpu) {
  if (gpu.calibration.rates) return "measured on this GPU by `lathe doctor`";
  if (gpu.entry) return "typical shares of its published peaks";
  return "the best that ops timed on this GPU reached";
}

std::string work_text(const KindTime& kind) {
  if (kind.flops > 0) return fmt::format("{:.2f} TFLOP", kind.flops / 1e12);
  return fmt::format("{:.2f} GB", kind.bytes / 1e9);
}

}  // namespace

std::string basis_text(const Estimate& estimate, const GpuChoice& gpu) {
  if (!estimate.calibrated)
    return gpu.calibration.rates ? "from rates measured on it; no shape of it was timed yet (`lathe profile`)"
                                 : "uncalibrated: from its specification";
  return fmt::format("calibrated: {:.0f}% of the time in shapes timed on it",
                     100 * estimate.time.timed_share);
}

std::string speed_text(const Estimate& estimate, const GpuChoice& gpu, const CostModel& costs) {
  if (estimate.tokens_per_s <= 0) return {};
  const GpuRates& rates = costs.rates();
  const auto of = [&](double rate, double peak) {
    return gpu.entry ? fmt::format(" ({:.0f}% of {:g})", 100 * rate / peak, peak) : std::string();
  };
  const GpuEntry none{};
  const GpuEntry& entry = gpu.entry ? *gpu.entry : none;
  std::string text = fmt::format(
      "Rates of {}: {:.1f} TFLOP/s in matrix products{}, {:.1f} in attention{}, {:.0f} GB/s of memory{},\n"
      "{:.0f} us to launch an op; {}.\n",
      gpu.name, rates.matrix_flops / 1e12, of(rates.matrix_flops / 1e12, entry.bf16_tflops),
      rates.attention_flops / 1e12, of(rates.attention_flops / 1e12, entry.bf16_tflops),
      rates.memory_bytes / 1e9, of(rates.memory_bytes / 1e9, entry.memory_gb_per_s), 1e6 * rates.launch_s,
      source_text(gpu));
  TextTable table(
      {"an update by kind", ">ops", ">work", ">floor s", ">predicted s", ">share", ">timed here"});
  double sum = 0;
  for (const KindTime& kind : estimate.time.kinds) {
    sum += kind.seconds;
    table.add(
        {kind.name, std::to_string(kind.ops), work_text(kind), fmt::format("{:.4f}", kind.floor_seconds),
         fmt::format("{:.4f}", kind.seconds),
         fmt::format("{:.1f}%", 100 * kind.seconds / estimate.time.seconds),
         kind.timed_seconds > 0 ? fmt::format("{:.0f}%", 100 * kind.timed_seconds / kind.seconds) : "-"});
  }
  text += table.text();
  const double rest = estimate.time.seconds / sum - 1;
  if (std::abs(rest) >= 0.0005) {
    text += fmt::format("Whole sequences ran {:.1f}% {} than their ops one by one: counted in.\n",
                        100 * std::abs(rest), rest > 0 ? "longer" : "shorter");
  }
  return text;
}

nlohmann::ordered_json rates_json(const GpuChoice& gpu, const CostModel& costs) {
  if (!costs.usable()) return nullptr;
  return {{"matrix_tflops", costs.rates().matrix_flops / 1e12},
          {"attention_tflops", costs.rates().attention_flops / 1e12},
          {"memory_gb_per_s", costs.rates().memory_bytes / 1e9},
          {"launch_us", 1e6 * costs.rates().launch_s},
          {"source", source_text(gpu)}};
}

}  // namespace lathe::cli
