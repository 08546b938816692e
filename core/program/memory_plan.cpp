#include "core/program/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace lathe {

namespace {

struct Item {
  BufferId buffer;
  int64_t bytes;
  LiveRange range;
};

// Places each item at the lowest offset of the tightest gap that its neighbours in time leave. Returns the
// end.
int64_t place(const std::vector<Item>& items, int64_t base, std::vector<int64_t>& offsets) {
  std::vector<const Item*> placed;
  std::vector<std::pair<int64_t, int64_t>> taken;  // of those alive at the same time: offset, end
  int64_t end = base;
  for (const Item& item : items) {
    taken.clear();
    for (const Item* other : placed) {
      if (other->range.first <= item.range.last && item.range.first <= other->range.last) {
        const int64_t offset = offsets[static_cast<size_t>(other->buffer)];
        taken.emplace_back(offset, offset + other->bytes);
      }
    }
    std::sort(taken.begin(), taken.end());
    int64_t cursor = base, best = -1, best_gap = 0;
    for (const auto& [offset, stop] : taken) {
      const int64_t gap = offset - cursor;
      if (gap >= item.bytes && (best < 0 || gap < best_gap)) best = cursor, best_gap = gap;
      cursor = std::max(cursor, stop);
    }
    if (best < 0) best = cursor;
    offsets[static_cast<size_t>(item.buffer)] = best;
    end = std::max(end, best + item.bytes);
    placed.push_back(&item);
  }
  return end;
}

// Largest sum of bytes live at one time.
int64_t largest_live(const std::vector<Item>& items) {
  int last = 0;
  for (const Item& item : items) last = std::max(last, item.range.last);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2, 0);
  for (const Item& item : items) {
    change[static_cast<size_t>(item.range.first)] += item.bytes;
    change[static_cast<size_t>(item.range.last) + 1] -= item.bytes;
  }
  int64_t now = 0, most = 0;
  for (const int64_t bytes : change) most = std::max(most, now += bytes);
  return most;
}

bool same_shape(const std::vector<Item>& a, const std::vector<Item>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) {
    return x.bytes == y.bytes && x.range.first == y.range.first && x.range.last == y.range.last;
  });
}

int64_t place_sequence(std::vector<Item> items, int64_t base, uint64_t seed, std::vector<int64_t>& offsets) {
  if (seed != 0) {
    std::mt19937_64 random(seed);
    std::shuffle(items.begin(), items.end(), random);
    return place(items, base, offsets);
  }
  const auto length = [](const Item& item) { return int64_t{item.range.last} - item.range.first + 1; };
  const auto larger = [](const Item& a, const Item& b) { return a.bytes > b.bytes; };
  const auto area = [&](const Item& a, const Item& b) { return a.bytes * length(a) > b.bytes * length(b); };
  const auto longer = [&](const Item& a, const Item& b) {
    return length(a) != length(b) ? length(a) > length(b) : a.bytes > b.bytes;
  };
  const int64_t bound = base + largest_live(items);  // nothing can be smaller
  int64_t best_end = -1;
  std::vector<Item> best_order;
  std::vector<int64_t> trial = offsets;
  const auto attempt = [&] {
    const int64_t end = place(items, base, trial);
    if (best_end < 0 || end <= best_end) best_end = end, offsets = trial, best_order = items;
  };
  std::vector<Item> by_size = std::move(items);
  std::stable_sort(by_size.begin(), by_size.end(), larger);
  std::vector<Item> by_area = by_size;
  std::stable_sort(by_area.begin(), by_area.end(), area);
  std::vector<Item> by_length = by_area;
  std::stable_sort(by_length.begin(), by_length.end(), longer);
  for (std::vector<Item>* order : {&by_length, &by_area, &by_size}) {
    items = std::move(*order);
    attempt();
    if (best_end <= bound) break;
  }
  // Near misses yield to small changes of the best order: an item takes its place earlier. Bounded work, own
  // seed.
  const auto count = static_cast<int64_t>(items.size());
  std::mt19937_64 random(1);
  for (int64_t work = 0; work < 5'000'000 && best_end > bound + (bound - base) / 200; work += count * count) {
    items = best_order;
    for (int move = 0; move < 3; ++move) {
      const int64_t from = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
      const int64_t to = static_cast<int64_t>(random() % static_cast<uint64_t>(from + 1));
      std::rotate(items.begin() + to, items.begin() + from, items.begin() + from + 1);
    }
    attempt();
  }
  return std::max(best_end, base);
}

}  // namespace

int64_t aligned_bytes(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

std::vector<LiveRange> live_ranges(const StepProgram& program) {
  std::vector<LiveRange> ranges(program.buffers.size());
  for (const Sequence& sequence : program.sequences) {
    const int count = static_cast<int>(sequence.ops.size());
    for (int i = 0; i < count; ++i) {
      const Op& op = sequence.ops[static_cast<size_t>(i)];
      for (const Operand& operand : op.operands) {
        if (operand.tensor == kNone) continue;
        LiveRange& range = ranges[static_cast<size_t>(program.tensor(operand.tensor).buffer)];
        if (range.first < 0) range.first = i;
        range.last = op.stream == 0 ? std::max(range.last, i) : count - 1;
      }
    }
  }
  return ranges;
}

MemoryPlan plan_memory(const StepProgram& program, uint64_t seed) {
  MemoryPlan plan;
  plan.offsets.assign(program.buffers.size(), 0);
  const std::vector<LiveRange> ranges = live_ranges(program);
  const auto append = [&](size_t id, int64_t& end) {
    plan.offsets[id] = end;
    end += aligned_bytes(program.buffers[id].bytes);
  };

  std::vector<size_t> persistent;
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].lifetime == Lifetime::Run) persistent.push_back(id);
  }
  if (seed != 0) {
    std::mt19937_64 random(seed);
    std::shuffle(persistent.begin(), persistent.end(), random);
  }
  for (const size_t id : persistent) append(id, plan.persistent_bytes);
  plan.arena_bytes = plan.persistent_bytes;

  int64_t group_end = plan.persistent_bytes;  // the cache of generation, under its sequences' own buffers
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].lifetime == Lifetime::Group) append(id, group_end);
  }
  std::vector<Item> first_micro_step;
  for (int s = 0; s < kSequenceCount; ++s) {
    std::vector<Item> items;
    for (size_t id = 0; id < program.buffers.size(); ++id) {
      const Buffer& buffer = program.buffers[id];
      if (buffer.lifetime != Lifetime::Sequence || buffer.sequence != s || ranges[id].first < 0) continue;
      items.push_back({static_cast<BufferId>(id), aligned_bytes(buffer.bytes), ranges[id]});
    }
    const Sequence& sequence = program.sequences[static_cast<size_t>(s)];
    if (sequence.ops.empty()) continue;
    const int64_t base = sequence.group == 0 ? plan.persistent_bytes : group_end;
    if (s == static_cast<int>(SequenceId::MicroFirst)) first_micro_step = items;
    if (s == static_cast<int>(SequenceId::MicroRest) && same_shape(items, first_micro_step)) {
      // Further micro-steps differ from the first in what they write, not in what they hold.
      for (size_t i = 0; i < items.size(); ++i) {
        plan.offsets[static_cast<size_t>(items[i].buffer)] =
            plan.offsets[static_cast<size_t>(first_micro_step[i].buffer)];
      }
      continue;
    }
    plan.arena_bytes = std::max(plan.arena_bytes, place_sequence(std::move(items), base, seed, plan.offsets));
  }
  return plan;
}

namespace {

// Calls visit(buffer id, rounded bytes) for each buffer that is live at op of the sequence.
template <typename Visit>
void visit_live(const StepProgram& program, const std::vector<LiveRange>& ranges, SequenceId sequence, int op,
                const Visit& visit) {
  const bool generation = program.sequence(sequence).group != 0;
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const Buffer& buffer = program.buffers[id];
    const bool live =
        buffer.lifetime == Lifetime::Run || (buffer.lifetime == Lifetime::Group && generation) ||
        (buffer.lifetime == Lifetime::Sequence && buffer.sequence == static_cast<int>(sequence) &&
         ranges[id].first >= 0 && ranges[id].first <= op && op <= ranges[id].last);
    if (live) visit(id, aligned_bytes(buffer.bytes));
  }
}

}  // namespace

std::vector<int64_t> live_bytes(const StepProgram& program, SequenceId sequence) {
  const size_t count = program.sequence(sequence).ops.size();
  std::vector<int64_t> change(count + 1, 0);
  const std::vector<LiveRange> ranges = live_ranges(program);
  int64_t always = 0;
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const Buffer& buffer = program.buffers[id];
    const int64_t bytes = aligned_bytes(buffer.bytes);
    if (buffer.lifetime == Lifetime::Run) always += bytes;
    if (buffer.lifetime == Lifetime::Group && program.sequence(sequence).group != 0) always += bytes;
    if (buffer.lifetime != Lifetime::Sequence || buffer.sequence != static_cast<int>(sequence)) continue;
    if (ranges[id].first < 0) continue;
    change[static_cast<size_t>(ranges[id].first)] += bytes;
    change[static_cast<size_t>(ranges[id].last) + 1] -= bytes;
  }
  std::vector<int64_t> live(count);
  int64_t now = always;
  for (size_t i = 0; i < count; ++i) live[i] = now += change[i];
  return live;
}

MemoryPeak memory_peak(const StepProgram& program) {
  MemoryPeak peak;
  for (int s = 0; s < kSequenceCount; ++s) {
    const std::vector<int64_t> live = live_bytes(program, static_cast<SequenceId>(s));
    for (size_t i = 0; i < live.size(); ++i) {
      if (live[i] > peak.bytes) peak = {static_cast<SequenceId>(s), static_cast<int>(i), live[i]};
    }
  }
  return peak;
}

int64_t lower_bound_bytes(const StepProgram& program) {
  return memory_peak(program).bytes;
}

std::vector<int64_t> bytes_by_role(const StepProgram& program, SequenceId sequence, int op) {
  std::vector<int64_t> bytes(kRoleCount, 0);
  visit_live(program, live_ranges(program), sequence, op,
             [&](size_t id, int64_t size) { bytes[static_cast<size_t>(program.buffers[id].role)] += size; });
  return bytes;
}

std::vector<int64_t> bytes_by_layer(const StepProgram& program, SequenceId sequence, int op) {
  int layers = 0;
  for (const Buffer& buffer : program.buffers) layers = std::max(layers, buffer.layer + 1);
  std::vector<int64_t> bytes(static_cast<size_t>(layers) + 1, 0);
  visit_live(program, live_ranges(program), sequence, op, [&](size_t id, int64_t size) {
    const Buffer& buffer = program.buffers[id];
    if (buffer.lifetime != Lifetime::Sequence) return;
    bytes[static_cast<size_t>(buffer.layer == kNone ? layers : buffer.layer)] += size;
  });
  return bytes;
}

std::vector<int64_t> peak_by_phase(const StepProgram& program) {
  std::vector<int64_t> peak(4, 0);
  for (int s = 0; s < kSequenceCount; ++s) {
    const auto& ops = program.sequences[static_cast<size_t>(s)].ops;
    const std::vector<int64_t> live = live_bytes(program, static_cast<SequenceId>(s));
    for (size_t i = 0; i < live.size(); ++i) {
      int64_t& phase = peak[static_cast<size_t>(ops[i].phase)];
      phase = std::max(phase, live[i]);
    }
  }
  return peak;
}

}  // namespace lathe
