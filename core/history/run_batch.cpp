#include "core/history/run_batch.h"

#include <iterator>
#include <utility>

#include "core/history/catalogue.h"

namespace lathe {
namespace {

template <class Row>
void append(std::vector<Row>& to, std::vector<Row>& from) {
  if (to.empty()) {
    to.swap(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
  from.clear();
}

}  // namespace

bool RunBatch::empty() const {
  return rows() == 0 && events.empty() && samples.empty() && !live;
}

void RunBatch::take(RunBatch& newer) {
  append(updates, newer.updates);
  append(evaluations, newer.evaluations);
  append(groups, newer.groups);
  append(telemetry, newer.telemetry);
  append(events, newer.events);
  append(samples, newer.samples);
  if (newer.live) live = std::exchange(newer.live, std::nullopt);
}

bool CatalogueBatch::empty() const {
  return !info && !status && checkpoints.empty() && answers.empty();
}

void CatalogueBatch::take(CatalogueBatch& newer) {
  if (newer.info) info = std::exchange(newer.info, std::nullopt);
  if (newer.status) status = std::exchange(newer.status, std::nullopt);
  append(checkpoints, newer.checkpoints);
  append(answers, newer.answers);
}

void CatalogueBatch::write(const Database& catalogue, std::string_view run) const {
  if (info) catalogue::set_info(catalogue, run, *info);
  for (const auto& [checkpoint, put] : checkpoints) {
    if (put) {
      catalogue::put_checkpoint(catalogue, run, checkpoint);
    } else {
      catalogue::remove_checkpoint(catalogue, run, checkpoint.step);
    }
  }
  if (status) catalogue::set_status(catalogue, run, *status, "");
  // Answers come last: who waits for one finds everything else in place.
  for (const Answer& answer : answers)
    catalogue::answer_command(catalogue, answer.command, answer.text, answer.done);
}

}  // namespace lathe
