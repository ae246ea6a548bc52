// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/window.hpp"

#include <algorithm>

namespace plait::trace {

Windows::Windows(const WindowOptions& options, Recorder& recorder)
    : length_{options.length}, period_{options.period}, every_{options.every} {
  if (!options.from.empty()) {
    from_ = recorder.name(Role::span, options.from);
    to_ = recorder.name(Role::span, options.to);
  }
}

bool Windows::overlaps_time(nanoseconds start, nanoseconds end, ThreadRecorder& recorder) noexcept {
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

void Windows::region_begins(NameId region, nanoseconds now, ThreadRecorder& recorder) noexcept {
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

void Windows::region_ends(NameId region, nanoseconds now, ThreadRecorder& recorder) noexcept {
  const nanoseconds::rep start = start_.load(std::memory_order_relaxed);
  if (!to_ || region != to_ || start == never || end_.load(std::memory_order_relaxed) != never) {
    return;
  }
  end_.store(now.count(), std::memory_order_relaxed);
  const std::uint32_t number = (begins_.load(std::memory_order_relaxed) - 1) / every_;
  recorder.window({.number = number, .start = nanoseconds{start}, .end = now});
}

}  // namespace plait::trace
