// SPDX-License-Identifier: Apache-2.0
// What the users of an endpoint call: the lock, handles, waiting, telling. detail/engine.hpp has the protocols.
#include "plait/comm/endpoint.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "plait/comm/detail/engine.hpp"
#include "plait/comm/detail/waiters.hpp"

namespace plait::comm {

namespace {

constexpr HandlerId first_claimed{0x8000'0000U};  // the program's own are below

/// Looks of a waiting thread before it asks to be the one that polls while others sleep.
constexpr int looks_before_role = 64;

Status status_of(const detail::Unexpected& message) {
  return {message.envelope.source,
          message.envelope.tag,
          static_cast<std::size_t>(message.header.bytes),
          message.header.sequence,
          {}};
}

Envelope envelope_of(const Address& from) {
  return {from.comm, from.rank, from.tag};
}

}  // namespace

Endpoint::Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options)
    : driver_{driver},
      self_{driver.self()},
      wait_{options.wait},
      engine_{std::make_unique<detail::Engine>(driver, recorder, options)},
      waiters_{std::make_unique<detail::Waiters>()} {}

Endpoint::~Endpoint() = default;

void Endpoint::throw_if_unusable(const Address& address) const {
  if (has_failed_.load(std::memory_order_acquire)) {  // with release in note_failure()
    throw Error{failure_.value()};
  }
  if (address.rank && address.rank.value() >= rank_count()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} does not exist: this run has {} ranks", address.rank.value(), rank_count())};
  }
}

// ---- sending ----

Request Endpoint::send(const Address& to, std::span<const std::byte> data, const SendOptions& options) {
  throw_if_unusable(to);
  expect(to.rank && to.tag, "a message goes to one rank with one tag");
  {
    Lock lock{mutex_};
    if (const std::optional<std::uint32_t> sequence = engine_->leave_at_once(to, wire::Kind::eager, data)) {
      unlock_and_tell(lock);
      const Status status{self_, to.tag, data.size(), *sequence, {}};
      if (options.completion != nullptr) {
        options.completion->completed(status);
        options.completion->released(status);
      }
      return Request{status};
    }
  }
  auto operation = std::make_unique<Operation>();
  operation->memory = {const_cast<std::byte*>(data.data()), data.size()};  // a send only reads
  return send_operation(to, std::move(operation), options);
}

Request Endpoint::send(const Address& to, Layout data, const SendOptions& options) {
  throw_if_unusable(to);
  expect(to.rank && to.tag, "a message goes to one rank with one tag");
  auto operation = std::make_unique<Operation>();
  operation->layout = std::make_unique<const Layout>(std::move(data));
  return send_operation(to, std::move(operation), options);
}

Request Endpoint::send_operation(const Address& to, std::unique_ptr<Operation> owned, const SendOptions& options) {
  Operation& operation = *owned.release();  // counted from here on
  operation.direction = net::Direction::sent;
  operation.completion = options.completion;
  operation.priority = options.priority;
  operation.comm = to.comm;
  operation.peer = to.rank;
  operation.tag = to.tag;
  operation.bytes = operation.room();
  operation.count.store(2, std::memory_order_relaxed);  // of the handle and of the engine; published by the lock
  Request request{*this, operation};
  Lock lock{mutex_};
  engine_->leave(operation);
  unlock_and_tell(lock);
  return request;
}

Request Endpoint::multicast(
    std::vector<Destination> to, Tag tag, std::span<const std::byte> data, const SendOptions& options, CommId comm) {
  std::ranges::stable_sort(to, std::greater{}, &Destination::priority);
  std::vector<wire::Stop> stops;
  std::vector<bool> is_known(rank_count());
  for (const Destination& destination : to) {
    throw_if_unusable({destination.rank, tag, comm});
    expect(static_cast<bool>(destination.rank), "a multicast goes to ranks");
    if (!is_known[destination.rank.value()]) {
      is_known[destination.rank.value()] = true;
      stops.push_back({destination.rank.value(), 0});
    }
  }
  auto& operation = *new Operation;
  operation.direction = net::Direction::sent;
  operation.completion = options.completion;
  operation.priority = options.priority;
  operation.comm = comm;
  operation.tag = tag;
  operation.memory = {const_cast<std::byte*>(data.data()), data.size()};  // a send only reads
  operation.bytes = data.size();
  operation.count.store(2, std::memory_order_relaxed);  // of the handle and of the engine; published by the lock
  Request request{*this, operation};
  Lock lock{mutex_};
  engine_->multicast(operation, std::move(stops));
  for (const Destination& destination : to) {
    if (destination.sequence != nullptr) {
      *destination.sequence =
          std::ranges::find(operation.forwarding->stops, destination.rank.value(), &wire::Stop::rank)->sequence;
    }
  }
  unlock_and_tell(lock);
  return request;
}

void Endpoint::post(Rank to, HandlerId id, std::span<const std::byte> payload) {
  const Address address{to, Tag{id.value()}, internal};
  throw_if_unusable(address);
  Lock lock{mutex_};
  if (!engine_->leave_at_once(address, wire::Kind::active, payload)) {
    auto& operation = *new Operation;
    operation.direction = net::Direction::sent;
    operation.is_active_message = true;
    operation.comm = internal;
    operation.peer = to;
    operation.tag = address.tag;
    operation.memory = {const_cast<std::byte*>(payload.data()), payload.size()};  // a send only reads
    operation.bytes = payload.size();
    engine_->leave(operation);
  }
  unlock_and_tell(lock);
}

// ---- receiving ----

Request Endpoint::receive(const Address& from, std::span<std::byte> buffer, Completion* completion) {
  auto operation = std::make_unique<Operation>();
  operation->memory = buffer;
  return receive_operation(from, std::move(operation), completion);
}

Request Endpoint::receive(const Address& from, Layout buffer, Completion* completion) {
  auto operation = std::make_unique<Operation>();
  operation->layout = std::make_unique<const Layout>(std::move(buffer));
  return receive_operation(from, std::move(operation), completion);
}

Request Endpoint::receive(const Address& from, Bytes& buffer, Completion* completion) {
  auto operation = std::make_unique<Operation>();
  operation->growing = &buffer;
  return receive_operation(from, std::move(operation), completion);
}

Request Endpoint::receive_operation(const Address& from, std::unique_ptr<Operation> owned, Completion* completion) {
  throw_if_unusable(from);
  Operation& operation = *owned.release();  // counted from here on
  operation.direction = net::Direction::received;
  operation.completion = completion;
  operation.envelope = envelope_of(from);
  operation.comm = from.comm;
  operation.count.store(2, std::memory_order_relaxed);  // of the handle and of the engine; published by the lock
  Request request{*this, operation};
  Lock lock{mutex_};
  engine_->receive(operation);
  unlock_and_tell(lock);
  return request;
}

std::optional<Status> Endpoint::probe(const Address& from) {
  throw_if_unusable(from);
  progress();
  const Lock lock{mutex_};
  const detail::Unexpected* const message = engine_->probe(envelope_of(from));
  return message == nullptr ? std::nullopt : std::optional{status_of(*message)};
}

std::optional<ClaimedMessage> Endpoint::claim(const Address& from) {
  throw_if_unusable(from);
  progress();
  const Lock lock{mutex_};
  std::unique_ptr<detail::Unexpected> message = engine_->claim(envelope_of(from));
  if (!message) {
    return {};
  }
  const Status status = status_of(*message);
  return std::optional<ClaimedMessage>{std::in_place, *this, std::move(message), status};
}

Request Endpoint::receive(ClaimedMessage message, std::span<std::byte> buffer, Completion* completion) {
  auto operation = std::make_unique<Operation>();
  operation->memory = buffer;
  return receive_claimed(std::move(message), std::move(operation), completion);
}

Request Endpoint::receive(ClaimedMessage message, Bytes& buffer, Completion* completion) {
  auto operation = std::make_unique<Operation>();
  operation->growing = &buffer;
  return receive_claimed(std::move(message), std::move(operation), completion);
}

Request Endpoint::receive_claimed(ClaimedMessage message, std::unique_ptr<Operation> owned, Completion* completion) {
  Operation& operation = *owned.release();  // counted from here on
  operation.direction = net::Direction::received;
  operation.completion = completion;
  operation.comm = message.message_->envelope.comm;
  operation.count.store(2, std::memory_order_relaxed);  // of the handle and of the engine; published by the lock
  Request request{*this, operation};
  Lock lock{mutex_};
  engine_->receive_claimed(operation, std::move(message.message_));
  unlock_and_tell(lock);
  return request;
}

void Endpoint::drop(std::unique_ptr<detail::Unexpected> message) noexcept {
  Lock lock{mutex_};
  engine_->drop(std::move(message));
  unlock_and_tell(lock);
}

bool Endpoint::cancel(Operation& operation) {
  Lock lock{mutex_};
  if (!engine_->cancel(operation)) {
    return false;
  }
  unlock_and_tell(lock);
  detail::release(&operation);
  return true;
}

// ---- progress ----

std::size_t Endpoint::progress() noexcept {
  std::size_t happened = 0;
  {
    Lock lock{mutex_, std::try_to_lock};
    if (!lock.owns_lock() || has_failed_.load(std::memory_order_relaxed)) {  // written under this lock
      return 0;
    }
    poll_count_.store(poll_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // under the lock
    try {
      happened = engine_->poll();
    } catch (const Error& error) {
      engine_->set_failure(error);
    } catch (const std::exception& error) {
      engine_->set_failure(Error{ErrorCode::network, fmt::format("the network failed: {}", error.what())});
    }
    unlock_and_tell(lock);
  }
  if (active_count_.load(std::memory_order_acquire) > 0) {  // with release in unlock_and_tell()
    run_handlers();
  }
  return happened;
}

template <class Done>
void Endpoint::wait_until(Done is_done) {
  Backoff backoff{wait_, crowding_};
  while (!is_done()) {
    if (progress() > 0) {
      backoff.reset();
    } else if (has_failed_.load(std::memory_order_acquire)) {  // with release in note_failure()
      throw Error{failure_.value()};
    } else if (is_moving_bulk()) {
      crowding_.give_way();
    } else if (!is_done()) {
      backoff.pause();
    }
  }
}

void Endpoint::progress_until(const std::function<bool()>& is_done) {
  wait_until([&] { return is_done(); });
}

/// One of the waiting threads polls, the others sleep until their operation is over or it is their turn to poll.
void Endpoint::wait(Operation& operation, bool (*is_done)(const Operation&)) {
  for (int looks = wait_.spin > nanoseconds::zero() ? looks_before_role : 1; looks > 0; --looks) {
    progress();
    if (is_done(operation)) {
      return;
    }
  }
  while (!is_done(operation)) {
    // Sequentially consistent, here and below: a thread that goes to sleep either sees that the role is free, or is
    // seen by the one that frees it.
    if (!has_poller_.exchange(true)) {
      struct Role {
        Endpoint& endpoint;
        ~Role() {
          endpoint.has_poller_.store(false);
          endpoint.waiters_->wake_one();
        }
      } const role{*this};
      wait_until([&] { return is_done(operation); });
      return;
    }
    detail::Waiter self{operation};
    waiters_->add(self);
    operation.state.fetch_or(Operation::has_waiter);
    while (!is_done(operation) && has_poller_.load() && self.signal.load() == detail::Waiter::asleep) {
      self.signal.wait(detail::Waiter::asleep);
    }
    waiters_->remove(self);
    if (self.signal.load() == detail::Waiter::please_poll && is_done(operation)) {
      waiters_->wake_one();
    }
  }
}

void Endpoint::drain() {
  progress_until([this] {
    const Lock lock{mutex_};
    return engine_->has_left_all();
  });
}

void Endpoint::flush() {
  progress_until([this] {
    const Lock lock{mutex_};
    return engine_->has_left_what_may();
  });
}

std::uint64_t Endpoint::packet_count() const {
  const Lock lock{mutex_};
  return engine_->packet_count();
}

bool Endpoint::arm(Doorbell* doorbell) {
  const Lock lock{mutex_};
  if (doorbell != nullptr && (engine_->needs_polls() || engine_->failure())) {
    return false;
  }
  doorbell_ = doorbell;
  return true;
}

// ---- failure ----

std::optional<Error> Endpoint::failure() const {
  return has_failed_.load(std::memory_order_acquire) ? failure_ : std::nullopt;  // with release in note_failure()
}

/// With the lock held: shows the engine's failure to those that do not hold it.
void Endpoint::note_failure() noexcept {
  if (engine_->failure() && !has_failed_.load(std::memory_order_relaxed)) {  // written under this lock
    failure_ = engine_->failure();
    has_failed_.store(true, std::memory_order_release);  // with acquire in failure() and throw_if_unusable()
  }
}

void Endpoint::stop_all(const Error& reason) noexcept {
  try {
    Lock lock{mutex_};
    if (engine_->failure()) {
      return;
    }
    try {
      engine_->stop_all(reason);
    } catch (const std::exception&) {
      // The network is gone: the peers will notice by themselves.
    }
    unlock_and_tell(lock);
  } catch (const std::exception&) {
    // As above.
  }
}

void Endpoint::keep(std::shared_ptr<void> what) {
  const Lock lock{mutex_};
  kept_.push_back(std::move(what));
}

std::vector<std::string> Endpoint::never_received() const {
  const Lock lock{mutex_};
  return engine_->never_received();
}

// ---- telling ----

/// Releases the lock and tells what has happened while it was held.
void Endpoint::unlock_and_tell(Lock& lock) noexcept {
  Operation* completed = engine_->take_completed();
  Operation* released = engine_->take_released();
  const bool needs_polls = engine_->needs_polls();
  outstanding_.store(engine_->outstanding_count(), std::memory_order_relaxed);  // hints to readers, down to
  bulk_count_.store(engine_->bulk_count(), std::memory_order_relaxed);          //
  needs_polls_.store(needs_polls, std::memory_order_relaxed);                   // here: they order nothing
  active_count_.store(engine_->active.size(), std::memory_order_release);       // with acquire in progress()
  note_failure();
  Doorbell* const doorbell = needs_polls ? std::exchange(doorbell_, nullptr) : nullptr;
  lock.unlock();
  if (doorbell != nullptr) {
    doorbell->ring();
  }
  while (completed != nullptr) {
    tell(*std::exchange(completed, completed->next_completed));
  }
  while (released != nullptr) {
    Operation& operation = *std::exchange(released, released->next_released);
    // Acquires that completion was told, or leaves the rest to whoever tells it.
    if ((operation.events.fetch_or(Operation::may_release, std::memory_order_acq_rel) & Operation::completion_told) !=
        0) {
      tell_released(operation);
    }
  }
}

void Endpoint::tell(Operation& operation) noexcept {
  // Releases status and data to is_complete(), acquires the callback from then(). Sequentially consistent with wait().
  const auto before = operation.state.fetch_or(Operation::complete);
  const bool is_released = operation.is_released_at_completion;
  if (operation.completion != nullptr) {
    operation.completion->completed(operation.status);
  }
  if ((before & Operation::has_callback) != 0) {
    try {
      operation.callback(operation.status);
    } catch (const std::exception& error) {
      stop_all(Error{ErrorCode::user_task, fmt::format("a message's callback threw: {}", error.what())});
    }
  }
  if ((before & Operation::has_waiter) != 0) {
    waiters_->wake(operation);
  }
  if (is_released || (operation.events.fetch_or(Operation::completion_told, std::memory_order_acq_rel) &
                      Operation::may_release) != 0) {  // with unlock_and_tell()
    tell_released(operation);
  }
}

void Endpoint::tell_released(Operation& operation) noexcept {
  operation.is_released.store(true);  // sequentially consistent with wait()
  if (operation.completion != nullptr) {
    operation.completion->released(operation.status);
  }
  if ((operation.state.load() & Operation::has_waiter) != 0) {
    waiters_->wake(operation);
  }
  detail::release(&operation);
}

// ---- active messages ----

void Endpoint::on(HandlerId id, Handler handler) {
  const Lock lock{mutex_};
  if (id < first_claimed && handlers_.size() <= id.value()) {
    handlers_.resize(id.value() + 1);
  }
  std::unique_ptr<Handler>* const place = handler_place(id);
  expect(place != nullptr, "an id that the program does not choose has been claimed");
  expect(*place == nullptr, "an active message has one handler");
  *place = std::make_unique<Handler>(std::move(handler));
  has_handlers_.store(true, std::memory_order_relaxed);  // a hint
}

HandlerId Endpoint::claim_handler() {
  const Lock lock{mutex_};
  claimed_handlers_.emplace_back();
  return HandlerId{static_cast<std::uint32_t>(first_claimed.value() + claimed_handlers_.size() - 1)};
}

void Endpoint::off(HandlerId id) {
  const std::lock_guard none_runs{handler_mutex_};
  const Lock lock{mutex_};
  if (std::unique_ptr<Handler>* const place = handler_place(id)) {
    place->reset();
  }
}

/// With the lock held: where the handler stands; null when nobody has named the id.
std::unique_ptr<Handler>* Endpoint::handler_place(HandlerId id) {
  const bool is_claimed = id >= first_claimed;
  auto& handlers = is_claimed ? claimed_handlers_ : handlers_;
  const std::uint32_t number = is_claimed ? id.value() - first_claimed.value() : id.value();
  return number < handlers.size() ? &handlers[number] : nullptr;
}

void Endpoint::run_handlers() noexcept {
  const Lock one_at_a_time{handler_mutex_, std::try_to_lock};
  if (!one_at_a_time.owns_lock()) {
    return;
  }
  std::size_t count = active_count_.load(std::memory_order_acquire);  // with unlock_and_tell()
  for (; count > 0; --count) {
    Lock lock{mutex_};
    const detail::ArrivedActive message = std::move(engine_->active.front());
    engine_->active.pop_front();
    const std::unique_ptr<Handler>* const place = handler_place(message.handler);
    const Handler* const handler = place != nullptr ? place->get() : nullptr;
    unlock_and_tell(lock);
    call(handler, message);
  }
}

void Endpoint::call(const Handler* handler, const detail::ArrivedActive& message) noexcept {
  try {
    if (handler == nullptr) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("rank {} sent an active message for handler {}, which rank {} has not set: call on() "
                              "before the first message can come",
                              message.source.value(),
                              message.handler.value(),
                              self().value())};
    }
    (*handler)({message.source, message.payload});
  } catch (const Error& error) {
    stop_all(error);
  } catch (const std::exception& error) {
    stop_all(Error{ErrorCode::user_task, fmt::format("an active message's handler threw: {}", error.what())});
  }
}

}  // namespace plait::comm
