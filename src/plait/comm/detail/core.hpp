// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "plait/base/backoff.hpp"
#include "plait/base/error.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/activity.hpp"
#include "plait/comm/detail/copies.hpp"
#include "plait/comm/detail/engine.hpp"
#include "plait/comm/detail/handlers.hpp"
#include "plait/comm/detail/resting.hpp"
#include "plait/comm/detail/waiters.hpp"
#include "plait/comm/options.hpp"

namespace plait::comm::detail {

/// The implementation of an endpoint: the engine with its lock, notifications, waiting threads, handlers and failure.
///
/// The thread that polls copies segments without the lock, with the help of threads that find it taken. Threads: any.
/// Calls no function of the program with the lock held.
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
  std::size_t progress() noexcept { return try_progress().value_or(0); }
  /// The same; nothing when another thread makes it and there are no segments to copy.
  std::optional<std::size_t> try_progress() noexcept;
  /// Waits until `operation` is complete. Throws: `Error` when the run has failed.
  void wait(Operation& operation);
  /// Makes progress until `is_done()`. Throws: `Error` when the run has failed.
  template <class Done>
  void wait_until(Done is_done) {
    Backoff backoff{wait_, crowding_};
    ContentionPause contention;
    while (!is_done()) {
      const std::optional<std::size_t> happened = try_progress();
      if (!happened && wait_.spin > nanoseconds::zero()) {
        contention.pause(is_done);
        backoff.count_look();
      } else if (happened.value_or(0) > 0) {
        backoff.reset();
      } else if (has_failed()) {
        throw Error{*failure_};
      } else if (executor_ != nullptr) {
        if (!is_done()) {
          executor_->wait();
        }
      } else if (activity_.is_moving_bulk()) {
        crowding_.give_way();
      } else if (!is_done()) {
        backoff.pause([&](nanoseconds longest) {
          if (!rest(longest, is_done)) {
            nap(longest);
          }
        });
      }
    }
  }
  [[nodiscard]] Resting& resting() noexcept { return resting_; }
  /// As `Resting::rest`, unless the run has failed.
  template <class Over>
  [[nodiscard]] bool rest(nanoseconds longest, const Over& is_over) {
    const auto announce_and_poll = [this](const auto& announce) {
      Lock lock{mutex_};
      return announce() ? poll(lock) : 0;
    };
    return resting_.rest(longest, announce_and_poll, [&] { return is_over() || has_failed(); });
  }
  void set_wait(const WaitPolicy& policy) noexcept { wait_ = policy; }

  /// Notifies of the completion of an operation, and of its release if it is released. Takes over one count.
  void notify(Operation& operation) noexcept;

  void on(HandlerId id, Handler handler);
  [[nodiscard]] HandlerId claim_handler();
  void off(HandlerId id);

  [[nodiscard]] bool has_failed() const noexcept {
    return has_failed_.load(std::memory_order_acquire);  // with unlock_and_notify()
  }
  [[nodiscard]] std::optional<Error> failure() const { return has_failed() ? failure_ : std::nullopt; }
  void stop_all(const Error& reason) noexcept;

  [[nodiscard]] bool arm(const std::function<void()>* doorbell);
  [[nodiscard]] Copies& copies() noexcept { return copies_; }
  void keep(std::shared_ptr<void> what);
  [[nodiscard]] std::unique_lock<SpinLock> hold() { return std::unique_lock{mutex_}; }

 private:
  using Lock = std::unique_lock<SpinLock>;

  std::size_t poll(Lock& lock) noexcept;
  std::size_t copy() noexcept;
  void unlock_and_notify(Lock& lock) noexcept;
  void run_handlers() noexcept;
  void call(const Handler* handler, const ArrivedActive& message) noexcept;

  Activity& activity_;
  Executor* const executor_;  ///< Of the threads that wait; null: the system.
  Resting resting_;
  WaitPolicy wait_;
  Crowding crowding_;
  Copies copies_;

  SpinLock mutex_;  ///< Guards all down to the next comment.
  std::vector<std::shared_ptr<void>> kept_;
  std::optional<Engine> engine_;
  Handlers handlers_;
  const std::function<void()>* doorbell_ = nullptr;

  SpinLock handler_mutex_;  ///< Held while handlers run, so that they keep their order.
  Waiters waiters_;
  std::atomic<std::size_t> active_count_ = 0;  ///< Written with the lock held.
  std::atomic<bool> has_failed_ = false;
  std::optional<Error> failure_;  ///< Set before `has_failed_`, once.
};

}  // namespace plait::comm::detail
