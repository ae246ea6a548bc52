// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <mpi.h>

#include "plait/record/session.hpp"

namespace plait::record {

/// Records a send or receive. `completed`: 0 if it never was. Does nothing for other operations, and for messages from
/// or to no rank of the run.
inline void record_message(RecordedThread& thread, const PostedOperation& operation, nanoseconds completed) noexcept {
  const trace::CallEvent& call = operation.call;
  const bool is_sent = operation.kind == OperationKind::send;
  if ((!is_sent && operation.kind != OperationKind::receive) || call.peer == trace::nothing) {
    return;
  }
  thread.record({.direction = is_sent ? trace::MessageDirection::sent : trace::MessageDirection::received,
                 .protocol = trace::Protocol::not_known,
                 .peer = Rank{call.peer},
                 .communicator = call.communicator,
                 .sequence = call.number,
                 .tag = Tag{static_cast<std::uint64_t>(operation.tag)},
                 .bytes = call.bytes_given,
                 .is_matched_by_order = true,
                 .is_unfinished = completed == nanoseconds{},
                 .is_non_contiguous = operation.has_gaps,
                 .posted = call.start,
                 .completed = completed},
                call);
}

/// One call of an MPI function by the program, from entry to return.
///
/// The destructor records it. Calls that MPI makes inside are not recorded.
class Call {
 public:
  /// `slot`: the place of the return address. `numbers`: sequence numbers to take, one for each message.
  Call(Session& session, Function& function, trace::CallClass what, const void* const* slot, std::uint32_t numbers = 1)
      : session_{session}, thread_{session.thread()} {
    thread_state.is_inside = true;
    event_.what = what;
    event_.function = name_of(function);
    event_.site = site_of(session.sites, slot);
    event_.number = session.take_numbers(numbers);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (!session_.is_paused()) {
      thread_.record(event_);
    }
    thread_state.is_inside = false;
  }

  /// Calls MPI, and measures the times of the call; the start may be set already.
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
  [[nodiscard]] RecordedThread& thread() noexcept { return thread_; }
  [[nodiscard]] const Mpi& mpi() const noexcept { return session_.mpi; }
  [[nodiscard]] trace::CallEvent& event() noexcept { return event_; }

  /// Sets and returns the communicator of the call.
  Communicator& on(MPI_Comm handle) {
    Communicator& communicator = session_.communicator(thread_, handle);
    event_.communicator = communicator.number;
    return communicator;
  }
  /// As `on`, and counts the collective.
  Communicator& collective_on(MPI_Comm handle) {
    Communicator& communicator = on(handle);
    event_.count = communicator.collective_count.fetch_add(1, std::memory_order_relaxed);  // a count by itself
    return communicator;
  }
  void gives(std::uint64_t bytes) noexcept { event_.bytes_given = bytes; }
  void gets(std::uint64_t bytes) noexcept { event_.bytes_got = bytes; }

  /// Returns an operation that this call posts, for the caller to fill in.
  [[nodiscard]] PostedOperation operation(OperationKind kind) const {
    return {.kind = kind, .call = event_, .thread = &thread_};
  }
  /// Stores the operation of a request.
  template <class Handle>
  void begins(Handle request, const PostedOperation& operation) {
    session_.requests.add(key_of(request), operation);
    if (operation.is_active) {
      session_.pending.begin();
    }
  }

 private:
  [[nodiscard]] trace::NameId site_of(Sites& sites, const void* const* slot) {
    const CodeAddress& code = thread_.sites.find(sites, slot);
    if (code.is_mpi4py) [[unlikely]] {
      const trace::NameId line = python_site();
      return line ? line : code.site;
    }
    if (thread_.call_paths == nullptr || !code.site) [[likely]] {
      return code.site;
    }
    const trace::NameId path = thread_.call_paths->find(sites, thread_state.frame, code.address);
    return path ? path : code.site;
  }
  /// Whether MPI makes progress in a call of this kind: not if it only posts or queries.
  [[nodiscard]] bool is_waiting() const noexcept {
    using enum trace::CallClass;
    return event_.what == completes || event_.what == message || event_.what == collective;
  }
  [[nodiscard]] trace::NameId name_of(Function& function) {
    const std::uint32_t known = function.id.load(std::memory_order_relaxed);  // any finder gets the same number
    if (known != trace::nothing) [[likely]] {
      return trace::NameId{known};
    }
    const trace::NameId name = session_.recorder.name(trace::Role::function, function.name());
    function.id.store(name.value(), std::memory_order_relaxed);
    return name;
  }

  Session& session_;
  RecordedThread& thread_;
  trace::CallEvent event_;
};

}  // namespace plait::record
