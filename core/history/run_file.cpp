#include "core/history/run_file.h"

#include <limits>

#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe {

RunFile::RunFile(const std::filesystem::path& file, std::string_view id)
    : database_(open_database(file, Database::Mode::Create, run_schema())) {
  ensure_metric_tables(*database_);
  database_->prepare("INSERT OR IGNORE INTO file (only, run, generation) VALUES (1, ?, 0)").bind(1, id).run();
  session_ = database_->integer("SELECT coalesce(max(id), 0) FROM session");
  for (size_t i = 0; i < tables_.size(); ++i) tables_[i].emplace(*database_, static_cast<MetricTable>(i));
}

int64_t RunFile::begin_session(int64_t first_step) {
  std::array<MetricTableWriter::State, 4> before;
  for (size_t i = 0; i < tables_.size(); ++i) before[i] = tables_[i]->state();
  try {
    Transaction transaction(*database_);
    const int64_t session = session_ + 1;
    database_->prepare("UPDATE session SET visible_before = min(visible_before, ?)")
        .bind(1, first_step)
        .run();
    database_
        ->prepare(
            "INSERT INTO session (id, started_ms, first_step, visible_before, process, host) VALUES (?, ?, "
            "?, ?, ?, ?)")
        .bind(1, session)
        .bind(2, wall_clock_ms())
        .bind(3, first_step)
        .bind(4, std::numeric_limits<int64_t>::max())
        .bind(5, process_id())
        .bind(6, host_name())
        .run();
    for (auto& table : tables_) table->begin_session(session, first_step);
    if (session > 1) database_->execute("UPDATE file SET generation = generation + 1");
    transaction.commit();
    session_ = session;
  } catch (...) {
    for (size_t i = 0; i < tables_.size(); ++i) tables_[i]->restore(std::move(before[i]));
    throw;
  }
  return session_;
}

template <class Row>
void RunFile::write_rows(MetricTableWriter& table, const std::vector<Row>& rows) {
  for (const Row& row : rows) table.add(session_, row, part_of(row), metric_values(row));
  table.store_open_buckets();
}

void RunFile::write(const RunBatch& batch) {
  std::array<MetricTableWriter::State, 4> before;
  for (size_t i = 0; i < tables_.size(); ++i) before[i] = tables_[i]->state();
  try {
    Transaction transaction(*database_);
    write_rows(*tables_[static_cast<size_t>(MetricTable::Updates)], batch.updates);
    write_rows(*tables_[static_cast<size_t>(MetricTable::Evaluations)], batch.evaluations);
    write_rows(*tables_[static_cast<size_t>(MetricTable::Groups)], batch.groups);
    write_rows(*tables_[static_cast<size_t>(MetricTable::Telemetry)], batch.telemetry);
    for (const EventRow& event : batch.events) {
      database_->cached("INSERT INTO event (session, step, time_ms, level, text) VALUES (?, ?, ?, ?, ?)")
          .bind(1, session_)
          .bind(2, event.step)
          .bind(3, event.time_ms)
          .bind(4, level_name(event.level))
          .bind(5, event.text)
          .run();
    }
    for (const SampleRow& sample : batch.samples) {
      database_->cached("INSERT INTO sample (session, step, time_ms, prompt, text) VALUES (?, ?, ?, ?, ?)")
          .bind(1, session_)
          .bind(2, sample.step)
          .bind(3, sample.time_ms)
          .bind(4, sample.prompt)
          .bind(5, sample.text)
          .run();
    }
    if (batch.live) {
      const LiveState& live = *batch.live;
      database_
          ->cached(
              "INSERT OR REPLACE INTO live (only, state, phase, step, micro_step, micro_steps, eta_ms, "
              "heartbeat_ms) "
              "VALUES (1, ?, ?, ?, ?, ?, ?, ?)")
          .bind(1, status_name(live.state))
          .bind(2, live.phase)
          .bind(3, live.step)
          .bind(4, live.micro_step)
          .bind(5, live.micro_steps)
          .bind(6, live.eta_ms)
          .bind(7, live.heartbeat_ms)
          .run();
    }
    transaction.commit();
  } catch (...) {
    for (size_t i = 0; i < tables_.size(); ++i) tables_[i]->restore(std::move(before[i]));
    throw;
  }
}

void RunFile::compact() {
  try {
    database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const Error&) {
    // The log stays; the next one to close the file does it.
  }
}

}  // namespace lathe
