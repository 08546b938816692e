// Write access to one run.db: commits a batch of everything a run says, in one transaction. Knows no threads
// and no catalogue.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/history/metric_table.h"
#include "core/history/run_batch.h"

namespace lathe {

class RunFile {
 public:
  // Creates run.db for run `id` where missing; brings an older one up to date.
  RunFile(const std::filesystem::path& file, std::string_view id);

  int64_t session() const { return session_; }  // the newest; 0: none yet
  // See RunWriter::begin_session.
  int64_t begin_session(int64_t first_step);
  // All or nothing: on an Error the file is as before and the batch can be tried again.
  void write(const RunBatch& batch);
  // Moves the write-ahead log into the file and empties it. Best effort: readers may keep it busy.
  void compact();

 private:
  template <class Row>
  void write_rows(MetricTableWriter& table, const std::vector<Row>& rows);

  std::unique_ptr<Database> database_;
  std::array<std::optional<MetricTableWriter>, 4> tables_;  // by MetricTable
  int64_t session_ = 0;
};

}  // namespace lathe
