#include "kernels/cuda/executable.h"

#include <algorithm>
#include <cstring>

namespace lathe::cuda {

namespace {

constexpr size_t kRingBytes = size_t{32} << 20;
constexpr size_t kTickets = 64;

std::string mebibytes(int64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

// Room for everything a caller fetches by role, and some.
size_t fetch_bytes(const StepProgram& program) {
  int64_t bytes = 4096;
  const ProgramPorts& p = program.ports;
  for (const TensorId id : {p.loss_sums, p.eval_sums, p.square_sums, p.clip, p.weight_square_sums, p.logits})
    if (id != kNone) bytes += program.tensor(id).bytes();
  return static_cast<size_t>((bytes + 4095) / 4096 * 4096);
}

Launch bind_op(const Binding& b, Device& device, KernelSelection& selection, const TimingArena& arena,
               cudaStream_t stream) {
  switch (b.op().kind) {
    case OpKind::Fill:
      return bind_fill(b);
    case OpKind::Embedding:
      return bind_embedding(b);
    case OpKind::EmbeddingBackward:
      return bind_embedding_backward(b);
    case OpKind::RmsNorm:
      return bind_rms_norm(b);
    case OpKind::RmsNormBackward:
      return bind_rms_norm_backward(b);
    case OpKind::Linear:
    case OpKind::LinearBackwardInput:
    case OpKind::LinearBackwardWeight:
      return device.gemm->prepare(gemm_of(b), selection, arena, stream);
    case OpKind::QkNorm:
      return bind_qk_norm(b);
    case OpKind::QkNormBackward:
      return bind_qk_norm_backward(b);
    case OpKind::Rope:
    case OpKind::RopeBackward:
      return bind_rope(b);
    case OpKind::Attention:
    case OpKind::AttentionBackward:
      return device.sdpa->prepare(b, selection);
    case OpKind::SwiGlu:
      return bind_swiglu(b);
    case OpKind::SwiGluBackward:
      return bind_swiglu_backward(b);
    case OpKind::ClassifierLoss:
      return bind_classifier_loss(b);
    case OpKind::LossSum:
      return bind_loss_sum(b);
    case OpKind::GradientNorm:
      return bind_gradient_norm(b);
    case OpKind::ClipFactor:
      return bind_clip_factor(b);
    case OpKind::AdamW:
      return bind_adamw(b);
    case OpKind::KvStore:
      return bind_kv_store(b);
    case OpKind::AttentionDecode:
      return bind_attention_decode(b);
    case OpKind::GatherRow:
      return bind_gather_row(b);
  }
  throw Error(ErrorCode::Internal, "An op kind without a CUDA kernel.");
}

std::string describe_fully(const StepProgram& program, const Op& op) {
  return describe(op) + " (" + describe_operands(program, op) + ")";
}

}  // namespace

template <class Action>
auto CudaExecutable::guarded(const std::string& where, Action&& action) {
  if (poisoned_)
    throw Error(ErrorCode::Backend, "The GPU failed earlier in this run and can't be used any more.",
                "Start the run again: it resumes from the last checkpoint.");
  try {
    check(cudaSetDevice(device_->ordinal), "choosing the GPU");
    return action();
  } catch (const Error& error) {
    poisoned_ = is_sticky(cudaStreamQuery(stream_.get()));
    cudaGetLastError();
    throw Error(error.code(), where + ": " + error.what_happened(), error.what_to_do());
  }
}

CudaExecutable::CudaExecutable(std::shared_ptr<Device> device, const StepProgram& program,
                               const MemoryPlan& plan, const PrepareOptions& options)
    : device_(std::move(device)),
      program_(program),
      plan_(plan),
      options_(options),
      selection_(device_->fingerprint(), options.kernel_selection, options.cache_folder),
      stream_(make_stream()),
      ring_(kRingBytes),
      slot_bytes_(fetch_bytes(program)) {
  fetched_ = make_pinned(slot_bytes_ * kTickets);
  slots_.resize(kTickets);
  for (Slot& slot : slots_) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
          "creating an event");
    slot.done.reset(event);
  }
  allocate();
  bind();
  warm_up();
  if (options_.graphs) capture();
  zero_persistent();
  measure(device_->used_before_context);
  selection_.store();
}

CudaExecutable::~CudaExecutable() {
  cudaSetDevice(device_->ordinal);
  cudaStreamSynchronize(stream_.get());  // nothing may still use the arena
}

// One attempt: the plan says how much is needed, and over-asking can spill into host memory on Windows.
void CudaExecutable::allocate() {
  check(cudaSetDevice(device_->ordinal), "choosing the GPU");
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "reading free memory");
  void* memory = nullptr;
  const int64_t bytes = std::max<int64_t>(plan_.arena_bytes, 256);
  if (static_cast<size_t>(bytes) <= free) {
    const cudaError_t status = cudaMalloc(&memory, static_cast<size_t>(bytes));
    if (status != cudaErrorMemoryAllocation) check(status, "allocating the arena");
    if (!memory) cudaGetLastError();
  }
  if (!memory)
    throw Error(
        ErrorCode::OutOfMemory,
        "The run needs " + mebibytes(bytes) + " of GPU memory in one piece; " +
            mebibytes(static_cast<int64_t>(free)) + " of " + mebibytes(static_cast<int64_t>(total)) +
            " are free.",
        "Close other programs on this GPU, or lower micro_batch, context or the loss chunk, recompute more "
        "layers, or use 8-bit optimizer states.");
  arena_.reset(memory);
  memory_.arena_bytes = plan_.arena_bytes;
}

void CudaExecutable::bind() {
  std::byte* arena = static_cast<std::byte*>(arena_.get());
  const TimingArena timing{arena, plan_.arena_bytes, device_->l2_bytes};
  for (size_t s = 0; s < launches_.size(); ++s) {
    for (const Op& op : program_.sequences[s].ops) {
      guarded(describe_fully(program_, op), [&] {
        const Binding binding(program_, plan_, arena, op, device_->multiprocessors);
        launches_[s].push_back(bind_op(binding, *device_, selection_, timing, stream_.get()));
      });
    }
  }
}

void CudaExecutable::make_runnable() {
  std::byte* arena = static_cast<std::byte*>(arena_.get());
  fill_random(arena, plan_.arena_bytes / 4 * 4, 2, stream_.get());
  for (const Tensor& tensor : program_.tensors) {
    if (tensor.dtype != DType::I32) continue;
    const size_t buffer = static_cast<size_t>(tensor.buffer);
    check(cudaMemsetAsync(arena + plan_.offsets[buffer], 0,
                          static_cast<size_t>(program_.buffers[buffer].bytes), stream_.get()),
          "clearing indices");
  }
}

// Runs each op once: loads its kernels, and names the op when one fails.
void CudaExecutable::warm_up() {
  for (size_t s = 0; s < launches_.size(); ++s) {
    if (launches_[s].empty()) continue;
    guarded("preparing the " + std::string(sequence_name(static_cast<SequenceId>(s))),
            [&] { make_runnable(); });
    for (size_t i = 0; i < launches_[s].size(); ++i) {
      guarded(describe_fully(program_, program_.sequences[s].ops[i]), [&] {
        launches_[s][i](stream_.get());
        check(cudaStreamSynchronize(stream_.get()), "running it once");
      });
    }
  }
}

GraphExecHandle CudaExecutable::instantiate(SequenceId sequence, const std::vector<EventHandle>* events) {
  const auto mark = [&](size_t i) {
    if (events)
      check(cudaEventRecordWithFlags((*events)[i].get(), stream_.get(), cudaEventRecordExternal),
            "recording an event");
  };
  const size_t s = static_cast<size_t>(sequence);
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "capturing a graph");
  cudaGraph_t captured = nullptr;
  try {
    mark(0);
    for (size_t i = 0; i < launches_[s].size(); ++i) {
      launches_[s][i](stream_.get());
      mark(i + 1);
    }
  } catch (...) {
    cudaStreamEndCapture(stream_.get(), &captured);
    if (captured) cudaGraphDestroy(captured);
    throw;
  }
  check(cudaStreamEndCapture(stream_.get(), &captured), "capturing a graph");
  const GraphHandle graph(captured);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, captured, 0), "instantiating a graph");
  GraphExecHandle handle(executable);
  check(cudaGraphUpload(executable, stream_.get()), "uploading a graph");
  return handle;
}

void CudaExecutable::capture() {
  for (size_t s = 0; s < launches_.size(); ++s) {
    if (launches_[s].empty()) continue;
    const SequenceId id = static_cast<SequenceId>(s);
    guarded("preparing the " + std::string(sequence_name(id)),
            [&] { graphs_[s] = instantiate(id, nullptr); });
  }
}

void CudaExecutable::zero_persistent() {
  guarded("clearing the arena", [&] {
    check(cudaMemsetAsync(arena_.get(), 0, static_cast<size_t>(plan_.persistent_bytes), stream_.get()),
          "clearing persistent memory");
    check(cudaStreamSynchronize(stream_.get()), "clearing persistent memory");
  });
}

void CudaExecutable::measure(int64_t used_before) {
  if (const auto process = device_->nvml->process_bytes()) {
    memory_.process_bytes = *process;
  } else if (const auto used = device_->nvml->used_bytes(); used && used_before > 0) {
    memory_.process_bytes = *used - used_before;
    memory_.inferred = true;  // others may have allocated meanwhile
  } else {
    memory_.inferred = true;
    return;
  }
  memory_.overhead_bytes = memory_.process_bytes - memory_.arena_bytes;
}

std::byte* CudaExecutable::address(TensorId id, int64_t offset, size_t bytes) const {
  const Tensor& tensor = program_.tensor(id);
  if (!tensor.contiguous() || offset < 0 || offset + static_cast<int64_t>(bytes) > tensor.bytes())
    throw Error(ErrorCode::InvalidArgument,
                "Bytes " + std::to_string(offset) + " to " +
                    std::to_string(offset + static_cast<int64_t>(bytes)) + " of tensor " + tensor.name +
                    " (" + std::to_string(tensor.bytes()) + " bytes" +
                    (tensor.contiguous() ? "" : ", not contiguous") + ") can't be copied.");
  return static_cast<std::byte*>(arena_.get()) + plan_.offsets[static_cast<size_t>(tensor.buffer)] +
         tensor.offset_bytes + offset;
}

void CudaExecutable::write(TensorId tensor, std::span<const std::byte> source, int64_t offset) {
  guarded("writing " + program_.tensor(tensor).name,
          [&] { ring_.upload(address(tensor, offset, source.size()), source, stream_.get()); });
}

void CudaExecutable::read(TensorId tensor, std::span<std::byte> destination, int64_t offset) {
  guarded("reading " + program_.tensor(tensor).name,
          [&] { ring_.download(address(tensor, offset, destination.size()), destination, stream_.get()); });
}

// NaN into what is undefined when the sequence starts: its own transient buffers.
void CudaExecutable::poison(SequenceId sequence) {
  for (size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& buffer = program_.buffers[i];
    if (buffer.lifetime != Lifetime::Sequence || buffer.sequence != static_cast<int>(sequence)) continue;
    check(cudaMemsetAsync(static_cast<std::byte*>(arena_.get()) + plan_.offsets[i], 0xff,
                          static_cast<size_t>(buffer.bytes), stream_.get()),
          "poisoning memory");
  }
}

void CudaExecutable::enqueue(SequenceId sequence) {
  const size_t s = static_cast<size_t>(sequence);
  if (options_.poison) poison(sequence);
  if (graphs_[s]) {
    check(cudaGraphLaunch(graphs_[s].get(), stream_.get()), "launching a graph");
  } else {
    for (const Launch& launch : launches_[s]) launch(stream_.get());
  }
}

Ticket CudaExecutable::run(SequenceId sequence, std::span<const TensorId> fetch) {
  return guarded(std::string(sequence_name(sequence)), [&] {
    const Ticket ticket = next_ticket_;
    const size_t index = static_cast<size_t>(ticket) % kTickets;
    size_t bytes = 0;
    for (const TensorId id : fetch) bytes += static_cast<size_t>(program_.tensor(id).bytes());
    if (bytes > slot_bytes_)
      throw Error(ErrorCode::InvalidArgument,
                  std::to_string(bytes) + " bytes are too many to fetch from one run (" +
                      std::to_string(slot_bytes_) + " at most).",
                  "Use read() for large tensors.");
    enqueue(sequence);
    std::byte* target = static_cast<std::byte*>(fetched_.get()) + index * slot_bytes_;
    for (const TensorId id : fetch) {
      const size_t size = static_cast<size_t>(program_.tensor(id).bytes());
      check(cudaMemcpyAsync(target, address(id, 0, size), size, cudaMemcpyDeviceToHost, stream_.get()),
            "fetching a tensor");
      target += size;
    }
    Slot& slot = slots_[index];
    check(cudaEventRecord(slot.done.get(), stream_.get()), "marking a run");
    slot.ticket = ticket;
    slot.bytes = bytes;
    ++next_ticket_;
    return ticket;
  });
}

void CudaExecutable::wait(Ticket ticket, std::span<std::byte> fetched) {
  guarded("waiting for a run", [&] {
    if (ticket < 0 || ticket >= next_ticket_)
      throw Error(ErrorCode::InvalidArgument, "There is no run with ticket " + std::to_string(ticket) + ".");
    Slot& slot = slots_[static_cast<size_t>(ticket) % kTickets];
    // A slot taken over by a later run: waiting for that one waits for this one too.
    check(cudaEventSynchronize(slot.done.get()), "waiting for the GPU");
    if (fetched.empty()) return;
    if (slot.ticket != ticket || slot.bytes != fetched.size())
      throw Error(
          ErrorCode::InvalidArgument,
          "The run with ticket " + std::to_string(ticket) + " has no " + std::to_string(fetched.size()) +
              " bytes to hand out: it was fetched already, fetched others, or is more than 64 runs old.");
    std::memcpy(
        fetched.data(),
        static_cast<std::byte*>(fetched_.get()) + static_cast<size_t>(ticket) % kTickets * slot_bytes_,
        fetched.size());
    slot.bytes = 0;
  });
}

bool CudaExecutable::finished(Ticket ticket) {
  return guarded("asking for a run", [&] {
    if (ticket < 0 || ticket >= next_ticket_)
      throw Error(ErrorCode::InvalidArgument, "There is no run with ticket " + std::to_string(ticket) + ".");
    const Slot& slot = slots_[static_cast<size_t>(ticket) % kTickets];
    if (slot.ticket != ticket)
      return true;  // 64 later runs are enqueued only after it was fetched or dropped
    const cudaError_t status = cudaEventQuery(slot.done.get());
    if (status == cudaErrorNotReady) return false;
    check(status, "asking the GPU");
    return true;
  });
}

std::vector<double> CudaExecutable::profile(SequenceId sequence) {
  return guarded("profiling the " + std::string(sequence_name(sequence)), [&] {
    const size_t ops = launches_[static_cast<size_t>(sequence)].size();
    std::vector<EventHandle> events;
    for (size_t i = 0; i <= ops; ++i) events.push_back(make_event(true));
    const GraphExecHandle graph = instantiate(sequence, &events);
    if (options_.poison) poison(sequence);
    check(cudaGraphLaunch(graph.get(), stream_.get()), "launching a graph");
    check(cudaStreamSynchronize(stream_.get()), "profiling");
    std::vector<double> milliseconds(ops);
    for (size_t i = 0; i < ops; ++i) {
      float elapsed = 0;
      check(cudaEventElapsedTime(&elapsed, events[i].get(), events[i + 1].get()), "reading an event");
      milliseconds[i] = elapsed;
    }
    return milliseconds;
  });
}

}  // namespace lathe::cuda
