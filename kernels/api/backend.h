// The one interface between the training layer and a device. prepare() resolves everything once; a step looks
// nothing up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/program.h"
#include "kernels/api/target.h"

namespace lathe {

struct DeviceInfo {
  std::string backend;  // "cpu", "cuda"
  std::string name;     // "NVIDIA GeForce RTX 5080"
  ExecutionTarget target;
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  std::vector<std::pair<std::string, std::string>> versions;  // driver, runtime and library versions
};

// One look at a device's sensors; what the system doesn't report is absent.
struct DeviceTelemetry {
  std::optional<double> utilisation_percent, temperature_c, power_w, sm_clock_mhz, memory_clock_mhz;
  std::optional<int64_t> throttle_reasons;                        // NVML's bit mask; 0: none
  std::optional<int64_t> process_bytes, used_bytes, total_bytes;  // used: by all processes
};

struct MemoryReport {
  int64_t arena_bytes = 0;    // allocated, equal to the plan's
  int64_t process_bytes = 0;  // this process on the device, as far as the system says; 0 = unknown
  int64_t overhead_bytes =
      0;                  // context, modules and library handles: process minus arena, measured after prepare
  bool inferred = false;  // the system reports none per process; process = arena + stored overhead
};

struct PrepareOptions {
  int threads = 0;               // CPU: 0 = all cores
  bool graphs = true;            // CUDA: replay captured graphs
  bool poison = false;           // tests: fill everything but Lifetime::Run with NaN before each sequence
  std::string kernel_selection;  // from an earlier Executable of the same program; empty = choose anew
  std::string cache_folder;      // where kernel choices may be kept between runs; empty = nowhere
};

// Identifies an enqueued run; later tickets finish later.
using Ticket = int64_t;

// A prepared program on a device. Not thread-safe: one thread owns it. After a fatal device fault every call
// throws Error with code Backend and poisoned() is true; the process lives on.
class Executable {
 public:
  virtual ~Executable() = default;

  // Copies host memory into a contiguous tensor, from byte `offset` of it on; ordered before every later run.
  // `source` may be reused at once.
  virtual void write(TensorId tensor, std::span<const std::byte> source, int64_t offset = 0) = 0;

  // Copies a part of a contiguous tensor, from byte `offset` of it on, to host memory after every earlier
  // run.
  virtual void read(TensorId tensor, std::span<std::byte> destination, int64_t offset = 0) = 0;

  // Enqueues a sequence. The listed tensors (small, contiguous) are copied aside when it has run; wait()
  // hands them out.
  virtual Ticket run(SequenceId sequence, std::span<const TensorId> fetch = {}) = 0;

  // Waits for one run; `fetched` receives the tensors listed at run(), concatenated in that order. Each
  // ticket can be fetched once, and only the last 64 are kept.
  virtual void wait(Ticket ticket, std::span<std::byte> fetched = {}) = 0;

  // True when the run has finished (without waiting).
  virtual bool finished(Ticket ticket) = 0;

  // Runs the sequence once op by op and returns each op's milliseconds, with the same results as run().
  virtual std::vector<double> profile(SequenceId sequence) = 0;

  virtual MemoryReport memory() const = 0;
  virtual std::string kernel_selection() const = 0;  // JSON text, to be recorded with the run
  virtual bool poisoned() const { return false; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo device() const = 0;

  // Costs a fraction of a millisecond; may be called from any thread while another one trains.
  virtual DeviceTelemetry telemetry() const { return {}; }

  // Reasons, in words for the user, why this backend can't run the program; empty when it can.
  virtual std::vector<std::string> refusals(const StepProgram& program) const = 0;

  // Allocates exactly plan.arena_bytes once, zeroes Lifetime::Run, loads every kernel, runs nothing of the
  // program. Throws Error: OutOfMemory, Unsupported, Backend. `program` and `plan` must outlive the result.
  virtual std::unique_ptr<Executable> prepare(const StepProgram& program, const MemoryPlan& plan,
                                              const PrepareOptions& options) = 0;
};

// Backends by name. The application fills one and hands it down; a missing GPU is a text in `unavailable`.
struct BackendEntry {
  std::string name;
  std::unique_ptr<Backend> backend;  // null when unavailable
  std::string unavailable;           // why, and what to do
};
using BackendRegistry = std::vector<BackendEntry>;

// The named backend ("cpu", "cuda", or "auto": the GPU when there is one). Throws Error Unsupported with the
// reason.
Backend& find_backend(const BackendRegistry& registry, const std::string& name);

}  // namespace lathe
