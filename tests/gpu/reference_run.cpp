// Runs a model on given windows and writes out what an independent framework can be compared with: weights,
// losses, gradients. Used by against_transformers.py.
//
//   lathe_reference_run SETTINGS.json WINDOWS.bin OUT [--updates N] [--weights DIR] [--device cpu|cuda]
//
// WINDOWS.bin holds int32 windows of context + 1 tokens, read in order, again from the start when they run
// out. OUT gets
//   before.bin, after.bin   FP32 weights before and after the updates, parameters in the order of index.json
//   gradients.bin           FP32 gradients of one micro-batch (the first windows) at the weights after the
//   updates losses.json             loss of every update, and of that micro-batch index.json names and shapes
// With --weights the weights start from DIR/after.bin instead of the seed.
#include <CLI/CLI.hpp>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/common/backends.h"
#include "core/config/config_json.h"
#include "core/config/config_text.h"
#include "core/config/derived.h"
#include "core/platform/files.h"
#include "core/train/lr_schedule.h"
#include "core/train/model_state.h"
#include "core/train/step_io.h"
#include "core/train/training_run.h"
#include "core/train/update_feed.h"
#include "kernels/api/numerics.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

class ReferenceRun {
 public:
  ReferenceRun(const RunConfig& config, const BackendRegistry& registry, const fs::path& windows) {
    PrepareRequest request;
    request.evaluate = false;
    model_ = plan_model(config, registry, request);
    allocate_model(model_, registry, request);
    initialise_weights(model_.program, *model_.executable, model_.config.run.seed);
    const std::string bytes = read_file(windows, int64_t{4} << 30);
    tokens_.resize(bytes.size() / 4);
    std::memcpy(tokens_.data(), bytes.data(), tokens_.size() * 4);
    count_ = static_cast<int64_t>(tokens_.size()) / (model_.config.model.context + 1);
  }

  double update(int64_t done) {
    const RunConfig& config = model_.config;
    const double rate = learning_rate(config, done, done * tokens_per_update(config));
    for (int64_t i = 0; i < config.batch.accumulation; ++i) {
      write_scalars(rate, done + 1, tokens_per_update(config));
      micro_step(i == 0 ? SequenceId::MicroFirst : SequenceId::MicroRest);
    }
    const double loss = window_loss(tokens_per_update(config));
    model_.executable->wait(model_.executable->run(SequenceId::Update));
    return loss;
  }

  // Gradients of the first micro-batch, normalised by its own tokens.
  double gradients_of_first(const fs::path& out) {
    next_ = 0;
    write_scalars(0, 1, tokens_per_micro_step(model_.config));
    micro_step(SequenceId::MicroFirst);
    const double loss = window_loss(tokens_per_micro_step(model_.config));
    std::ofstream file(out / "gradients.bin", std::ios::binary);
    for (const Parameter& parameter : model_.program.parameters) {
      const std::vector<float> values = floats(parameter.gradient);
      file.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * 4));
    }
    return loss;
  }

  void write_weights(const fs::path& path) {
    std::ofstream file(path, std::ios::binary);
    for (const Parameter& parameter : model_.program.parameters) {
      const std::vector<float> values = parameter_values(model_.program, *model_.executable, parameter);
      file.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * 4));
    }
  }

  void read_weights(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    for (const Parameter& parameter : model_.program.parameters) {
      std::vector<float> values(static_cast<size_t>(parameter.elements()));
      file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
      if (!file) throw Error(ErrorCode::CorruptFile, to_utf8(path) + " is too short for these settings.");
      set_parameter_values(model_.program, *model_.executable, parameter, values);
    }
  }

  nlohmann::ordered_json index() const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Parameter& parameter : model_.program.parameters) {
      std::vector<int64_t> shape(parameter.shape.dims.begin(),
                                 parameter.shape.dims.begin() + parameter.shape.rank);
      list.push_back({{"name", parameter.name}, {"shape", shape}});
    }
    return list;
  }

 private:
  void micro_step(SequenceId sequence) {
    const int64_t context = model_.config.model.context, rows = model_.config.batch.micro_batch;
    Batch batch;
    std::vector<int32_t> order;
    for (int64_t row = 0; row < rows; ++row, ++next_) {
      const int32_t* window = tokens_.data() + next_ % count_ * (context + 1);
      batch.tokens.insert(batch.tokens.end(), window, window + context);
      batch.targets.insert(batch.targets.end(), window + 1, window + context + 1);
    }
    batch.document_start.assign(batch.tokens.size(), 0);
    sort_rows_by_token(batch.tokens, order);
    write_batch(model_.program, *model_.executable, batch, order);
    model_.executable->run(sequence);
  }

  void write_scalars(double rate, int64_t step, int64_t valid) {
    write_step_scalars(model_.program, *model_.executable, model_.config, {valid, rate, step, 0, step});
  }

  std::vector<float> floats(TensorId id) {
    const Tensor& tensor = model_.program.tensor(id);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    if (tensor.dtype == DType::F32) {
      model_.executable->read(id, std::as_writable_bytes(std::span(values)));
      return values;
    }
    std::vector<Bf16> narrow(values.size());
    model_.executable->read(id, std::as_writable_bytes(std::span(narrow)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = to_float(narrow[i]);
    return values;
  }

  double window_loss(int64_t valid) {
    return static_cast<double>(floats(model_.program.ports.loss_sums)[0]) / static_cast<double>(valid);
  }

  PreparedModel model_;
  std::vector<int32_t> tokens_;
  int64_t count_ = 0, next_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app{"Run a model on given windows and write weights, losses and gradients"};
  std::string settings, windows, out, weights, device = "cuda";
  int64_t updates = 0;
  app.add_option("settings", settings)->required();
  app.add_option("windows", windows)->required();
  app.add_option("out", out)->required();
  app.add_option("--updates", updates);
  app.add_option("--weights", weights);
  app.add_option("--device", device);
  CLI11_PARSE(app, argc, argv);
  RunConfig config = load_config(settings);
  set_text(config, "run.device", device);
  const BackendRegistry registry = make_backends();
  ReferenceRun reference(config, registry, windows);
  fs::create_directories(out);
  if (!weights.empty()) reference.read_weights(fs::path(weights) / "after.bin");
  reference.write_weights(fs::path(out) / "before.bin");
  std::vector<double> losses;
  for (int64_t i = 0; i < updates; ++i) losses.push_back(reference.update(i));
  if (updates > 0) reference.write_weights(fs::path(out) / "after.bin");
  const double last = reference.gradients_of_first(out);
  std::ofstream(fs::path(out) / "losses.json") << nlohmann::json{{"updates", losses}, {"micro_batch", last}};
  std::ofstream(fs::path(out) / "index.json") << reference.index();
  std::cout << "loss of the first micro-batch " << last << '\n';
  return 0;
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  try {
    return lathe::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
