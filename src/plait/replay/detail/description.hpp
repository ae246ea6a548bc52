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

/// The pairs of `key=value,key=value`; spaces around them do not count. Error: `bad_argument` for what is no such pair
/// and for a key that is there twice.
[[nodiscard]] Result<std::map<std::string, std::string, std::less<>>> parse_pairs(std::string_view text);

/// "6KiB", "1.5 MB", "800": bytes. Nothing for what is no size, and from 2^50 on.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// "2ms", "10 us", "0": a time; a unit must be there unless it is 0. Nothing for what is no time, and from a day on.
[[nodiscard]] std::optional<nanoseconds> parse_time(std::string_view text);

/// A number from 0, without anything after it.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// A whole number of at most `largest`.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t largest);

}  // namespace plait::replay::detail
