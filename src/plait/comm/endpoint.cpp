// SPDX-License-Identifier: Apache-2.0
// The part of the endpoint that its users call. endpoint_protocol.cpp has what happens when packets come and go.
#include "plait/comm/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "plait/base/backoff.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/peer.hpp"

namespace plait::comm {

namespace {

constexpr std::size_t events_of_a_poll_max = 16;
constexpr int push_out_attempts_max = 1000;

std::uint32_t credits_of_a_peer(const EndpointOptions& options, const net::Driver& driver) {
  const std::size_t fit = options.packet_memory_bytes_max / (driver.packet_bytes_max() * driver.rank_count());
  const auto most = std::max<std::size_t>(2, std::min<std::size_t>(32, driver.packets_in_flight_max() / 2));
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, 2, most));
}

}  // namespace

Endpoint::Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options)
    : driver_{driver},
      recorder_{recorder},
      trace_{recorder.thread(WorkerId{}, "network")},
      options_{options},
      wait_{options.wait},
      eager_bytes_max_{std::min(options.eager_bytes_max, driver.packet_bytes_max() - sizeof(wire::Header))},
      credits_of_a_peer_{credits_of_a_peer(options, driver)},
      is_tracing_{recorder.is_on()},
      slots_(driver.bulk_slot_count()),
      arrivals_(events_of_a_poll_max),
      bulk_done_(events_of_a_poll_max) {
  for (std::uint32_t rank = 0; rank < driver.rank_count(); ++rank) {
    peers_.push_back(std::make_unique<detail::Peer>());
    peers_.back()->credits = credits_of_a_peer_;
  }
  for (std::uint32_t slot = driver.bulk_slot_count(); slot-- > 0;) {
    free_slots_.push_back(slot);
  }
}

Endpoint::~Endpoint() {
  matcher_.for_each_posted([](const PostedReceive& receive) {
    detail::release(const_cast<Operation*>(static_cast<const Operation*>(&receive)));
  });
  matcher_.for_each_unexpected(
      [](const UnexpectedMessage& message) { delete static_cast<const detail::Unexpected*>(&message); });
  for (const auto& peer : peers_) {
    for (Operation* const operation : peer->backlog) {
      detail::release(operation);
    }
  }
  for (Operation* const operation : announced_) {
    detail::release(operation);
  }
  for (Operation* const operation : slots_) {
    detail::release(operation);
  }
  for (Operation* const operation : waiting_bulk_) {
    if (operation->direction == net::Direction::received) {
      detail::release(operation);  // a send that waits for the driver stands in announced_ too
    }
  }
}

void Endpoint::throw_if_unusable(const Address& address) const {
  if (has_failed_.load(std::memory_order_acquire)) {  // with release in set_failure()
    throw Error{failure_.value()};
  }
  if (address.rank && address.rank.value() >= rank_count()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} does not exist: this run has {} ranks", address.rank.value(), rank_count())};
  }
}

Request Endpoint::send(const Address& to, std::span<const std::byte> data, Completion* completion) {
  throw_if_unusable(to);
  expect(to.rank && to.tag, "a message goes to one rank with one tag");
  Lock lock{mutex_};
  if (const std::optional<Status> status = leave_at_once(to, wire::Kind::eager, data)) {
    lock.unlock();
    if (completion != nullptr) {
      completion->completed(*status);
    }
    return Request{*status};
  }
  auto* const operation = new Operation;
  operation->direction = net::Direction::sent;
  operation->completion = completion;
  operation->comm = to.comm;
  operation->peer = to.rank;
  operation->tag = to.tag;
  operation->data = data;
  operation->count.store(2, std::memory_order_relaxed);  // of the handle and of the endpoint; published by the lock
  Request request{*this, *operation};
  leave(*operation);
  tell(lock);
  return request;
}

Request Endpoint::receive(const Address& from, std::span<std::byte> buffer, Completion* completion) {
  auto* const operation = new Operation;
  operation->buffer = buffer;
  operation->completion = completion;
  return receive_into(from, *operation);
}

Request Endpoint::receive(const Address& from, Bytes& buffer, Completion* completion) {
  auto* const operation = new Operation;
  operation->growing = &buffer;
  operation->completion = completion;
  return receive_into(from, *operation);
}

Request Endpoint::receive_into(const Address& from, Operation& operation) {
  Request request{*this, operation};
  throw_if_unusable(from);
  operation.direction = net::Direction::received;
  operation.envelope = {from.comm, from.rank, from.tag};
  operation.comm = from.comm;
  operation.posted = now_if_tracing();
  operation.count.store(2, std::memory_order_relaxed);  // of the handle and of the endpoint; published by the lock

  Lock lock{mutex_};
  add(outstanding_, 1);
  if (UnexpectedMessage* const message = matcher_.post(operation)) {
    give_unexpected(operation, std::unique_ptr<detail::Unexpected>{static_cast<detail::Unexpected*>(message)});
  }
  tell(lock);
  return request;
}

std::optional<Status> Endpoint::probe(const Address& from) {
  throw_if_unusable(from);
  progress();
  const std::lock_guard lock{mutex_};
  const UnexpectedMessage* const message = matcher_.probe({from.comm, from.rank, from.tag});
  if (message == nullptr) {
    return {};
  }
  return Status{message->envelope.source,
                message->envelope.tag,
                static_cast<std::size_t>(static_cast<const detail::Unexpected*>(message)->header.bytes),
                static_cast<const detail::Unexpected*>(message)->header.sequence,
                {}};
}

bool Endpoint::cancel(Operation& operation) {
  const std::lock_guard lock{mutex_};
  if (operation.direction != net::Direction::received || !matcher_.cancel(operation)) {
    return false;
  }
  add(outstanding_, -1);
  detail::release(&operation);
  return true;
}

void Endpoint::on(HandlerId id, Handler handler) {
  const std::lock_guard lock{mutex_};
  if (handlers_.size() <= id.value()) {
    handlers_.resize(id.value() + 1);
  }
  expect(handlers_[id.value()] == nullptr, "an active message has one handler");
  handlers_[id.value()] = std::make_unique<Handler>(std::move(handler));
}

void Endpoint::post(Rank to, HandlerId id, std::span<const std::byte> payload) {
  const Address address{to, Tag{id.value()}, internal};
  throw_if_unusable(address);
  Lock lock{mutex_};
  if (leave_at_once(address, wire::Kind::active, payload)) {
    return;
  }
  auto* const operation = new Operation;
  operation->direction = net::Direction::sent;
  operation->is_active_message = true;
  operation->comm = internal;
  operation->peer = to;
  operation->tag = address.tag;
  operation->data = payload;
  leave(*operation);
  tell(lock);
}

std::size_t Endpoint::progress() noexcept {
  std::size_t happened = 0;
  {
    Lock lock{mutex_, std::try_to_lock};
    if (!lock.owns_lock() || has_failed_.load(std::memory_order_relaxed)) {  // written under this lock
      return 0;
    }
    try {
      happened = poll();
    } catch (const Error& error) {
      set_failure(error);
    } catch (const std::exception& error) {
      set_failure(Error{ErrorCode::network, fmt::format("the network failed: {}", error.what())});
    }
    tell(lock);
  }
  if (active_count_.load(std::memory_order_acquire) > 0) {  // with release in deliver_active()
    run_handlers();
  }
  return happened;
}

template <class Done>
void Endpoint::wait_until(Done is_done) {
  Backoff backoff{wait_};
  while (!is_done()) {
    if (progress() > 0) {
      backoff.reset();
    } else if (has_failed_.load(std::memory_order_acquire)) {  // with release in set_failure()
      throw Error{failure_.value()};
    } else if (is_moving_bulk()) {
      std::this_thread::yield();
    } else if (!is_done()) {
      backoff.pause();
    }
  }
}

void Endpoint::progress_until(const std::function<bool()>& is_done) {
  wait_until([&] { return is_done(); });
}

void Endpoint::wait(const Operation& operation) {
  wait_until([&] { return operation.state.load(std::memory_order_acquire) == Operation::State::complete; });  // tell()
}

void Endpoint::drain() {
  progress_until([this] {
    const std::lock_guard lock{mutex_};
    return with_backlog_.empty() && free_announced_.size() == announced_.size() && waiting_bulk_.empty() &&
           driver_.is_idle();
  });
}

std::optional<Error> Endpoint::failure() const {
  return has_failed_.load(std::memory_order_acquire) ? failure_ : std::nullopt;  // with release in set_failure()
}

void Endpoint::set_failure(const Error& reason) {
  if (!failure_) {
    failure_ = reason;
    has_failed_.store(true, std::memory_order_release);  // with acquire in failure() and throw_if_unusable()
  }
}

void Endpoint::stop_all(const Error& reason) noexcept {
  try {
    const std::lock_guard lock{mutex_};
    if (failure_) {
      return;
    }
    set_failure(reason);
    const std::string_view sentence{reason.what()};
    const auto text = std::as_bytes(std::span{sentence.substr(0, driver_.packet_bytes_max() - sizeof(wire::Header))});
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
      if (Rank{rank} != self()) {
        send_control(Rank{rank}, {.kind = wire::Kind::failed}, text);
      }
    }
    push_out();
  } catch (const std::exception&) {
    // The network is gone: the peers will notice by themselves.
  }
}

/// Looks at the network until what was sent has left, for a bounded while; what comes is dropped.
void Endpoint::push_out() {
  for (int attempt = 0; attempt < push_out_attempts_max && !driver_.is_idle(); ++attempt) {
    const net::Polled polled = driver_.poll(arrivals_, bulk_done_);
    for (std::size_t i = 0; i < polled.arrivals; ++i) {
      driver_.recycle(std::move(arrivals_[i].packet));
    }
  }
}

std::vector<std::string> Endpoint::never_received() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::string> lines;
  matcher_.for_each_unexpected([&](const UnexpectedMessage& message) {
    if (message.envelope.comm == internal) {
      return;
    }
    const auto& full = static_cast<const detail::Unexpected&>(message);
    lines.push_back(fmt::format("{} bytes from rank {} with tag {}",
                                full.header.bytes,
                                message.envelope.source.value(),
                                message.envelope.tag.value()));
  });
  return lines;
}

void Endpoint::tell(Lock& lock) noexcept {
  Operation* operation = std::exchange(completed_, nullptr);
  completed_last_ = nullptr;
  lock.unlock();
  while (operation != nullptr) {
    tell(*std::exchange(operation, operation->next_completed));
  }
}

void Endpoint::tell(Operation& operation) noexcept {
  // Releases status and data to is_complete(), acquires the callback from then().
  const auto before = operation.state.exchange(Operation::State::complete, std::memory_order_acq_rel);
  if (operation.completion != nullptr) {
    operation.completion->completed(operation.status);
  }
  if (before == Operation::State::pending_with_callback) {
    try {
      operation.callback(operation.status);
    } catch (const std::exception& error) {
      stop_all(Error{ErrorCode::user_task, fmt::format("a message's callback threw: {}", error.what())});
    }
  }
  detail::release(&operation);
}

void Endpoint::run_handlers() noexcept {
  const Lock one_at_a_time{handler_mutex_, std::try_to_lock};
  if (!one_at_a_time.owns_lock()) {
    return;
  }
  std::size_t count = active_count_.load(std::memory_order_acquire);  // with deliver_active()
  for (; count > 0; --count) {
    Lock lock{mutex_};
    const ArrivedActive message = std::move(active_.front());
    active_.pop_front();
    active_count_.fetch_sub(1, std::memory_order_relaxed);  // written under the lock
    const bool is_known = message.handler.value() < handlers_.size();
    const Handler* const handler = is_known ? handlers_[message.handler.value()].get() : nullptr;
    lock.unlock();
    call(handler, message);
  }
}

void Endpoint::call(const Handler* handler, const ArrivedActive& message) noexcept {
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

nanoseconds Endpoint::now_if_tracing() const {
  return is_tracing_ ? recorder_.now() : nanoseconds{};
}

}  // namespace plait::comm
