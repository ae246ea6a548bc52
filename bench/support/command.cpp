// SPDX-License-Identifier: Apache-2.0
#include "support/command.hpp"

#include <array>
#include <cstdio>
#include <sstream>

namespace bench {

CommandOutput output_of(const std::string& command) {
  CommandOutput output;
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    return output;
  }
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    output.text.append(part.data(), count);
  }
  output.is_good = pclose(pipe) == 0;
  return output;
}

std::vector<double> numbers_after(const std::string& word, const std::string& text) {
  std::vector<double> numbers;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts{line};
    std::string first;
    double number = 0;
    if (parts >> first >> number && first == word) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace bench
