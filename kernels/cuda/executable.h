// A program prepared on a CUDA device: one arena, one captured graph a sequence.
//
// Everything runs on one stream, so that a run sees every earlier write and a fetch sees its run. The host
// never waits but in wait(), read() and when a transfer ring is full.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cuda/backend.h"
#include "kernels/cuda/transfer.h"

namespace lathe::cuda {

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(std::shared_ptr<Device> device, const StepProgram& program, const MemoryPlan& plan,
                 const PrepareOptions& options);
  ~CudaExecutable() override;

  void write(TensorId tensor, std::span<const std::byte> source, int64_t offset) override;
  void read(TensorId tensor, std::span<std::byte> destination, int64_t offset) override;
  Ticket run(SequenceId sequence, std::span<const TensorId> fetch) override;
  void wait(Ticket ticket, std::span<std::byte> fetched) override;
  bool finished(Ticket ticket) override;
  std::vector<double> profile(SequenceId sequence) override;
  MemoryReport memory() const override { return memory_; }
  std::string kernel_selection() const override { return selection_.json(); }
  bool poisoned() const override { return poisoned_; }

 private:
  struct Slot {  // what a ticket left behind
    EventHandle done;
    Ticket ticket = -1;
    size_t bytes = 0;
  };

  void allocate();
  void bind();
  void warm_up();
  void capture();
  void zero_persistent();
  void measure(int64_t used_before);

  // Random finite values everywhere, indices zero: a state in which every op may run.
  void make_runnable();
  void poison(SequenceId sequence);
  void enqueue(SequenceId sequence);
  GraphExecHandle instantiate(SequenceId sequence, const std::vector<EventHandle>* events);
  std::byte* address(TensorId tensor, int64_t offset, size_t bytes) const;

  // Runs an action; an Error gains `where`, and a sticky fault poisons this object.
  template <class Action>
  auto guarded(const std::string& where, Action&& action);

  std::shared_ptr<Device> device_;
  const StepProgram& program_;
  const MemoryPlan& plan_;
  PrepareOptions options_;
  KernelSelection selection_;
  StreamHandle stream_;
  DeviceHandle arena_;
  PinnedRing ring_;
  PinnedHandle fetched_;
  size_t slot_bytes_ = 0;
  std::vector<Slot> slots_;
  Ticket next_ticket_ = 0;
  std::array<std::vector<Launch>, kSequenceCount> launches_;
  std::array<GraphExecHandle, kSequenceCount> graphs_;
  MemoryReport memory_;
  bool poisoned_ = false;
};

}  // namespace lathe::cuda
