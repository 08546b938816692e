#include "core/train/evaluate_set.h"

#include <deque>
#include <limits>

#include "core/train/step_io.h"

namespace lathe {

std::optional<SetLoss> evaluate_set(const StepProgram& program, Executable& executable,
                                    const ValidationSet& set, int64_t rows,
                                    const std::function<bool(int64_t)>& before_each) {
  constexpr size_t kAhead = 2;
  Fetch fetch(program, {program.ports.eval_sums});
  std::deque<Ticket> open;
  double sum = 0;
  const auto collect = [&] {
    fetch.wait(executable, open.front());
    open.pop_front();
    sum += fetch.values(0)[0];
  };
  SetLoss result;
  Batch batch;
  for (int64_t window = 0; window < set.windows(); window += rows) {
    if (!before_each(window / rows + 1)) return std::nullopt;
    set.fill(window, rows, batch);
    result.valid_tokens += batch.valid_tokens;
    write_batch(program, executable, batch);
    open.push_back(executable.run(SequenceId::Evaluate, fetch.tensors()));
    if (open.size() > kAhead) collect();
  }
  while (!open.empty()) collect();
  result.loss = result.valid_tokens > 0 ? sum / static_cast<double>(result.valid_tokens)
                                        : std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace lathe
