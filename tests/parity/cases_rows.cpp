// Cases of ops that work on rows: fill, embedding, norms, RoPE, SwiGLU.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/parity/case_families.h"

namespace lathe::test {

namespace {

struct RowShape {
  int64_t rows, cols;
  bool odd() const { return cols % 8 != 0; }
};
constexpr RowShape kRowShapes[] = {{1, 8}, {5, 37}, {70, 64}, {33, 256}, {129, 1792}};

void fill(DType dtype, std::vector<OpCase>& cases) {
  for (const RowShape s : kRowShapes) {
    CaseBuilder c(OpKind::Fill, dtype, by({s.rows, s.cols}));
    cases.push_back(c.out(dtype, {s.rows, s.cols}).odd(s.odd()).finish());
  }
}

std::vector<double> rows_by_token(const std::vector<double>& tokens) {
  std::vector<double> order(tokens.size());
  std::iota(order.begin(), order.end(), 0.0);
  std::stable_sort(order.begin(), order.end(), [&](double a, double b) {
    return tokens[static_cast<size_t>(a)] < tokens[static_cast<size_t>(b)];
  });
  return order;
}

void embedding(DType dtype, std::vector<OpCase>& cases) {
  struct EmbeddingShape {
    int64_t rows, vocab, cols;
  };
  // Many rows of few tokens, and few rows of many.
  for (const EmbeddingShape s : {EmbeddingShape{1, 3, 8}, {200, 2, 24}, {9, 50, 37}, {257, 64, 256}}) {
    const std::string shape = by({s.rows, s.vocab, s.cols});
    CaseBuilder forward(OpKind::Embedding, dtype, shape);
    forward.in(DType::I32, {s.rows}, forward.random.integers(s.rows, 0, s.vocab - 1))
        .in(dtype, {s.vocab, s.cols}, forward.random.normal(s.vocab * s.cols))
        .out(dtype, {s.rows, s.cols});
    cases.push_back(forward.odd(s.cols % 8 != 0).finish());

    for (const DType gradient : gradient_dtypes(dtype)) {
      CaseBuilder backward(OpKind::EmbeddingBackward, dtype, shape);
      const auto tokens = backward.random.integers(s.rows, 0, s.vocab - 1);
      backward.in(DType::I32, {s.rows}, tokens)
          .in(DType::I32, {s.rows}, rows_by_token(tokens))
          .in(dtype, {s.rows, s.cols}, backward.random.normal(s.rows * s.cols))
          .out_or_add(gradient, {s.vocab, s.cols}, true);
      backward.note("into " + std::string(dtype_name(gradient)));
      cases.push_back(backward.odd(s.cols % 8 != 0).finish());
    }
  }
}

// 1/sqrt(mean square + eps) of each row.
std::vector<double> row_rstd(const std::vector<double>& x, int64_t cols, double eps) {
  std::vector<double> rstd;
  for (size_t begin = 0; begin < x.size(); begin += static_cast<size_t>(cols)) {
    double squares = 0;
    for (size_t i = begin; i < begin + static_cast<size_t>(cols); ++i) squares += x[i] * x[i];
    rstd.push_back(1 / std::sqrt(squares / static_cast<double>(cols) + eps));
  }
  return rstd;
}

constexpr double kNormEps = 1e-5;

void rms_norm(DType dtype, std::vector<OpCase>& cases) {
  for (const RowShape s : kRowShapes) {
    for (const bool with_rstd : {true, false}) {
      CaseBuilder c(OpKind::RmsNorm, dtype, by({s.rows, s.cols}) + (with_rstd ? " rstd" : ""));
      c.attributes().eps = kNormEps;
      c.in(dtype, {s.rows, s.cols}, c.random.normal(s.rows * s.cols, 3))
          .in(c.wide(), {s.cols}, c.random.normal(s.cols, 0.2, 1))
          .out(dtype, {s.rows, s.cols});
      if (with_rstd)
        c.out(c.wide(), {s.rows});
      else
        c.absent();
      cases.push_back(c.odd(s.odd()).finish());
    }
  }
}

void rms_norm_backward(DType dtype, std::vector<OpCase>& cases) {
  for (const RowShape s : kRowShapes) {
    for (int modes = 0; modes < 8; ++modes) {
      const bool add_residual = modes & 1, add_weight = modes & 2, emit_y = modes & 4;
      CaseBuilder c(OpKind::RmsNormBackward, dtype,
                    by({s.rows, s.cols}) + (add_residual ? " residual" : "") +
                        (add_weight ? " accumulate" : "") + (emit_y ? " y" : ""));
      c.attributes().eps = kNormEps;
      const auto x = rounded(c.random.normal(s.rows * s.cols, 3), dtype);
      c.in(dtype, {s.rows, s.cols}, x)
          .in(c.wide(), {s.cols}, c.random.normal(s.cols, 0.2, 1))
          .in(c.wide(), {s.rows}, row_rstd(x, s.cols, kNormEps))
          .in(dtype, {s.rows, s.cols}, c.random.normal(s.rows * s.cols))
          .out_or_add(dtype, {s.rows, s.cols}, add_residual)
          .out_or_add(c.wide(), {s.cols}, add_weight);
      if (emit_y)
        c.out(dtype, {s.rows, s.cols});
      else
        c.absent();
      cases.push_back(c.odd(s.odd()).finish());
    }
  }
}

struct HeadShape {
  int64_t rows, heads, kv_heads, dim;
  bool odd() const { return dim % 8 != 0; }
  std::string text() const { return by({rows, heads, kv_heads, dim}); }
};
constexpr HeadShape kHeadShapes[] = {{1, 1, 1, 8}, {7, 3, 1, 10}, {40, 4, 2, 64}, {65, 8, 8, 112}};

void qk_norm(DType dtype, std::vector<OpCase>& cases) {
  for (const HeadShape s : kHeadShapes) {
    const int64_t q_count = s.rows * s.heads * s.dim, k_count = s.rows * s.kv_heads * s.dim;
    const int64_t all_heads = s.heads + s.kv_heads;
    for (const bool with_rstd : {true, false}) {
      CaseBuilder c(OpKind::QkNorm, dtype, s.text() + (with_rstd ? " rstd" : ""));
      c.attributes().eps = kNormEps;
      const auto views = c.program().add_head_views(dtype, {s.rows}, {s.heads, s.kv_heads}, s.dim);
      c.operand(views[0], Access::Read, c.random.normal(q_count, 2))
          .operand(views[1], Access::Read, c.random.normal(k_count, 2))
          .in(c.wide(), {s.dim}, c.random.normal(s.dim, 0.2, 1))
          .in(c.wide(), {s.dim}, c.random.normal(s.dim, 0.2, 1))
          .out(dtype, {s.rows, s.heads, s.dim})
          .out(dtype, {s.rows, s.kv_heads, s.dim});
      if (with_rstd)
        c.out(c.wide(), {s.rows, all_heads});
      else
        c.absent();
      cases.push_back(c.odd(s.odd()).finish());
    }
    for (const bool accumulate : {false, true}) {
      CaseBuilder c(OpKind::QkNormBackward, dtype, s.text() + (accumulate ? " accumulate" : ""));
      c.attributes().eps = kNormEps;
      const auto q = rounded(c.random.normal(q_count, 2), dtype),
                 k = rounded(c.random.normal(k_count, 2), dtype);
      const auto q_rstd = row_rstd(q, s.dim, kNormEps), k_rstd = row_rstd(k, s.dim, kNormEps);
      std::vector<double> rstd;
      for (int64_t r = 0; r < s.rows; ++r) {
        rstd.insert(rstd.end(), q_rstd.begin() + r * s.heads, q_rstd.begin() + (r + 1) * s.heads);
        rstd.insert(rstd.end(), k_rstd.begin() + r * s.kv_heads, k_rstd.begin() + (r + 1) * s.kv_heads);
      }
      const auto inputs = c.program().add_head_views(dtype, {s.rows}, {s.heads, s.kv_heads}, s.dim);
      const auto gradients = c.program().add_head_views(dtype, {s.rows}, {s.heads, s.kv_heads}, s.dim);
      c.operand(inputs[0], Access::Read, q)
          .operand(inputs[1], Access::Read, k)
          .in(c.wide(), {s.dim}, c.random.normal(s.dim, 0.2, 1))
          .in(c.wide(), {s.dim}, c.random.normal(s.dim, 0.2, 1))
          .in(c.wide(), {s.rows, all_heads}, rstd)
          .operand(gradients[0], Access::InPlace, c.random.normal(q_count))
          .operand(gradients[1], Access::InPlace, c.random.normal(k_count))
          .out_or_add(c.wide(), {s.dim}, accumulate)
          .out_or_add(c.wide(), {s.dim}, accumulate);
      cases.push_back(c.odd(s.odd()).finish());
    }
  }
}

std::vector<double> rope_table(int64_t context, int64_t dim) {
  std::vector<double> table;
  for (int64_t t = 0; t < context; ++t) {
    for (const bool sine : {false, true}) {
      for (int64_t i = 0; i < dim / 2; ++i) {
        const double angle = static_cast<double>(t) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
        table.push_back(sine ? std::sin(angle) : std::cos(angle));
      }
    }
  }
  return table;
}

void rope(DType dtype, std::vector<OpCase>& cases) {
  for (const OpKind kind : {OpKind::Rope, OpKind::RopeBackward}) {
    for (const HeadShape s : kHeadShapes) {
      for (const bool at_position : {false, true}) {
        CaseBuilder c(kind, dtype, s.text() + (at_position ? " position" : ""));
        // Rows wrap around the context, unless they stand at a position.
        const int64_t context = at_position ? s.rows + 5 : (s.rows + 1) / 2;
        c.attributes().context = context;
        const auto views = c.program().add_head_views(dtype, {s.rows}, {s.heads, s.kv_heads}, s.dim);
        c.operand(views[0], Access::InPlace, c.random.normal(s.rows * s.heads * s.dim))
            .operand(views[1], Access::InPlace, c.random.normal(s.rows * s.kv_heads * s.dim))
            .in(c.wide(), {context, s.dim}, rope_table(context, s.dim));
        if (at_position)
          c.in(DType::I32, {1}, {3});
        else
          c.absent();
        cases.push_back(c.odd(s.odd()).finish());
      }
    }
  }
}

void swiglu(DType dtype, std::vector<OpCase>& cases) {
  for (const RowShape s : kRowShapes) {
    CaseBuilder forward(OpKind::SwiGlu, dtype, by({s.rows, s.cols}));
    forward.in(dtype, {s.rows, 2 * s.cols}, forward.random.normal(2 * s.rows * s.cols, 3))
        .out(dtype, {s.rows, s.cols});
    cases.push_back(forward.odd(s.odd()).finish());
    for (const bool emit_y : {false, true}) {
      CaseBuilder c(OpKind::SwiGluBackward, dtype, by({s.rows, s.cols}) + (emit_y ? " y" : ""));
      c.operand(c.program().add_tensor(dtype, {s.rows, 2 * s.cols}), Access::InPlace,
                c.random.normal(2 * s.rows * s.cols, 3));
      c.in(dtype, {s.rows, s.cols}, c.random.normal(s.rows * s.cols));
      if (emit_y)
        c.out(dtype, {s.rows, s.cols});
      else
        c.absent();
      cases.push_back(c.odd(s.odd()).finish());
    }
  }
}

}  // namespace

void add_row_cases(DType dtype, std::vector<OpCase>& cases) {
  fill(dtype, cases);
  embedding(dtype, cases);
  rms_norm(dtype, cases);
  rms_norm_backward(dtype, cases);
  qk_norm(dtype, cases);
  rope(dtype, cases);
  swiglu(dtype, cases);
}

}  // namespace lathe::test
