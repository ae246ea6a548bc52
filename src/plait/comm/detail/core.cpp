// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/core.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace plait::comm::detail {

namespace {

/// Polls of a waiting thread before it asks to be the one that polls while others sleep.
constexpr int polls_before_role = 64;

/// Reports to all ranks that the run has failed.
void stop(Engine& engine, const Error& reason) noexcept {
  try {
    engine.stop_all(reason);
  } catch (const std::exception&) {
    // The network is gone: the peers will notice by themselves.
  }
}

/// Makes an exception of `call` the failure of the network. One of the program stops all ranks, as the peers do not
/// notice it by themselves. With the lock held.
template <class Call>
void guard(Engine& engine, Call call) noexcept {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_argument) {
      stop(engine, error);
    } else {
      engine.network().fail(error);
    }
  } catch (const std::exception& error) {
    engine.network().fail(Error{ErrorCode::network, fmt::format("the network failed: {}", error.what())});
  }
}

void notify_release(Operation& operation) noexcept {
  operation.is_released.store(true, std::memory_order_release);  // with Request::is_released()
  operation.observers.release(operation.status);
  release(&operation);
}

}  // namespace

Core::Core(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options, Activity& activity)
    : activity_{activity},
      executor_{driver.executor()},
      resting_{driver},
      wait_{options.wait},
      copies_{options, activity},
      engine_{std::in_place, driver, recorder, options, activity, copies_} {}

Core::~Core() {
  engine_.reset();
  while (!kept_.empty()) {  // may have been in use by messages, may release communicators, and may keep parts of itself
    std::exchange(kept_, {}).clear();
  }
}

void Core::release_comms(CommId first, std::uint32_t count) noexcept {
  const Lock lock{mutex_};
  if (engine_) {
    engine_->forget_comms(first, count);
  }
}

// ---- progress ----

std::optional<std::size_t> Core::try_progress() noexcept {
  Lock lock{mutex_, std::try_to_lock};
  if (lock.owns_lock()) {
    return poll(lock);
  }
  const std::size_t copied = copy();
  return copied > 0 ? std::optional{copied} : std::nullopt;
}

/// With the lock held, which it ends unless the run has failed.
std::size_t Core::poll(Lock& lock) noexcept {
  if (has_failed_.load(std::memory_order_relaxed)) {  // written under this lock
    return 0;
  }
  activity_.poll_count_.store(activity_.poll_count() + 1, std::memory_order_relaxed);  // under this lock
  std::size_t happened = 0;
  guard(*engine_, [&] { happened = engine_->poll(); });
  const std::uint32_t helpers_wanted = copies_.take_helpers_wanted();
  unlock_and_notify(lock);
  if (helpers_wanted > 0) {
    copies_.wake(helpers_wanted);
  }
  if (active_count_.load(std::memory_order_acquire) > 0) {  // with release in unlock_and_notify()
    run_handlers();
  }
  happened += copy();
  if (executor_ != nullptr && happened > 0) {
    executor_->notify();  // other threads may wait for what has happened
  }
  return happened;
}

/// With no lock held: copies segments as long as there are any that too few threads copy. Returns the number of pieces.
std::size_t Core::copy() noexcept {
  std::size_t all = 0;
  while (copies_.has_pieces() && !has_failed()) {
    const std::size_t pieces = copies_.help();
    if (pieces == 0) {
      break;
    }
    all += pieces;
    if (copies_.has_ended()) {
      Lock lock{mutex_};
      if (has_failed_.load(std::memory_order_relaxed)) {  // written under this lock
        break;
      }
      guard(*engine_, [this] { engine_->end_copies(copies_.take_ended()); });
      unlock_and_notify(lock);
    }
  }
  return all;
}

void Core::wait(Operation& operation) {
  struct HandOver {
    explicit HandOver(Core& core) : core_{core} {}
    HandOver(const HandOver&) = delete;
    HandOver& operator=(const HandOver&) = delete;
    ~HandOver() {
      if (core_.activity_.is_forwarding()) {
        core_.resting_.call_helper();
      }
    }
    Core& core_;
  } const at_the_end{*this};
  const auto is_complete = [&operation] { return operation.observers.has_completed(); };
  ContentionPause contention;
  for (int polls = wait_.spin > nanoseconds::zero() ? polls_before_role : 1; polls > 0; --polls) {
    if (!try_progress() && polls > 1) {
      contention.pause(is_complete);
    }
    if (is_complete()) {
      return;
    }
  }
  const auto self = std::make_shared<Sleeper>();
  auto wake_up = std::make_unique<WakeUp>(self);
  if (operation.observers.attach(*wake_up, Interest::owned)) {
    (void)wake_up.release();
  }
  while (!is_complete()) {
    if (const Waiters::Role role{waiters_}) {
      wait_until(is_complete);
    } else {
      waiters_.wait(*self);
    }
  }
}

bool Core::arm(const std::function<void()>* doorbell) {
  const Lock lock{mutex_};
  if (doorbell != nullptr && (activity_.needs_polls() || engine_->network().failure())) {
    return false;
  }
  doorbell_ = doorbell;
  return true;
}

void Core::keep(std::shared_ptr<void> what) {
  const Lock lock{mutex_};
  kept_.push_back(std::move(what));
}

// ---- failure ----

void Core::stop_all(const Error& reason) noexcept {
  try {
    Lock lock{mutex_};
    if (engine_->network().failure()) {
      return;
    }
    stop(*engine_, reason);
    unlock_and_notify(lock);
  } catch (const std::exception&) {
    // As above.
  }
}

// ---- notifications ----

/// Releases the lock and notifies of what has happened while it was held.
void Core::unlock_and_notify(Lock& lock) noexcept {
  Operation* completed = engine_->completions().take_completed();
  Operation* released = engine_->completions().take_released();
  activity_.note_sending(engine_->is_sending());
  if (!engine_->actives().empty() || active_count_.load(std::memory_order_relaxed) > 0) {  // written under this lock
    active_count_.store(engine_->actives().size(), std::memory_order_release);             // with acquire in poll()
  }
  if (engine_->network().failure() && !has_failed_.load(std::memory_order_relaxed)) {  // written under this lock
    failure_ = engine_->network().failure();
    has_failed_.store(true, std::memory_order_release);  // with acquire in has_failed()
  }
  const std::function<void()>* const doorbell =
      doorbell_ != nullptr && activity_.needs_polls() ? std::exchange(doorbell_, nullptr) : nullptr;
  lock.unlock();
  if (doorbell != nullptr) {
    (*doorbell)();
  }
  const bool has_news = completed != nullptr || released != nullptr || has_failed_.load(std::memory_order_relaxed);
  while (completed != nullptr) {
    notify(*std::exchange(completed, completed->next_completed));
  }
  while (released != nullptr) {
    Operation& operation = *std::exchange(released, released->next_released);
    // Acquires that completion was notified, or leaves the rest to the thread that notifies of it.
    if ((operation.events.fetch_or(Operation::may_release, std::memory_order_acq_rel) &
         Operation::completion_notified) != 0) {
      notify_release(operation);
    }
  }
  if (has_news) {
    resting_.notify();
  }
  if (executor_ != nullptr && has_news) {
    executor_->notify();
  }
}

void Core::notify(Operation& operation) noexcept {
  const bool is_released = operation.is_released_at_completion;
  operation.observers.complete(operation.status);
  if (is_released || (operation.events.fetch_or(Operation::completion_notified, std::memory_order_acq_rel) &
                      Operation::may_release) != 0) {  // with unlock_and_notify()
    notify_release(operation);
  }
}

// ---- active messages ----

void Core::on(HandlerId id, Handler handler) {
  const Lock lock{mutex_};
  handlers_.set(id, std::move(handler));
  activity_.note_listening();
}

HandlerId Core::claim_handler() {
  const Lock lock{mutex_};
  return handlers_.claim();
}

void Core::off(HandlerId id) {
  const std::lock_guard none_runs{handler_mutex_};
  const Lock lock{mutex_};
  handlers_.remove(id);
}

void Core::run_handlers() noexcept {
  const Lock one_at_a_time{handler_mutex_, std::try_to_lock};
  if (!one_at_a_time.owns_lock()) {
    return;
  }
  std::size_t count = active_count_.load(std::memory_order_acquire);  // with unlock_and_notify()
  for (; count > 0; --count) {
    Lock lock{mutex_};
    const ArrivedActive message = std::move(engine_->actives().front());
    engine_->actives().pop_front();
    const Handler* const handler = handlers_.find(message.handler);
    unlock_and_notify(lock);
    call(handler, message);
  }
}

void Core::call(const Handler* handler, const ArrivedActive& message) noexcept {
  try {
    if (handler == nullptr) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("rank {} sent an active message for handler {}, which rank {} has not set: call on() "
                              "before the first message can come",
                              message.source.value(),
                              message.handler.value(),
                              resting_.self().value())};
    }
    (*handler)({message.source, message.payload});
  } catch (const Error& error) {
    stop_all(error);
  } catch (const std::exception& error) {
    stop_all(Error{ErrorCode::user_task, fmt::format("an active message's handler threw: {}", error.what())});
  }
}

}  // namespace plait::comm::detail
