// SPDX-License-Identifier: Apache-2.0
#include "support/links.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bench {

std::map<std::string, std::uint64_t> sent_bytes(std::string_view net_dev) {
  constexpr int column_of_sent_bytes = 8;
  std::map<std::string, std::uint64_t> sent;
  std::istringstream lines{std::string{net_dev}};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;  // a heading
    }
    const std::size_t name = line.find_first_not_of(' ');
    std::istringstream columns{line.substr(colon + 1)};
    std::uint64_t value = 0;
    for (int column = 0; column <= column_of_sent_bytes; ++column) {
      columns >> value;
    }
    const std::string interface = line.substr(name, colon - name);
    if (interface != "lo" && columns) {
      sent[interface] = value;
    }
  }
  return sent;
}

std::map<std::string, std::uint64_t> sent_by_this_host() {
  if (std::getenv("PLAIT_LAB") == nullptr) {
    return {};
  }
  std::ifstream file{"/proc/net/dev"};
  return sent_bytes(std::string{std::istreambuf_iterator<char>{file}, {}});
}

std::optional<double> lab_bits_per_s() {
  const char* const text = std::getenv("PLAIT_LAB_BITS_PER_S");  // set by `plait lab`
  return text == nullptr ? std::nullopt : std::optional{std::atof(text)};
}

bool Crossing::used_all_links() const noexcept {
  const double quarter = crossed / (4.0 * static_cast<double>(by_link.size()));
  return std::ranges::all_of(by_link, [&](double bytes) { return bytes >= quarter; });
}

std::string Crossing::shares() const {
  std::vector<std::string> percent;
  percent.reserve(by_link.size());
  for (const double bytes : by_link) {
    percent.push_back(fmt::format("{:.0f}", 100 * bytes / crossed));
  }
  return percent.empty() ? "" : fmt::format("{} %", fmt::join(percent, " + "));
}

std::string Crossing::sentence() const {
  return fmt::format("{:.3g} of {:.3g} MB crossed the links", 1e-6 * crossed, 1e-6 * expected);
}

std::string Crossing::why_left_out(std::string_view name, std::size_t bytes) const {
  return fmt::format("{} is left out at {} bytes: {}, the rest took another way", name, bytes, sentence());
}

}  // namespace bench
