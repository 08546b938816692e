#include "kernels/cpu/cpu_executable.h"

#include <chrono>
#include <cstring>
#include <new>

#include "kernels/api/error.h"

namespace lathe::cpu {

namespace {

constexpr std::align_val_t kArenaAlignment{4096};

std::byte* allocate_arena(int64_t bytes) {
  try {
    return static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kArenaAlignment));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::OutOfMemory,
                "The system refused " + std::to_string(bytes >> 20) + " MiB of memory for this run.",
                "Lower the micro-batch, keep fewer activations (memory.recompute), or free memory.");
  }
}

// Which sequences' group each Lifetime::Group buffer belongs to, by the ops that use it; -1 where none does.
std::vector<int> groups_of_buffers(const StepProgram& program) {
  std::vector<int> groups(program.buffers.size(), -1);
  for (const Sequence& sequence : program.sequences) {
    for (const Op& op : sequence.ops) {
      for (const Operand& operand : op.operands) {
        if (operand.tensor == kNone) continue;
        if (program.buffer_of(operand.tensor).lifetime == Lifetime::Group) {
          groups[static_cast<size_t>(program.tensor(operand.tensor).buffer)] = sequence.group;
        }
      }
    }
  }
  return groups;
}

}  // namespace

void CpuExecutable::FreeArena::operator()(std::byte* memory) const {
  ::operator delete(memory, kArenaAlignment);
}

CpuExecutable::CpuExecutable(const StepProgram& program, const MemoryPlan& plan,
                             const PrepareOptions& options)
    : program_(program),
      plan_(plan),
      poison_(options.poison),
      arena_(allocate_arena(plan.arena_bytes)),
      team_(options.threads) {
  std::memset(arena_.get(), 0, static_cast<size_t>(plan.persistent_bytes));
  for (size_t s = 0; s < kernels_.size(); ++s) {
    for (const Op& op : program.sequences[s].ops) {
      const OpBinding binding(program, plan, op, reinterpret_cast<uintptr_t>(arena_.get()));
      kernels_[s].push_back(make_kernel(op.kind, binding));
    }
  }
}

std::byte* CpuExecutable::bytes_of(TensorId id, size_t size, int64_t offset) {
  const Tensor& tensor = program_.tensor(id);
  if (!tensor.contiguous()) {
    throw Error(ErrorCode::InvalidArgument, tensor.name + " isn't contiguous.", "Copy its whole buffer.");
  }
  if (offset < 0 || offset > tensor.bytes() || size > static_cast<size_t>(tensor.bytes() - offset)) {
    throw Error(ErrorCode::InvalidArgument, tensor.name + " has " + std::to_string(tensor.bytes()) +
                                                " bytes; " + std::to_string(size) + " from byte " +
                                                std::to_string(offset) + " on reach beyond it.");
  }
  return arena_.get() + plan_.offsets[static_cast<size_t>(tensor.buffer)] + tensor.offset_bytes + offset;
}

void CpuExecutable::write(TensorId tensor, std::span<const std::byte> source, int64_t offset) {
  std::byte* to = bytes_of(tensor, source.size(), offset);
  if (!source.empty()) std::memcpy(to, source.data(), source.size());
}

void CpuExecutable::read(TensorId tensor, std::span<std::byte> destination, int64_t offset) {
  const std::byte* from = bytes_of(tensor, destination.size(), offset);
  if (!destination.empty()) std::memcpy(destination.data(), from, destination.size());
}

void CpuExecutable::prepare_sequence(SequenceId sequence) {
  if (!poison_) return;
  // All bits set: NaN in every floating-point format.
  const int group = program_.sequence(sequence).group;
  std::vector<std::pair<std::byte*, std::vector<std::byte>>> kept;
  if (poisoned_for_ == group) {
    const std::vector<int> groups = groups_of_buffers(program_);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] != group) continue;
      std::byte* begin = arena_.get() + plan_.offsets[i];
      kept.emplace_back(begin, std::vector<std::byte>(begin, begin + program_.buffers[i].bytes));
    }
  }
  std::memset(arena_.get() + plan_.persistent_bytes, 0xff,
              static_cast<size_t>(plan_.arena_bytes - plan_.persistent_bytes));
  for (const auto& [begin, bytes] : kept) std::memcpy(begin, bytes.data(), bytes.size());
  poisoned_for_ = group;
}

void CpuExecutable::run_op(SequenceId sequence, size_t index) {
  try {
    kernels_[static_cast<size_t>(sequence)][index](team_);
  } catch (const std::bad_alloc&) {
    throw Error(
        ErrorCode::OutOfMemory,
        "No memory for the scratch space of " + describe(program_.sequence(sequence).ops[index]) + ".",
        "Free memory, or use fewer threads.");
  }
}

Ticket CpuExecutable::run(SequenceId sequence, std::span<const TensorId> fetch) {
  prepare_sequence(sequence);
  for (size_t i = 0; i < kernels_[static_cast<size_t>(sequence)].size(); ++i) run_op(sequence, i);
  const Ticket ticket = ++last_ticket_;
  Fetched& slot = fetched_[static_cast<size_t>(ticket) % kKeptTickets];
  slot.ticket = ticket;
  slot.bytes.clear();
  for (const TensorId id : fetch) {
    const auto size = static_cast<size_t>(program_.tensor(id).bytes());
    const std::byte* begin = bytes_of(id, size, 0);
    slot.bytes.insert(slot.bytes.end(), begin, begin + size);
  }
  return ticket;
}

void CpuExecutable::wait(Ticket ticket, std::span<std::byte> fetched) {
  if (ticket < 1 || ticket > last_ticket_) {
    throw Error(ErrorCode::InvalidArgument, "There was no run " + std::to_string(ticket) + ".");
  }
  if (fetched.empty()) return;
  Fetched& slot = fetched_[static_cast<size_t>(ticket) % kKeptTickets];
  if (slot.ticket != ticket) {
    throw Error(ErrorCode::InvalidArgument,
                "The results of run " + std::to_string(ticket) + " are gone: fetched before, or too old.");
  }
  if (slot.bytes.size() != fetched.size()) {
    throw Error(ErrorCode::InvalidArgument, "Run " + std::to_string(ticket) + " fetched " +
                                                std::to_string(slot.bytes.size()) + " bytes, not " +
                                                std::to_string(fetched.size()) + ".");
  }
  std::memcpy(fetched.data(), slot.bytes.data(), fetched.size());
  slot.ticket = -1;
}

bool CpuExecutable::finished(Ticket ticket) {
  return ticket >= 1 && ticket <= last_ticket_;
}

std::vector<double> CpuExecutable::profile(SequenceId sequence) {
  using Clock = std::chrono::steady_clock;
  prepare_sequence(sequence);
  std::vector<double> milliseconds;
  for (size_t i = 0; i < kernels_[static_cast<size_t>(sequence)].size(); ++i) {
    const Clock::time_point start = Clock::now();
    run_op(sequence, i);
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return milliseconds;
}

MemoryReport CpuExecutable::memory() const {
  MemoryReport report;
  report.arena_bytes = plan_.arena_bytes;
  return report;
}

std::string CpuExecutable::kernel_selection() const {
  return "{}";
}

}  // namespace lathe::cpu
