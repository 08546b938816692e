// Tensor maps, encoded by a driver function that is looked up at run time, so that nothing links to the
// driver.
#include "kernels/cuda/attention_tensor_map.h"

#include <cuda_runtime.h>

#include <string>

#include "kernels/api/error.h"
#include "kernels/cuda/attention_family.h"

namespace lathe::attention {
namespace {

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

Encode encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  require(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
      "Looking up cuTensorMapEncodeTiled");
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw Error(ErrorCode::Unsupported, "The driver has no cuTensorMapEncodeTiled.",
                "Update the NVIDIA driver to one for CUDA 12.0 or newer.");
  }
  return reinterpret_cast<Encode>(function);
}

}  // namespace

CUtensorMap head_tensor_map(const void* data, const AttentionShape& shape, int64_t heads, int64_t row_stride,
                            int box_rows) {
  static const Encode encode = encoder();
  const auto wide = [](int64_t value) { return static_cast<cuuint64_t>(value); };
  const cuuint64_t sizes[4] = {wide(shape.head_dim), wide(heads), wide(shape.context), wide(shape.batch)};
  const cuuint64_t strides[3] = {wide(shape.head_dim * 2), wide(row_stride * 2),
                                 wide(shape.context * row_stride * 2)};
  const cuuint32_t box[4] = {64, 1, static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  CUtensorMap map{};
  const CUresult status =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<void*>(data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw Error(ErrorCode::Backend,
                "Describing an attention tensor to the copy engine failed with driver error " +
                    std::to_string(static_cast<int>(status)) + ".",
                "Please report this with the model's head dim and context.");
  }
  return map;
}

}  // namespace lathe::attention
