// Proves the own attention kernels on a GPU and times them.
//
//   attention_check [check] [time] [once] [--kernel mma_sync|wgmma|fp32] [--cases N] [--seed N]
//
// check: every result against FP64 (attention_reference.cuh) on odd shapes, with views inside poisoned rows,
// guard zones, poisoned outputs and workspace, documents, and equal bits from repeated runs. Bounds: FP32
// 1e-5 of the result's norm. In BF16 a rounding costs 2^-9/sqrt(3) = 1.1e-3 of the norm; o is rounded twice
// (P and o itself), gradients up to four times (P or dS, o within delta, the result; dS cancels), hence 3e-3
// and 6e-3, and twice that for any single row. time: graph replays over rotating buffers, microseconds a
// call. Exit status: 0 all well, 1 a failure, 77 no GPU.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/api/error.h"
#include "kernels/cuda/attention_own.h"
#include "tests/gpu/attention_problem.cuh"
#include "tests/gpu/attention_reference.cuh"

namespace {

using namespace lathe;
using namespace lathe::attention_test;

struct Case {
  AttentionShape shape;
  bool documents;
};

struct Failures {
  int count = 0;
  void expect(bool ok, const std::string& what) {
    if (ok) return;
    ++count;
    std::printf("  FAILED %s\n", what.c_str());
  }
};

double value_of(float x) {
  return x;
}
double value_of(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

struct Distance {
  double whole = 0;      // ‖got − want‖ / ‖want‖
  double worst_row = 0;  // the same of the worst row, over at least the mean row norm
};
template <class T>
Distance distance(const std::vector<T>& got, int64_t row_stride, const std::vector<double>& want,
                  int64_t columns) {
  const int64_t rows = static_cast<int64_t>(want.size()) / columns;
  double error = 0, norm = 0, worst = 0;
  for (const double w : want) norm += w * w;
  norm =
      std::max(norm, 0.01 * static_cast<double>(want.size()));  // with a single key, dq and dk are exactly 0
  const double mean_row = std::sqrt(norm / static_cast<double>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    double row_error = 0, row_norm = 0;
    for (int64_t c = 0; c < columns; ++c) {
      const double w = want[static_cast<size_t>(r * columns + c)];
      const double difference = value_of(got[static_cast<size_t>(r * row_stride + c)]) - w;
      row_error += difference * difference;
      row_norm += w * w;
    }
    error += row_error;
    const double ratio = std::sqrt(row_error) / std::max(std::sqrt(row_norm), mean_row);
    if (!(ratio <= worst)) worst = ratio;  // NaN wins
  }
  return {std::sqrt(error / norm), worst};
}

// Every byte outside the view's columns still holds the poison.
template <class T>
bool untouched(const std::vector<T>& buffer, int64_t offset, int64_t row_stride, int64_t columns,
               int64_t rows, unsigned char poison) {
  for (size_t i = 0; i < buffer.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) - offset;
    if (at >= 0 && at < rows * row_stride && at % row_stride < columns) continue;
    const auto* bytes = reinterpret_cast<const unsigned char*>(&buffer[i]);
    for (size_t b = 0; b < sizeof(T); ++b) {
      if (bytes[b] != poison) return false;
    }
  }
  return true;
}

template <class T>
void check(const Case& c, DType dtype, AttentionKernel kernel, uint64_t seed, Failures& failures) {
  const AttentionShape& s = c.shape;
  Problem<T> p(s, dtype, c.documents);
  const auto q_count = static_cast<size_t>(p.rows * p.q_columns);
  const auto kv_count = static_cast<size_t>(p.rows * p.kv_columns);
  const auto row_count = static_cast<size_t>(s.batch * s.heads * s.context);
  DeviceArray<double> q(q_count), grad(q_count), o(q_count), dq(q_count), k(kv_count), v(kv_count),
      dk(kv_count), dv(kv_count), lse(row_count), delta(row_count);
  p.draw_inputs(seed, q.data(), k.data(), v.data(), grad.data());
  const AttentionForwardCall forward = p.forward_call(dtype);
  const reference::Problem want{static_cast<int>(s.batch),
                                static_cast<int>(s.context),
                                static_cast<int>(s.heads),
                                static_cast<int>(s.kv_heads),
                                static_cast<int>(s.head_dim),
                                forward.scale,
                                forward.document_start,
                                q.data(),
                                k.data(),
                                v.data(),
                                grad.data(),
                                o.data(),
                                lse.data(),
                                delta.data(),
                                dq.data(),
                                dk.data(),
                                dv.data()};
  must(reference::run(want), "reference");

  std::vector<T> first_o, first_dqkv;
  std::vector<float> first_lse;
  char name_text[96];
  std::snprintf(name_text, sizeof name_text, "B%lld T%lld H%lld K%lld D%lld%s",
                static_cast<long long>(s.batch), static_cast<long long>(s.context),
                static_cast<long long>(s.heads), static_cast<long long>(s.kv_heads),
                static_cast<long long>(s.head_dim), c.documents ? " documents" : "");
  const std::string name = name_text;
  const int kPoisons[] = {0xff, 0x7f, 0xff};  // NaN in both formats, 3.4e38 or NaN, and once more the same
  for (int run = 0; run < 3; ++run) {
    p.poison(kPoisons[run]);
    attention_forward(forward, nullptr, kernel);
    attention_backward(p.backward_call(dtype), nullptr, kernel);
    must(cudaDeviceSynchronize(), name.c_str());
    const auto got_o = p.o.download();
    const auto got_lse = p.lse.download();
    const auto got = p.dqkv.download();
    const auto bytes = p.workspace.download();
    const auto poison = static_cast<unsigned char>(kPoisons[run]);
    failures.expect(untouched(got_o, p.kMargin, p.q_columns, p.q_columns, p.rows, poison),
                    name + ": guard of o");
    failures.expect(untouched(got, p.kMargin, p.stride, p.stride - p.kGap, p.rows, poison),
                    name + ": guard of dqkv");
    failures.expect(untouched(got_lse, p.kMargin, s.context, s.context, s.batch * s.heads, poison),
                    name + ": guard of lse");
    failures.expect(std::all_of(bytes.begin() + static_cast<int64_t>(p.workspace_bytes), bytes.end(),
                                [&](unsigned char b) { return b == poison; }),
                    name + ": guard of workspace");
    if (run == 0) {
      first_o = {got_o.begin() + p.kMargin, got_o.end() - p.kMargin};
      first_lse = {got_lse.begin() + p.kMargin, got_lse.end() - p.kMargin};
      first_dqkv = {got.begin() + p.kMargin, got.end() - p.kMargin};
      continue;
    }
    bool same = std::memcmp(first_o.data(), got_o.data() + p.kMargin, first_o.size() * sizeof(T)) == 0 &&
                std::memcmp(first_lse.data(), got_lse.data() + p.kMargin, first_lse.size() * 4) == 0;
    for (int64_t r = 0; r < p.rows; ++r) {
      same &= std::memcmp(first_dqkv.data() + r * p.stride, got.data() + p.kMargin + r * p.stride,
                          static_cast<size_t>(p.stride - p.kGap) * sizeof(T)) == 0;
    }
    failures.expect(same, name + ": equal bits in run " + std::to_string(run));
  }

  const double o_bound = dtype == DType::F32 ? 1e-5 : 3e-3;
  const double gradient_bound = dtype == DType::F32 ? 1e-5 : 6e-3;
  std::printf("%-42s", name.c_str());
  auto compare = [&](const char* what, const std::vector<T>& got, int64_t offset, int64_t stride,
                     const DeviceArray<double>& expected, int64_t columns, double bound) {
    const std::vector<T> from(got.begin() + offset, got.end());
    const Distance d = distance(from, stride, expected.download(), columns);
    std::printf(" %s %.1e/%.1e", what, d.whole, d.worst_row);
    failures.expect(d.whole <= bound && d.worst_row <= 4 * bound, name + ": error of " + what);
  };
  compare("o", first_o, 0, p.q_columns, o, p.q_columns, o_bound);
  compare("dq", first_dqkv, 0, p.stride, dq, p.q_columns, gradient_bound);
  compare("dk", first_dqkv, p.q_columns, p.stride, dk, p.kv_columns, gradient_bound);
  compare("dv", first_dqkv, p.q_columns + p.kv_columns, p.stride, dv, p.kv_columns, gradient_bound);
  const std::vector<double> want_lse = lse.download();
  double lse_error = 0;
  for (size_t i = 0; i < want_lse.size(); ++i) {
    const double e = std::fabs(first_lse[i] - want_lse[i]) / std::max(1.0, std::fabs(want_lse[i]));
    if (!(e <= lse_error)) lse_error = e;
  }
  std::printf(" lse %.1e\n", lse_error);
  failures.expect(lse_error <= 1e-5, name + ": error of lse");  // inputs are exact, so this holds in BF16 too
}

// Median microseconds of a call from replays of a graph of 16 calls over four sets of buffers.
template <class Body>
double graph_us(const Body& body) {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  constexpr int kCalls = 16;
  body(0, stream);
  must(cudaStreamSynchronize(stream), "first call");
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  for (int i = 0; i < kCalls; ++i) body(i % 4, stream);
  must(cudaStreamEndCapture(stream, &graph), "capture");
  must(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "cudaEventCreate");
  must(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int replay = 0; replay < 14; ++replay) {
    must(cudaEventRecord(begin, stream), "cudaEventRecord");
    must(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    must(cudaEventRecord(end, stream), "cudaEventRecord");
    must(cudaEventSynchronize(end), "replay");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    if (replay >= 4) times.push_back(ms * 1000 / kCalls);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class T>
void time_shape(const AttentionShape& s, DType dtype, AttentionKernel kernel, uint64_t seed) {
  std::vector<Problem<T>> sets;
  for (int i = 0; i < 4; ++i) {
    sets.emplace_back(s, dtype, false);
    sets.back().draw_inputs(seed + 10 * static_cast<uint64_t>(i), nullptr, nullptr, nullptr, nullptr);
    attention_forward(sets.back().forward_call(dtype), nullptr, kernel);
  }
  must(cudaDeviceSynchronize(), "inputs");
  auto forward = [&](int i, cudaStream_t stream) {
    attention_forward(sets[static_cast<size_t>(i)].forward_call(dtype), stream, kernel);
  };
  auto backward = [&](int i, cudaStream_t stream) {
    attention_backward(sets[static_cast<size_t>(i)].backward_call(dtype), stream, kernel);
  };
  const double f = graph_us(forward);
  const double b = graph_us(backward);
  const double fb = graph_us([&](int i, cudaStream_t stream) {
    forward(i, stream);
    backward(i, stream);
  });
  const double tflop = 2e-12 * static_cast<double>(s.batch * s.heads * s.context * s.context * s.head_dim);
  std::printf(
      "time %-9s B%lld T%lld H%lld K%lld D%lld: forward %.1f us (%.0f TFLOP/s), backward %.1f (%.0f), both "
      "%.1f\n",
      std::string(attention_kernel_name(kernel)).c_str(), static_cast<long long>(s.batch),
      static_cast<long long>(s.context), static_cast<long long>(s.heads), static_cast<long long>(s.kv_heads),
      static_cast<long long>(s.head_dim), f, tflop / f * 1e6, b, 2.5 * tflop / b * 1e6, fb);
}

int run(int argc, char** argv) {
  bool checks = false, timing = false, once = false;
  uint64_t seed = 20261201;
  size_t most_cases = SIZE_MAX;
  AttentionKernel only = AttentionKernel::Auto;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "check") checks = true;
    if (word == "time") timing = true;
    if (word == "once") once = true;
    if (word == "--seed" && i + 1 < argc) seed = std::strtoull(argv[++i], nullptr, 10);
    if (word == "--cases" && i + 1 < argc) most_cases = std::strtoull(argv[++i], nullptr, 10);
    if (word == "--kernel" && i + 1 < argc) {
      const std::string name = argv[++i];
      for (const auto kernel : {AttentionKernel::Fp32, AttentionKernel::MmaSync, AttentionKernel::Wgmma}) {
        if (attention_kernel_name(kernel) == name) only = kernel;
      }
    }
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device; nothing about the attention kernels was proven.\n");
    return 77;
  }
  std::printf("seed %llu; relative error of the whole / of the worst row\n",
              static_cast<unsigned long long>(seed));
  const Case kCases[] = {
      {{1, 1, 1, 1, 8}, false},     {{2, 17, 3, 3, 24}, false},      {{1, 129, 2, 1, 32}, true},
      {{1, 190, 2, 1, 112}, true},  {{1, 130, 2, 2, 128}, false},    {{2, 200, 4, 2, 64}, false},
      {{1, 511, 4, 4, 72}, true},   {{2, 333, 6, 2, 80}, true},      {{1, 640, 3, 3, 88}, false},
      {{3, 257, 4, 1, 96}, true},   {{1, 1000, 16, 16, 112}, false}, {{2, 1023, 8, 2, 112}, true},
      {{1, 777, 8, 4, 104}, false}, {{2, 385, 5, 5, 128}, true},     {{1, 1281, 6, 2, 128}, false},
      {{1, 300, 4, 2, 160}, true},  {{1, 421, 4, 4, 192}, false},    {{2, 190, 4, 2, 256}, true},
      {{40, 150, 8, 4, 112}, true}, {{1, 2500, 4, 4, 112}, true},
  };
  Failures failures;
  for (const DType dtype : {DType::F32, DType::BF16}) {
    const bool wide = dtype == DType::F32;
    if (only != AttentionKernel::Auto && wide != (only == AttentionKernel::Fp32)) continue;
    const AttentionKernel kernel =
        wide ? AttentionKernel::Fp32 : (only == AttentionKernel::Auto ? AttentionKernel::MmaSync : only);
    for (const Case& c : kCases) {
      if (!checks || static_cast<size_t>(&c - kCases) >= most_cases) break;
      std::printf("%-9s", std::string(attention_kernel_name(kernel)).c_str());
      try {
        if (wide) {
          check<float>(c, dtype, kernel, ++seed, failures);
        } else {
          check<__nv_bfloat16>(c, dtype, kernel, ++seed, failures);
        }
      } catch (const Error& e) {
        if (e.code() != ErrorCode::Unsupported) throw;
        std::printf("not supported: %s\n", e.what());
      }
      std::fflush(stdout);
    }
    if (once && !wide) {
      Problem<__nv_bfloat16> p({1, 4096, 16, 16, 112}, dtype, false);
      p.draw_inputs(seed, nullptr, nullptr, nullptr, nullptr);
      attention_forward(p.forward_call(dtype), nullptr, kernel);
      attention_backward(p.backward_call(dtype), nullptr, kernel);
      must(cudaDeviceSynchronize(), "once");
    }
    if (timing && wide) time_shape<float>({1, 4096, 16, 16, 112}, dtype, kernel, seed);
    if (timing && !wide) {
      for (const AttentionShape& s :
           {AttentionShape{1, 4096, 16, 16, 112}, AttentionShape{4, 4096, 16, 16, 112},
            AttentionShape{1, 4096, 14, 14, 128}, AttentionShape{1, 4096, 28, 28, 64},
            AttentionShape{16, 1024, 12, 2, 128}, AttentionShape{1, 8192, 16, 16, 112}}) {
        time_shape<__nv_bfloat16>(s, dtype, kernel, seed);
        std::fflush(stdout);
      }
    }
  }
  std::printf(failures.count == 0 ? "attention_check: all well\n" : "attention_check: %d FAILURES\n",
              failures.count);
  return failures.count == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::printf("attention_check: %s\n", e.what());
    return 1;
  }
}
