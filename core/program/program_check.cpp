#include "core/program/program_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/program/memory_plan.h"

namespace lathe {

namespace {

// Disjoint, merged [begin, end) ranges of bytes.
class ByteRanges {
 public:
  void add(int64_t begin, int64_t end) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second >= begin) --it;
    while (it != ranges_.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ranges_.erase(it);
    }
    ranges_[begin] = end;
  }
  bool covers(int64_t begin, int64_t end) const {
    auto it = ranges_.upper_bound(begin);
    return it != ranges_.begin() && std::prev(it)->second >= end;
  }

 private:
  std::map<int64_t, int64_t> ranges_;
};

// Calls visit(begin, end) for the contiguous byte runs of a view.
template <typename Visit>
void visit_runs(const Tensor& tensor, const Visit& visit) {
  const int64_t size = dtype_bytes(tensor.dtype);
  int inner = tensor.shape.rank;  // dimensions from `inner` on are contiguous
  int64_t run = 1;
  while (inner > 0) {
    const auto d = static_cast<size_t>(inner - 1);
    if (tensor.shape.dims[d] != 1 && tensor.strides[d] != run) break;
    run *= tensor.shape.dims[d];
    --inner;
  }
  int64_t outer = 1;
  for (int d = 0; d < inner; ++d) outer *= tensor.shape[d];
  for (int64_t i = 0; i < outer; ++i) {
    int64_t rest = i, offset = 0;
    for (int d = inner - 1; d >= 0; --d) {
      offset += rest % tensor.shape[d] * tensor.strides[static_cast<size_t>(d)];
      rest /= tensor.shape[d];
    }
    const int64_t begin = tensor.offset_bytes + offset * size;
    visit(begin, begin + run * size);
  }
}

}  // namespace

std::vector<std::string> check_program(const StepProgram& program) {
  std::vector<std::string> findings;
  for (const Tensor& tensor : program.tensors) {
    visit_runs(tensor, [&](int64_t begin, int64_t end) {
      if (begin < 0 || end > program.buffers[static_cast<size_t>(tensor.buffer)].bytes) {
        findings.push_back(fmt::format("{} reaches outside its buffer", tensor.name));
      }
    });
  }
  for (int s = 0; s < kSequenceCount; ++s) {
    const auto& ops = program.sequences[static_cast<size_t>(s)].ops;
    std::map<BufferId, ByteRanges> written;
    for (size_t i = 0; i < ops.size(); ++i) {
      const Op& op = ops[i];
      const auto say = [&](const std::string& what) {
        findings.push_back(fmt::format("{}, op {} ({}): {}", sequence_name(static_cast<SequenceId>(s)), i,
                                       describe(op), what));
      };
      const size_t slots = static_cast<size_t>(slot_count(op.kind));
      const bool workspace = op.operands.size() == slots + 1 && op.operands.back().access == Access::Scratch;
      if (op.operands.size() != slots && !workspace) {
        say(fmt::format("{} operands, {} expected", op.operands.size(), slots));
        continue;
      }
      if (op.phase == Phase::Recompute) {
        const bool sound = op.source >= 0 && op.source < static_cast<int>(i) &&
                           ops[static_cast<size_t>(op.source)].kind == op.kind &&
                           ops[static_cast<size_t>(op.source)].layer == op.layer;
        if (!sound) say("replays an op that is not its source");
      }
      for (const Operand& operand : op.operands) {
        if (operand.tensor == kNone) continue;
        const Tensor& tensor = program.tensor(operand.tensor);
        const Buffer& buffer = program.buffers[static_cast<size_t>(tensor.buffer)];
        if (buffer.lifetime != Lifetime::Sequence) continue;
        if (buffer.sequence != s) say(tensor.name + " belongs to another sequence");
        if (operand.access == Access::Write || operand.access == Access::Scratch) continue;
        visit_runs(tensor, [&](int64_t begin, int64_t end) {
          if (!written[tensor.buffer].covers(begin, end)) say(tensor.name + " is read before it is written");
        });
      }
      for (const Operand& operand : op.operands) {
        if (operand.tensor == kNone || operand.access == Access::Read) continue;
        const Tensor& tensor = program.tensor(operand.tensor);
        visit_runs(tensor, [&](int64_t begin, int64_t end) { written[tensor.buffer].add(begin, end); });
      }
    }
  }
  return findings;
}

std::vector<std::string> check_plan(const StepProgram& program, const MemoryPlan& plan) {
  std::vector<std::string> findings;
  const std::vector<LiveRange> ranges = live_ranges(program);
  struct Block {
    size_t id;
    int64_t begin, end;
  };
  const auto verify = [&](std::vector<Block> blocks, const auto& together) {
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t j = i + 1; j < blocks.size() && blocks[j].begin < blocks[i].end; ++j) {
        if (!together(blocks[i].id, blocks[j].id)) continue;
        findings.push_back(fmt::format("{} and {} overlap while both live",
                                       program.buffers[blocks[i].id].name,
                                       program.buffers[blocks[j].id].name));
      }
    }
  };
  for (int s = 0; s < kSequenceCount; ++s) {
    const Sequence& sequence = program.sequences[static_cast<size_t>(s)];
    std::vector<Block> blocks;
    for (size_t id = 0; id < program.buffers.size(); ++id) {
      const Buffer& buffer = program.buffers[id];
      const bool present =
          buffer.lifetime == Lifetime::Run || (buffer.lifetime == Lifetime::Group && sequence.group != 0) ||
          (buffer.lifetime == Lifetime::Sequence && buffer.sequence == s && ranges[id].first >= 0);
      if (!present) continue;
      const int64_t begin = plan.offsets[id], end = begin + buffer.bytes;
      if (begin % kBufferAlignment != 0) findings.push_back(buffer.name + " is not aligned");
      if (begin < 0 || end > plan.arena_bytes) findings.push_back(buffer.name + " lies outside the arena");
      blocks.push_back({id, begin, end});
    }
    verify(blocks, [&](size_t a, size_t b) {
      const bool both = program.buffers[a].lifetime == Lifetime::Sequence &&
                        program.buffers[b].lifetime == Lifetime::Sequence;
      return !both || (ranges[a].first <= ranges[b].last && ranges[b].first <= ranges[a].last);
    });
  }
  return findings;
}

}  // namespace lathe
