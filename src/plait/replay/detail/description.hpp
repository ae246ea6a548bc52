// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"

namespace plait::replay::detail {

/// Parses `key=value,key=value`, without surrounding spaces. Error: `bad_argument` for invalid pairs and repeated keys.
[[nodiscard]] Result<std::map<std::string, std::string, std::less<>>> parse_pairs(std::string_view text);

/// Parses a size: "6KiB", "1.5 MB", "800". Nothing if invalid, or from 2^50 on.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Parses a time: "2ms", "10 us", "0"; only 0 needs no unit. Nothing if invalid, or from a day on.
[[nodiscard]] std::optional<nanoseconds> parse_time(std::string_view text);

/// Parses a number, 0 or more.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// Parses a whole number up to `largest`.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t largest);

}  // namespace plait::replay::detail
