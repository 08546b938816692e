#include "core/model/parameters.h"

#include <cmath>

#include "core/config/derived.h"
#include "core/config/parameter_rules.h"

namespace lathe {

std::vector<ParameterSpec> parameter_specs(const RunConfig& config) {
  const RunConfig::Model& model = config.model;
  const int64_t hidden = model.hidden, ffn = model.ffn, heads = model.heads, dim = head_dim(model);
  const int64_t kv = kv_heads(model), rows = padded_vocab(model);
  const double residual_std = model.scaled_init
                                  ? model.init_std / std::sqrt(2.0 * static_cast<double>(model.layers))
                                  : model.init_std;

  std::vector<ParameterSpec> specs;
  const auto add = [&](std::string name, Shape shape, ParameterKind kind, int layer, double std_dev,
                       int64_t valid_rows = 0) {
    if (const auto rule = rule_index(config.optimizer.groups, name); rule && kind != ParameterKind::Norm) {
      std_dev = config.optimizer.groups[*rule].init_std.value_or(std_dev);
    }
    specs.push_back({std::move(name), shape, kind, layer, std_dev, valid_rows});
  };
  const auto norm = [&](std::string name, int64_t size, int layer) {
    add(std::move(name), {size}, ParameterKind::Norm, layer, 0);
  };

  add("embed.weight", {rows, hidden}, ParameterKind::Embedding, kNone, model.init_std, model.vocab);
  for (int layer = 0; layer < model.layers; ++layer) {
    const std::string prefix = "layer." + std::to_string(layer) + ".";
    norm(prefix + "attn_norm.weight", hidden, layer);
    add(prefix + "attn.qkv.weight", {(heads + 2 * kv) * dim, hidden}, ParameterKind::Matrix, layer,
        model.init_std);
    if (model.qk_norm) {
      norm(prefix + "attn.q_norm.weight", dim, layer);
      norm(prefix + "attn.k_norm.weight", dim, layer);
    }
    add(prefix + "attn.o.weight", {hidden, heads * dim}, ParameterKind::Matrix, layer, residual_std);
    norm(prefix + "ffn_norm.weight", hidden, layer);
    add(prefix + "ffn.gate_up.weight", {2 * ffn, hidden}, ParameterKind::Matrix, layer, model.init_std);
    add(prefix + "ffn.down.weight", {hidden, ffn}, ParameterKind::Matrix, layer, residual_std);
  }
  norm("final_norm.weight", hidden, kNone);
  if (!model.tied_embeddings) {
    add("head.weight", {rows, hidden}, ParameterKind::Head, kNone, model.init_std, model.vocab);
  }
  return specs;
}

int64_t parameter_count(const RunConfig& config) {
  int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) count += spec.shape.elements();
  return count;
}

int64_t padding_count(const RunConfig& config) {
  const int64_t tables = config.model.tied_embeddings ? 1 : 2;
  return (padded_vocab(config.model) - config.model.vocab) * config.model.hidden * tables;
}

int64_t block_matrix_parameters(const RunConfig& config) {
  int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    if (spec.kind == ParameterKind::Matrix) count += spec.shape.elements();
  }
  return count;
}

double model_flops_per_token(const RunConfig& config) {
  const RunConfig::Model& model = config.model;
  const double attention = static_cast<double>(model.layers * model.heads * head_dim(model) * model.context);
  return 6.0 * (static_cast<double>(block_matrix_parameters(config)) +
                static_cast<double>(padded_vocab(model) * model.hidden) + attention);
}

}  // namespace lathe
