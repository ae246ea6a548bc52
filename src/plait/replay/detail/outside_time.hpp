// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plait/base/clock.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay::detail {

/// The time of a thread outside the library, which becomes computing: without that of the recorder.
class OutsideTime {
 public:
  explicit OutsideTime(nanoseconds beginning) : since_{beginning} {}

  /// A call has ended, or its time counts from its start on. Times never decrease.
  void begin(nanoseconds time) { since_ = std::max(since_, time); }
  /// The thread did something else before: it computes from this time on.
  void go_on_at(nanoseconds time) {
    since_ = time;
    forget();
  }
  /// What recording has taken since `begin`, or takes before `end`.
  void leave_out(nanoseconds time) { recording_ += time; }
  /// A call starts: adds the computing until now.
  void end(nanoseconds time, std::uint32_t step, StreamBuilder& builder) {
    const nanoseconds all = std::max(nanoseconds{}, time - since_);
    const nanoseconds recording = std::min(all, std::exchange(recording_, {}));
    left_out_ += recording;
    builder.compute(since_, all - recording, step);
  }
  /// A call starts, and the time until now is not computing.
  void forget() { recording_ = {}; }

  [[nodiscard]] nanoseconds since() const noexcept { return since_; }
  [[nodiscard]] nanoseconds left_out() const noexcept { return left_out_; }

 private:
  nanoseconds since_;
  nanoseconds recording_{};
  nanoseconds left_out_{};
};

}  // namespace plait::replay::detail
