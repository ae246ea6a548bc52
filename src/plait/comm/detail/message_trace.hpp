// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/base/clock.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/wire.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm::detail {

/// Records messages and polling gaps. Threads: one at a time. Cost: one predictable branch when tracing is off.
class MessageTrace {
 public:
  MessageTrace(trace::Recorder& recorder, nanoseconds poll_gap_min)
      : recorder_{recorder},
        trace_{recorder.thread(WorkerId{}, "network")},
        poll_gap_min_{poll_gap_min},
        is_on_{recorder.is_on()} {}

  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  [[nodiscard]] nanoseconds now() const { return is_on_ ? recorder_.now() : nanoseconds{}; }

  /// An eager message was sent without an operation.
  void sent(const wire::Header& header, Rank to, nanoseconds posted);
  /// Data for exposed memory has arrived in a packet, at once: no operation receives it.
  void placed(const wire::Header& header, Rank from);
  /// Whether an operation is a message of the program.
  [[nodiscard]] static bool is_message(const Operation& operation) noexcept {
    return operation.one_sided == OneSided::none ? !operation.is_internal : operation.one_sided <= OneSided::got;
  }
  /// `operation` is complete; a multicast is a message to each destination.
  void completed(const Operation& operation);
  /// The network is polled now; records the gap before, when it was long and messages were `in_flight`.
  void polled(bool in_flight) {
    if (is_on_) {
      const nanoseconds now = recorder_.now();
      if (now - last_poll_ > poll_gap_min_ && in_flight) {
        trace_.poll_gap({.start = last_poll_, .end = now});
      }
      last_poll_ = now;
    }
  }

 private:
  trace::Recorder& recorder_;
  trace::ThreadRecorder& trace_;
  const nanoseconds poll_gap_min_;
  const bool is_on_;
  nanoseconds last_poll_{};
};

}  // namespace plait::comm::detail
