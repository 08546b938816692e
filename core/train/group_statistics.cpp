#include "core/train/group_statistics.h"

#include <algorithm>
#include <cmath>

#include "core/train/model_state.h"
#include "core/train/step_io.h"

namespace lathe {

std::vector<std::vector<float>> sample_weights(const StepProgram& program, Executable& executable) {
  constexpr int64_t kRuns = 64, kRun = 1024;
  std::vector<std::vector<float>> samples;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    const int64_t elements = program.groups[g].elements;
    Parameter part;  // a stretch of the group, read like a parameter
    part.group = static_cast<int>(g);
    const int64_t length = std::min(elements, kRun), runs = elements <= kRun ? 1 : kRuns;
    part.shape = {length};
    std::vector<float> values;
    for (int64_t i = 0; i < runs; ++i) {
      part.offset = runs == 1 ? 0 : (elements - length) / (runs - 1) * i;
      const std::vector<float> stretch = parameter_values(program, executable, part);
      values.insert(values.end(), stretch.begin(), stretch.end());
    }
    samples.push_back(std::move(values));
  }
  return samples;
}

std::vector<GroupRow> group_statistics(const StepProgram& program, Executable& executable,
                                       const std::vector<std::vector<float>>& before) {
  Fetch fetch(program, {program.ports.weight_square_sums, program.ports.square_sums});
  fetch.wait(executable, executable.run(SequenceId::Statistics, fetch.tensors()));
  const std::vector<double> weights = fetch.values(0), gradients = fetch.values(1);
  const std::vector<std::vector<float>> after = sample_weights(program, executable);
  std::vector<GroupRow> rows;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    double weight = 0, gradient = 0, change = 0, sampled = 0;
    for (const int p : program.groups[g].parameters) {
      weight += weights[static_cast<size_t>(p)];
      gradient += gradients[static_cast<size_t>(p)];
    }
    for (size_t i = 0; i < after[g].size(); ++i) {
      const double difference = double{after[g][i]} - before[g][i];
      change += difference * difference;
      sampled += double{before[g][i]} * before[g][i];
    }
    GroupRow row;
    row.group = program.groups[g].name;
    row.group_weight_norm = std::sqrt(weight);
    row.group_grad_norm = std::sqrt(gradient);
    row.group_update_ratio = sampled > 0 ? std::sqrt(change / sampled) : 0.0;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lathe
