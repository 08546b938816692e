#include "core/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "core/platform/json.h"
#include "core/platform/mapped_file.h"
#include "core/train/model_state.h"
#include "kernels/api/error.h"
#include "kernels/api/numerics.h"

namespace lathe {

namespace fs = std::filesystem;
using json = nlohmann::json;
using ordered_json = nlohmann::ordered_json;

namespace {

constexpr const char* kManifest = kCheckpointManifest;

[[noreturn]] void corrupt(const fs::path& file, const std::string& what) {
  throw Error(ErrorCode::CorruptFile, fmt::format("{}: {}", to_utf8(file), what),
              "Resume from an older checkpoint of the run; `lathe runs show RUN` lists them.");
}

std::string file_name(const Tensor& tensor) {
  return tensor.name + ".bin";
}

std::vector<int64_t> dims(const Shape& shape) {
  return {shape.dims.begin(), shape.dims.begin() + shape.rank};
}

ordered_json parameter_table(const StepProgram& program) {
  ordered_json table = ordered_json::array();
  for (const Parameter& parameter : program.parameters) {
    const ParameterGroup& group = program.groups[static_cast<size_t>(parameter.group)];
    ordered_json row;
    row["name"] = parameter.name;
    row["group"] = group.name;
    row["offset"] = parameter.offset;
    row["shape"] = dims(parameter.shape);
    row["dtype"] = dtype_name(program.tensor(group.weight).dtype);
    row["master"] =
        group.master == kNone ? "none" : std::string(dtype_name(program.tensor(group.master).dtype));
    if (parameter.valid_rows > 0) row["valid_rows"] = parameter.valid_rows;
    table.push_back(row);
  }
  return table;
}

ordered_json to_json(const TrainingProgress& progress) {
  ordered_json out;
  out["step"] = progress.step;
  out["optimizer_step"] = progress.optimizer_step;
  out["tokens"] = progress.tokens;
  out["active_ms"] = progress.active_ms;
  out["cursor"] = progress.cursor;
  out["norm_mean"] = progress.norm_mean;
  out["norm_variance"] = progress.norm_variance;
  out["norm_count"] = progress.norm_count;
  return out;
}

std::vector<int64_t> shape_of(const ordered_json& row) {
  std::vector<int64_t> shape;
  for (const auto& dim : row.at("shape")) shape.push_back(json_count(dim));
  return shape;
}

TrainingProgress progress_from_json(const ordered_json& in) {
  TrainingProgress progress;
  progress.step = json_count(in.at("step"));
  progress.optimizer_step = json_count(in.at("optimizer_step"));
  progress.tokens = json_count(in.at("tokens"));
  progress.active_ms = json_count(in.at("active_ms"));
  progress.cursor = in.at("cursor");
  progress.norm_mean = in.at("norm_mean").get<double>();
  progress.norm_variance = in.at("norm_variance").get<double>();
  progress.norm_count = json_count(in.at("norm_count"));
  return progress;
}

// A file's bytes, its checksum compared on the way.
std::span<const std::byte> verified_bytes(const MappedFile& map, const fs::path& path,
                                          const CheckpointFile& file) {
  if (hash_hex(map.bytes()) != file.hash) corrupt(path, "the checksum does not match: the content changed.");
  return map.bytes();
}

const CheckpointFile* find_file(const CheckpointManifest& manifest, const std::string& name) {
  const auto it = std::find_if(manifest.files.begin(), manifest.files.end(),
                               [&](const CheckpointFile& file) { return file.name == name; });
  return it == manifest.files.end() ? nullptr : &*it;
}

}  // namespace

int64_t CheckpointManifest::bytes() const {
  int64_t sum = 0;
  for (const CheckpointFile& file : files) sum += file.bytes;
  return sum;
}

fs::path checkpoint_folder(const fs::path& run_folder, int64_t step) {
  return run_folder / from_utf8(checkpoint_relative_path(step));
}

int64_t checkpoint_bytes(const StepProgram& program) {
  int64_t bytes = 0;
  for (const TensorId id : saved_tensors(program)) bytes += program.tensor(id).bytes();
  return bytes;
}

void write_checkpoint(const fs::path& folder, CheckpointManifest manifest, const StepProgram& program,
                      Executable& executable, const std::function<void(int64_t, int64_t)>& progress) {
  const int64_t total = checkpoint_bytes(program);
  int64_t done = 0;
  try {
    if (fs::exists(folder / kManifest)) fs::remove(folder / kManifest);  // the step is saved again
    fs::create_directories(folder);
    manifest.files.clear();
    for (const TensorId id : saved_tensors(program)) {
      const Tensor& tensor = program.tensor(id);
      DurableFile file(folder / from_utf8(file_name(tensor)), DurableFile::Open::Truncate);
      Hasher hasher;
      read_pieces(program, executable, id, [&](std::span<const std::byte> bytes) {
        file.write(bytes);
        hasher.add(bytes);
        done += static_cast<int64_t>(bytes.size());
        if (progress) progress(done, total);
      });
      file.sync();
      file.close();
      manifest.files.push_back({file_name(tensor), tensor.bytes(), hasher.hex()});
    }
    sync_folder(folder);

    ordered_json out;
    out["format"] = kCheckpointFormat;
    out["run"] = manifest.run;
    out["progress"] = to_json(manifest.progress);
    out["device"] = manifest.device;
    out["versions"] = manifest.versions;
    out["settings"] = manifest.settings;
    out["kernel_selection"] = manifest.kernel_selection;
    out["parameters"] = parameter_table(program);
    out["files"] = ordered_json::array();
    for (const CheckpointFile& file : manifest.files) {
      out["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", file.hash}});
    }
    write_file_atomically(folder / kManifest, out.dump(1));
    sync_folder(folder.parent_path());
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    throw Error(ErrorCode::Io,
                fmt::format("Saving to {} failed: {}", to_utf8(folder), error.code().message()),
                "Check that the disk is there and writable.");
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    throw;
  }
}

CheckpointManifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifest;
  if (!fs::exists(path)) {
    throw Error(ErrorCode::NotFound,
                fmt::format("{} is not a complete checkpoint: it has no manifest.", to_utf8(folder)),
                "Choose another step; `lathe runs show RUN` lists the complete ones.");
  }
  CheckpointManifest manifest;
  try {
    // Ordered, so that settings and parameters compare equal to what was written.
    const ordered_json in = parse_json<ordered_json>(read_file(path, int64_t{64} << 20));
    const int64_t format = json_integer(in.at("format"));
    if (format != kCheckpointFormat) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} has checkpoint format {}; this Lathe reads {}.", to_utf8(path), format,
                              kCheckpointFormat),
                  "Use the version of Lathe that wrote it.");
    }
    manifest.run = in.at("run").get<std::string>();
    manifest.progress = progress_from_json(in.at("progress"));
    manifest.device = in.at("device").get<std::string>();
    manifest.versions = in.at("versions");
    manifest.settings = in.at("settings");
    manifest.kernel_selection = in.at("kernel_selection").get<std::string>();
    manifest.parameters = in.at("parameters");
    for (const auto& file : in.at("files")) {
      manifest.files.push_back({file.at("name").get<std::string>(), json_count(file.at("bytes")),
                                file.at("xxh3_128").get<std::string>()});
    }
    for (const auto& parameter : manifest.parameters) {
      parameter.at("name").get<std::string>();
      parameter.at("group").get<std::string>();
      parameter.at("dtype").get<std::string>();
      parameter.at("master").get<std::string>();
      json_count(parameter.at("offset"));
      shape_of(parameter);
    }
  } catch (const json::exception& error) {
    corrupt(path, fmt::format("not a checkpoint manifest ({}).", error.what()));
  }
  for (const CheckpointFile& file : manifest.files) {
    const fs::path name = from_utf8(file.name);
    if (name.has_parent_path() || name.is_absolute()) corrupt(path, "it names a file outside its folder.");
    std::error_code error;
    const auto size = fs::file_size(folder / name, error);
    if (error) corrupt(folder / name, "the file is missing.");
    if (static_cast<int64_t>(size) != file.bytes) {
      corrupt(folder / name, fmt::format("{} bytes, the manifest says {}.", size, file.bytes));
    }
  }
  return manifest;
}

void verify_checkpoint(const fs::path& folder, const CheckpointManifest& manifest) {
  for (const CheckpointFile& file : manifest.files) {
    const fs::path path = folder / from_utf8(file.name);
    const MappedFile map(path, MappedFile::Access::Sequential);
    verified_bytes(map, path, file);
  }
}

namespace {

// FP32 values of one parameter of a checkpoint: from its master where there is one.
std::vector<float> stored_values(const fs::path& folder, const CheckpointManifest& manifest,
                                 const ordered_json& row, std::map<std::string, MappedFile>& maps) {
  const std::string group = row.at("group").get<std::string>(), dtype = row.at("dtype").get<std::string>();
  const std::string master = row.at("master").get<std::string>();
  int64_t count = 1;
  for (const int64_t dim : shape_of(row)) {
    if (dim == 0 || count > (int64_t{1} << 40) / dim)
      corrupt(folder / kManifest, "an impossible tensor shape.");
    count *= dim;
  }
  const int64_t first = json_count(row.at("offset"));
  const auto bytes_of = [&](const std::string& what, int64_t size) -> const std::byte* {
    const std::string name = group + "." + what + ".bin";
    const CheckpointFile* file = find_file(manifest, name);
    if (!file) corrupt(folder / kManifest, fmt::format("it lists no {}.", name));
    auto it = maps.find(name);
    if (it == maps.end()) {
      const fs::path path = folder / from_utf8(name);
      it = maps.emplace(name, MappedFile(path)).first;
      verified_bytes(it->second, path, *file);
    }
    if (first + count > it->second.size() / size) {
      corrupt(folder / from_utf8(name), "it is too short for the tensors the manifest puts there.");
    }
    return it->second.bytes().data() + first * size;
  };
  std::vector<float> values(static_cast<size_t>(count));
  const auto copy_floats = [&](const std::byte* source) {
    std::memcpy(values.data(), source, values.size() * sizeof(float));
  };
  if (dtype == "fp32") {
    copy_floats(bytes_of("weight", 4));
  } else if (dtype == "bf16" && master == "fp32") {
    copy_floats(bytes_of("master", 4));
  } else if (dtype == "bf16") {
    const std::byte* weight = bytes_of("weight", 2);
    const std::byte* remainder = master == "int16" ? bytes_of("remainder", 2) : nullptr;
    for (size_t i = 0; i < values.size(); ++i) {
      Bf16 rounded;
      std::memcpy(&rounded, weight + 2 * i, 2);
      int16_t rest = 0;
      if (remainder) std::memcpy(&rest, remainder + 2 * i, 2);
      values[i] = remainder ? join_master(rounded, rest) : to_float(rounded);
    }
  } else {
    corrupt(folder / kManifest, fmt::format("weights of unknown type {}.", dtype));
  }
  return values;
}

}  // namespace

void load_checkpoint(const fs::path& folder, const CheckpointManifest& manifest, const StepProgram& program,
                     Executable& executable, LoadStates states) {
  if (states == LoadStates::WithStates) {
    const ordered_json expected = parameter_table(program);
    if (expected != manifest.parameters) {
      throw Error(ErrorCode::InvalidConfig,
                  fmt::format("The tensors in {} are laid out for other settings.", to_utf8(folder)),
                  "Keep architecture, precision and parameter groups as they were, or start a new run from "
                  "the weights "
                  "alone with --init-from.");
    }
    for (const TensorId id : saved_tensors(program)) {
      const Tensor& tensor = program.tensor(id);
      const CheckpointFile* file = find_file(manifest, file_name(tensor));
      if (!file || file->bytes != tensor.bytes()) {
        throw Error(ErrorCode::InvalidConfig,
                    fmt::format("The checkpoint {} has no {} in the format these settings ask for.",
                                to_utf8(folder), tensor.name),
                    "Keep optimizer.state as it was, or start from the weights alone.");
      }
      const fs::path path = folder / from_utf8(file->name);
      const MappedFile map(path, MappedFile::Access::Sequential);
      const auto bytes = verified_bytes(map, path, *file);
      constexpr size_t kPiece = size_t{16} << 20;
      for (size_t offset = 0; offset < bytes.size(); offset += kPiece) {
        executable.write(id, bytes.subspan(offset, std::min(kPiece, bytes.size() - offset)),
                         static_cast<int64_t>(offset));
      }
    }
    return;
  }
  std::map<std::string, MappedFile> maps;
  std::map<std::string, const ordered_json*> rows;
  for (const ordered_json& row : manifest.parameters) rows[row.at("name").get<std::string>()] = &row;
  for (const Parameter& parameter : program.parameters) {
    const auto row = rows.find(parameter.name);
    const bool same = row != rows.end() && shape_of(*row->second) == dims(parameter.shape);
    if (!same) {
      throw Error(ErrorCode::InvalidConfig,
                  fmt::format("The checkpoint {} has no tensor {} of the shape these settings ask for.",
                              to_utf8(folder), parameter.name),
                  "Start from a run of the same architecture, or change the model settings to match it.");
    }
    set_parameter_values(program, executable, parameter, stored_values(folder, manifest, *row->second, maps));
  }
}

std::vector<int64_t> expendable_checkpoints(const std::vector<int64_t>& steps, int64_t keep_last,
                                            int64_t keep_every) {
  std::vector<int64_t> result;
  const int64_t count = static_cast<int64_t>(steps.size());
  for (int64_t i = 0; i < count - keep_last; ++i) {
    const int64_t step = steps[static_cast<size_t>(i)];
    if (keep_every <= 0 || step % keep_every != 0) result.push_back(step);
  }
  return result;
}

void remove_checkpoint(const fs::path& folder) {
  std::error_code error;
  fs::remove(folder / kManifest, error);
  fs::remove_all(folder, error);
  if (error) {
    throw Error(ErrorCode::Io, fmt::format("{} could not be removed: {}", to_utf8(folder), error.message()),
                "Check the permissions of the run's folder.");
  }
}

int remove_incomplete_checkpoints(const fs::path& run_folder) {
  int removed = 0;
  std::error_code error;
  std::vector<fs::path> incomplete;
  for (const auto& entry : fs::directory_iterator(run_folder / "checkpoints", error)) {
    const bool step = to_utf8(entry.path().filename()).rfind("step-", 0) == 0;
    if (step && entry.is_directory() && !fs::exists(entry.path() / kManifest))
      incomplete.push_back(entry.path());
  }
  for (const fs::path& folder : incomplete) {
    fs::remove_all(folder, error);
    ++removed;
  }
  return removed;
}

}  // namespace lathe
