// AdamW on given tensors, one update after the other, through a backend: what against_bitsandbytes.py
// compares with other implementations. A filter: one record in, one record out, an update each, until the
// input ends.
//
//   lathe_adamw_steps --elements N [--device cpu|cuda] [--gradients fp32|bf16] [--weights fp32|bf16]
//                     [--master none|fp32|split] [--states fp32|bf16|8bit] [--lr --beta1 --beta2 --eps
//                     --decay]
//
// In:  'c' (carry on), or 'r' followed by FP32 weights [N] and with --states 8bit the moments to start from:
// codes
//      of m [N], of v [N], FP32 scales of m, of v [N/256]; then FP32 gradients [N].
// Out: FP32 weights [N] (the master where there is one), then m and v as stored, then with 8bit their scales.
// --maps writes the signed and the unsigned 8-bit map instead, 256 FP32 values each.
// At first the moments are zero. The step counts from 1, also over 'r'; --first-step starts it elsewhere.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>

#include "app/common/backends.h"
#include "kernels/api/error.h"
#include "kernels/api/numerics.h"
#include "tests/support/op_program.h"

namespace lathe::test {
namespace {

struct Options {
  int64_t elements = 0, first_step = 1, seed = 1;
  std::string device = "cuda";
  DType gradients = DType::F32, weights = DType::F32, states = DType::U8;
  std::string master = "none";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0;
};

template <class T>
bool read_values(std::vector<T>& values, int64_t count) {
  values.resize(static_cast<size_t>(count));
  return std::fread(values.data(), sizeof(T), values.size(), stdin) == values.size();
}

template <class T>
void write_values(const std::vector<T>& values) {
  if (std::fwrite(values.data(), sizeof(T), values.size(), stdout) != values.size())
    throw Error(ErrorCode::Io, "The reader of the updates is gone.");
}

class AdamWSteps {
 public:
  AdamWSteps(const Options& options, Backend& backend) : options_(options), program_(OpKind::AdamW) {
    const Shape shape{options.elements}, scales{options.elements / kStateBlock};
    OpAttributes& a = program_.op().attributes;
    a.beta1 = options.beta1;
    a.beta2 = options.beta2;
    a.eps = options.eps;
    a.weight_decay = options.decay;
    a.group = 0;
    const auto operand = [&](DType dtype, const Shape& of, Access access) {
      const TensorId id = program_.add_tensor(dtype, of);
      program_.add_operand(id, access);
      return id;
    };
    const auto absent = [&] { program_.add_operand(kNone, Access::Read); };
    gradient_ = operand(options.gradients, shape, Access::Read);
    weight_ = operand(options.weights, shape, options.master == "fp32" ? Access::Write : Access::InPlace);
    if (options.master == "none") {
      absent();
    } else {
      master_ = operand(options.master == "fp32" ? DType::F32 : DType::I16, shape, Access::InPlace);
    }
    moments_[0] = operand(options.states, shape, Access::InPlace);
    moments_[1] = operand(options.states, shape, Access::InPlace);
    for (TensorId& scale : scales_) {
      if (options.states == DType::U8) {
        scale = operand(DType::F32, scales, Access::InPlace);
      } else {
        absent();
      }
    }
    scalars_ = operand(DType::F32, {kStepScalarCount}, Access::Read);
    clip_ = operand(DType::F32, {4}, Access::Read);
    program_.add_workspace(backend.device().target);
    plan_ = program_.plan();
    executable_ = backend.prepare(program_.program, plan_, {});
    write(clip_, std::vector<float>{1, 1, 0, 0});
    if (options.states == DType::U8) {
      // A scale of zero makes any code zero; the signed map's own zero is code 127.
      write(moments_[0],
            std::vector<uint8_t>(static_cast<size_t>(options.elements), uint8_t{kSignedZeroCode}));
    }
  }

  // False at the end of the input.
  bool update(int64_t step) {
    const int begin = std::getchar();
    if (begin == EOF) return false;
    std::vector<float> values;
    if (begin == 'r') {
      if (!read_values(values, options_.elements)) return false;
      set_weights(values);
      if (options_.states == DType::U8 && !read_moments()) return false;
    }
    if (!read_values(values, options_.elements)) return false;
    write_float(gradient_, values);
    write_scalars(step);
    executable_->wait(executable_->run(OpProgram::kSequence));
    write_values(weights());
    for (const TensorId moment : moments_) write_values(bytes(moment));
    for (const TensorId scale : scales_)
      if (scale != kNone) write_values(bytes(scale));
    std::fflush(stdout);
    return true;
  }

 private:
  template <class T>
  void write(TensorId id, const std::vector<T>& values) {
    executable_->write(id, std::as_bytes(std::span(values)));
  }

  template <class T>
  std::vector<T> read(TensorId id) {
    std::vector<T> values(static_cast<size_t>(program_.program.tensor(id).elements()));
    executable_->read(id, std::as_writable_bytes(std::span(values)));
    return values;
  }

  std::vector<std::byte> bytes(TensorId id) {
    std::vector<std::byte> values(static_cast<size_t>(program_.program.tensor(id).bytes()));
    executable_->read(id, values);
    return values;
  }

  void write_float(TensorId id, const std::vector<float>& values) {
    if (program_.program.tensor(id).dtype == DType::F32) return write(id, values);
    std::vector<Bf16> narrow(values.size());
    std::transform(values.begin(), values.end(), narrow.begin(), to_bf16);
    write(id, narrow);
  }

  bool read_moments() {
    for (const TensorId moment : moments_) {
      std::vector<uint8_t> codes;
      if (!read_values(codes, options_.elements)) return false;
      write(moment, codes);
    }
    for (const TensorId scale : scales_) {
      std::vector<float> values;
      if (!read_values(values, options_.elements / kStateBlock)) return false;
      write(scale, values);
    }
    return true;
  }

  void set_weights(const std::vector<float>& values) {
    if (options_.master == "none") return write_float(weight_, values);
    if (options_.master == "fp32") write(master_, values);
    std::vector<Bf16> high(values.size());
    std::transform(values.begin(), values.end(), high.begin(), to_bf16_ties_away);
    write(weight_, high);
    if (options_.master == "fp32") return;
    std::vector<int16_t> low(values.size());
    std::transform(values.begin(), values.end(), low.begin(), split_remainder);
    write(master_, low);
  }

  std::vector<float> weights() {
    if (options_.master == "fp32") return read<float>(master_);
    if (options_.weights == DType::F32) return read<float>(weight_);
    const std::vector<Bf16> high = read<Bf16>(weight_);
    std::vector<float> values(high.size());
    std::transform(high.begin(), high.end(), values.begin(), to_float);
    if (options_.master == "split") {
      const std::vector<int16_t> low = read<int16_t>(master_);
      std::transform(high.begin(), high.end(), low.begin(), values.begin(), join_master);
    }
    return values;
  }

  void write_scalars(int64_t step) {
    std::vector<float> scalars(kStepScalarCount);
    const auto set = [&](StepScalar which, double value) {
      scalars[static_cast<size_t>(which)] = static_cast<float>(value);
    };
    set(StepScalar::InvValidTokens, 1);
    set(StepScalar::LearningRate, options_.lr);
    set(StepScalar::BiasCorrection1, 1 - std::pow(options_.beta1, static_cast<double>(step)));
    set(StepScalar::BiasCorrection2, 1 - std::pow(options_.beta2, static_cast<double>(step)));
    set(StepScalar::RandomLow, static_cast<double>(step));
    set(StepScalar::RandomHigh, static_cast<double>(options_.seed));
    write(scalars_, scalars);
  }

  Options options_;
  OpProgram program_;
  MemoryPlan plan_;
  TensorId gradient_ = kNone, weight_ = kNone, master_ = kNone, moments_[2] = {kNone, kNone},
           scales_[2] = {kNone, kNone}, scalars_ = kNone, clip_ = kNone;
  std::unique_ptr<Executable> executable_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app{
      "AdamW on given tensors: reads updates from standard input, writes results to standard output"};
  const std::map<std::string, DType> floats = {{"fp32", DType::F32}, {"bf16", DType::BF16}};
  const std::map<std::string, DType> states = {
      {"fp32", DType::F32}, {"bf16", DType::BF16}, {"8bit", DType::U8}};
  app.add_option("--elements", options.elements, "A multiple of 256")->check(CLI::Range(256, 1 << 28));
  app.add_option("--device", options.device);
  app.add_option("--gradients", options.gradients)->transform(CLI::CheckedTransformer(floats));
  app.add_option("--weights", options.weights)->transform(CLI::CheckedTransformer(floats));
  app.add_option("--master", options.master)->check(CLI::IsMember({"none", "fp32", "split"}));
  app.add_option("--states", options.states)->transform(CLI::CheckedTransformer(states));
  app.add_option("--lr", options.lr);
  app.add_option("--beta1", options.beta1);
  app.add_option("--beta2", options.beta2);
  app.add_option("--eps", options.eps);
  app.add_option("--decay", options.decay);
  app.add_option("--seed", options.seed, "Of stochastic rounding");
  app.add_option("--first-step", options.first_step);
  bool maps = false;
  app.add_flag("--maps", maps);
  CLI11_PARSE(app, argc, argv);
  if (maps) {
    for (const bool is_signed : {true, false}) {
      const DynamicMap map = make_dynamic_map(is_signed);
      write_values(std::vector<float>(std::begin(map.values), std::end(map.values)));
    }
    return 0;
  }
  if (options.elements == 0 || options.elements % kStateBlock != 0)
    throw Error(ErrorCode::InvalidArgument, "--elements must be a multiple of 256.");
  const BackendRegistry registry = make_backends();
  AdamWSteps steps(options, find_backend(registry, options.device));
  for (int64_t step = options.first_step; steps.update(step);) ++step;
  return 0;
}

}  // namespace
}  // namespace lathe::test

int main(int argc, char** argv) {
  try {
    return lathe::test::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
