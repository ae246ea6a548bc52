// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

/// Bytes that the machine has sent over its network interfaces, headers included, from the text of /proc/net/dev. What
/// stays within the machine (`lo`) is not counted.
[[nodiscard]] std::uint64_t sent_bytes(std::string_view net_dev);

/// The same of this host of a lab, whose interface is its own. Nothing outside a lab.
[[nodiscard]] std::optional<std::uint64_t> sent_by_this_host();

/// What crossed the links of a lab while something was measured, beside what had to: data that took another way, as
/// within the machine below the lab, was not measured.
struct Crossing {
  double expected = 0;
  double crossed = 0;

  /// Headers only add to what crosses, and a few bytes may still wait to be sent.
  [[nodiscard]] bool is_whole() const noexcept { return crossed >= 0.9 * expected; }
  /// "3.1 of 250 MB crossed the links"
  [[nodiscard]] std::string sentence() const;
  /// Why `name` has no row for messages of `bytes`.
  [[nodiscard]] std::string why_left_out(std::string_view name, std::size_t bytes) const;
};

}  // namespace bench
