// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace bench {

/// What a shell command printed, standard error included.
struct CommandOutput {
  bool is_good = false;  ///< Its exit status was 0.
  std::string text;
};
[[nodiscard]] CommandOutput output_of(const std::string& command);

/// The numbers of the lines that consist of `word` and a number.
[[nodiscard]] std::vector<double> numbers_after(const std::string& word, const std::string& text);

}  // namespace bench
