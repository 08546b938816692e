// Puts every parameter into a group of one update rule, contiguous in each of the group's buffers.
#pragma once

#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/program/emitter.h"

namespace lathe {

// The dtypes a run computes and stores in.
struct NumberFormats {
  DType compute = DType::BF16;       // activations and matrix weights
  DType wide = DType::F32;           // norms, statistics, losses
  DType gradient = DType::F32;       // of block matrices
  DType head_gradient = DType::F32;  // of embedding and head: FP32 when loss chunks add into it
  DType state = DType::F32;          // AdamW's moments of block matrices; embedding, head and norms keep FP32
  Master master = Master::None;      // of BF16 weights
};
NumberFormats number_formats(const RunConfig& config, bool fp64);

// Indices into StepProgram::parameters.
struct LayerParameters {
  int attn_norm = kNone, qkv = kNone, q_norm = kNone, k_norm = kNone, o = kNone;
  int ffn_norm = kNone, gate_up = kNone, down = kNone;
};
struct ModelParameters {
  int embed = kNone, final_norm = kNone, head = kNone;  // head is embed when tied
  std::vector<LayerParameters> layers;
};

// Fills program.parameters and program.groups with their buffers; without `train` only weights exist.
ModelParameters lay_out_parameters(Emitter& emitter, const RunConfig& config, const NumberFormats& formats,
                                   bool train);

}  // namespace lathe
