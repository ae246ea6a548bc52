// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/phase_control.hpp"

#include <cstring>
#include <mutex>

#include <fmt/format.h>

namespace plait::data::detail {

PhaseControl::PhaseControl(const CollectionInfo& info, comm::HandlerId handler, Links& links, const News& news)
    : info_{info},
      links_{links},
      news_{news},
      termination_{info.self, info.rank_count, [&info, handler](Rank to, const Termination::Note& note) {
                     Bytes message(sizeof(MessageKind) + sizeof note);
                     constexpr MessageKind kind = MessageKind::termination;
                     std::memcpy(message.data(), &kind, sizeof kind);
                     std::memcpy(message.data() + sizeof kind, &note, sizeof note);
                     info.endpoint.post(to, handler, message);
                   }} {}

void PhaseControl::throw_unless_idle(std::string_view wish) const {
  if (state_ == State::open) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} of collection '{}' while its phase '{}' is open: wait for the phase first",
                            wish,
                            info_.name,
                            label_.name)};
  }
  if (state_ == State::failed) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("collection '{}' has failed before: it can only be destroyed", info_.name)};
  }
}

void PhaseControl::fail_all(const Error& error) {
  state_ = State::failed;
  info_.endpoint.stop_all(error);
  throw Error{error};
}

void PhaseControl::begin(std::string_view name) {
  throw_unless_idle("a phase");
  began_ = info_.recorder.now();
  state_ = State::open;
  label_.name = name.empty() ? info_.name : name;
  label_.trace_name = info_.recorder.name(trace::Role::task, label_.name);
  over_ns_.store(0, std::memory_order_relaxed);  // no other thread is here
  termination_.begin(++number_);
  links_.begin(number_);
}

task::OpenRun& PhaseControl::start_run() {
  return run_.emplace(info_.scheduler, [this] { return describe_waiting(); });
}

void PhaseControl::open() {
  try {
    links_.open(number_);
  } catch (const Error& error) {
    fail_all(error);  // as the endpoint does when a handler throws
  }
  {
    const std::lock_guard lock{look_lock_};
    can_look_ = true;
  }
  if (run_) {
    run_->close_when([this] { return look_for_end(); });
  }
}

void PhaseControl::wait() {
  state_ = State::failed;  // unless all goes well
  if (run_) {
    run_->wait();
  } else {
    info_.endpoint.progress_until([this] { return look_for_end(); });
  }
  state_ = State::open;
}

void PhaseControl::close() {
  {
    const std::lock_guard lock{look_lock_};
    can_look_ = false;
  }
  run_.reset();
  links_.close();
  placement_ = termination_.changes();
  state_ = State::idle;
}

nanoseconds PhaseControl::took() const noexcept {
  return nanoseconds{over_ns_.load(std::memory_order_relaxed)} - began_;  // the run is over
}

Counts PhaseControl::counts() const noexcept {
  Counts counts = links_.counts();
  counts.changes = news_.changes() + moved_;
  return counts;
}

void PhaseControl::look() noexcept {
  const std::unique_lock lock{look_lock_, std::try_to_lock};
  if (!lock.owns_lock() || !can_look_) {
    return;
  }
  const Counts before = counts();
  if ((!run_ || run_->is_quiet()) && counts() == before) {
    try {
      termination_.quiet(before);
    } catch (const Error&) {
      // The network has failed, and ends the run.
    }
  }
}

bool PhaseControl::look_for_end() noexcept {
  if (!termination_.is_over()) {
    look();
  }
  if (!termination_.is_over()) {
    return false;
  }
  std::int64_t not_yet = 0;
  over_ns_.compare_exchange_strong(not_yet, info_.recorder.now().count(), std::memory_order_relaxed);  // a statistic
  return true;
}

std::string PhaseControl::describe_waiting() const {
  if (termination_.is_over()) {
    return "nothing";
  }
  const Counts now = links_.counts();
  return fmt::format("the ends of phase '{}' of '{}' on other ranks (here {} messages were sent, {} handled)",
                     label_.name,
                     info_.name,
                     now.sent,
                     now.handled);
}

}  // namespace plait::data::detail
