// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/detail/event_profile.hpp"

#include <algorithm>

#include "plait/trace/detail/layout.hpp"

namespace plait::trace::detail {
namespace {

/// Times that are not known are 0: then nothing was waited for.
Addend time_between(nanoseconds start, nanoseconds end, std::uint64_t bytes = 0) noexcept {
  return {start, start != nanoseconds{} ? std::max(start, end) : start, bytes, 0};
}

SumKey key_of(EngineSumOf of, std::uint16_t worker) noexcept {
  return {.of = static_cast<std::uint8_t>(of), .worker = worker};
}

}  // namespace

EventProfile::EventProfile(Recorder& recorder, const ProfileOptions& options) : sums_{recorder, SumsOf::engine} {
  if (options.windows) {
    windows_ = std::make_unique<Windows>(*options.windows, recorder);
  }
}

bool EventProfile::keeps(const TaskEvent& event, ThreadRecorder& recorder) noexcept {
  SumKey key = key_of(EngineSumOf::tasks, recorder.worker());
  key.name = event.kind.value();
  key.what = static_cast<std::uint8_t>(event.role);
  sums_.add(key, {event.start, std::max(event.start, event.end)});
  key.of = static_cast<std::uint8_t>(EngineSumOf::task_waits);
  sums_.add(key, time_between(event.ready, event.start));
  return is_in_window(event.start, event.end, recorder);
}

bool EventProfile::keeps(const MessageEvent& event, ThreadRecorder& recorder) noexcept {
  const bool is_sent = event.direction == MessageDirection::sent;
  SumKey key = key_of(is_sent ? EngineSumOf::sent : EngineSumOf::received, no_worker);
  key.peer = event.peer.value();
  key.communicator = event.communicator;
  key.size_class = size_class_of(event.bytes);
  key.protocol = static_cast<std::uint8_t>(event.protocol);
  const nanoseconds posted = event.posted != nanoseconds{} ? event.posted : event.handed;
  sums_.add(key, time_between(posted, event.completed, event.bytes));
  key.of = static_cast<std::uint8_t>(is_sent ? EngineSumOf::sent_waits : EngineSumOf::received_waits);
  sums_.add(key, time_between(posted, event.handed));
  return is_in_window(posted, posted, recorder);
}

bool EventProfile::keeps(const SpanEvent& event, ThreadRecorder& recorder) noexcept {
  SumKey key = key_of(EngineSumOf::spans, recorder.worker());
  key.place = event.name.value();
  sums_.add(key, {event.start, std::max(event.start, event.end)});
  const bool is_kept = is_in_window(event.start, event.end, recorder);
  if (host_ != nullptr) {
    host_->region_ends(event.name.value(), event.end.count());
  } else if (windows_ != nullptr) {
    windows_->region_ends(event.name, event.end, recorder);
  }
  return is_kept;
}

bool EventProfile::keeps(const PollGapEvent& event, ThreadRecorder& recorder) noexcept {
  sums_.add(key_of(EngineSumOf::poll_gaps, no_worker), {event.start, std::max(event.start, event.end)});
  return is_in_window(event.start, event.end, recorder);
}

bool EventProfile::keeps(const ClockEvent& event, ThreadRecorder& /*recorder*/) noexcept {
  if (windows_ != nullptr) {
    windows_->align(event.offset);
  }
  return true;
}

void EventProfile::region_begins(NameId region, nanoseconds now, ThreadRecorder& recorder) noexcept {
  if (host_ != nullptr) {
    host_->region_begins(region.value(), now.count());
  } else if (windows_ != nullptr) {
    windows_->region_begins(region, now, recorder);
  }
}

bool EventProfile::has_windows() const noexcept {
  return host_ != nullptr ? host_->has_windows() : windows_ != nullptr;
}

bool EventProfile::is_in_window(nanoseconds start, nanoseconds end, ThreadRecorder& recorder) noexcept {
  return host_ != nullptr ? host_->keeps(start.count(), end.count())
                          : windows_ != nullptr && windows_->overlaps(start, end, recorder);
}

}  // namespace plait::trace::detail
