// A whole training step of a preset on random weights and tokens: speed, memory, and where the time goes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "core/config/config_text.h"
#include "core/config/presets.h"
#include "core/program/auto_settings.h"
#include "core/program/memory_plan.h"
#include "core/program/program_builder.h"
#include "kernels/api/cost.h"
#include "tests/gpu/kernel_bench.h"

namespace lathe::test {

namespace {

// BF16 or FP32 bit patterns of normal(0, 0.02) values, over and over.
void write_weights(const StepProgram& program, Executable& executable) {
  std::mt19937 engine(5);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> wide(1 << 22);
  for (float& value : wide) value = normal(engine);
  std::vector<uint16_t> narrow(wide.size());
  for (size_t i = 0; i < wide.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &wide[i], 4);
    narrow[i] = static_cast<uint16_t>((bits + 0x8000u) >> 16);
  }
  const auto fill = [&](TensorId id) {
    if (id == kNone) return;
    const Tensor& tensor = program.tensor(id);
    if (tensor.dtype == DType::I16) return;  // a remainder of zero is a rounded weight
    const auto source =
        tensor.dtype == DType::BF16 ? std::as_bytes(std::span(narrow)) : std::as_bytes(std::span(wide));
    for (int64_t at = 0; at < tensor.bytes(); at += static_cast<int64_t>(source.size()))
      executable.write(id, source.first(std::min(source.size(), static_cast<size_t>(tensor.bytes() - at))),
                       at);
  };
  for (const ParameterGroup& group : program.groups) {
    fill(group.weight);
    fill(group.master);
  }
  for (const Parameter& parameter : program.parameters) {
    if (!parameter.init_one) continue;
    const std::vector<float> ones(static_cast<size_t>(parameter.elements()), 1.0f);
    if (program.tensor(parameter.weight).dtype == DType::F32)
      executable.write(parameter.weight, std::as_bytes(std::span(ones)));
  }
}

void write_batch(const StepProgram& program, Executable& executable, int64_t vocab, int64_t accumulation) {
  const ProgramPorts& ports = program.ports;
  const size_t rows = static_cast<size_t>(program.tensor(ports.tokens).elements());
  std::mt19937 engine(9);
  std::uniform_int_distribution<int32_t> token(0, static_cast<int32_t>(vocab) - 1);
  std::vector<int32_t> tokens(rows), targets(rows), order(rows);
  for (int32_t& value : tokens) value = token(engine);
  for (int32_t& value : targets) value = token(engine);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return tokens[static_cast<size_t>(a)] < tokens[static_cast<size_t>(b)];
  });
  executable.write(ports.tokens, std::as_bytes(std::span(tokens)));
  executable.write(ports.targets, std::as_bytes(std::span(targets)));
  executable.write(ports.token_order, std::as_bytes(std::span(order)));
  const std::vector<float> scalars{1.0f / static_cast<float>(static_cast<int64_t>(rows) * accumulation),
                                   1e-5f,
                                   0.5f,
                                   0.5f,
                                   1.0f,
                                   0.0f,
                                   3.0f,
                                   4.0f};
  executable.write(ports.scalars, std::as_bytes(std::span(scalars)));
  const Tensor& table = program.tensor(ports.rope_table);
  const int64_t context = table.shape[0], dim = table.shape[1];
  std::vector<float> angles(static_cast<size_t>(context * dim));
  for (int64_t t = 0; t < context; ++t) {
    for (int64_t i = 0; i < dim / 2; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
      angles[static_cast<size_t>(t * dim + i)] = static_cast<float>(std::cos(angle));
      angles[static_cast<size_t>(t * dim + dim / 2 + i)] = static_cast<float>(std::sin(angle));
    }
  }
  executable.write(ports.rope_table, std::as_bytes(std::span(angles)));
}

struct Row {
  int count = 0;
  double milliseconds = 0, floor = 0;
};

// Floors from one GPU's measured rates: GEMM and attention at 750 TFLOP/s, memory at 4.3 TB/s (H200).
constexpr double kMatrixRate = 750e12, kMemoryRate = 4.3e12;

void print_profile(const StepProgram& program, Executable& executable, SequenceId sequence) {
  executable.profile(sequence);
  const std::vector<double> times = executable.profile(sequence);
  const std::vector<Op>& ops = program.sequence(sequence).ops;
  std::map<std::string, Row> rows;
  double total = 0, total_floor = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpCost cost = op_cost(program, ops[i]);
    std::string name(op_kind_name(ops[i].kind));
    if (cost.unit == Unit::Matrix) {
      const int out = slot_count(ops[i].kind) - 1;
      const Shape &a = program.tensor(ops[i].tensor(0)).shape, &b = program.tensor(ops[i].tensor(out)).shape;
      name.append(" ")
          .append(std::to_string(a[a.rank - 1]))
          .append("->")
          .append(std::to_string(b[b.rank - 1]));
    }
    if (ops[i].phase == Phase::Recompute) name += " (again)";
    Row& row = rows[name];
    const double floor = std::max(cost.executed_flops / kMatrixRate, cost.bytes / kMemoryRate) * 1e3;
    ++row.count;
    row.milliseconds += times[i];
    row.floor += floor;
    total += times[i];
    total_floor += floor;
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.milliseconds > b.second.milliseconds; });
  std::printf("%s: %.3f ms in ops, floor %.3f\n", std::string(sequence_name(sequence)).c_str(), total,
              total_floor);
  for (const auto& [name, row] : sorted)
    std::printf("  %-40s %4d x %8.1f us = %8.3f ms %5.1f%%   floor %8.3f ms\n", name.c_str(), row.count,
                row.milliseconds * 1e3 / row.count, row.milliseconds, 100 * row.milliseconds / total,
                row.floor);
}

}  // namespace

void bench_step(Backend& backend, const std::string& preset, const std::vector<std::string>& settings) {
  RunConfig config = load_preset(preset);
  for (const std::string& setting : settings) apply_assignment(config, setting);
  const ExecutionTarget target = backend.device().target;
  config = resolve_auto(config, {target, 0, -1});
  const StepProgram program = build_step_program(config, training_options(config, target));
  const MemoryPlan plan = plan_memory(program);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  const auto preparing = now();
  const std::unique_ptr<Executable> executable = backend.prepare(program, plan, {});
  const double prepare_s = seconds(preparing, now());
  write_weights(program, *executable);
  write_batch(program, *executable, config.model.vocab, config.batch.accumulation);

  const std::vector<TensorId> fetch{program.ports.loss_sums, program.ports.clip};
  std::vector<std::byte> fetched(24);
  const auto update = [&] {
    for (int64_t micro = 0; micro < config.batch.accumulation; ++micro)
      executable->run(micro == 0 ? SequenceId::MicroFirst : SequenceId::MicroRest);
    return executable->run(SequenceId::Update, fetch);
  };
  executable->wait(update(), fetched);
  std::vector<double> times;
  const auto start = now();
  while (times.size() < 3 || seconds(start, now()) < 4) {
    const auto begin = now();
    executable->wait(update(), fetched);
    times.push_back(seconds(begin, now()));
  }
  std::sort(times.begin(), times.end());
  float result[6];
  std::memcpy(result, fetched.data(), sizeof result);
  const double tokens =
      static_cast<double>(program.tensor(program.ports.tokens).elements() * config.batch.accumulation);
  const double median = times[times.size() / 2];
  const MemoryReport memory = executable->memory();
  std::string title = preset;
  for (const std::string& setting : settings) title += " " + setting;
  std::printf("%s: %.0f tokens/s (median of %zu updates, %.4f s, spread %.4f-%.4f), loss %.4f, norm %.3f\n",
              title.c_str(), tokens / median, times.size(), median, times.front(), times.back(),
              result[0] / tokens, result[2]);
  std::printf("  prepare %.1f s, arena %.2f GiB, process %.2f GiB, overhead %.0f MiB%s\n", prepare_s,
              static_cast<double>(memory.arena_bytes) / (1 << 30),
              static_cast<double>(memory.process_bytes) / (1 << 30),
              static_cast<double>(memory.overhead_bytes) / (1 << 20), memory.inferred ? " (inferred)" : "");
  print_profile(program, *executable, SequenceId::MicroRest);
  print_profile(program, *executable, SequenceId::Update);
  std::fflush(stdout);
}

}  // namespace lathe::test
