#include "tests/support/model_fixture.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/train/model_state.h"
#include "core/train/update_feed.h"
#include "kernels/api/error.h"
#include "tests/support/elements.h"

namespace lathe::testing {

namespace {

template <typename T>
void upload(Executable& executable, TensorId tensor, const std::vector<T>& values) {
  if (tensor != kNone) executable.write(tensor, std::as_bytes(std::span(values)));
}

void upload_number(Executable& executable, TensorId tensor, int64_t number) {
  upload(executable, tensor, std::vector<int32_t>{static_cast<int32_t>(number)});
}

LossSums sums_of(const std::vector<double>& values) {
  return {values[0], values[1]};
}

}  // namespace

TestModel::TestModel(Backend& backend, const RunConfig& config, const ModelOptions& options)
    : config_(config) {
  BuildOptions build = options.build;
  build.target = backend.device().target;
  program_ = std::make_unique<const StepProgram>(build_step_program(config_, build));
  plan_ = std::make_unique<const MemoryPlan>(plan_memory(*program_, options.layout_seed));
  executable_ = backend.prepare(*program_, *plan_, options.prepare);
  initialise_weights(*program_, *executable_, 1);
  write_constants(*program_, *executable_, config_.model.rope_theta);
}

std::vector<std::byte> TestModel::bytes(TensorId tensor) {
  std::vector<std::byte> raw(static_cast<size_t>(program_->tensor(tensor).bytes()));
  executable_->read(tensor, raw);
  return raw;
}

std::vector<double> TestModel::values(TensorId tensor) {
  const std::vector<std::byte> raw = bytes(tensor);
  const DType dtype = program_->tensor(tensor).dtype;
  const auto size = static_cast<size_t>(dtype_bytes(dtype));
  std::vector<double> result(raw.size() / size);
  for (size_t i = 0; i < result.size(); ++i) result[i] = test::load_element(raw.data() + i * size, dtype);
  return result;
}

const Parameter& TestModel::parameter(const std::string& name) const {
  for (const Parameter& parameter : program_->parameters) {
    if (parameter.name == name) return parameter;
  }
  throw Error(ErrorCode::NotFound, "The program has no parameter " + name + ".");
}

std::vector<double> TestModel::weight(const std::string& name) {
  const Parameter& wanted = parameter(name);
  if (program_->tensor(wanted.weight).dtype == DType::F64) return values(wanted.weight);
  const std::vector<float> exact = parameter_values(*program_, *executable_, wanted);
  return {exact.begin(), exact.end()};
}

void TestModel::set_weight(const std::string& name, std::span<const double> values) {
  const Parameter& wanted = parameter(name);
  if (program_->tensor(wanted.weight).dtype == DType::F64) {
    executable_->write(wanted.weight, std::as_bytes(values));
  } else {
    set_parameter_values(*program_, *executable_, wanted, std::vector<float>(values.begin(), values.end()));
  }
}

void TestModel::randomise_weights(uint64_t seed, double scale) {
  test::RandomValues random(seed);
  for (const Parameter& parameter : program_->parameters) {
    const bool one = parameter.init_one;
    const double deviation =
        one ? 0.2 : scale / std::sqrt(static_cast<double>(parameter.shape[parameter.shape.rank - 1]));
    std::vector<double> values = random.normal(parameter.elements(), deviation, one ? 1 : 0);
    if (parameter.valid_rows > 0) {
      std::fill(values.begin() + parameter.valid_rows * parameter.shape[1], values.end(), 0.0);
    }
    set_weight(parameter.name, values);
  }
}

void TestModel::write_scalars(const UpdateScalars& scalars) {
  std::vector<double> values(kStepScalarCount);
  const auto set = [&](StepScalar scalar, double value) { values[static_cast<size_t>(scalar)] = value; };
  const double t = static_cast<double>(scalars.optimizer_step);
  set(StepScalar::InvValidTokens, 1.0 / static_cast<double>(scalars.valid_tokens));
  set(StepScalar::LearningRate, scalars.learning_rate);
  set(StepScalar::BiasCorrection1, 1 - std::pow(config_.optimizer.beta1, t));
  set(StepScalar::BiasCorrection2, 1 - std::pow(config_.optimizer.beta2, t));
  set(StepScalar::MaxGradNorm, scalars.clip);
  set(StepScalar::RandomLow, static_cast<double>(scalars.optimizer_step * 7919 % (1 << 24)));
  set(StepScalar::RandomHigh, 12345);
  const TensorId port = program_->ports.scalars;
  if (program_->tensor(port).dtype == DType::F64) {
    upload(*executable_, port, values);
  } else {
    upload(*executable_, port, std::vector<float>(values.begin(), values.end()));
  }
}

void TestModel::write_batch(const Batch& batch) {
  const ProgramPorts& ports = program_->ports;
  upload(*executable_, ports.tokens, batch.tokens);
  upload(*executable_, ports.targets, batch.targets);
  upload(*executable_, ports.document_start, batch.document_start);
  std::vector<int32_t> order;
  sort_rows_by_token(batch.tokens, order);
  upload(*executable_, ports.token_order, order);
}

void TestModel::micro_step(const Batch& batch, bool first) {
  write_batch(batch);
  executable_->wait(executable_->run(first ? SequenceId::MicroFirst : SequenceId::MicroRest));
}

void TestModel::accumulate(const std::vector<Batch>& window) {
  UpdateScalars scalars;
  scalars.valid_tokens = testing::valid_tokens(window);
  write_scalars(scalars);
  for (size_t i = 0; i < window.size(); ++i) micro_step(window[i], i == 0);
}

LossSums TestModel::window_loss() {
  return sums_of(values(program_->ports.loss_sums));
}

LossSums TestModel::evaluate(const Batch& batch) {
  write_batch(batch);
  executable_->wait(executable_->run(SequenceId::Evaluate));
  return sums_of(values(program_->ports.eval_sums));
}

void TestModel::update(const UpdateScalars& scalars) {
  write_scalars(scalars);
  executable_->wait(executable_->run(SequenceId::Update));
}

std::vector<double> TestModel::logits() {
  std::vector<double> all = values(program_->ports.logits);
  all.resize(static_cast<size_t>(config_.model.vocab));
  return all;
}

std::vector<double> TestModel::prefill(const std::vector<int32_t>& ids) {
  std::vector<int32_t> padded = ids;
  padded.resize(static_cast<size_t>(config_.model.context), 0);
  upload(*executable_, program_->ports.prompt, padded);
  upload_number(*executable_, program_->ports.position, static_cast<int64_t>(ids.size()) - 1);
  executable_->wait(executable_->run(SequenceId::Prefill));
  return logits();
}

std::vector<double> TestModel::decode(int32_t id, int64_t position) {
  upload_number(*executable_, program_->ports.next_token, id);
  upload_number(*executable_, program_->ports.position, position);
  executable_->wait(executable_->run(SequenceId::Decode));
  return logits();
}

Batch random_batch(const RunConfig& config, uint64_t seed, double masked) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  std::bernoulli_distribution dropped(masked), boundary(0.15);
  const int64_t context = config.model.context, positions = config.batch.micro_batch * context;
  Batch batch;
  int32_t start = 0;
  for (int64_t i = 0; i < positions; ++i) {
    const auto column = static_cast<int32_t>(i % context);
    if (column == 0 || boundary(random)) start = column;
    batch.tokens.push_back(static_cast<int32_t>(below(config.model.vocab)));
    const auto target = static_cast<int32_t>(below(config.model.vocab));
    batch.targets.push_back(i > 0 && dropped(random) ? -1 : target);
    batch.document_start.push_back(start);
  }
  batch.valid_tokens = positions - std::count(batch.targets.begin(), batch.targets.end(), -1);
  return batch;
}

int64_t valid_tokens(const std::vector<Batch>& window) {
  int64_t count = 0;
  for (const Batch& batch : window) count += batch.valid_tokens;
  return count;
}

double norm(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double relative_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw Error(ErrorCode::InvalidArgument, "Tensors of different sizes.");
  std::vector<double> difference(a.begin(), a.end());
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= b[i];
  const double distance = norm(difference);
  return distance == 0 ? 0 : distance / norm(b);
}

double cosine(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw Error(ErrorCode::InvalidArgument, "Tensors of different sizes.");
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) dot += a[i] * b[i];
  return dot / (norm(a) * norm(b));
}

}  // namespace lathe::testing
