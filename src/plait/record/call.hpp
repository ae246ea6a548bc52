// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <mpi.h>

#include "plait/record/session.hpp"

namespace plait::record {

/// One call of the program: from where a function of MPI was entered to where it returns.
///
/// Its record is written when it ends. Functions of MPI that are called from inside of it pass unrecorded.
class Call {
 public:
  /// `slot`: where the return address of the function stands. Takes `numbers` numbers, for as many messages.
  Call(Session& session, Function& function, trace::CallClass what, const void* const* slot, std::uint32_t numbers = 1)
      : session_{session}, lane_{session.lane()} {
    thread_state.is_inside = true;
    event_.what = what;
    event_.function = name_of(function);
    event_.site = lane_.sites.find(session.sites, slot);
    event_.number = session.take_numbers(numbers);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call(Call&&) = delete;
  Call& operator=(Call&&) = delete;
  ~Call() {
    lane_.record(event_);
    thread_state.is_inside = false;
  }

  /// What MPI itself does, between the two times of the call; the first may have been told already.
  template <class Real>
  int run(const Real& real) {
    const bool makes_progress = session_.has_progress() && is_waiting();
    if (makes_progress) [[unlikely]] {
      session_.pending.enter();
    }
    if (event_.start == nanoseconds{}) [[likely]] {
      event_.start = session_.now();
    }
    const int result = real();
    event_.end = session_.now();
    if (makes_progress) [[unlikely]] {
      session_.pending.leave();
    }
    return result;
  }

  [[nodiscard]] Session& session() noexcept { return session_; }
  [[nodiscard]] Lane& lane() noexcept { return lane_; }
  [[nodiscard]] const Mpi& mpi() const noexcept { return session_.mpi; }
  [[nodiscard]] trace::CallEvent& event() noexcept { return event_; }

  /// The communicator that it is about.
  Communicator& on(MPI_Comm handle) {
    Communicator& communicator = session_.communicator(lane_, handle);
    event_.communicator = communicator.number;
    return communicator;
  }
  /// As `on`, of a collective: counts it.
  Communicator& collective_on(MPI_Comm handle) {
    Communicator& communicator = on(handle);
    event_.count = communicator.collective_count.fetch_add(1, std::memory_order_relaxed);  // a count by itself
    return communicator;
  }
  void gives(std::uint64_t bytes) noexcept { event_.bytes_given = bytes; }
  void gets(std::uint64_t bytes) noexcept { event_.bytes_got = bytes; }

  /// An operation that this call posts; for the caller to complete.
  [[nodiscard]] Operation operation(OperationKind kind) const {
    return {.kind = kind,
            .communicator = event_.communicator,
            .peer = event_.peer,
            .number = event_.number,
            .function = event_.function,
            .site = event_.site,
            .lane = &lane_,
            .count = event_.count,
            .bytes = event_.bytes_given,
            .bytes_got = event_.bytes_got,
            .posted = event_.start};
  }
  /// The program waits for `operation` by this request.
  template <class Handle>
  void begins(Handle request, const Operation& operation) {
    session_.requests.add(key_of(request), operation);
    if (operation.is_active) {
      session_.pending.begin();
    }
  }

  void message(trace::MessageDirection direction, const Operation& operation, nanoseconds completed) noexcept;

 private:
  /// Whether MPI moves what is under way in a call of this kind: not where it only begins something, or looks something
  /// up.
  [[nodiscard]] bool is_waiting() const noexcept {
    using enum trace::CallClass;
    return event_.what == completes || event_.what == message || event_.what == collective;
  }
  [[nodiscard]] trace::NameId name_of(Function& function) {
    const std::uint32_t known = function.id.load(std::memory_order_relaxed);  // the same number whoever finds it
    if (known != trace::nothing) [[likely]] {
      return trace::NameId{known};
    }
    const trace::NameId name = session_.recorder.name(trace::Role::function, function.name());
    function.id.store(name.value(), std::memory_order_relaxed);
    return name;
  }

  Session& session_;
  Lane& lane_;
  trace::CallEvent event_;
};

/// A message that was sent or received, by a lane of the program; nothing is written of one from or to nobody in the
/// run.
inline void record_message(Lane& lane,
                           trace::MessageDirection direction,
                           const Operation& operation,
                           nanoseconds completed) noexcept {
  if (operation.peer == trace::nothing) {
    return;
  }
  lane.recorder.message({.direction = direction,
                         .protocol = trace::Protocol::not_known,
                         .peer = Rank{operation.peer},
                         .communicator = operation.communicator,
                         .sequence = operation.number,
                         .tag = Tag{static_cast<std::uint64_t>(operation.tag)},
                         .bytes = operation.bytes,
                         .is_matched_by_order = true,
                         .is_unfinished = completed == nanoseconds{},
                         .posted = operation.posted,
                         .completed = completed});
}

inline void Call::message(trace::MessageDirection direction,
                          const Operation& operation,
                          nanoseconds completed) noexcept {
  record_message(lane_, direction, operation, completed);
}

}  // namespace plait::record
