// The families that parity_cases() is made of; each appends its cases for one program dtype.
#pragma once

#include <vector>

#include "tests/parity/op_case.h"

namespace lathe::test {

void add_row_cases(DType dtype, std::vector<OpCase>& cases);        // fill, embedding, norms, rope, swiglu
void add_linear_cases(DType dtype, std::vector<OpCase>& cases);     // the three products
void add_attention_cases(DType dtype, std::vector<OpCase>& cases);  // attention, its backward, generation
void add_loss_cases(DType dtype, std::vector<OpCase>& cases);       // classifier, sums, norms, clip
void add_adamw_cases(DType dtype, std::vector<OpCase>& cases);

}  // namespace lathe::test
