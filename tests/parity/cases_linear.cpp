// Cases of the three products of a linear layer.
#include <cmath>

#include "tests/parity/case_families.h"

namespace lathe::test {

namespace {

struct LinearShape {
  int64_t rows, in, out;
  bool odd() const { return in % 8 != 0 || out % 8 != 0; }
  std::string text() const { return by({rows, in, out}); }
};
// The last two are deeper, or taller, than a panel that a backend may stage at a time.
constexpr LinearShape kShapes[] = {{1, 8, 16},     {5, 37, 19},     {64, 64, 192},
                                   {130, 72, 264}, {40, 2056, 136}, {1100, 40, 24}};

std::vector<double> weights(CaseBuilder& c, const LinearShape& s) {
  return c.random.normal(s.in * s.out, 1 / std::sqrt(static_cast<double>(s.in)));
}

}  // namespace

void add_linear_cases(DType dtype, std::vector<OpCase>& cases) {
  for (const LinearShape& s : kShapes) {
    for (const bool residual : {false, true}) {
      CaseBuilder c(OpKind::Linear, dtype, s.text() + (residual ? " residual" : ""));
      c.in(dtype, {s.rows, s.in}, c.random.normal(s.rows * s.in)).in(dtype, {s.out, s.in}, weights(c, s));
      if (residual)
        c.in(dtype, {s.rows, s.out}, c.random.normal(s.rows * s.out));
      else
        c.absent();
      cases.push_back(c.out(dtype, {s.rows, s.out}).odd(s.odd()).finish());
    }
    CaseBuilder input(OpKind::LinearBackwardInput, dtype, s.text());
    input.in(dtype, {s.rows, s.out}, input.random.normal(s.rows * s.out))
        .in(dtype, {s.out, s.in}, weights(input, s))
        .out(dtype, {s.rows, s.in});
    cases.push_back(input.odd(s.odd()).finish());
    for (const DType gradient : gradient_dtypes(dtype)) {
      for (const bool accumulate : {false, true}) {
        CaseBuilder c(
            OpKind::LinearBackwardWeight, dtype,
            s.text() + " into " + std::string(dtype_name(gradient)) + (accumulate ? " accumulate" : ""));
        c.in(dtype, {s.rows, s.out}, c.random.normal(s.rows * s.out))
            .in(dtype, {s.rows, s.in}, c.random.normal(s.rows * s.in))
            .out_or_add(gradient, {s.out, s.in}, accumulate);
        cases.push_back(c.odd(s.odd()).finish());
      }
    }
  }
}

}  // namespace lathe::test
