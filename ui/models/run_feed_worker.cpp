#include "ui/models/run_feed_worker.h"

#include <algorithm>
#include <cmath>

#include "kernels/api/error.h"
#include "ui/latest_job.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr int kPollMs = 100;
// The first answer comes at once with at most so many points; all rows follow right behind.
constexpr int64_t kFirstPoints = 20'000;
// Beyond it the points that stand for 64 rows stay: ten million rows are 80 bytes each and more than eyes
// can use.
constexpr int64_t kMostRows = 4'000'000;

// Splits what was read by metric and part. What wasn't measured is left out; a measured NaN stays.
std::vector<FeedPoints> split(const Series& series, const std::vector<std::string>& metrics, bool all,
                              double smoothing) {
  std::vector<FeedPoints> result;
  const bool parts = !series.part.empty();
  for (size_t column = 0; column < metrics.size(); ++column) {
    const SeriesColumn& values = series.columns[column];
    std::map<std::string_view, PointColumns> by_part;
    if (!parts) by_part.try_emplace({});
    for (size_t i = 0; i < series.size(); ++i) {
      const bool bad = !values.non_finite.empty() && values.non_finite[i] > 0;
      if (!values.present[i] && !bad) continue;
      PointColumns& points = by_part[parts ? std::string_view(series.part[i]) : std::string_view{}];
      points.x.push_back(series.x[i]);
      points.y.push_back(values.last[i]);
      if (values.min.empty()) continue;
      points.low.push_back(values.min[i]);
      points.high.push_back(values.max[i]);
      points.bad.push_back(bad);
    }
    for (auto& [part, points] : by_part) {
      FeedPoints one{metrics[column], std::string(part)};
      if (all) {
        one.all = std::make_shared<SeriesData>();
        one.all->assign(std::move(points));
        one.all->set_smoothing(metric(one.metric).smoothing > 0 ? smoothing : 0);
      } else if (points.size() > 0) {
        one.more = std::move(points);
      } else {
        continue;
      }
      result.push_back(std::move(one));
    }
  }
  return result;
}

}  // namespace

RunFeedWorker::RunFeedWorker(OpenHistory open) : open_history_(std::move(open)), timer_(new QTimer(this)) {
  timer_->setInterval(kPollMs);
  connect(timer_, &QTimer::timeout, this, &RunFeedWorker::look);
}

void RunFeedWorker::start(int64_t id, const RunRequest& request) {
  const bool same_run = request.run == request_.run;
  id_ = id;
  request_ = request;
  if (!same_run) reader_.reset();
  running_ = true;
  generation_ = run_version_ = catalogue_version_ = -1;
  last_error_.clear();
  timer_->start();
  look();
}

void RunFeedWorker::set_active(bool active) {
  if (!running_) return;
  if (active) {
    timer_->start();
    look();
  } else {
    timer_->stop();
  }
}

void RunFeedWorker::stop() {
  running_ = false;
  timer_->stop();
  reader_.reset();
  request_ = {};
}

void RunFeedWorker::open() {
  if (!store_) store_ = open_history_();
  if (!reader_) reader_ = store_->open_reader(request_.run);
}

void RunFeedWorker::restart(RunDelta& delta) {
  delta.restart = true;
  complete_ = false;
  last_event_ = last_sample_ = 0;
  tables_.clear();
  for (const std::string& key : request_.metrics) tables_[metric(key).table].metrics.push_back(key);
}

void RunFeedWorker::look() {
  RunDelta delta;
  delta.request = id_;
  try {
    open();
    const int64_t catalogue_version = store_->data_version();
    if (catalogue_version != catalogue_version_) {
      read_catalogue(delta);
      catalogue_version_ = catalogue_version;
    }
    const int64_t run_version = reader_->data_version();
    if (run_version != run_version_) {
      const int64_t generation = reader_->generation();
      if (generation != generation_) restart(delta);
      generation_ = generation;
      for (auto& [table, state] : tables_) read_table(table, state, delta);
      if (request_.texts) read_texts(delta);
      delta.live = reader_->live();
      run_version_ = run_version;  // last: a failed look is repeated
    } else if (!complete_) {
      complete_ = !refine(delta);
      delta.complete = complete_;
    }
    last_error_.clear();
  } catch (...) {
    const Error error = as_error(std::current_exception());
    const QString text = to_qt(std::string_view(error.what()));
    reader_.reset();
    if (text == last_error_) return;
    delta.error = last_error_ = text;
  }
  send(std::move(delta));
  // All rows follow the first picture without waiting for the next look.
  if (running_ && !complete_ && last_error_.isEmpty())
    QTimer::singleShot(0, this, [this, id = id_] {
      if (id == id_ && running_ && !complete_ && reader_) look();
    });
}

void RunFeedWorker::read_catalogue(RunDelta& delta) {
  delta.details = store_->details(request_.run);
  if (request_.texts) delta.checkpoints = store_->checkpoints(request_.run);
}

void RunFeedWorker::read_table(MetricTable table, TableState& state, RunDelta& delta) {
  SeriesQuery query;
  query.metrics = state.metrics;
  query.axis = request_.axis;
  const bool first = delta.restart;
  if (first) {
    query.resolution = reader_->resolution_for(table, kFirstPoints);
    state.raw = query.resolution == Resolution::Raw;
  } else if (state.raw) {
    query.after_seq = state.last_seq;
  } else {
    return;  // refine() fetches everything anyway
  }
  const Series series = reader_->series(query);
  if (series.size() > 0) state.last_seq = series.seq.back();
  std::vector<FeedPoints> points = split(series, state.metrics, first, request_.smoothing);
  std::ranges::move(points, std::back_inserter(delta.points));
}

// Replaces points that stand for many rows by the rows, one table a call. False: nothing was left to do.
bool RunFeedWorker::refine(RunDelta& delta) {
  for (auto& [table, state] : tables_) {
    if (state.raw) continue;
    SeriesQuery query;
    query.metrics = state.metrics;
    query.axis = request_.axis;
    if (reader_->row_count(table) > kMostRows) query.resolution = Resolution::Rows64;
    const Series series = reader_->series(query);
    if (series.size() > 0) state.last_seq = series.seq.back();
    state.raw = true;
    delta.points = split(series, state.metrics, true, request_.smoothing);
    return true;
  }
  return false;
}

void RunFeedWorker::read_texts(RunDelta& delta) {
  delta.events = reader_->events(last_event_);
  if (!delta.events.empty()) last_event_ = delta.events.back().id;
  delta.samples = reader_->samples(last_sample_);
  if (!delta.samples.empty()) last_sample_ = delta.samples.back().id;
}

void RunFeedWorker::send(RunDelta delta_value) {
  const RunDelta& one = delta_value;
  const bool news = one.restart || one.details || one.checkpoints || one.live || !one.points.empty() ||
                    !one.events.empty() || !one.samples.empty() || one.complete || !one.error.isEmpty();
  if (news) Q_EMIT delta(std::make_shared<const RunDelta>(std::move(delta_value)));
}

}  // namespace lathe::ui
