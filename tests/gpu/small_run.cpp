#include "tests/gpu/small_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/program/auto_settings.h"
#include "core/program/program_builder.h"
#include "core/train/model_state.h"

namespace lathe::test {

namespace {

constexpr int kMicroSteps = 2;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

RunConfig small_config() {
  RunConfig config;
  config.model.layers = 2;
  config.model.hidden = 256;
  config.model.heads = 4;
  config.model.kv_heads = 2;
  config.model.ffn = 512;
  config.model.vocab = 500;
  config.model.context = 128;
  config.batch.micro_batch = 2;
  config.batch.accumulation = kMicroSteps;
  return config;
}

SmallRun::SmallRun(Backend& backend, const RunConfig& config, const PrepareOptions& options,
                   uint64_t plan_seed)
    : config_(resolve_auto(config, {backend.device().target, 0, -1})),
      program_(build_step_program(config_, training_options(config_, backend.device().target))),
      plan_(plan_memory(program_, plan_seed)),
      executable_(backend.prepare(program_, plan_, options)) {
  initialise_weights(program_, *executable_, 7);
  write_constants(program_, *executable_, config_.model.rope_theta);
}

void SmallRun::write_batch(int micro_step) {
  std::mt19937 engine(static_cast<unsigned>(micro_step) + 1);
  const ProgramPorts& ports = program_.ports;
  const size_t rows = static_cast<size_t>(program_.tensor(ports.tokens).elements());
  std::uniform_int_distribution<int32_t> token(0, static_cast<int32_t>(config_.model.vocab) - 1);
  std::vector<int32_t> tokens(rows), targets(rows), order(rows);
  for (int32_t& value : tokens) value = token(engine);
  for (int32_t& value : targets) value = token(engine);
  targets[3] = -1;  // not counted
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return tokens[static_cast<size_t>(a)] < tokens[static_cast<size_t>(b)];
  });
  executable_->write(ports.tokens, bytes_of(tokens));
  executable_->write(ports.targets, bytes_of(targets));
  executable_->write(ports.token_order, bytes_of(order));
  if (ports.document_start != kNone) {
    std::vector<int32_t> start(rows);
    const size_t context = static_cast<size_t>(config_.model.context);
    for (size_t i = 0; i < rows; ++i) start[i] = i % context < 50 ? 0 : 50;
    executable_->write(ports.document_start, bytes_of(start));
  }
}

void SmallRun::write_scalars(int update) {
  const double t = update + 1;
  const double rows =
      static_cast<double>(program_.tensor(program_.ports.tokens).elements() - 1) * kMicroSteps;
  const std::vector<float> scalars{static_cast<float>(1 / rows),
                                   1e-3f,
                                   static_cast<float>(1 - std::pow(config_.optimizer.beta1, t)),
                                   static_cast<float>(1 - std::pow(config_.optimizer.beta2, t)),
                                   1.0f,
                                   0.0f,
                                   static_cast<float>(update),
                                   17.0f};
  executable_->write(program_.ports.scalars, bytes_of(scalars));
}

std::vector<std::byte> SmallRun::train(int updates) {
  const ProgramPorts& ports = program_.ports;
  const std::vector<TensorId> fetch{ports.loss_sums, ports.clip};
  std::vector<std::byte> all;
  for (int update = 0; update < updates; ++update) {
    write_scalars(update);
    for (int micro = 0; micro < kMicroSteps; ++micro) {
      write_batch(update * kMicroSteps + micro);
      executable_->run(micro == 0 ? SequenceId::MicroFirst : SequenceId::MicroRest);
    }
    const Ticket ticket = executable_->run(SequenceId::Update, fetch);
    std::vector<std::byte> fetched(24);
    executable_->wait(ticket, fetched);
    all.insert(all.end(), fetched.begin(), fetched.end());
  }
  for (const ParameterGroup& group : program_.groups) {
    std::vector<std::byte> weights(static_cast<size_t>(program_.tensor(group.weight).bytes()));
    executable_->read(group.weight, weights);
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

}  // namespace lathe::test
