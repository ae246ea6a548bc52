// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <mpi.h>

#include "plait/accelerate/engine/buffered.hpp"
#include "plait/accelerate/engine/communicators.hpp"
#include "plait/accelerate/engine/datatypes.hpp"
#include "plait/accelerate/engine/foreign.hpp"
#include "plait/accelerate/engine/own_handles.hpp"
#include "plait/accelerate/engine/pending.hpp"
#include "plait/accelerate/engine/tally.hpp"
#include "plait/accelerate/entry.hpp"
#include "plait/base/backoff.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/progression.hpp"
#include "plait/net/driver.hpp"
#include "plait/runtime/options.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::accelerate {

/// An error of MPI, from where it is found to the function that the program called.
struct MpiError {
  int error_class = MPI_ERR_OTHER;
};

/// The class of MPI's errors that describes an error of the engine.
[[nodiscard]] int error_class_of(ErrorCode code) noexcept;

/// The engine in one process, from MPI_Init to MPI_Finalize. Threads: any.
class EngineSession {
 public:
  /// Collective over MPI_COMM_WORLD. Throws: as `make_network`.
  explicit EngineSession(const Options& options);
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;
  ~EngineSession();

  [[nodiscard]] comm::Endpoint& endpoint() noexcept { return endpoint_; }
  [[nodiscard]] RoutedCommunicators& communicators() noexcept { return communicators_; }
  [[nodiscard]] Datatypes& datatypes() noexcept { return datatypes_; }
  [[nodiscard]] SendBuffer& buffered() noexcept { return buffered_; }
  [[nodiscard]] Foreign& foreign() noexcept { return foreign_; }
  [[nodiscard]] OwnHandles<MPI_Request, PendingOperation>& requests() noexcept { return requests_; }
  [[nodiscard]] OwnHandles<MPI_Message, Probed>& probed() noexcept { return probed_; }
  [[nodiscard]] Tally& tally() noexcept { return tally_; }
  [[nodiscard]] int tag_max() const noexcept { return tag_max_; }

  /// Makes progress on our messages and, while there is any, on what the MPI library does for the program.
  void progress() {
    endpoint_.progress();
    if (foreign_.is_active()) {
      foreign_.progress();
    }
  }
  /// Waits with progress on both until `ask()`, which may have effects and is not called again once it was true.
  /// Throws: `Error` when the network has failed.
  template <class Ask>
  void wait_until(const Ask& ask) {
    Crowding crowding;
    Backoff backoff{wait_, crowding};
    bool is_over = false;
    const auto is_done = [&] { return is_over = is_over || ask(); };
    while (!is_done()) {
      if (!foreign_.is_active()) {
        endpoint_.progress_until([&] { return is_done() || foreign_.is_active(); });
        continue;
      }
      if (const std::optional<Error> failure = endpoint_.failure()) {
        throw Error{*failure};
      }
      const bool has_moved = endpoint_.progress() > 0;
      foreign_.progress();
      if (has_moved) {
        backoff.reset();
      } else if (endpoint_.activity().is_moving_bulk()) {
        crowding.give_way();
      } else {
        backoff.pause();
      }
    }
  }
  void wait(comm::Request& request) {
    if (request.is_complete()) {
      return;
    }
    if (!foreign_.is_active()) {
      try {
        request.wait();
      } catch (const Error&) {
        if (!request.is_complete()) {
          throw;  // else its status has the error
        }
      }
      return;
    }
    wait_until([&] { return request.is_complete(); });
  }
  /// Whether blocking collectives take their non-blocking form, as no thread polls while one waits in the MPI library.
  /// Equal on all ranks: the two forms do not match each other.
  [[nodiscard]] bool has_to_poll() const noexcept { return !polls_in_background_; }
  /// Waits for an operation of the MPI library with progress on our messages. Returns its error code.
  int wait_theirs(MPI_Request request) noexcept;
  /// Before a function of the MPI library that may wait for other ranks, which may wait for messages of this one.
  void before_blocking() { endpoint_.progress(); }

  /// Calls `call`. Its errors go to the error handler of `handle` and come back as MPI's error codes.
  template <class Call>
  int guarded(MPI_Comm handle, const Call& call) noexcept {
    try {
      call();
      return MPI_SUCCESS;
    } catch (const MpiError& error) {
      return report(handle, error.error_class);
    } catch (const Error& error) {
      tell(error);
      return report(handle, error_class_of(error.code()));
    } catch (const std::exception&) {
      return report(handle, MPI_ERR_NO_MEM);
    }
  }
  /// Makes a request that `begin(pending)` begins. Returns an error code as `guarded`.
  template <class Begin>
  int begin(RoutedCommunicator& on, MPI_Request* request, const Begin& begin) noexcept {
    return guarded(on.handle(), [&] {
      PendingOperation& pending = requests_.pool().make();
      pending.on = &on;
      try {
        begin(pending);
      } catch (...) {
        requests_.pool().end(pending);
        throw;
      }
      on.outstanding.fetch_add(1, std::memory_order_relaxed);  // a count by itself
      *request = requests_.handle_of(pending);
      begun(pending);
    });
  }
  /// Has threads in the background care for what has begun, if it takes long.
  void begun(const PendingOperation& pending) noexcept {
    if (progression_ && pending.bytes() >= long_bytes_min) {
      progression_->hurry();
    }
  }
  /// The program has freed the request: its operation goes on.
  void end_when_complete(PendingOperation& pending);

  /// Has the error handler of `handle` called, if there is an error. Returns it.
  int report(MPI_Comm handle, int error) noexcept;

  /// Delivers what is under way and reports what was done. Collective over MPI_COMM_WORLD.
  void finish() noexcept;
  /// Ends the threads in the background, so that the process may end.
  void stop_progress() noexcept { progression_.reset(); }

 private:
  /// From this size on a transfer takes long: that it begins some 100 us earlier may pay for waking a thread.
  static constexpr std::size_t long_bytes_min = std::size_t{32} << 10U;

  static void tell(const Error& error) noexcept;
  void end_complete_orphans();
  void tell_what_was_done() noexcept;
  /// Waits until all ranks are here.
  void meet() noexcept;

  std::unique_ptr<net::Driver> driver_;
  trace::Recorder recorder_;
  comm::Endpoint endpoint_;
  WaitPolicy wait_;
  RoutedCommunicators communicators_;
  Datatypes datatypes_;
  SendBuffer buffered_;
  Foreign foreign_;
  OwnHandles<MPI_Request, PendingOperation> requests_;
  OwnHandles<MPI_Message, Probed> probed_;
  std::mutex orphans_mutex_;
  std::vector<PendingOperation*> orphans_;  ///< Operations whose requests the program has freed.
  int tag_max_ = 0;
  const bool polls_in_background_;
  Tally tally_;
  std::optional<comm::Progression> progression_;  // last: its threads use the endpoint
};

/// The session of this process. Expects: there is one; functions are routed only while there is.
[[nodiscard]] EngineSession& use_session() noexcept;

/// As `use_session`; null before MPI_Init and after MPI_Finalize.
[[nodiscard]] EngineSession* find_session() noexcept;

/// Whether any thread is in a function of the MPI library.
[[nodiscard]] bool is_library_called() noexcept;

}  // namespace plait::accelerate
