// SPDX-License-Identifier: Apache-2.0
#include "plait/record/window.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace plait::record {
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

Windows::Windows(const WindowOptions& options, trace::Recorder& recorder)
    : length_{options.length}, period_{options.period}, every_{options.every} {
  if (!options.from.empty()) {
    from_ = recorder.name(trace::Role::span, options.from);
    to_ = recorder.name(trace::Role::span, options.to);
  }
}

bool Windows::overlaps_time(nanoseconds start, nanoseconds end, trace::ThreadRecorder& recorder) noexcept {
  const nanoseconds offset{offset_.load(std::memory_order_relaxed)};
  const std::int64_t number = std::max<std::int64_t>((end + offset) / period_, 0);
  const nanoseconds begin = number * period_ - offset;
  if (start >= begin + length_) {
    return false;
  }
  std::int64_t known = recorded_.load(std::memory_order_relaxed);
  if (known < number && recorded_.compare_exchange_strong(known, number, std::memory_order_relaxed)) {
    recorder.window({.number = static_cast<std::uint32_t>(number),
                     .start = std::max(begin, nanoseconds{}),
                     .end = std::max(begin + length_, nanoseconds{1})});
  }
  return true;
}

void Windows::region_begins(trace::NameId region, nanoseconds now, trace::ThreadRecorder& recorder) noexcept {
  if (!from_ || region != from_) {
    return;
  }
  const std::uint32_t number = begins_.fetch_add(1, std::memory_order_relaxed);
  if (number % every_ != 0) {
    return;
  }
  end_.store(never, std::memory_order_relaxed);
  start_.store(now.count(), std::memory_order_relaxed);
  recorder.window({.number = number / every_, .start = now});
}

void Windows::region_ends(trace::NameId region, nanoseconds now, trace::ThreadRecorder& recorder) noexcept {
  const nanoseconds::rep start = start_.load(std::memory_order_relaxed);
  if (!to_ || region != to_ || start == never || end_.load(std::memory_order_relaxed) != never) {
    return;
  }
  end_.store(now.count(), std::memory_order_relaxed);
  const std::uint32_t number = (begins_.load(std::memory_order_relaxed) - 1) / every_;
  recorder.window({.number = number, .start = nanoseconds{start}, .end = now});
}

}  // namespace plait::record
