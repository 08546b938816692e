// What stands between the last gradient and the update: the sum of squares of each tensor of a group, then
// the global norm, clip factor and guard flag. Sums run in a fixed order: chunks of a tensor, then its
// chunks.
#include <algorithm>
#include <vector>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/workspace.h"

namespace lathe::cuda {

namespace {

constexpr int kThreads = 256;

// Tensors of one launch, passed by value: no device table to keep.
constexpr int kSpans = 96;
struct Spans {
  int count = 0;
  int first_chunk[kSpans + 1] = {};  // of each tensor, in this launch
  int parameter[kSpans] = {};
  int64_t offset[kSpans] = {}, elements[kSpans] = {};
};

// Block = one chunk of kNormChunk elements; partial[block] in FP64.
template <class T>
__global__ void square_sum_kernel(const T* gradient, const __grid_constant__ Spans spans, double* partial) {
  await_predecessor();
  __shared__ double scratch[32];
  int span = 0;
  while (span + 1 < spans.count && static_cast<int>(blockIdx.x) >= spans.first_chunk[span + 1]) ++span;
  const int64_t begin = static_cast<int64_t>(blockIdx.x - spans.first_chunk[span]) * kNormChunk;
  const int64_t end = min(begin + kNormChunk, spans.elements[span]);
  const T* p = gradient + spans.offset[span];
  constexpr int N = kLanes<T>;
  float sum = 0;
  int64_t i = begin + threadIdx.x * N;
  constexpr int kFlight = 4;
  for (; i + (kFlight - 1) * kThreads * N + N <= end; i += kFlight * kThreads * N) {
    Vec<T, N> in[kFlight];
#pragma unroll
    for (int f = 0; f < kFlight; ++f) in[f] = load_vec<N>(p + i + f * kThreads * N);
#pragma unroll
    for (int f = 0; f < kFlight; ++f) {
      float x[N];
      widen(in[f], x);
#pragma unroll
      for (int j = 0; j < N; ++j) sum += x[j] * x[j];
    }
  }
  for (; i < end; i += kThreads * N) {
    for (int j = 0; j < N && i + j < end; ++j) {
      const float x = to_float(p[i + j]);
      sum += x * x;
    }
  }
  const double total = block_sum_double(sum, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

__global__ void square_total_kernel(const double* partial, const __grid_constant__ Spans spans,
                                    float* square_sums) {
  await_predecessor();
  __shared__ double scratch[32];
  const int span = blockIdx.x;
  double sum = 0;
  for (int i = spans.first_chunk[span] + threadIdx.x; i < spans.first_chunk[span + 1]; i += kThreads)
    sum += partial[i];
  sum = block_sum_double(sum, scratch);
  if (threadIdx.x == 0) square_sums[spans.parameter[span]] = static_cast<float>(sum);
}

__global__ void clip_factor_kernel(const float* square_sums, int parameters, const float* sums,
                                   const float* scalars, float* result) {
  await_predecessor();
  __shared__ double scratch[32];
  double total = 0;
  for (int i = threadIdx.x; i < parameters; i += kThreads) total += square_sums[i];
  total = block_sum_double(total, scratch);
  if (threadIdx.x != 0) return;
  const float norm = static_cast<float>(sqrt(total));
  const float max_norm = scalars[static_cast<int>(StepScalar::MaxGradNorm)];
  const float accepted = scalars[static_cast<int>(StepScalar::MaxAcceptedNorm)];
  const bool finite = isfinite(norm) && isfinite(sums[0]) && isfinite(sums[1]);
  const bool skip = !finite || (accepted > 0.0f && norm > accepted);
  result[static_cast<int>(ClipResult::GradNorm)] = norm;
  result[static_cast<int>(ClipResult::Factor)] =
      max_norm > 0.0f ? fminf(1.0f, max_norm / (norm + 1e-6f)) : 1.0f;
  result[static_cast<int>(ClipResult::Skip)] = skip ? 1.0f : 0.0f;
  result[static_cast<int>(ClipResult::Reserved)] = 0.0f;
}

template <class T>
struct Norm {
  static Launch bind(const Binding& b) {
    using S = slot::GradientNorm;
    const ParameterGroup& group = b.program().groups[static_cast<size_t>(b.attributes().group)];
    const T* gradient = b.data<T>(S::Gradient);
    float* square_sums = b.data<float>(S::SquareSums);
    double* partial = static_cast<double*>(b.workspace());
    std::vector<Spans> launches;
    int64_t most_chunks = 0;
    for (const int index : group.parameters) {
      const Parameter& parameter = b.program().parameters[static_cast<size_t>(index)];
      if (launches.empty() || launches.back().count == kSpans) launches.emplace_back();
      Spans& spans = launches.back();
      const int at = spans.count++;
      spans.parameter[at] = index;
      spans.offset[at] = parameter.offset;
      spans.elements[at] = parameter.elements();
      spans.first_chunk[at + 1] =
          spans.first_chunk[at] + static_cast<int>(ceil_div(parameter.elements(), kNormChunk));
      most_chunks = std::max<int64_t>(most_chunks, spans.first_chunk[at + 1]);
    }
    b.need_workspace(most_chunks * 8);
    return [=](cudaStream_t stream) {
      for (const Spans& spans : launches) {
        launch_kernel("gradient norm", square_sum_kernel<T>,
                      static_cast<unsigned>(spans.first_chunk[spans.count]), kThreads, 0, stream, gradient,
                      spans, partial);
        launch_kernel("gradient norm totals", square_total_kernel, static_cast<unsigned>(spans.count),
                      kThreads, 0, stream, partial, spans, square_sums);
      }
    };
  }
};

}  // namespace

Launch bind_gradient_norm(const Binding& binding) {
  return dispatch_float<Norm>(binding, slot::GradientNorm::Gradient);
}

Launch bind_clip_factor(const Binding& b) {
  using S = slot::ClipFactor;
  const float *square_sums = b.data<float>(S::SquareSums), *sums = b.data<float>(S::Sums);
  const float* scalars = b.data<float>(S::Scalars);
  float* result = b.data<float>(S::Result);
  const int parameters = static_cast<int>(b.tensor(S::SquareSums).elements());
  return [=](cudaStream_t stream) {
    launch_kernel("clip factor", clip_factor_kernel, 1, kThreads, 0, stream, square_sums, parameters, sums,
                  scalars, result);
  };
}

}  // namespace lathe::cuda
