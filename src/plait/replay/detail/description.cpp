// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/description.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace plait::replay::detail {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array byte_units{Unit{"", 1},
                                Unit{"B", 1},
                                Unit{"KiB", 0x1p10},
                                Unit{"MiB", 0x1p20},
                                Unit{"GiB", 0x1p30},
                                Unit{"kB", 1e3},
                                Unit{"KB", 1e3},
                                Unit{"MB", 1e6},
                                Unit{"GB", 1e9}};
constexpr std::array time_units{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
constexpr double bytes_end = 0x1p50;
constexpr double time_end_ns = 86400e9;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// A number from 0 at the beginning of `text`, and what follows it.
std::optional<std::pair<double, std::string_view>> leading_number(std::string_view text) {
  text = trimmed(text);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, trouble] = std::from_chars(text.data(), end, number);
  if (trouble != std::errc{} || !std::isfinite(number) || number < 0) {
    return std::nullopt;
  }
  return std::pair{number, trimmed({rest, static_cast<std::size_t>(end - rest)})};
}

template <std::size_t count>
std::optional<double> with_unit(std::string_view text, const std::array<Unit, count>& units) {
  const auto found = leading_number(text);
  if (!found) {
    return std::nullopt;
  }
  const auto unit = std::ranges::find(units, found->second, &Unit::name);
  return unit == units.end() ? std::nullopt : std::optional{found->first * unit->factor};
}

}  // namespace

Result<std::map<std::string, std::string, std::less<>>> parse_pairs(std::string_view text) {
  std::map<std::string, std::string, std::less<>> pairs;
  while (!trimmed(text).empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view pair = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t equals = pair.find('=');
    const std::string_view key = trimmed(pair.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      return Error{ErrorCode::bad_argument,
                   fmt::format("'{}' is not of the form key=value; pairs are separated by commas", trimmed(pair))};
    }
    if (!pairs.emplace(key, trimmed(pair.substr(equals + 1))).second) {
      return Error{ErrorCode::bad_argument, fmt::format("'{}' is given twice; leave one of them out", key)};
    }
  }
  return pairs;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::optional<double> bytes = with_unit(text, byte_units);
  return bytes && *bytes < bytes_end ? std::optional{static_cast<std::uint64_t>(std::llround(*bytes))} : std::nullopt;
}

std::optional<nanoseconds> parse_time(std::string_view text) {
  if (trimmed(text) == "0") {
    return nanoseconds{};
  }
  const std::optional<double> time = with_unit(text, time_units);
  return time && *time < time_end_ns ? std::optional{nanoseconds{std::llround(*time)}} : std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  const auto found = leading_number(text);
  return found && found->second.empty() ? std::optional{found->first} : std::nullopt;
}

std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t largest) {
  text = trimmed(text);
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, trouble] = std::from_chars(text.data(), end, count);
  return trouble == std::errc{} && rest == end && count <= largest ? std::optional{count} : std::nullopt;
}

}  // namespace plait::replay::detail
