// The trainable tensors of an architecture: names, shapes, initial values, in the order they are stored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "kernels/api/tensor.h"

namespace lathe {

enum class ParameterKind { Embedding, Head, Matrix, Norm };

struct ParameterSpec {
  std::string name;
  Shape shape;  // matrices are [out, in], as transformers stores them; qkv rows: query, key, value heads
  ParameterKind kind = ParameterKind::Matrix;
  int layer = kNone;
  double init_std = 0;     // normal(0, std); norms start at one
  int64_t valid_rows = 0;  // of an embedding or head: rows beyond it are padding and stay zero
};

// All parameters: embedding, layers from first to last, final norm, untied head. Rules' init_std applied.
std::vector<ParameterSpec> parameter_specs(const RunConfig& config);

// Elements of all parameters, vocabulary padding included: exactly what is allocated.
int64_t parameter_count(const RunConfig& config);

// Of these, elements that are vocabulary padding: zero for ever, left out on export.
int64_t padding_count(const RunConfig& config);

// Parameters that take part in matrix multiplications of the blocks (without embedding, head and norms).
int64_t block_matrix_parameters(const RunConfig& config);

// FLOPs a token of forward and backward, causal attention counted half, recomputation not counted:
// 6·block matrices + 6·head + 6·layers·heads·head_dim·context (architecture notes, section 5; PaLM appendix
// B).
double model_flops_per_token(const RunConfig& config);

}  // namespace lathe
