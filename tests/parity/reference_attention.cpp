// Attention's reference: every probability by itself, from the definition.
#include <algorithm>
#include <cmath>

#include "tests/parity/reference_frame.h"

namespace lathe::test {

namespace {

// Index of element 0 of [b, t, h, :] in a [B,T,H,D] tensor.
int64_t head_at(const ReferenceFrame& f, int slot, int64_t b, int64_t t, int64_t h) {
  return ((b * f.dim(slot, 1) + t) * f.dim(slot, 2) + h) * f.dim(slot, 3);
}

double dot(const ReferenceFrame& f, int a, int64_t i, int b, int64_t j, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += f.in(a, i + c) * f.in(b, j + c);
  return sum;
}

// Softmax over scores; the logarithm of the denominator goes to `lse`.
std::vector<double> softmax(std::vector<double> scores, double& lse) {
  const double maximum = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - maximum);
  lse = maximum + std::log(sum);
  for (double& score : scores) score = std::exp(score - lse);
  return scores;
}

int64_t first_key(const ReferenceFrame& f, int document_start, int64_t b, int64_t t, int64_t context) {
  return f.has(document_start) ? f.integer(document_start, b * context + t) : 0;
}

}  // namespace

void reference_attention(ReferenceFrame& f) {
  using Slot = slot::Attention;
  const int64_t batch = f.dim(Slot::Q, 0), context = f.dim(Slot::Q, 1), heads = f.dim(Slot::Q, 2);
  const int64_t dim = f.dim(Slot::Q, 3), group = heads / f.dim(Slot::K, 2);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < context; ++t) {
        const int64_t first = first_key(f, Slot::DocumentStart, b, t, context);
        std::vector<double> scores;
        for (int64_t s = first; s <= t; ++s) {
          scores.push_back(f.attributes().scale * dot(f, Slot::Q, head_at(f, Slot::Q, b, t, h), Slot::K,
                                                      head_at(f, Slot::K, b, s, h / group), dim));
        }
        double lse = 0;
        const std::vector<double> p = softmax(scores, lse);
        f.put(Slot::Lse, (b * heads + h) * context + t, lse);
        for (int64_t c = 0; c < dim; ++c) {
          double sum = 0;
          for (int64_t s = first; s <= t; ++s) {
            sum +=
                p[static_cast<size_t>(s - first)] * f.in(Slot::V, head_at(f, Slot::V, b, s, h / group) + c);
          }
          f.put(Slot::O, head_at(f, Slot::O, b, t, h) + c, sum);
        }
      }
    }
  }
}

void reference_attention_backward(ReferenceFrame& f) {
  using Slot = slot::AttentionBackward;
  const int64_t batch = f.dim(Slot::Q, 0), context = f.dim(Slot::Q, 1), heads = f.dim(Slot::Q, 2);
  const int64_t dim = f.dim(Slot::Q, 3), group = heads / f.dim(Slot::K, 2);
  std::vector<double> dq(static_cast<size_t>(f.elements(Slot::Q))),
      dk(static_cast<size_t>(f.elements(Slot::K))), dv(static_cast<size_t>(f.elements(Slot::V)));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < context; ++t) {
        const int64_t query = head_at(f, Slot::Q, b, t, h);
        const double lse = f.in(Slot::Lse, (b * heads + h) * context + t);
        const double delta = dot(f, Slot::DO, query, Slot::O, query, dim);
        for (int64_t s = first_key(f, Slot::DocumentStart, b, t, context); s <= t; ++s) {
          const int64_t key = head_at(f, Slot::K, b, s, h / group);
          const double p = std::exp(f.attributes().scale * dot(f, Slot::Q, query, Slot::K, key, dim) - lse);
          const double ds = p * (dot(f, Slot::DO, query, Slot::V, key, dim) - delta) * f.attributes().scale;
          for (int64_t c = 0; c < dim; ++c) {
            dq[static_cast<size_t>(query + c)] += ds * f.in(Slot::K, key + c);
            dk[static_cast<size_t>(key + c)] += ds * f.in(Slot::Q, query + c);
            dv[static_cast<size_t>(key + c)] += p * f.in(Slot::DO, query + c);
          }
        }
      }
    }
  }
  for (int64_t i = 0; i < f.elements(Slot::Q); ++i) f.put(Slot::DQ, i, dq[static_cast<size_t>(i)]);
  for (int64_t i = 0; i < f.elements(Slot::K); ++i) f.put(Slot::DK, i, dk[static_cast<size_t>(i)]);
  for (int64_t i = 0; i < f.elements(Slot::V); ++i) f.put(Slot::DV, i, dv[static_cast<size_t>(i)]);
}

void reference_attention_decode(ReferenceFrame& f) {
  using Slot = slot::AttentionDecode;
  const int64_t heads = f.dim(Slot::Q, 1), dim = f.dim(Slot::Q, 2), kv_heads = f.dim(Slot::CacheK, 1);
  for (int64_t h = 0; h < heads; ++h) {
    const auto cached = [&](int64_t t) { return (t * kv_heads + h / (heads / kv_heads)) * dim; };
    std::vector<double> scores;
    for (int64_t t = 0; t <= f.integer(Slot::Position, 0); ++t) {
      scores.push_back(f.attributes().scale * dot(f, Slot::Q, h * dim, Slot::CacheK, cached(t), dim));
    }
    double lse = 0;
    const std::vector<double> p = softmax(scores, lse);
    for (int64_t c = 0; c < dim; ++c) {
      double sum = 0;
      for (size_t t = 0; t < p.size(); ++t) {
        sum += p[t] * f.in(Slot::CacheV, cached(static_cast<int64_t>(t)) + c);
      }
      f.put(Slot::O, h * dim + c, sum);
    }
  }
}

}  // namespace lathe::test
