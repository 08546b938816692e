#include "kernels/cpu/cpu_backend.h"

#include <cblas.h>

#include <algorithm>
#include <string>
#include <thread>

#include "kernels/api/error.h"
#include "kernels/cpu/cpu_executable.h"

namespace lathe {

namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    // Threads are the team's: OpenBLAS computes each tile on the thread that asks.
    openblas_set_num_threads(1);
  }

  DeviceInfo device() const override {
    DeviceInfo info;
    info.backend = "cpu";
    info.name = std::string("CPU, ") + std::to_string(std::thread::hardware_concurrency()) + " threads";
    info.target.kind = DeviceKind::Cpu;
    info.versions = {{"OpenBLAS", openblas_get_config()}, {"OpenBLAS kernels", openblas_get_corename()}};
    return info;
  }

  std::vector<std::string> refusals(const StepProgram& program) const override {
    // Binding is what prepare() does, so nothing refused here is accepted there or the other way round.
    MemoryPlan plan;
    plan.offsets.assign(program.buffers.size(), 0);
    std::vector<std::string> reasons;
    for (const Sequence& sequence : program.sequences) {
      for (const Op& op : sequence.ops) {
        try {
          cpu::make_kernel(op.kind, cpu::OpBinding(program, plan, op, kBufferAlignment));
        } catch (const Error& error) {
          if (std::find(reasons.begin(), reasons.end(), error.what_happened()) == reasons.end()) {
            reasons.push_back(error.what_happened());
          }
        }
      }
    }
    return reasons;
  }

  std::unique_ptr<Executable> prepare(const StepProgram& program, const MemoryPlan& plan,
                                      const PrepareOptions& options) override {
    return std::make_unique<cpu::CpuExecutable>(program, plan, options);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

}  // namespace lathe
