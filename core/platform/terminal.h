// Whether a stream is a person's terminal, and how wide it is.
#pragma once

#include <cstdio>

namespace lathe {

bool is_terminal(std::FILE* stream);
int terminal_width(std::FILE* stream);  // columns; 80 when unknown

}  // namespace lathe
