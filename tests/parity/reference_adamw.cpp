// AdamW's reference: the update in FP64 from the values as stored, then each tensor as its format keeps it.
#include <algorithm>
#include <cmath>

#include "kernels/api/numerics.h"
#include "tests/parity/reference_frame.h"

namespace lathe::test {

namespace {

// The map's code nearest to `normalised`, by trying all.
double code_of(const DynamicMap& map, double normalised, bool keep_negative) {
  int best = 0;
  for (int code = 0; code < 256; ++code) {
    if (std::abs(static_cast<double>(map.values[code]) - normalised) <
        std::abs(static_cast<double>(map.values[best]) - normalised)) {
      best = code;
    }
  }
  return keep_negative && normalised < 0 && map.values[best] >= 0 ? best - 1 : best;
}

// One moment: F32, BF16 or F64 values, or U8 codes with a scale for each 256.
struct Moment {
  int codes, scales;
  bool is_signed;

  double load(const ReferenceFrame& f, const DynamicMap& map, int64_t i) const {
    if (f.tensor(codes).dtype != DType::U8) return f.in(codes, i);
    return static_cast<double>(map.values[f.integer(codes, i)]) * f.in(scales, i / kStateBlock);
  }

  void store(ReferenceFrame& f, const DynamicMap& map, const std::vector<double>& values) const {
    const auto count = static_cast<int64_t>(values.size());
    if (f.tensor(codes).dtype != DType::U8) {
      for (int64_t i = 0; i < count; ++i) f.put(codes, i, values[static_cast<size_t>(i)]);
      return;
    }
    for (int64_t begin = 0; begin < count; begin += kStateBlock) {
      const int64_t end = std::min<int64_t>(count, begin + kStateBlock);
      double scale = 0;
      for (int64_t i = begin; i < end; ++i) scale = std::max(scale, std::abs(values[static_cast<size_t>(i)]));
      f.put(scales, begin / kStateBlock, scale);
      for (int64_t i = begin; i < end; ++i) {
        f.put(codes, i, code_of(map, scale > 0 ? values[static_cast<size_t>(i)] / scale : 0, is_signed));
      }
    }
  }
};

double master_of(const ReferenceFrame& f, int64_t i) {
  using Slot = slot::AdamW;
  if (!f.has(Slot::Master)) return f.in(Slot::Weight, i);
  if (f.tensor(Slot::Master).dtype != DType::I16) return f.in(Slot::Master, i);
  return static_cast<double>(join_master(to_bf16(static_cast<float>(f.in(Slot::Weight, i))),
                                         static_cast<int16_t>(f.in(Slot::Master, i))));
}

void store_parameter(ReferenceFrame& f, int64_t i, double value) {
  using Slot = slot::AdamW;
  const auto single = static_cast<float>(value);
  const bool bf16 = f.tensor(Slot::Weight).dtype == DType::BF16;
  if (!f.has(Slot::Master)) {
    if (bf16) {
      const auto seed = [&](StepScalar which) {
        return static_cast<uint32_t>(f.in(Slot::Scalars, static_cast<int>(which)));
      };
      const PhiloxBlock block =
          rounding_block(seed(StepScalar::RandomLow), seed(StepScalar::RandomHigh),
                         static_cast<uint32_t>(f.attributes().group), static_cast<uint64_t>(i / 8));
      value = static_cast<double>(
          to_float(to_bf16_stochastic(single, rounding_bits(block, static_cast<int>(i % 8)))));
    }
  } else if (f.tensor(Slot::Master).dtype == DType::I16) {
    f.put(Slot::Master, i, split_remainder(single));
    value = static_cast<double>(to_float(to_bf16_ties_away(single)));
  } else {
    f.put(Slot::Master, i, value);
    if (bf16) value = static_cast<double>(to_float(to_bf16_ties_away(single)));
  }
  f.put(Slot::Weight, i, value);
}

}  // namespace

void reference_adamw(ReferenceFrame& f) {
  using Slot = slot::AdamW;
  const OpAttributes& a = f.attributes();
  const auto scalar = [&](StepScalar which) { return f.in(Slot::Scalars, static_cast<int>(which)); };
  if (f.in(Slot::Clip, static_cast<int>(ClipResult::Skip)) != 0) return;
  const double clip = f.in(Slot::Clip, static_cast<int>(ClipResult::Factor));
  const double lr = scalar(StepScalar::LearningRate) * a.lr_factor;
  const Moment first{Slot::M, Slot::MScale, true}, second{Slot::V, Slot::VScale, false};
  const DynamicMap first_map = make_dynamic_map(true), second_map = make_dynamic_map(false);
  std::vector<double> ms, vs;
  for (int64_t i = 0; i < f.elements(Slot::Gradient); ++i) {
    const double gradient = clip * f.in(Slot::Gradient, i);
    const double m = a.beta1 * first.load(f, first_map, i) + (1 - a.beta1) * gradient;
    const double v = a.beta2 * second.load(f, second_map, i) + (1 - a.beta2) * gradient * gradient;
    const double m_hat = m / scalar(StepScalar::BiasCorrection1);
    const double v_hat = v / scalar(StepScalar::BiasCorrection2);
    const double parameter = master_of(f, i);
    store_parameter(f, i,
                    parameter - lr * a.weight_decay * parameter - lr * m_hat / (std::sqrt(v_hat) + a.eps));
    ms.push_back(m);
    vs.push_back(v);
  }
  first.store(f, first_map, ms);
  second.store(f, second_map, vs);
}

}  // namespace lathe::test
