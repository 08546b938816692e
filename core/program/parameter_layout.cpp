#include "core/program/parameter_layout.h"

#include <map>
#include <tuple>

#include "core/config/derived.h"
#include "core/config/parameter_rules.h"
#include "core/model/parameters.h"
#include "core/program/program_builder.h"

namespace lathe {

namespace {

// Which parameters may share a group: one rule, one kind of storage.
enum class StorageClass { Embedding, Matrix, Norm };

StorageClass storage_class(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::Embedding:
    case ParameterKind::Head:
      return StorageClass::Embedding;
    case ParameterKind::Matrix:
      return StorageClass::Matrix;
    case ParameterKind::Norm:
      return StorageClass::Norm;
  }
  return StorageClass::Matrix;
}

std::string group_name(StorageClass storage, int rule) {
  const char* names[] = {"embedding", "matrices", "norms"};
  std::string name = names[static_cast<int>(storage)];
  return rule < 0 ? name : name + ".rule" + std::to_string(rule);
}

DType state_dtype(State state) {
  switch (state) {
    case State::Fp32:
      return DType::F32;
    case State::Bf16:
      return DType::BF16;
    case State::Int8:
      return DType::U8;
  }
  return DType::F32;
}

}  // namespace

NumberFormats number_formats(const RunConfig& config, bool fp64) {
  NumberFormats formats;
  if (fp64) {
    formats.compute = formats.wide = formats.gradient = formats.head_gradient = formats.state = DType::F64;
    return formats;
  }
  const bool bf16 = config.precision.compute == Compute::Bf16;
  formats.compute = bf16 ? DType::BF16 : DType::F32;
  formats.gradient = config.precision.gradients == Storage::Bf16 ? DType::BF16 : DType::F32;
  const bool chunked = loss_chunk_tokens(config) < tokens_per_micro_step(config);
  formats.head_gradient = chunked ? DType::F32 : formats.gradient;
  formats.state = state_dtype(config.optimizer.state);
  formats.master = bf16 ? config.precision.master : Master::None;
  return formats;
}

ModelParameters lay_out_parameters(Emitter& emitter, const RunConfig& config, const NumberFormats& formats,
                                   bool train) {
  StepProgram& program = emitter.program();
  const std::vector<ParameterSpec> specs = parameter_specs(config);
  std::map<std::pair<int, int>, int> group_of;  // (storage class, rule) -> group
  ModelParameters model;
  model.layers.resize(static_cast<size_t>(config.model.layers));

  for (const ParameterSpec& spec : specs) {
    const auto matched = rule_index(config.optimizer.groups, spec.name);
    const int rule = matched ? static_cast<int>(*matched) : -1;
    const StorageClass storage = storage_class(spec.kind);
    const auto [entry, added] =
        group_of.try_emplace({static_cast<int>(storage), rule}, static_cast<int>(program.groups.size()));
    if (added) {
      ParameterGroup group;
      group.name = group_name(storage, rule);
      group.weight_decay = config.optimizer.weight_decay;
      if (matched) {
        const ParameterRule& settings = config.optimizer.groups[*matched];
        group.lr_factor = settings.lr_factor;
        group.weight_decay = settings.weight_decay.value_or(group.weight_decay);
      }
      program.groups.push_back(group);
    }
    const int index = static_cast<int>(program.parameters.size());
    ParameterGroup& group = program.groups[static_cast<size_t>(entry->second)];
    Parameter parameter;
    parameter.name = spec.name;
    parameter.shape = spec.shape;
    parameter.group = entry->second;
    parameter.offset = group.elements;
    parameter.init_std = spec.init_std;
    parameter.init_one = spec.kind == ParameterKind::Norm;
    parameter.valid_rows = spec.valid_rows;
    group.parameters.push_back(index);
    group.elements +=
        (spec.shape.elements() + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
    program.parameters.push_back(parameter);

    if (spec.layer == kNone) {
      if (spec.kind == ParameterKind::Embedding) model.embed = index;
      if (spec.kind == ParameterKind::Head) model.head = index;
      if (spec.kind == ParameterKind::Norm) model.final_norm = index;
      continue;
    }
    LayerParameters& layer = model.layers[static_cast<size_t>(spec.layer)];
    const std::string part = spec.name.substr(spec.name.find('.', 6) + 1);  // behind "layer.N."
    const std::pair<const char*, int*> members[] = {
        {"attn_norm.weight", &layer.attn_norm},
        {"attn.qkv.weight", &layer.qkv},
        {"attn.q_norm.weight", &layer.q_norm},
        {"attn.k_norm.weight", &layer.k_norm},
        {"attn.o.weight", &layer.o},
        {"ffn_norm.weight", &layer.ffn_norm},
        {"ffn.gate_up.weight", &layer.gate_up},
        {"ffn.down.weight", &layer.down},
    };
    for (const auto& [suffix, member] : members) {
      if (part == suffix) *member = index;
    }
  }
  if (model.head == kNone) model.head = model.embed;

  for (ParameterGroup& group : program.groups) {
    const bool norms = program.parameters[static_cast<size_t>(group.parameters.front())].init_one;
    const bool embedding = group.name.rfind("embedding", 0) == 0;
    const Shape all{group.elements};
    const auto tensor = [&](const char* what, DType dtype, Role role, Shape shape) {
      return emitter.tensor(group.name + "." + what, dtype, shape, role, Lifetime::Run);
    };
    group.weight = tensor("weight", norms ? formats.wide : formats.compute, Role::Weight, all);
    if (!train) continue;
    if (!norms && formats.master == Master::Fp32)
      group.master = tensor("master", DType::F32, Role::Master, all);
    if (!norms && formats.master == Master::Split)
      group.master = tensor("remainder", DType::I16, Role::Master, all);
    const DType gradient = norms ? formats.wide : embedding ? formats.head_gradient : formats.gradient;
    group.gradient = tensor("gradient", gradient, Role::Gradient, all);
    const DType state = norms || embedding ? formats.wide : formats.state;
    group.m = tensor("m", state, Role::OptimizerState, all);
    group.v = tensor("v", state, Role::OptimizerState, all);
    if (state == DType::U8) {
      const Shape blocks{group.elements / kParameterAlignment};
      group.m_scale = tensor("m_scale", DType::F32, Role::OptimizerState, blocks);
      group.v_scale = tensor("v_scale", DType::F32, Role::OptimizerState, blocks);
    }
  }
  for (Parameter& parameter : program.parameters) {
    const ParameterGroup& group = program.groups[static_cast<size_t>(parameter.group)];
    parameter.weight = emitter.slice(group.weight, parameter.name, parameter.offset, parameter.shape);
    if (train) {
      parameter.gradient =
          emitter.slice(group.gradient, parameter.name + ".grad", parameter.offset, parameter.shape);
    }
  }
  return model;
}

}  // namespace lathe
