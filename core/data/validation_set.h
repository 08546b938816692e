// The held-out documents of a dataset as fixed batches: the same windows in the same order at every
// evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/batch.h"
#include "core/data/dataset.h"

namespace lathe {

class ValidationSet {
 public:
  // The whole windows within the first `max_tokens` tokens (0 = all) of the split, at least one. A split that
  // is shorter than one window gives one window, padded (targets -1). Throws InvalidArgument when it is
  // empty.
  ValidationSet(std::string name, std::shared_ptr<const Dataset> dataset, int64_t context, int64_t max_tokens,
                Split split = Split::Validation);

  const std::string& name() const { return name_; }
  int64_t windows() const { return windows_; }
  int64_t tokens() const {
    return windows_ * context_;
  }  // nominal; the batches' valid_tokens count in the loss

  // Rows first_window … first_window + rows - 1. Rows beyond the end are padding (targets -1), so that every
  // batch has the same shape.
  void fill(int64_t first_window, int64_t rows, Batch& batch) const;

 private:
  std::string name_;
  std::shared_ptr<const Dataset> dataset_;
  int64_t context_ = 0;
  int64_t windows_ = 0;
  Split split_;
};

}  // namespace lathe
