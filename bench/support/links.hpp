// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Bytes that the machine has sent over each of its network interfaces, by name, headers included, from the text of
/// /proc/net/dev. What stays within the machine (`lo`) is left out.
[[nodiscard]] std::map<std::string, std::uint64_t> sent_bytes(std::string_view net_dev);

/// The same of this host of a lab, whose interfaces are its own. Empty outside a lab.
[[nodiscard]] std::map<std::string, std::uint64_t> sent_by_this_host();

/// The rate of a lab's links in bits a second; nothing outside a lab.
[[nodiscard]] std::optional<double> lab_bits_per_s();

/// What crossed the links of a lab while something was measured, beside what had to: data that took another way, as
/// within the machine below the lab, was not measured.
struct Crossing {
  double expected = 0;
  double crossed = 0;
  std::vector<double> by_link = {};  ///< What of it crossed the first link of each host, the second, ...

  /// Headers only add to what crosses, and a few bytes may still wait to be sent.
  [[nodiscard]] bool is_whole() const noexcept { return crossed >= 0.9 * expected; }
  /// Whether each link carried at least a quarter of an equal share.
  [[nodiscard]] bool used_all_links() const noexcept;
  /// "52 + 48 %"; empty outside a lab.
  [[nodiscard]] std::string shares() const;
  /// "3.1 of 250 MB crossed the links"
  [[nodiscard]] std::string sentence() const;
  /// Why `name` has no row for messages of `bytes`.
  [[nodiscard]] std::string why_left_out(std::string_view name, std::size_t bytes) const;
};

}  // namespace bench
