// Cases of the classifier and of the step's few numbers: loss sums, gradient norms, clip factor.
#include <limits>

#include "tests/parity/case_families.h"

namespace lathe::test {

namespace {

// The step scalars, in StepScalar's order.
std::vector<double> step_scalars(double inv_valid, double max_norm, double accepted_norm) {
  return {inv_valid, 3e-4, 0.1, 0.05, max_norm, accepted_norm, 0, 0};
}

void classifier(DType dtype, std::vector<OpCase>& cases) {
  struct ClassifierShape {
    int64_t rows, vocab, padded;
  };
  for (const ClassifierShape s : {ClassifierShape{1, 8, 8},
                                  {7, 35, 37},
                                  {12, 1000, 1024},
                                  {900, 500, 512},
                                  {5, 32000, 32000},
                                  {3, 151900, 151936}}) {
    for (int modes = 0; modes < 8; ++modes) {
      const bool backward = modes & 1, with_z = modes & 2, emit_z = modes & 4;
      CaseBuilder c(OpKind::ClassifierLoss, dtype,
                    by({s.rows, s.padded}) + " of " + std::to_string(s.vocab) +
                        (backward ? " backward" : "") + (with_z ? " z" : "") + (emit_z ? " z-losses" : ""));
      c.attributes().valid_vocab = s.vocab;
      c.attributes().z_loss = with_z ? 1e-2 : 0;
      auto targets = c.random.integers(s.rows, 0, s.vocab - 1);
      for (size_t i = 2; i < targets.size(); i += 5) targets[i] = -100;
      c.operand(c.program().add_tensor(dtype, {s.rows, s.padded}), backward ? Access::InPlace : Access::Read,
                c.random.normal(s.rows * s.padded, 3));
      c.in(DType::I32, {s.rows}, targets)
          .in(c.wide(), {kStepScalarCount}, step_scalars(1.0 / 11, 1, 0))
          .out(c.wide(), {s.rows});
      if (emit_z)
        c.out(c.wide(), {s.rows});
      else
        c.absent();
      cases.push_back(c.odd(s.padded % 8 != 0).finish());
    }
  }
}

void loss_sum(DType dtype, std::vector<OpCase>& cases) {
  for (const int64_t rows : {1, 37, 512, 70000}) {
    for (int modes = 0; modes < 4; ++modes) {
      const bool accumulate = modes & 1, with_z = modes & 2;
      CaseBuilder c(OpKind::LossSum, dtype,
                    std::to_string(rows) + (accumulate ? " accumulate" : "") + (with_z ? " z" : ""));
      c.in(c.wide(), {rows}, c.random.normal(rows, 0.5, 8));
      if (with_z)
        c.in(c.wide(), {rows}, c.random.normal(rows, 0.01, 0.1));
      else
        c.absent();
      cases.push_back(c.out_or_add(c.wide(), {2}, accumulate).finish());
    }
  }
}

// Two groups; the op sees the second one, whose parameters leave gaps.
void gradient_norm(DType dtype, std::vector<OpCase>& cases) {
  const std::vector<std::vector<int64_t>> sizes = {{1}, {256, 37}, {4096, 300, 1}, {100000}};
  for (const std::vector<int64_t>& group : sizes) {
    for (const DType gradient : gradient_dtypes(dtype)) {
      CaseBuilder c(OpKind::GradientNorm, dtype,
                    std::to_string(group.size()) + " of " + std::to_string(group.front()) + " in " +
                        std::string(dtype_name(gradient)));
      StepProgram& program = c.program().program;
      program.groups.resize(2);
      Parameter other;
      other.shape = Shape{64};
      other.group = 0;
      program.parameters.push_back(other);
      program.groups[0].parameters = {0};
      int64_t elements = 0;
      for (const int64_t size : group) {
        Parameter parameter;
        parameter.shape = Shape{size};
        parameter.group = 1;
        parameter.offset = elements;
        program.groups[1].parameters.push_back(static_cast<int>(program.parameters.size()));
        program.parameters.push_back(parameter);
        elements += (size + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
      }
      program.groups[1].elements = elements;
      c.attributes().group = 1;
      c.in(gradient, {elements}, c.random.normal(elements, 1e-3))
          .out_or_add(c.wide(), {static_cast<int64_t>(program.parameters.size())}, true);
      cases.push_back(c.finish());
    }
  }
}

void clip_factor(DType dtype, std::vector<OpCase>& cases) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct ClipCase {
    const char* name;
    double square, loss, max_norm, accepted;
  };
  for (const ClipCase& k :
       {ClipCase{"off", 0.5, 3, 0, 0}, ClipCase{"below", 1e-4, 3, 1, 0}, ClipCase{"above", 0.5, 3, 0.25, 100},
        ClipCase{"not accepted", 0.5, 3, 1, 0.5}, ClipCase{"zero", 0, 3, 1, 0},
        ClipCase{"infinite loss", 0.5, kInfinity, 1, 0}, ClipCase{"infinite norm", kInfinity, 3, 1, 0}}) {
    for (const int64_t parameters : {1, 7, 300}) {
      CaseBuilder c(OpKind::ClipFactor, dtype, std::to_string(parameters) + " " + k.name);
      std::vector<double> squares(static_cast<size_t>(parameters), k.square);
      c.in(c.wide(), {parameters}, squares)
          .in(c.wide(), {2}, {k.loss, 0.1})
          .in(c.wide(), {kStepScalarCount}, step_scalars(0.1, k.max_norm, k.accepted))
          .out(c.wide(), {4});
      cases.push_back(c.finish());
    }
  }
}

}  // namespace

void add_loss_cases(DType dtype, std::vector<OpCase>& cases) {
  classifier(dtype, cases);
  loss_sum(dtype, cases);
  gradient_norm(dtype, cases);
  clip_factor(dtype, cases);
}

}  // namespace lathe::test
