// A program bound to memory: one arena, one closure an op.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/team.h"

namespace lathe::cpu {

class CpuExecutable final : public Executable {
 public:
  // `program` and `plan` must outlive this. Throws Error OutOfMemory, Unsupported.
  CpuExecutable(const StepProgram& program, const MemoryPlan& plan, const PrepareOptions& options);

  void write(TensorId tensor, std::span<const std::byte> source, int64_t offset) override;
  void read(TensorId tensor, std::span<std::byte> destination, int64_t offset) override;
  Ticket run(SequenceId sequence, std::span<const TensorId> fetch) override;
  void wait(Ticket ticket, std::span<std::byte> fetched) override;
  bool finished(Ticket ticket) override;
  std::vector<double> profile(SequenceId sequence) override;
  MemoryReport memory() const override;
  std::string kernel_selection() const override;

 private:
  static constexpr size_t kKeptTickets = 64;
  struct Fetched {
    Ticket ticket = -1;  // -1: empty or handed out
    std::vector<std::byte> bytes;
  };
  struct FreeArena {
    void operator()(std::byte* memory) const;
  };

  // The tensor's byte `offset`, after checking that it is contiguous and has `size` bytes from there.
  std::byte* bytes_of(TensorId tensor, size_t size, int64_t offset);
  void prepare_sequence(SequenceId sequence);  // poisons, when asked to
  void run_op(SequenceId sequence, size_t index);

  const StepProgram& program_;
  const MemoryPlan& plan_;
  bool poison_;
  int poisoned_for_ = -1;  // the group whose Lifetime::Group buffers are valid
  std::unique_ptr<std::byte, FreeArena> arena_;
  Team team_;
  std::array<std::vector<Kernel>, kSequenceCount> kernels_;
  std::array<Fetched, kKeptTickets> fetched_;
  Ticket last_ticket_ = 0;
};

}  // namespace lathe::cpu
