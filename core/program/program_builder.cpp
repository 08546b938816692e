#include "core/program/program_builder.h"

#include <algorithm>
#include <string>

#include "core/config/derived.h"
#include "core/program/block.h"
#include "core/program/emitter.h"
#include "core/program/parameter_layout.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

void require_buildable(const RunConfig& config, const BuildOptions& options) {
  const auto refuse = [](const std::string& what, const std::string& advice) {
    throw Error(ErrorCode::InvalidConfig, what, advice);
  };
  if (config.memory.recompute.automatic || config.memory.loss_chunk_tokens.automatic) {
    throw Error(ErrorCode::Internal, "A program was asked for while settings are still automatic.");
  }
  if (options.fp64) return;
  if (config.precision.compute == Compute::Bf16 && config.precision.weights == Storage::Fp32) {
    refuse(
        "precision.weights=fp32 with precision.compute=bf16 would keep the weights twice.",
        "Set precision.weights=bf16 with precision.master=fp32: the same maths, 4 bytes a parameter less.");
  }
  if (config.precision.compute == Compute::Fp32 &&
      (config.precision.weights == Storage::Bf16 || config.precision.gradients == Storage::Bf16)) {
    refuse("precision.compute=fp32 needs FP32 weights and gradients.",
           "Set precision.weights=fp32 and precision.gradients=fp32, or precision.compute=bf16.");
  }
}

// Emits the sequences of one run over a shared set of persistent tensors.
class ProgramBuilder {
 public:
  ProgramBuilder(const RunConfig& config, const BuildOptions& options)
      : config_(config),
        options_(options),
        formats_(number_formats(config, options.fp64)),
        emitter_(program_, options.target) {}

  StepProgram build() {
    require_buildable(config_, options_);
    parameters_ = lay_out_parameters(emitter_, config_, formats_, options_.train);
    lay_out_ports();
    if (options_.train) {
      micro_step(SequenceId::MicroFirst);
      micro_step(SequenceId::MicroRest);
      update();
      statistics();
    }
    if (options_.evaluate) evaluate();
    if (options_.generate) generate();
    return std::move(program_);
  }

 private:
  int64_t batch() const { return config_.batch.micro_batch; }
  int64_t context() const { return config_.model.context; }
  int64_t rows() const { return batch() * context(); }
  int64_t hidden() const { return config_.model.hidden; }
  TensorId weight(int parameter) const { return program_.parameters[static_cast<size_t>(parameter)].weight; }
  TensorId gradient(int parameter) const {
    return program_.parameters[static_cast<size_t>(parameter)].gradient;
  }
  OpAttributes norm_attributes() const {
    OpAttributes attributes;
    attributes.eps = config_.model.norm_eps;
    return attributes;
  }

  void lay_out_ports() {
    ProgramPorts& ports = program_.ports;
    const auto persistent = [&](const char* name, DType dtype, Shape shape, Role role) {
      return emitter_.tensor(name, dtype, shape, role, Lifetime::Run);
    };
    const DType wide = formats_.wide;
    ports.rope_table = persistent("rope.table", wide, {context(), head_dim(config_.model)}, Role::Table);
    if (options_.train || options_.evaluate) {
      ports.tokens = persistent("batch.tokens", DType::I32, {batch(), context()}, Role::Batch);
      ports.targets = persistent("batch.targets", DType::I32, {batch(), context()}, Role::Batch);
      if (config_.attention.document_mask) {
        ports.document_start =
            persistent("batch.document_start", DType::I32, {batch(), context()}, Role::Batch);
      }
      ports.scalars = persistent("step.scalars", wide, {kStepScalarCount}, Role::Batch);
    }
    if (options_.train) {
      ports.token_order = persistent("batch.token_order", DType::I32, {rows()}, Role::Batch);
      ports.loss_sums = persistent("loss.sums", wide, {2}, Role::Metric);
      ports.square_sums = persistent("gradient.square_sums", wide,
                                     {static_cast<int64_t>(program_.parameters.size())}, Role::Metric);
      ports.weight_square_sums = persistent("weight.square_sums", wide,
                                            {static_cast<int64_t>(program_.parameters.size())}, Role::Metric);
      ports.clip = persistent("gradient.clip", wide, {4}, Role::Metric);
    }
    if (options_.evaluate) ports.eval_sums = persistent("eval.sums", wide, {2}, Role::Metric);
    if (options_.generate) {
      ports.prompt = persistent("generate.prompt", DType::I32, {context()}, Role::Batch);
      ports.next_token = persistent("generate.next_token", DType::I32, {1}, Role::Batch);
      ports.position = persistent("generate.position", DType::I32, {1}, Role::Batch);
      ports.logits =
          persistent("generate.logits", formats_.compute, {1, padded_vocab(config_.model)}, Role::Metric);
      // Where a prompt starts in the cache: zero, as persistent buffers are.
      first_position_ = persistent("generate.first_position", DType::I32, {1}, Role::Batch);
    }
  }

  BlockContext block_context(BlockContext::Mode mode) const {
    const bool generation = mode == BlockContext::Mode::Prefill || mode == BlockContext::Mode::Decode;
    BlockContext block;
    block.mode = mode;
    block.batch = generation ? 1 : batch();
    block.context = mode == BlockContext::Mode::Decode ? 1 : context();
    block.heads = config_.model.heads;
    block.kv_heads = kv_heads(config_.model);
    block.head_dim = head_dim(config_.model);
    block.hidden = hidden();
    block.ffn = config_.model.ffn;
    block.norm_eps = config_.model.norm_eps;
    block.qk_norm = config_.model.qk_norm;
    block.rope_context = context();
    block.compute = formats_.compute;
    block.wide = formats_.wide;
    block.rope_table = program_.ports.rope_table;
    block.document_start = generation ? kNone : program_.ports.document_start;
    block.position = mode == BlockContext::Mode::Decode ? program_.ports.position : first_position_;
    return block;
  }

  TensorId embed(TensorId tokens, int64_t count, Role role) {
    const TensorId x = emitter_.tensor("embedded", formats_.compute, {count, hidden()}, role);
    emitter_.emit(OpKind::Embedding, {read(tokens), read(weight(parameters_.embed)), write(x)});
    return x;
  }

  std::vector<Block> blocks(const BlockContext& context) {
    std::vector<Block> result;
    for (int layer = 0; layer < config_.model.layers; ++layer) {
      const auto level =
          context.mode == BlockContext::Mode::Train ? recompute_level(config_, layer) : RecomputeLevel::Block;
      result.emplace_back(emitter_, context, parameters_.layers[static_cast<size_t>(layer)], layer, level);
    }
    return result;
  }

  // Final norm of `x` [count,C]; rstd only where a backward will want it.
  TensorId final_norm(TensorId x, int64_t count, TensorId rstd) {
    emitter_.set_layer(kNone);
    const TensorId normed =
        emitter_.tensor("final.normed", formats_.compute, {count, hidden()}, Role::Scratch);
    emitter_.emit(OpKind::RmsNorm,
                  {read(x), read(weight(parameters_.final_norm)), write(normed),
                   rstd == kNone ? absent() : write(rstd)},
                  norm_attributes());
    return normed;
  }

  // The loss in chunks of tokens. With `d_normed`, forward and backward of the head in one go: the logits of
  // a chunk exist only between its two matrix products.
  void loss(TensorId normed, TensorId d_normed, bool accumulate, Operand sums) {
    const int64_t vocab = padded_vocab(config_.model), chunk = loss_chunk_tokens(config_);
    const bool backward = d_normed != kNone;
    OpAttributes attributes;
    attributes.z_loss = config_.loss.z_loss;
    attributes.valid_vocab = config_.model.vocab;
    const bool z_loss = attributes.z_loss > 0;
    const TensorId losses = emitter_.tensor("loss.per_token", formats_.wide, {rows()}, Role::Scratch);
    const TensorId z_losses =
        z_loss ? emitter_.tensor("loss.z_per_token", formats_.wide, {rows()}, Role::Scratch) : kNone;
    for (int64_t first = 0; first < rows(); first += chunk) {
      const int64_t count = std::min(chunk, rows() - first);
      emitter_.set_phase(Phase::Forward);
      const TensorId x = emitter_.slice(normed, "final.normed.chunk", first * hidden(), {count, hidden()});
      const TensorId logits = emitter_.tensor("logits", formats_.compute, {count, vocab}, Role::Logits);
      emitter_.emit(OpKind::Linear, {read(x), read(weight(parameters_.head)), absent(), write(logits)});
      const auto part = [&](TensorId all, const char* name) {
        return emitter_.slice(all, name, first, {count});
      };
      emitter_.emit(
          OpKind::ClassifierLoss,
          {backward ? in_place(logits) : read(logits), read(part(program_.ports.targets, "targets.chunk")),
           read(program_.ports.scalars), write(part(losses, "loss.chunk")),
           z_loss ? write(part(z_losses, "loss.z_chunk")) : absent()},
          attributes);
      if (!backward) continue;
      emitter_.set_phase(Phase::Backward);
      const TensorId dx =
          emitter_.slice(d_normed, "final.d_normed.chunk", first * hidden(), {count, hidden()});
      emitter_.emit(OpKind::LinearBackwardInput, {read(logits), read(weight(parameters_.head)), write(dx)});
      const TensorId d_head = gradient(parameters_.head);
      emitter_.emit(OpKind::LinearBackwardWeight,
                    {read(logits), read(x), accumulate || first > 0 ? add(d_head) : write(d_head)});
    }
    emitter_.set_phase(Phase::Forward);
    emitter_.emit(OpKind::LossSum, {read(losses), z_loss ? read(z_losses) : absent(), sums});
  }

  void micro_step(SequenceId sequence) {
    emitter_.begin(sequence);
    const bool accumulate = sequence == SequenceId::MicroRest;
    BlockContext context = block_context(BlockContext::Mode::Train);
    context.accumulate = accumulate;

    TensorId x = embed(program_.ports.tokens, rows(), Role::Activation);
    std::vector<Block> layers = blocks(context);
    for (Block& block : layers) x = block.forward(x);

    const TensorId rstd = emitter_.tensor("final.rstd", formats_.wide, {rows()}, Role::Scratch);
    const TensorId normed = final_norm(x, rows(), rstd);
    const TensorId d_normed =
        emitter_.tensor("final.d_normed", formats_.compute, {rows(), hidden()}, Role::Scratch);
    loss(normed, d_normed, accumulate,
         accumulate ? add(program_.ports.loss_sums) : write(program_.ports.loss_sums));

    emitter_.set_phase(Phase::Backward);
    const TensorId d_residual =
        emitter_.tensor("d_residual", formats_.compute, {rows(), hidden()}, Role::Scratch);
    const TensorId d_final = gradient(parameters_.final_norm);
    emitter_.emit(OpKind::RmsNormBackward,
                  {read(x), read(weight(parameters_.final_norm)), read(rstd), read(d_normed),
                   write(d_residual), accumulate ? add(d_final) : write(d_final), absent()},
                  norm_attributes());
    for (auto block = layers.rbegin(); block != layers.rend(); ++block) block->backward(d_residual);

    emitter_.set_layer(kNone);
    const TensorId d_embed = gradient(parameters_.embed);
    if (!accumulate && !config_.model.tied_embeddings) emitter_.emit(OpKind::Fill, {write(d_embed)});
    emitter_.emit(OpKind::EmbeddingBackward, {read(program_.ports.tokens), read(program_.ports.token_order),
                                              read(d_residual), add(d_embed)});
  }

  void update() {
    emitter_.begin(SequenceId::Update);
    emitter_.set_phase(Phase::Update);
    const ProgramPorts& ports = program_.ports;
    const auto optional = [](TensorId tensor) { return tensor == kNone ? absent() : in_place(tensor); };
    for (size_t g = 0; g < program_.groups.size(); ++g) {
      OpAttributes attributes;
      attributes.group = static_cast<int>(g);
      emitter_.emit(OpKind::GradientNorm, {read(program_.groups[g].gradient), add(ports.square_sums)},
                    attributes);
    }
    emitter_.emit(OpKind::ClipFactor,
                  {read(ports.square_sums), read(ports.loss_sums), read(ports.scalars), write(ports.clip)});
    for (size_t g = 0; g < program_.groups.size(); ++g) {
      const ParameterGroup group = program_.groups[g];
      OpAttributes attributes;
      attributes.group = static_cast<int>(g);
      attributes.eps = config_.optimizer.eps;
      attributes.beta1 = config_.optimizer.beta1;
      attributes.beta2 = config_.optimizer.beta2;
      attributes.lr_factor = group.lr_factor;
      attributes.weight_decay = group.weight_decay;
      const bool master_fp32 = group.master != kNone && program_.tensor(group.master).dtype == DType::F32;
      emitter_.emit(OpKind::AdamW,
                    {read(group.gradient), master_fp32 ? write(group.weight) : in_place(group.weight),
                     optional(group.master), in_place(group.m), in_place(group.v), optional(group.m_scale),
                     optional(group.v_scale), read(ports.scalars), read(ports.clip)},
                    attributes);
    }
  }

  void statistics() {
    emitter_.begin(SequenceId::Statistics);
    emitter_.set_phase(Phase::Update);
    for (size_t g = 0; g < program_.groups.size(); ++g) {
      OpAttributes attributes;
      attributes.group = static_cast<int>(g);
      emitter_.emit(OpKind::GradientNorm,
                    {read(program_.groups[g].weight), add(program_.ports.weight_square_sums)}, attributes);
    }
  }

  void evaluate() {
    emitter_.begin(SequenceId::Evaluate);
    const BlockContext context = block_context(BlockContext::Mode::Evaluate);
    TensorId x = embed(program_.ports.tokens, rows(), Role::Scratch);
    for (Block& block : blocks(context)) x = block.forward(x);
    loss(final_norm(x, rows(), kNone), kNone, false, write(program_.ports.eval_sums));
  }

  void generate() {
    const int64_t dim = head_dim(config_.model), kv = kv_heads(config_.model);
    std::vector<std::pair<TensorId, TensorId>> caches;
    for (int layer = 0; layer < config_.model.layers; ++layer) {
      emitter_.set_layer(layer);
      const auto cache = [&](const char* part) {
        return emitter_.tensor("layer." + std::to_string(layer) + ".cache." + part, formats_.compute,
                               {context(), kv, dim}, Role::KvCache, Lifetime::Group);
      };
      const TensorId keys = cache("keys");
      caches.emplace_back(keys, cache("values"));
    }
    const ProgramPorts& ports = program_.ports;
    for (const bool decode : {false, true}) {
      const SequenceId sequence = decode ? SequenceId::Decode : SequenceId::Prefill;
      emitter_.begin(sequence);
      program_.sequence(sequence).group = 1;
      const BlockContext context =
          block_context(decode ? BlockContext::Mode::Decode : BlockContext::Mode::Prefill);
      TensorId x = embed(decode ? ports.next_token : ports.prompt, context.rows(), Role::Scratch);
      std::vector<Block> layers = blocks(context);
      for (size_t layer = 0; layer < layers.size(); ++layer) {
        layers[layer].set_cache(caches[layer].first, caches[layer].second);
        x = layers[layer].forward(x);
      }
      emitter_.set_layer(kNone);
      if (!decode) {
        const TensorId last = emitter_.tensor("last_row", formats_.compute, {1, hidden()}, Role::Scratch);
        emitter_.emit(OpKind::GatherRow, {read(x), read(ports.position), write(last)});
        x = last;
      }
      const TensorId normed = final_norm(x, 1, kNone);
      emitter_.emit(OpKind::Linear,
                    {read(normed), read(weight(parameters_.head)), absent(), write(ports.logits)});
    }
  }

  const RunConfig& config_;
  const BuildOptions options_;
  const NumberFormats formats_;
  StepProgram program_;
  Emitter emitter_;
  ModelParameters parameters_;
  TensorId first_position_ = kNone;
};

}  // namespace

BuildOptions training_options(const RunConfig& config, const ExecutionTarget& target) {
  BuildOptions options;
  options.target = target;
  options.target.deterministic = config.run.deterministic;
  options.evaluate = true;  // takes no memory of its own, and may be asked for
  options.generate = config.run.sample_every > 0;
  return options;
}

int64_t loss_chunk_tokens(const RunConfig& config) {
  const int64_t all = tokens_per_micro_step(config);
  const int64_t chunk = config.memory.loss_chunk_tokens.value;
  return chunk <= 0 ? all : std::min(chunk, all);
}

StepProgram build_step_program(const RunConfig& config, const BuildOptions& options) {
  return ProgramBuilder(config, options).build();
}

}  // namespace lathe
