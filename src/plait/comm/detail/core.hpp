// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/activity.hpp"
#include "plait/comm/detail/engine.hpp"
#include "plait/comm/detail/handlers.hpp"
#include "plait/comm/detail/waiters.hpp"
#include "plait/comm/options.hpp"

namespace plait::comm::detail {

/// The implementation of an endpoint: the engine with its lock, notifications, waiting threads, handlers and failure.
///
/// Threads: any. Calls no function of the program with the lock held.
class Core {
 public:
  Core(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options, Activity& activity);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  /// Calls `call(engine)` with the lock held, then notifies of what has completed by that.
  template <class Call>
  auto act(Call call) {
    Lock lock{mutex_};
    if constexpr (std::is_void_v<std::invoke_result_t<Call, Engine&>>) {
      call(*engine_);
      unlock_and_notify(lock);
    } else {
      auto result = call(*engine_);
      unlock_and_notify(lock);
      return result;
    }
  }
  /// Calls `call(engine)` with the lock held; it must complete nothing.
  template <class Call>
  auto look_up(Call call) {
    const Lock lock{mutex_};
    return call(*engine_);
  }
  /// Ends a claim of communicators; does nothing when the engine has ended.
  void release_comms(CommId first, std::uint32_t count) noexcept;

  /// As `Endpoint::progress`.
  std::size_t progress() noexcept;
  /// Waits until `operation` is complete. Throws: `Error` when the run has failed.
  void wait(Operation& operation);
  /// Makes progress until `is_done()`. Throws: `Error` when the run has failed.
  template <class Done>
  void wait_until(Done is_done) {
    Backoff backoff{wait_, crowding_};
    while (!is_done()) {
      if (progress() > 0) {
        backoff.reset();
      } else if (has_failed()) {
        throw Error{*failure_};
      } else if (activity_.is_moving_bulk()) {
        crowding_.give_way();
      } else if (!is_done()) {
        backoff.pause([&](nanoseconds longest) {
          if (!sleep(longest, is_done)) {
            Backoff::nap(longest);
          }
        });
      }
    }
  }
  /// Sleeps until a packet arrives, `end_rest` is called, or for `longest`. False, at once, where the driver cannot be
  /// woken.
  [[nodiscard]] bool rest(nanoseconds longest);
  void end_rest() noexcept { driver_.wake(); }
  /// Called, with the lock held, when a thread ends its wait while messages of others are being forwarded here.
  /// Borrowed; null: nothing is.
  void set_helper(const std::function<void()>* helper);
  void set_wait(const WaitPolicy& policy) noexcept { wait_ = policy; }

  /// Notifies of the completion of an operation, and of its release if it is released. Takes over one count.
  void notify(Operation& operation) noexcept;

  void on(HandlerId id, Handler handler);
  [[nodiscard]] HandlerId claim_handler();
  void off(HandlerId id);

  [[nodiscard]] bool has_failed() const noexcept {
    return has_failed_.load(std::memory_order_acquire);  // with note_failure()
  }
  [[nodiscard]] std::optional<Error> failure() const { return has_failed() ? failure_ : std::nullopt; }
  void stop_all(const Error& reason) noexcept;

  [[nodiscard]] bool arm(const std::function<void()>* doorbell);
  void keep(std::shared_ptr<void> what);
  [[nodiscard]] std::unique_lock<SpinLock> hold() { return std::unique_lock{mutex_}; }

 private:
  using Lock = std::unique_lock<SpinLock>;

  /// Sleeps until a packet arrives, another thread notifies of something, or for `longest`. False, at once, where the
  /// driver cannot be woken.
  template <class Done>
  [[nodiscard]] bool sleep(nanoseconds longest, const Done& is_done) {
    sleeper_count_.fetch_add(
        1);  // seq_cst, as in unlock_and_notify(): that wakes this thread, or this one finds it done
    const auto [can_be_woken, happened] = prepare_sleep();
    if (can_be_woken && happened == 0 && !is_done() && !has_failed()) {
      driver_.sleep(longest);
    }
    sleeper_count_.fetch_sub(1);
    return can_be_woken;
  }
  void wait_for(Operation& operation);
  /// Has the driver wake this rank from now on, if it can, and polls once more. Returns whether it can, and the events.
  std::pair<bool, std::size_t> prepare_sleep() noexcept;
  std::size_t poll(Lock& lock) noexcept;
  void unlock_and_notify(Lock& lock) noexcept;
  void note_failure() noexcept;
  static void notify_release(Operation& operation) noexcept;
  void run_handlers() noexcept;
  void call(const Handler* handler, const ArrivedActive& message) noexcept;

  Activity& activity_;
  net::Driver& driver_;
  WaitPolicy wait_;
  Crowding crowding_;

  SpinLock mutex_;  ///< Guards all down to the next comment.
  std::vector<std::shared_ptr<void>> kept_;
  std::optional<Engine> engine_;
  Handlers handlers_;
  const std::function<void()>* doorbell_ = nullptr;
  const std::function<void()>* helper_ = nullptr;

  SpinLock handler_mutex_;  ///< Held while handlers run, so that they keep their order.
  Waiters waiters_;
  std::atomic<std::uint32_t> sleeper_count_ = 0;  ///< Threads in `sleep`.
  std::atomic<std::size_t> active_count_ = 0;     ///< Written with the lock held.
  std::atomic<bool> has_failed_ = false;
  std::optional<Error> failure_;  ///< Set before `has_failed_`, once.
};

}  // namespace plait::comm::detail
