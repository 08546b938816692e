// Cases of attention, its backward, and generation.
#include <cmath>

#include "tests/parity/case_families.h"
#include "tests/parity/reference.h"

namespace lathe::test {

namespace {

struct AttentionShape {
  int64_t batch, context, heads, kv_heads, dim;
  bool odd() const { return dim % 8 != 0; }
  int64_t q_count() const { return batch * context * heads * dim; }
  int64_t kv_count() const { return batch * context * kv_heads * dim; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(dim)); }
  std::string text() const { return by({batch, context, heads, kv_heads, dim}); }
};
constexpr AttentionShape kShapes[] = {{1, 1, 1, 1, 8},   {2, 17, 3, 1, 10},  {1, 64, 4, 4, 32},
                                      {2, 65, 4, 2, 64}, {1, 193, 6, 2, 40}, {1, 256, 2, 1, 112}};

// Documents of about 20 tokens, their first one at the start of the sequence.
std::vector<double> document_starts(CaseBuilder& c, const AttentionShape& s) {
  std::vector<double> starts;
  for (int64_t b = 0; b < s.batch; ++b) {
    const auto breaks = c.random.integers(s.context, 0, 19);
    double start = 0;
    for (int64_t t = 0; t < s.context; ++t) {
      if (breaks[static_cast<size_t>(t)] == 0) start = static_cast<double>(t);
      starts.push_back(start);
    }
  }
  return starts;
}

// q, k and v side by side, then the document starts. Scores spread enough that softmax isn't flat.
void add_inputs(CaseBuilder& c, const AttentionShape& s, bool documents) {
  c.attributes().scale = s.scale();
  const auto views =
      c.program().add_head_views(c.dtype(), {s.batch, s.context}, {s.heads, s.kv_heads, s.kv_heads}, s.dim);
  c.operand(views[0], Access::Read, c.random.normal(s.q_count(), 1.5))
      .operand(views[1], Access::Read, c.random.normal(s.kv_count(), 1.5))
      .operand(views[2], Access::Read, c.random.normal(s.kv_count()));
  if (documents)
    c.document_mask().in(DType::I32, {s.batch, s.context}, document_starts(c, s));
  else
    c.absent();
}

OpCase forward_case(DType dtype, const AttentionShape& s, bool documents) {
  CaseBuilder c(OpKind::Attention, dtype, s.text() + (documents ? " documents" : ""));
  add_inputs(c, s, documents);
  c.out(dtype, {s.batch, s.context, s.heads, s.dim}).out(c.wide(), {s.batch, s.heads, s.context});
  return c.odd(s.odd()).finish();
}

OpCase backward_case(DType dtype, const AttentionShape& s, bool documents) {
  const std::string shape = s.text() + (documents ? " documents" : "");
  // The same seed gives the forward pass the same inputs, hence the outputs that belong to them.
  CaseBuilder forward(OpKind::AttentionBackward, dtype, shape);
  add_inputs(forward, s, documents);
  forward.out(dtype, {s.batch, s.context, s.heads, s.dim}).out(forward.wide(), {s.batch, s.heads, s.context});
  OpCase saved = forward.finish();
  saved.op.op().kind = OpKind::Attention;
  reference_op(saved.op.program, saved.op.op(), saved.inputs);
  const auto result = [&](int slot) { return saved.inputs[static_cast<size_t>(saved.op.op().tensor(slot))]; };

  CaseBuilder c(OpKind::AttentionBackward, dtype, shape);
  add_inputs(c, s, documents);
  c.in(dtype, {s.batch, s.context, s.heads, s.dim}, result(slot::Attention::O))
      .in(c.wide(), {s.batch, s.heads, s.context}, result(slot::Attention::Lse))
      .in(dtype, {s.batch, s.context, s.heads, s.dim}, c.random.normal(s.q_count()));
  for (const TensorId view :
       c.program().add_head_views(dtype, {s.batch, s.context}, {s.heads, s.kv_heads, s.kv_heads}, s.dim)) {
    c.operand(view, Access::Write);
  }
  return c.odd(s.odd()).finish();
}

struct CacheShape {
  int64_t context, heads, kv_heads, dim, rows, position;
};
constexpr CacheShape kCacheShapes[] = {
    {1, 1, 1, 8, 1, 0}, {9, 3, 1, 10, 4, 5}, {64, 4, 2, 64, 64, 0}, {130, 8, 8, 112, 1, 129}};

void generation(DType dtype, std::vector<OpCase>& cases) {
  for (const CacheShape& s : kCacheShapes) {
    const int64_t cache = s.context * s.kv_heads * s.dim, stored = s.rows * s.kv_heads * s.dim;
    const std::string shape = by({s.context, s.heads, s.kv_heads, s.dim});
    const auto position = static_cast<double>(s.position);
    CaseBuilder store(OpKind::KvStore, dtype, shape + " rows " + std::to_string(s.rows));
    const auto views =
        store.program().add_head_views(dtype, {s.rows}, {s.heads, s.kv_heads, s.kv_heads}, s.dim);
    store.operand(views[1], Access::Read, store.random.normal(stored))
        .operand(views[2], Access::Read, store.random.normal(stored))
        .in(DType::I32, {1}, {position})
        .out_or_add(dtype, {s.context, s.kv_heads, s.dim}, true)
        .out_or_add(dtype, {s.context, s.kv_heads, s.dim}, true);
    cases.push_back(store.odd(s.dim % 8 != 0).finish());

    CaseBuilder decode(OpKind::AttentionDecode, dtype, shape);
    decode.attributes().scale = 1 / std::sqrt(static_cast<double>(s.dim));
    const auto query = decode.program().add_head_views(dtype, {1}, {s.heads}, s.dim);
    decode.operand(query[0], Access::Read, decode.random.normal(s.heads * s.dim, 1.5))
        .in(dtype, {s.context, s.kv_heads, s.dim}, decode.random.normal(cache, 1.5))
        .in(dtype, {s.context, s.kv_heads, s.dim}, decode.random.normal(cache))
        .in(DType::I32, {1}, {position})
        .out(dtype, {1, s.heads, s.dim});
    cases.push_back(decode.odd(s.dim % 8 != 0).finish());

    CaseBuilder gather(OpKind::GatherRow, dtype, by({s.context, s.dim}));
    gather.in(dtype, {s.context, s.dim}, gather.random.normal(s.context * s.dim))
        .in(DType::I32, {1}, {position})
        .out(dtype, {1, s.dim});
    cases.push_back(gather.odd(s.dim % 8 != 0).finish());
  }
}

}  // namespace

void add_attention_cases(DType dtype, std::vector<OpCase>& cases) {
  for (const AttentionShape& s : kShapes) {
    for (const bool documents : {false, true}) {
      cases.push_back(forward_case(dtype, s, documents));
      cases.push_back(backward_case(dtype, s, documents));
    }
  }
  generation(dtype, cases);
}

}  // namespace lathe::test
