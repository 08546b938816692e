// The only source that includes cudnn-frontend.
#include "kernels/cuda/cudnn_attention.h"

#include <cudnn.h>
#include <cudnn_frontend.h>

#include <unordered_map>

#include "kernels/cuda/check.h"

namespace lathe::cuda {

namespace fe = cudnn_frontend;

namespace {

enum Uid : int64_t { kQ = 1, kK, kV, kO, kStats, kDO, kDQ, kDK, kDV };

using Graph = std::shared_ptr<fe::graph::Graph>;
using TensorRef = std::shared_ptr<fe::graph::Tensor_attributes>;

fe::graph::Tensor_attributes describe_rows(const char* name, int64_t uid, const SdpaProblem& p, int64_t heads,
                                           int64_t stride) {
  return fe::graph::Tensor_attributes()
      .set_name(name)
      .set_uid(uid)
      .set_dim({p.batch, heads, p.context, p.head_dim})
      .set_stride({p.context * stride, p.head_dim, stride, 1});
}

void place(const TensorRef& tensor, int64_t uid, const SdpaProblem& p, int64_t heads, int64_t stride) {
  tensor->set_output(true)
      .set_uid(uid)
      .set_dim({p.batch, heads, p.context, p.head_dim})
      .set_stride({p.context * stride, p.head_dim, stride, 1});
}

// Logsumexp [B,H,T], as a tensor of the graph or as its output.
template <class Attributes>
void place_stats(Attributes& stats, const SdpaProblem& p) {
  stats.set_uid(kStats)
      .set_dim({p.batch, p.heads, p.context, 1})
      .set_stride({p.heads * p.context, p.context, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

Graph describe_graph(const SdpaProblem& p) {
  const auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto q = graph->tensor(describe_rows("q", kQ, p, p.heads, p.q_stride));
  const auto k = graph->tensor(describe_rows("k", kK, p, p.kv_heads, p.k_stride));
  const auto v = graph->tensor(describe_rows("v", kV, p, p.kv_heads, p.v_stride));
  const int64_t o_stride = p.heads * p.head_dim;
  if (!p.backward) {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("sdpa")
                       .set_causal_mask(true)
                       .set_generate_stats(true)
                       .set_attn_scale(static_cast<float>(p.scale));
    const auto [o, stats] = graph->sdpa(q, k, v, options);
    place(o, kO, p, p.heads, o_stride);
    place_stats(stats->set_output(true), p);
    return graph;
  }
  const auto o = graph->tensor(describe_rows("o", kO, p, p.heads, o_stride));
  const auto d_o = graph->tensor(describe_rows("do", kDO, p, p.heads, o_stride));
  auto stats_attributes = fe::graph::Tensor_attributes().set_name("stats");
  place_stats(stats_attributes, p);
  const auto stats = graph->tensor(stats_attributes);
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("sdpa_backward")
                     .set_causal_mask(true)
                     .set_deterministic_algorithm(true)
                     .set_attn_scale(static_cast<float>(p.scale));
  const auto [dq, dk, dv] = graph->sdpa_backward(q, k, v, o, d_o, stats, options);
  place(dq, kDQ, p, p.heads, p.dq_stride);
  place(dk, kDK, p, p.kv_heads, p.dk_stride);
  place(dv, kDV, p, p.kv_heads, p.dv_stride);
  return graph;
}

// The whole batch as one problem, or one sequence of it.
SdpaProblem one_sequence(SdpaProblem problem) {
  problem.batch = 1;
  return problem;
}

}  // namespace

struct CudnnAttention::State {
  cudnnHandle_t handle = nullptr;
  // By key and workspace limit: layers share a plan. Null: cuDNN has none.
  std::unordered_map<std::string, Graph> graphs;

  // A built graph within the workspace limit, or null.
  Graph build(const SdpaProblem& problem, int64_t workspace_bytes, KernelSelection& selection) {
    const std::string key = problem.key() + " workspace " + std::to_string(workspace_bytes);
    const auto known = graphs.find(key);
    if (known != graphs.end()) return known->second;
    Graph& slot = graphs[key];
    const Graph graph = describe_graph(problem);
    if (graph->validate().is_bad() || graph->build_operation_graph(handle).is_bad() ||
        graph->create_execution_plans({fe::HeurMode_t::A}).is_bad())
      return nullptr;
    graph->deselect_workspace_greater_than(workspace_bytes);
    if (graph->check_support(handle).is_bad()) return nullptr;
    const std::optional<std::string> wanted = selection.find(key);
    const int64_t plans = graph->get_execution_plan_count();
    for (const bool any : {false, true}) {  // the recorded plan first, then cuDNN's own order
      if (!any && !wanted) continue;
      for (int64_t i = 0; i < plans; ++i) {
        std::string name;
        if (graph->get_plan_name_at_index(i, name).is_bad() || (!any && name != *wanted)) continue;
        if (graph->build_plan_at_index(handle, i).is_bad()) continue;
        int64_t needed = 0;
        if (graph->get_workspace_size_plan_at_index(i, needed).is_bad() || needed > workspace_bytes) continue;
        selection.choose(key, name);
        return slot = graph;
      }
    }
    return nullptr;
  }
};

CudnnAttention::CudnnAttention() : state_(std::make_unique<State>()) {
  const cudnnStatus_t status = cudnnCreate(&state_->handle);
  if (status != CUDNN_STATUS_SUCCESS)
    throw Error(ErrorCode::Unsupported,
                std::string("cuDNN can't be used: ") + cudnnGetErrorString(status) + ".",
                "Put cuDNN 9.13 or newer for CUDA 13 into the library search path.");
}

CudnnAttention::~CudnnAttention() {
  state_->graphs.clear();
  if (state_->handle) cudnnDestroy(state_->handle);
}

std::optional<Launch> CudnnAttention::prepare(const SdpaProblem& problem, const SdpaOperands& operands,
                                              KernelSelection& selection) {
  int64_t batch = problem.batch;
  Graph graph = state_->build(problem, operands.workspace_bytes, selection);
  if (!graph && batch > 1) {
    batch = 1;
    graph = state_->build(one_sequence(problem), operands.workspace_bytes, selection);
  }
  if (!graph) return std::nullopt;
  const cudnnHandle_t handle = state_->handle;
  return [=](cudaStream_t stream) {
    if (cudnnSetStream(handle, stream) != CUDNN_STATUS_SUCCESS)
      throw Error(ErrorCode::Backend, "cuDNN refused a stream.");
    const SdpaProblem& p = problem;
    for (int64_t b = 0; b < p.batch; b += batch) {
      const auto at = [&](std::byte* base, int64_t stride) -> void* {
        return base + b * p.context * stride * 2;
      };
      const int64_t o_stride = p.heads * p.head_dim;
      std::unordered_map<int64_t, void*> pack{{kQ, at(operands.q, p.q_stride)},
                                              {kK, at(operands.k, p.k_stride)},
                                              {kV, at(operands.v, p.v_stride)},
                                              {kO, at(operands.o, o_stride)},
                                              {kStats, operands.lse + b * p.heads * p.context}};
      if (p.backward) {
        pack[kDO] = at(operands.d_o, o_stride);
        pack[kDQ] = at(operands.dq, p.dq_stride);
        pack[kDK] = at(operands.dk, p.dk_stride);
        pack[kDV] = at(operands.dv, p.dv_stride);
      }
      fe::error_t status = graph->execute(handle, pack, operands.workspace);
      if (status.is_bad())
        throw Error(ErrorCode::Backend, "cuDNN attention failed: " + status.get_message(),
                    "Check that driver and cuDNN belong together (lathe doctor).");
    }
  };
}

int64_t cudnn_version() {
  return static_cast<int64_t>(cudnnGetVersion());
}

std::string SdpaProblem::key() const {
  std::string text = backward ? "sdpa backward deterministic" : "sdpa forward";
  for (const int64_t value : {batch, context, heads, kv_heads, head_dim, q_stride, k_stride, v_stride,
                              dq_stride, dk_stride, dv_stride})
    text += ' ' + std::to_string(value);
  return text + " bf16 causal scale " + std::to_string(scale);
}

}  // namespace lathe::cuda
