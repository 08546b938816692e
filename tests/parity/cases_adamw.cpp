// Cases of AdamW: every storage of gradient, weight, master and moments, and an update that is skipped.
#include <cmath>

#include "kernels/api/numerics.h"
#include "tests/parity/case_families.h"

namespace lathe::test {

namespace {

struct Storage {
  DType gradient, weight;
  DType master;  // equal to weight: none
  DType states;

  std::string text() const {
    const auto name = [](DType dtype) { return std::string(dtype_name(dtype)); };
    return "gradient " + name(gradient) + " weight " + name(weight) +
           (master == weight ? "" : " master " + name(master)) + " states " + name(states);
  }
};

std::vector<Storage> storages(DType dtype) {
  if (dtype == DType::F64) return {{DType::F64, DType::F64, DType::F64, DType::F64}};
  std::vector<Storage> all;
  for (const DType gradient : {DType::F32, DType::BF16}) {
    for (const DType states : {DType::F32, DType::BF16, DType::U8}) {
      if (dtype == DType::F32) {
        all.push_back({gradient, DType::F32, DType::F32, states});
      } else {
        for (const DType master : {DType::BF16, DType::F32, DType::I16}) {
          all.push_back({gradient, DType::BF16, master, states});
        }
      }
    }
  }
  return all;
}

// A moment's codes or values, and with U8 its scales.
void add_moments(CaseBuilder& c, const Storage& storage, int64_t elements) {
  const bool eight_bit = storage.states == DType::U8;
  const auto moment = [&](std::vector<double> values) {
    c.operand(c.program().add_tensor(storage.states, {elements}), Access::InPlace, std::move(values));
  };
  if (!eight_bit) {
    moment(c.random.normal(elements, 1e-3));
    auto v = c.random.normal(elements, 1e-3);
    for (double& value : v) value = value * value + 1e-9;
    moment(std::move(v));
    c.absent().absent();
    return;
  }
  moment(c.random.integers(elements, 0, 255));
  moment(c.random.integers(elements, 100, 255));
  for (const double scale : {3e-3, 1e-5}) {
    const int64_t blocks = (elements + kStateBlock - 1) / kStateBlock;
    auto scales = c.random.normal(blocks, 0.2 * scale, scale);
    for (double& value : scales) value = std::abs(value);
    c.operand(c.program().add_tensor(DType::F32, {blocks}), Access::InPlace, std::move(scales));
  }
}

OpCase adamw_case(DType dtype, const Storage& storage, int64_t elements, bool skip) {
  CaseBuilder c(OpKind::AdamW, dtype,
                std::to_string(elements) + " " + storage.text() + (skip ? " skipped" : ""));
  OpAttributes& a = c.attributes();
  a.eps = 1e-8;
  a.beta1 = 0.9;
  a.beta2 = 0.95;
  a.lr_factor = 0.5;
  a.weight_decay = 0.1;
  a.group = 3;
  c.in(storage.gradient, {elements}, c.random.normal(elements, 1e-3));
  const std::vector<double> parameters = rounded(c.random.normal(elements, 0.05), DType::F32);
  if (storage.master == storage.weight) {
    c.operand(c.program().add_tensor(storage.weight, {elements}), Access::InPlace, parameters).absent();
  } else if (storage.master == DType::I16) {
    std::vector<double> weights, remainders;
    for (const double parameter : parameters) {
      weights.push_back(static_cast<double>(to_float(to_bf16_ties_away(static_cast<float>(parameter)))));
      remainders.push_back(split_remainder(static_cast<float>(parameter)));
    }
    c.operand(c.program().add_tensor(DType::BF16, {elements}), Access::InPlace, weights)
        .operand(c.program().add_tensor(DType::I16, {elements}), Access::InPlace, remainders);
  } else {
    c.operand(c.program().add_tensor(storage.weight, {elements}), Access::Write, parameters)
        .operand(c.program().add_tensor(storage.master, {elements}), Access::InPlace, parameters);
  }
  add_moments(c, storage, elements);
  c.in(c.wide(), {kStepScalarCount},
       {0.1, 1e-3, 1 - std::pow(0.9, 7), 1 - std::pow(0.95, 7), 1, 0, 0x123456, 0xabcdef})
      .in(c.wide(), {4}, {2, 0.5, skip ? 1.0 : 0.0, 0});
  return c.finish();
}

}  // namespace

void add_adamw_cases(DType dtype, std::vector<OpCase>& cases) {
  for (const Storage& storage : storages(dtype)) {
    // Groups are padded to whole blocks.
    for (const int64_t elements : {256, 1280, 4096 + 256, 40960}) {
      cases.push_back(adamw_case(dtype, storage, elements, false));
    }
    cases.push_back(adamw_case(dtype, storage, 1280, true));
  }
}

std::vector<OpCase> parity_cases(DType dtype) {
  std::vector<OpCase> cases;
  add_row_cases(dtype, cases);
  add_linear_cases(dtype, cases);
  add_attention_cases(dtype, cases);
  add_loss_cases(dtype, cases);
  add_adamw_cases(dtype, cases);
  return cases;
}

}  // namespace lathe::test
