// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/profile_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace plait::trace {
namespace {

/// The longest period: a year, above which times are taken for damage.
constexpr double seconds_max = 366.0 * 24 * 3600;

Error unreadable(std::string_view text) {
  return Error{
      ErrorCode::bad_argument,
      fmt::format("'{}' is no window; give LENGTH/PERIOD as in 10s/1000s, region:NAME, region:FROM..TO, or one of "
                  "the latter with /EVERY",
                  text)};
}

/// Reads "10s", "1.5min"; nothing if it is no positive time.
std::optional<nanoseconds> read_time(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units{
      {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto unit = std::ranges::find(
      units, text.substr(static_cast<std::size_t>(end - text.data())), [](const auto& known) { return known.first; });
  if (error != std::errc{} || unit == units.end()) {
    return std::nullopt;
  }
  const double seconds = value * unit->second;
  if (!(seconds >= 1e-3 && seconds <= seconds_max)) {
    return std::nullopt;
  }
  return nanoseconds{std::llround(seconds * 1e9)};
}

std::optional<WindowOptions> read_regions(std::string_view text) {
  WindowOptions options;
  if (const std::size_t slash = text.rfind('/'); slash != std::string_view::npos) {
    const std::string_view every = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(every.data(), every.data() + every.size(), options.every);
    if (error != std::errc{} || end != every.data() + every.size() || options.every == 0) {
      return std::nullopt;
    }
    text = text.substr(0, slash);
  }
  const std::size_t dots = text.find("..");
  options.from = text.substr(0, dots);
  options.to = dots == std::string_view::npos ? options.from : text.substr(dots + 2);
  if (options.from.empty() || options.to.empty()) {
    return std::nullopt;
  }
  return options;
}

std::optional<WindowOptions> read_times(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<nanoseconds> length = read_time(text.substr(0, slash));
  const std::optional<nanoseconds> period = read_time(text.substr(slash + 1));
  if (!length || !period || *length > *period) {
    return std::nullopt;
  }
  return WindowOptions{.length = *length, .period = *period};
}

}  // namespace

Result<WindowOptions> read_window_options(std::string_view text) {
  constexpr std::string_view region = "region:";
  std::optional<WindowOptions> options =
      text.starts_with(region) ? read_regions(text.substr(region.size())) : read_times(text);
  if (!options) {
    return unreadable(text);
  }
  return *std::move(options);
}

std::optional<ProfileOptions> ProfileOptions::from_environment() {
  const char* const wanted = std::getenv("PLAIT_RECORD_PROFILE");
  if (wanted == nullptr || *wanted == '\0' || std::string_view{wanted} == "0") {
    return std::nullopt;
  }
  ProfileOptions options;
  if (const char* const windows = std::getenv("PLAIT_RECORD_WINDOW"); windows != nullptr && *windows != '\0') {
    options.windows = read_window_options(windows).value();
  }
  return options;
}

}  // namespace plait::trace
