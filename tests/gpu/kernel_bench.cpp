// Own memory-bound kernels at the 977m shapes beside a copy of the same bytes: in a graph, buffers rotating
// over more than four times the L2 cache.
#include "tests/gpu/kernel_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/api/cost.h"
#include "kernels/api/target.h"
#include "tests/gpu/copy_bench.h"

namespace lathe::test {

namespace {

// A program of many copies of one op, each with tensors of its own; shared ones (weights, scalars) are added
// once.
class Repeated {
 public:
  explicit Repeated(const ExecutionTarget& target) : target_(target) {}

  TensorId tensor(DType dtype, Shape shape) {
    Buffer buffer;
    buffer.name = std::to_string(program.buffers.size());
    buffer.bytes = (shape.elements() * dtype_bytes(dtype) + 255) / 256 * 256;
    buffer.lifetime = Lifetime::Run;
    Tensor tensor;
    tensor.name = buffer.name;
    tensor.buffer = static_cast<BufferId>(program.buffers.size());
    tensor.dtype = dtype;
    tensor.shape = shape;
    for (int i = shape.rank - 2; i >= 0; --i)
      tensor.strides[static_cast<size_t>(i)] = tensor.strides[static_cast<size_t>(i + 1)] * shape[i + 1];
    program.buffers.push_back(buffer);
    program.tensors.push_back(tensor);
    return static_cast<TensorId>(program.tensors.size() - 1);
  }

  // [rows, heads, dim] views side by side in one buffer.
  std::vector<TensorId> head_views(DType dtype, int64_t rows, const std::vector<int64_t>& heads,
                                   int64_t dim) {
    const int64_t all = std::accumulate(heads.begin(), heads.end(), int64_t{0});
    const TensorId whole = tensor(dtype, {rows, all, dim});
    std::vector<TensorId> views;
    int64_t offset = 0;
    for (const int64_t count : heads) {
      Tensor view = program.tensor(whole);
      view.shape = {rows, count, dim};
      view.offset_bytes = offset * dim * dtype_bytes(dtype);
      offset += count;
      program.tensors.push_back(view);
      views.push_back(static_cast<TensorId>(program.tensors.size() - 1));
    }
    return views;
  }

  void add(Op op) {
    const int64_t bytes = workspace_bytes(target_, program, op);
    if (bytes > 0) op.operands.push_back({tensor(DType::U8, {bytes}), Access::Scratch});
    program.sequence(SequenceId::MicroFirst).ops.push_back(std::move(op));
  }

  MemoryPlan plan() const {
    MemoryPlan plan;
    for (const Buffer& buffer : program.buffers) {
      plan.offsets.push_back(plan.arena_bytes);
      plan.arena_bytes += buffer.bytes;
    }
    plan.persistent_bytes = plan.arena_bytes;
    return plan;
  }

  StepProgram program;

 private:
  ExecutionTarget target_;
};

struct Bench {
  std::string name;
  std::function<Op(Repeated&)> make;
  // What the host fills in: tensors of indices.
  std::function<void(Repeated&, Executable&)> fill = [](Repeated&, Executable&) {};
  double extra_bytes = 0;  // moved beyond op_cost's bytes
};

constexpr int64_t kRows = 4096, kHidden = 1792, kFfn = 4736, kVocab = 32000, kHeads = 16, kHeadDim = 112;
constexpr DType kF = DType::BF16, kW = DType::F32;

void run_bench(Backend& backend, const Bench& bench, int copies) {
  Repeated repeated(backend.device().target);
  for (int i = 0; i < copies; ++i) repeated.add(bench.make(repeated));
  const MemoryPlan plan = repeated.plan();
  const std::unique_ptr<Executable> executable = backend.prepare(repeated.program, plan, {});
  // Random values of ±[0.5, 2) in all but indices.
  std::mt19937 engine(3);
  std::vector<uint32_t> noise(1 << 20);
  for (uint32_t& word : noise) word = (static_cast<uint32_t>(engine()) & 0x80FF80FFu) | 0x3F003F00u;
  for (size_t t = 0; t < repeated.program.tensors.size(); ++t) {
    const Tensor& tensor = repeated.program.tensors[t];
    if (tensor.dtype == DType::I32 || !tensor.contiguous()) continue;
    const auto bytes = std::as_bytes(std::span(noise));
    for (int64_t at = 0; at < tensor.bytes(); at += static_cast<int64_t>(bytes.size()))
      executable->write(static_cast<TensorId>(t),
                        bytes.first(static_cast<size_t>(
                            std::min<int64_t>(tensor.bytes() - at, static_cast<int64_t>(bytes.size())))),
                        at);
  }
  bench.fill(repeated, *executable);
  executable->wait(executable->run(SequenceId::MicroFirst));
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    constexpr int kReplays = 10;
    const auto start = std::chrono::steady_clock::now();
    Ticket last = 0;
    for (int i = 0; i < kReplays; ++i) last = executable->run(SequenceId::MicroFirst);
    executable->wait(last);
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    times.push_back(elapsed.count() / (kReplays * copies));
  }
  std::sort(times.begin(), times.end());
  const Op& op = repeated.program.sequence(SequenceId::MicroFirst).ops.front();
  const double bytes = op_cost(repeated.program, op).bytes + bench.extra_bytes;
  const double copy = copy_microseconds(static_cast<int64_t>(bytes));
  std::printf("%-26s %8.1f MB %8.1f us %6.2f TB/s   copy %8.1f us %6.2f TB/s   %5.1f%%\n", bench.name.c_str(),
              bytes / 1e6, times[2], bytes / times[2] / 1e6, copy, bytes / copy / 1e6, 100 * copy / times[2]);
  std::fflush(stdout);
}

Op op_of(OpKind kind, std::vector<Operand> operands) {
  Op op;
  op.kind = kind;
  op.operands = std::move(operands);
  op.attributes.eps = 1e-5;
  op.attributes.context = kRows;
  op.attributes.valid_vocab = kVocab;
  return op;
}

std::vector<Bench> benches() {
  using A = Access;
  std::vector<Bench> list;
  list.push_back({"rms norm", [](Repeated& r) {
                    return op_of(OpKind::RmsNorm, {{r.tensor(kF, {kRows, kHidden})},
                                                   {r.tensor(kW, {kHidden})},
                                                   {r.tensor(kF, {kRows, kHidden}), A::Write},
                                                   {r.tensor(kW, {kRows}), A::Write}});
                  }});
  for (const bool emit : {false, true}) {
    list.push_back({emit ? "rms norm backward + y" : "rms norm backward", [emit](Repeated& r) {
                      return op_of(OpKind::RmsNormBackward,
                                   {{r.tensor(kF, {kRows, kHidden})},
                                    {r.tensor(kW, {kHidden})},
                                    {r.tensor(kW, {kRows})},
                                    {r.tensor(kF, {kRows, kHidden})},
                                    {r.tensor(kF, {kRows, kHidden}), A::Accumulate},
                                    {r.tensor(kW, {kHidden}), A::Accumulate},
                                    {emit ? r.tensor(kF, {kRows, kHidden}) : kNone, A::Write}});
                    }});
  }
  list.push_back(
      {"rope", [](Repeated& r) {
         const auto views = r.head_views(kF, kRows, {kHeads, kHeads, kHeads}, kHeadDim);
         return op_of(
             OpKind::Rope,
             {{views[0], A::InPlace}, {views[1], A::InPlace}, {r.tensor(kW, {kRows, kHeadDim})}, {kNone}});
       }});
  list.push_back({"swiglu", [](Repeated& r) {
                    return op_of(OpKind::SwiGlu, {{r.tensor(kF, {kRows, 2 * kFfn})},
                                                  {r.tensor(kF, {kRows, kFfn}), A::Write}});
                  }});
  for (const bool emit : {false, true}) {
    list.push_back({emit ? "swiglu backward + y" : "swiglu backward", [emit](Repeated& r) {
                      return op_of(OpKind::SwiGluBackward,
                                   {{r.tensor(kF, {kRows, 2 * kFfn}), A::InPlace},
                                    {r.tensor(kF, {kRows, kFfn})},
                                    {emit ? r.tensor(kF, {kRows, kFfn}) : kNone, A::Write}});
                    }});
  }
  list.push_back({"classifier loss", [](Repeated& r) {
                    return op_of(OpKind::ClassifierLoss, {{r.tensor(kF, {kRows, kVocab}), A::InPlace},
                                                          {r.tensor(DType::I32, {kRows})},
                                                          {r.tensor(kW, {kStepScalarCount})},
                                                          {r.tensor(kW, {kRows}), A::Write},
                                                          {kNone, A::Write}});
                  }});
  list.push_back({"classifier loss 152k", [](Repeated& r) {
                    return op_of(OpKind::ClassifierLoss, {{r.tensor(kF, {1024, 151936}), A::InPlace},
                                                          {r.tensor(DType::I32, {1024})},
                                                          {r.tensor(kW, {kStepScalarCount})},
                                                          {r.tensor(kW, {1024}), A::Write},
                                                          {kNone, A::Write}});
                  }});
  for (const DType state : {DType::U8, DType::F32}) {
    for (const DType master : {DType::I16, DType::F32}) {
      list.push_back({std::string("adamw ") + std::string(dtype_name(state)) + " master " +
                          std::string(dtype_name(master)),
                      [=](Repeated& r) {
                        const int64_t n = int64_t{32} << 20;
                        const bool codes = state == DType::U8;
                        Op op = op_of(OpKind::AdamW,
                                      {{r.tensor(kF, {n})},
                                       {r.tensor(kF, {n}), master == DType::I16 ? A::InPlace : A::Write},
                                       {r.tensor(master, {n}), A::InPlace},
                                       {r.tensor(state, {n}), A::InPlace},
                                       {r.tensor(state, {n}), A::InPlace},
                                       {codes ? r.tensor(kW, {n / 256}) : kNone, A::InPlace},
                                       {codes ? r.tensor(kW, {n / 256}) : kNone, A::InPlace},
                                       {r.tensor(kW, {kStepScalarCount})},
                                       {r.tensor(kW, {4})}});
                        op.attributes.beta1 = 0.9;
                        op.attributes.beta2 = 0.95;
                        return op;
                      },
                      [](Repeated& r, Executable& e) {  // nothing is skipped
                        const std::vector<float> scalars{1, 1e-4f, 0.5f, 0.5f, 0, 0, 1, 2}, clip{1, 1, 0, 0};
                        for (const Op& op : r.program.sequence(SequenceId::MicroFirst).ops) {
                          e.write(op.tensor(slot::AdamW::Scalars), std::as_bytes(std::span(scalars)));
                          e.write(op.tensor(slot::AdamW::Clip), std::as_bytes(std::span(clip)));
                        }
                      }});
    }
  }
  list.push_back({"gradient norm", [](Repeated& r) {
                    if (r.program.groups.empty()) {
                      r.program.groups.emplace_back();
                      r.program.groups[0].parameters = {0};
                      r.program.parameters.emplace_back();
                      r.program.parameters[0].shape = {8192, 8192};
                    }
                    Op op = op_of(OpKind::GradientNorm,
                                  {{r.tensor(kF, {8192 * 8192})}, {r.tensor(kW, {1}), A::Accumulate}});
                    op.attributes.group = 0;
                    return op;
                  }});
  return list;
}

}  // namespace

void bench_kernels(Backend& backend) {
  std::printf("own kernels beside a copy of the same bytes (977m, 4096 tokens, bf16)\n");
  for (const Bench& bench : benches()) run_bench(backend, bench, 12);
}

}  // namespace lathe::test
