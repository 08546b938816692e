// Checkpoints: a folder of files written in place, flushed and checksummed; the manifest comes last, by
// atomic replace. No manifest, no checkpoint. Folders are never renamed; the previous checkpoint stays until
// the new one is complete.
//
//   checkpoints/step-00000312/
//     matrices.weight.bin …   one file for each saved tensor of a parameter group, as it lies in memory
//     manifest.json           format, step, settings, data cursor, kernel selection, files with sizes and
//     XXH3 checksums
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/history/checkpoint_folders.h"
#include "kernels/api/backend.h"

namespace lathe {

inline constexpr int kCheckpointFormat = 1;

// Where a run stands between two updates: everything besides tensors that resuming bit for bit needs.
struct TrainingProgress {
  int64_t step = 0;            // updates made, skipped ones included
  int64_t optimizer_step = 0;  // updates that touched the weights: AdamW's t
  int64_t tokens = 0;          // consumed, nominal
  int64_t active_ms = 0;
  nlohmann::json cursor;  // of the sampler
  // Running mean and variance of log gradient norm (guard), and how many norms they saw.
  double norm_mean = 0, norm_variance = 0;
  int64_t norm_count = 0;
};

struct CheckpointFile {
  std::string name;
  int64_t bytes = 0;
  std::string hash;  // XXH3-128, hex
};

struct CheckpointManifest {
  TrainingProgress progress;
  std::string run;                  // id
  nlohmann::ordered_json settings;  // resolved
  std::string kernel_selection;     // of the backend, JSON text
  std::string device;               // backend and device name, for "not bitwise" at resume
  nlohmann::json versions;
  nlohmann::ordered_json
      parameters;  // name, group, offset, shape: enough to read weights without the program
  std::vector<CheckpointFile> files;
  int64_t bytes() const;
};

// Folder of a step within a run's folder.
std::filesystem::path checkpoint_folder(const std::filesystem::path& run_folder, int64_t step);

// Writes a checkpoint; `manifest.files` and `parameters` are filled in here. `progress(done, total)` is
// called now and then with bytes. Throws DiskFull or Io; then what was written of it is removed again.
void write_checkpoint(const std::filesystem::path& folder, CheckpointManifest manifest,
                      const StepProgram& program, Executable& executable,
                      const std::function<void(int64_t, int64_t)>& progress = {});

// Reads and checks the manifest and the sizes of the files. Throws NotFound (no manifest: not a checkpoint),
// CorruptFile, Unsupported (another format).
CheckpointManifest read_manifest(const std::filesystem::path& folder);

// Compares every file with its checksum. Throws CorruptFile naming the file.
void verify_checkpoint(const std::filesystem::path& folder, const CheckpointManifest& manifest);

enum class LoadStates { WeightsOnly, WithStates };

// Restores the tensors, verifying each checksum on the way. Same storage formats: byte for byte. Weights-only
// converts between formats by FP32 value. Throws CorruptFile, or InvalidConfig when the checkpoint is of
// another architecture (naming the first tensor that differs) or its states of another format.
void load_checkpoint(const std::filesystem::path& folder, const CheckpointManifest& manifest,
                     const StepProgram& program, Executable& executable, LoadStates states);

// Which of `steps` may go: all but the last `keep_last` and, with keep_every > 0, the multiples of it.
// Ascending.
std::vector<int64_t> expendable_checkpoints(const std::vector<int64_t>& steps, int64_t keep_last,
                                            int64_t keep_every);

// Removes a checkpoint, its manifest first so that what an interruption leaves is no checkpoint.
void remove_checkpoint(const std::filesystem::path& folder);

// Removes folders without a manifest: what a crash while saving left. Returns how many.
int remove_incomplete_checkpoints(const std::filesystem::path& run_folder);

// Bytes of one checkpoint of this program.
int64_t checkpoint_bytes(const StepProgram& program);

}  // namespace lathe
