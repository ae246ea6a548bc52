// SPDX-License-Identifier: Apache-2.0
// What the users of an endpoint call. detail/core.hpp has the lock and the notifications, detail/engine.hpp the
// protocols.
#include "plait/comm/endpoint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/comm/detail/core.hpp"

namespace plait::comm {

namespace {

using detail::Engine;
using detail::Operation;
using detail::shared;
using detail::Unexpected;

Status status_of(const Unexpected& message) {
  return {message.envelope.source,
          message.envelope.tag,
          static_cast<std::size_t>(message.header.bytes),
          message.header.sequence,
          {}};
}

MessageEnvelope envelope_of(const Address& from) {
  return {from.comm, from.rank, from.tag};
}

std::unique_ptr<Operation> operation_on(std::span<std::byte> memory) {
  auto operation = std::make_unique_for_overwrite<Operation>();
  operation->memory = memory;
  return operation;
}

std::unique_ptr<Operation> operation_on(Layout layout) {
  auto operation = std::make_unique_for_overwrite<Operation>();
  operation->layout = std::make_unique<const Layout>(std::move(layout));
  return operation;
}

std::unique_ptr<Operation> operation_on(Bytes& buffer) {
  auto operation = std::make_unique_for_overwrite<Operation>();
  operation->resizable = &buffer;
  return operation;
}

std::span<std::byte> writable(std::span<const std::byte> data) {
  return {const_cast<std::byte*>(data.data()), data.size()};  // a send only reads
}

[[noreturn]] void throw_unusable(const std::optional<Error>& failure,
                                 const Address& address,
                                 std::uint32_t rank_count) {
  if (failure) {
    throw Error{*failure};
  }
  throw Error{ErrorCode::bad_argument,
              fmt::format("rank {} does not exist: this run has {} ranks", address.rank.value(), rank_count)};
}

}  // namespace

Endpoint::Endpoint(net::Driver& driver, trace::Recorder& recorder, const EndpointOptions& options)
    : driver_{driver},
      self_{driver.self()},
      core_{std::make_unique<detail::Core>(driver, recorder, options, activity_)} {}

Endpoint::~Endpoint() = default;

inline void Endpoint::throw_if_unusable(const Address& address) const {
  if (core_->has_failed() || (address.rank && address.rank.value() >= rank_count())) [[unlikely]] {
    throw_unusable(core_->failure(), address, rank_count());
  }
}

// ---- sending ----

Request Endpoint::send(const Address& to, std::span<const std::byte> data, const SendOptions& options) {
  throw_if_unusable(to);
  expect(to.rank && to.tag, "a message goes to one rank with one tag");
  Request request;
  Status& status = request.status_;  // written in place: to copy what has just been written is slow
  wire::Header header{
      .kind = wire::ChunkKind::eager, .comm = to.comm.value(), .tag = to.tag.value(), .bytes = data.size()};
  if (options.is_synchronous ||
      !core_->act([&](Engine& engine) { return engine.outbox().send_now(to.rank, header, data); })) {
    request = start_send(to, operation_on(writable(data)), options);
    return request;
  }
  status.sequence = header.sequence;
  status.source = self_;
  status.tag = to.tag;
  status.bytes = data.size();
  if (options.completion != nullptr) {
    options.completion->completed(status);
    options.completion->released(status);
  }
  return request;
}

Request Endpoint::send(const Address& to, Layout data, const SendOptions& options) {
  throw_if_unusable(to);
  expect(to.rank && to.tag, "a message goes to one rank with one tag");
  return start_send(to, operation_on(std::move(data)), options);
}

Request Endpoint::start_send(const Address& to, std::unique_ptr<Operation> owned, const SendOptions& options) {
  Operation& operation = shared(std::move(owned), net::TransferDirection::sent, to.comm, options.completion);
  operation.priority = options.priority;
  operation.is_synchronous = options.is_synchronous;
  operation.peer = to.rank;
  operation.tag = to.tag;
  operation.bytes = operation.room();
  Request request{*this, operation};
  core_->act([&](Engine& engine) { engine.outbox().send(operation); });
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
  Operation& operation = shared(operation_on(writable(data)), net::TransferDirection::sent, comm, options.completion);
  operation.priority = options.priority;
  operation.tag = tag;
  operation.bytes = data.size();
  Request request{*this, operation};
  core_->act([&](Engine& engine) {
    engine.multicast().send(operation, std::move(stops));
    for (const Destination& destination : to) {
      if (destination.sequence != nullptr) {
        *destination.sequence =
            std::ranges::find(operation.forwarding->stops, destination.rank.value(), &wire::Stop::rank)->sequence;
      }
    }
  });
  return request;
}

void Endpoint::post(Rank to, HandlerId id, std::span<const std::byte> payload) {
  const Address address{to, Tag{id.value()}, internal};
  throw_if_unusable(address);
  wire::Header header{
      .kind = wire::ChunkKind::active, .comm = internal.value(), .tag = id.value(), .bytes = payload.size()};
  core_->act([&](Engine& engine) {
    if (!engine.outbox().send_now(to, header, payload)) {
      auto& operation = *operation_on(writable(payload)).release();  // the engine's
      operation.is_active_message = true;
      operation.comm = internal;
      operation.peer = to;
      operation.tag = address.tag;
      operation.bytes = payload.size();
      engine.outbox().send(operation);
    }
  });
}

// ---- receiving ----

Request Endpoint::receive(const Address& from, std::span<std::byte> buffer, Completion* completion) {
  return start_receive(from, operation_on(buffer), completion);
}

Request Endpoint::receive(const Address& from, Layout buffer, Completion* completion) {
  return start_receive(from, operation_on(std::move(buffer)), completion);
}

Request Endpoint::receive(const Address& from, Bytes& buffer, Completion* completion) {
  return start_receive(from, operation_on(buffer), completion);
}

Request Endpoint::start_receive(const Address& from, std::unique_ptr<Operation> owned, Completion* completion) {
  throw_if_unusable(from);
  Operation& operation = shared(std::move(owned), net::TransferDirection::received, from.comm, completion);
  operation.envelope = envelope_of(from);
  Request request{*this, operation};
  core_->act([&](Engine& engine) { engine.delivery().receive(operation); });
  return request;
}

std::optional<Status> Endpoint::probe(const Address& from) {
  throw_if_unusable(from);
  progress();
  return core_->look_up([&](Engine& engine) {
    const Unexpected* const message = engine.inbox().probe(envelope_of(from));
    return message == nullptr ? std::nullopt : std::optional{status_of(*message)};
  });
}

std::optional<ClaimedMessage> Endpoint::claim(const Address& from) {
  throw_if_unusable(from);
  progress();
  std::unique_ptr<Unexpected> message =
      core_->look_up([&](Engine& engine) { return engine.inbox().claim(envelope_of(from)); });
  if (!message) {
    return {};
  }
  const Status status = status_of(*message);
  return std::optional<ClaimedMessage>{std::in_place, *this, std::move(message), status};
}

Request Endpoint::receive(ClaimedMessage message, std::span<std::byte> buffer, Completion* completion) {
  return start_claimed(std::move(message), operation_on(buffer), completion);
}

Request Endpoint::receive(ClaimedMessage message, Layout buffer, Completion* completion) {
  return start_claimed(std::move(message), operation_on(std::move(buffer)), completion);
}

Request Endpoint::receive(ClaimedMessage message, Bytes& buffer, Completion* completion) {
  return start_claimed(std::move(message), operation_on(buffer), completion);
}

Request Endpoint::start_claimed(ClaimedMessage message, std::unique_ptr<Operation> owned, Completion* completion) {
  Operation& operation =
      shared(std::move(owned), net::TransferDirection::received, message.message_->envelope.comm, completion);
  Request request{*this, operation};
  core_->act([&](Engine& engine) { engine.delivery().receive_claimed(operation, std::move(message.message_)); });
  return request;
}

ClaimedComms Endpoint::claim_comms(std::uint32_t count, const std::source_location& where) {
  return {*this, core_->look_up([&](Engine& engine) { return engine.claims().claim(count, where); }), count};
}

ClaimedComms::~ClaimedComms() {
  if (endpoint_ != nullptr) {
    endpoint_->core_->release_comms(first_, count_);
  }
}

ClaimedMessage::ClaimedMessage(Endpoint& endpoint, std::unique_ptr<Unexpected> message, const Status& status)
    : endpoint_{&endpoint}, message_{std::move(message)}, status_{status} {}

ClaimedMessage::ClaimedMessage(ClaimedMessage&& other) noexcept = default;

ClaimedMessage& ClaimedMessage::operator=(ClaimedMessage&& other) noexcept {
  std::swap(endpoint_, other.endpoint_);
  std::swap(message_, other.message_);
  std::swap(status_, other.status_);
  return *this;
}

ClaimedMessage::~ClaimedMessage() {
  if (message_) {
    endpoint_->core_->act([&](Engine& engine) { engine.delivery().drop(std::move(message_)); });
  }
}

// ---- progress and failure ----

std::size_t Endpoint::progress() noexcept {
  return core_->progress();
}

void Endpoint::progress_until(const std::function<bool()>& is_done) {
  core_->wait_until([&] { return is_done(); });
}

void Endpoint::drain() {
  core_->wait_until([this] { return core_->look_up([](Engine& engine) { return engine.is_drained(); }); });
}

void Endpoint::flush() {
  core_->wait_until([this] { return core_->look_up([](Engine& engine) { return engine.is_flushed(); }); });
}

void Endpoint::set_wait(const WaitPolicy& policy) noexcept {
  core_->set_wait(policy);
}

bool Endpoint::arm(const std::function<void()>* doorbell) {
  return core_->arm(doorbell);
}

std::unique_lock<SpinLock> Endpoint::hold() {
  return core_->hold();
}

void Endpoint::keep(std::shared_ptr<void> what) {
  core_->keep(std::move(what));
}

std::optional<Error> Endpoint::failure() const {
  return core_->failure();
}

void Endpoint::stop_all(const Error& reason) noexcept {
  core_->stop_all(reason);
}

std::vector<std::string> Endpoint::never_received() const {
  return core_->look_up([](Engine& engine) { return engine.never_received(); });
}

// ---- active messages ----

void Endpoint::on(HandlerId id, Handler handler) {
  core_->on(id, std::move(handler));
}

HandlerId Endpoint::claim_handler() {
  return core_->claim_handler();
}

void Endpoint::off(HandlerId id) {
  core_->off(id);
}

}  // namespace plait::comm
