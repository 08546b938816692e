#include <cstdio>
#include <iostream>

#include "app/cli/commands.h"

namespace lathe::cli {

void print(const Context& context, const nlohmann::json& document, const std::function<void()>& text) {
  if (context.json) {
    std::cout << document.dump(2) << '\n';
  } else {
    text();
  }
}

int report(const Context& context, const Error& error) {
  if (context.json) {
    const nlohmann::json document = {{"error",
                                      {{"code", error_code_name(error.code())},
                                       {"what_happened", error.what_happened()},
                                       {"what_to_do", error.what_to_do()}}}};
    std::cout << document.dump(2) << '\n';
  }
  std::cerr << "error: " << error.what() << '\n';
  return exit_code(error.code());
}

}  // namespace lathe::cli
