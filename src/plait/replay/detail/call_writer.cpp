// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/call_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plait/replay/detail/polling.hpp"

namespace plait::replay::detail {
namespace {

using trace::CallClass;
using trace::CallEvent;

bool begins_without_wait(CallClass what) {
  return what == CallClass::begins_message || what == CallClass::begins_collective;
}

/// Whether the time in such a call is the program's own.
bool is_own_time(CallClass what) {
  return what == CallClass::file || what == CallClass::sets_up || what == CallClass::other;
}

bool ends_with_poll(const Stream& stream) {
  return !stream.operations.empty() && stream.operations.back().action == Action::poll;
}

std::vector<const CallEvent*> events_of(const RankCalls& calls, const ThreadCalls& thread) {
  std::vector<const CallEvent*> events;
  events.reserve(thread.calls.size());
  std::ranges::transform(thread.calls, std::back_inserter(events), [&](std::size_t i) { return &calls.call(i); });
  return events;
}

trace::RecorderCostsEvent costs_in(const trace::RankTrace& trace) {
  return trace.recorder_costs.empty() ? trace::RecorderCostsEvent{} : trace.recorder_costs.front();
}

}  // namespace

CallWriter::CallWriter(const RankCalls& calls, std::size_t thread, std::uint32_t step, nanoseconds free)
    : calls_{calls},
      thread_{calls.threads()[thread]},
      step_{step},
      costs_{costs_in(calls.trace())},
      is_work_{tests_of_work(events_of(calls, thread_))},
      outside_{free} {}

void CallWriter::go_on_at(nanoseconds time) noexcept {
  outside_.go_on_at(time);
  found_nothing_ = false;
}

void CallWriter::write_next(Stream& stream, StreamBuilder& builder, CallTotals& totals) {
  const std::size_t index = thread_.calls[next_];
  const CallEvent& event = calls_.call(index);
  const nanoseconds start = calls_.at(event.start);
  const nanoseconds end_time = calls_.at(event.end);
  const bool has_called = std::exchange(has_called_, true);
  if (event.what == CallClass::begins_or_ends) {
    if (!stream.operations.empty()) {
      outside_.end(start, step_, builder);
      builder.poll(start, step_);
    }
    outside_.begin(end_time);
    ++next_;
    return;
  }
  totals.overlapping += start < outside_.since() && has_called ? 1 : 0;
  const bool is_work = is_work_[next_];
  const bool is_polling =
      found_nothing_ && event.what == CallClass::completes && !is_work && start - outside_.since() <= polling_gap_max;
  if (is_polling) {
    outside_.forget();
  } else {
    outside_.end(start, step_, builder);
  }
  begin(index, stream, builder);
  end(index, stream, builder, is_polling);
  const bool is_collective = calls_.kind(index) != Collective::none;
  outside_.leave_out(recording_of(event, is_work));
  outside_.begin(is_work || (is_own_time(event.what) && !is_collective) ? start : end_time);
  if (event.what == CallClass::one_sided && !is_collective) {
    ++totals.one_sided;
    totals.one_sided_bytes += event.bytes_given + event.bytes_got;
  }
  ++next_;
}

/// Starts what the call starts.
void CallWriter::begin(std::size_t index, Stream& stream, StreamBuilder& builder) {
  to_wait_for_.clear();
  const std::size_t messages = calls_.trace().messages.size();
  for (; begun_ < thread_.begun.size() && thread_.begun[begun_].call == next_; ++begun_) {
    const std::size_t item = thread_.begun[begun_].item;
    const trace::MessageEvent& message = calls_.trace().messages[item].event;
    outside_.leave_out(calls_.call(index).what == CallClass::message ? costs_.message : costs_.request / 2);
    operations_[item] =
        builder.begin(operation_of(message, calls_.bytes_of_message(item), step_, calls_.at(message.posted)));
  }
  if (calls_.kind(index) != Collective::none) {
    const std::uint32_t number = builder.begin(collective(index, stream));
    if (calls_.call(index).what == CallClass::begins_collective) {
      operations_[messages + index] = number;
    } else {
      to_wait_for_.push_back(number);
    }
  }
}

/// Waits for what ended in the call.
void CallWriter::end(std::size_t index, Stream& stream, StreamBuilder& builder, bool is_polling) {
  const CallEvent& event = calls_.call(index);
  for (; ended_ < thread_.ended.size() && thread_.ended[ended_].call == next_; ++ended_) {
    outside_.leave_out(event.what == CallClass::message ? nanoseconds{} : costs_.request / 2);
    if (const auto found = operations_.find(thread_.ended[ended_].item); found != operations_.end()) {
      to_wait_for_.push_back(found->second);
      operations_.erase(found);
    }
  }
  found_nothing_ = event.what == CallClass::completes && to_wait_for_.empty() && !is_work_[next_];
  defer(is_work_[next_]);
  if (!to_wait_for_.empty()) {
    builder.wait(to_wait_for_, calls_.at(event.start), calls_.at(event.end) - calls_.at(event.start), step_);
  } else if (!(is_polling && ends_with_poll(stream)) && !begins_without_wait(event.what)) {
    builder.poll(calls_.at(event.start), step_);
  }
}

/// Leaves what a loop that works has found to the next wait: it would have gone on without.
void CallWriter::defer(bool is_work) {
  if (is_work || !to_wait_for_.empty()) {
    std::vector<std::uint32_t>& from = is_work ? to_wait_for_ : found_at_work_;
    std::vector<std::uint32_t>& to = is_work ? found_at_work_ : to_wait_for_;
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  }
}

/// What recording takes of the time that counts as computing: with that of the call itself, or without.
nanoseconds CallWriter::recording_of(const CallEvent& event, bool has_own_time) const {
  if (has_own_time && is_poll(event)) {
    return poll_count(event) * costs_.poll;
  }
  return has_own_time ? costs_.call : costs_.call - costs_.inside;
}

Operation CallWriter::collective(std::size_t index, Stream& stream) const {
  const CallEvent& event = calls_.call(index);
  Operation operation{.action = Action::collective,
                      .collective = calls_.kind(index),
                      .step = step_,
                      .communicator = event.communicator,
                      .peer = event.peer,
                      .bytes = event.bytes_given,
                      .bytes_got = event.bytes_got,
                      .at = calls_.at(event.start),
                      .took = calls_.took(index)};
  const auto& all_shares = calls_.trace().shares;
  if (const auto shares = all_shares.find(event.number); shares != all_shares.end()) {
    operation.first = static_cast<std::uint32_t>(stream.shares.size());
    operation.count = static_cast<std::uint32_t>(shares->second.size());
    stream.shares.insert(stream.shares.end(), shares->second.begin(), shares->second.end());
  }
  return operation;
}

}  // namespace plait::replay::detail
