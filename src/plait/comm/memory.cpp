// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/memory.hpp"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "plait/comm/detail/core.hpp"

namespace plait::comm {

namespace {

using detail::Engine;
using detail::OneSided;
using detail::Operation;

std::unique_ptr<Operation> one_sided_operation(OneSided what, Rank peer, std::span<std::byte> memory) {
  auto operation = std::make_unique_for_overwrite<Operation>();
  operation->one_sided = what;
  operation->peer = peer;
  operation->source = peer;
  operation->memory = memory;
  operation->bytes = memory.size();
  return operation;
}

}  // namespace

/// What puts, gets and exposed memory use of an endpoint.
class OneSidedAccess {
 public:
  [[nodiscard]] static detail::Core& core(Endpoint& endpoint) noexcept { return *endpoint.core_; }

  static void throw_if_failed(Endpoint& endpoint) {
    if (core(endpoint).has_failed()) [[unlikely]] {
      throw Error{*core(endpoint).failure()};
    }
  }

  static void throw_if_unusable(Endpoint& endpoint, const MemoryKey& key, std::size_t offset, std::size_t bytes) {
    throw_if_failed(endpoint);
    if (!key.rank || key.rank.value() >= endpoint.rank_count()) [[unlikely]] {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("a memory key names no rank of this run, which has {}: was it received before it was used?",
                      endpoint.rank_count())};
    }
    if (offset > key.bytes || bytes > key.bytes - offset) [[unlikely]] {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("{} bytes at offset {} are outside of the memory that rank {} exposes, which has {} bytes",
                      bytes,
                      offset,
                      key.rank.value(),
                      key.bytes),
          key.rank};
    }
  }
};

// ---- exposed memory ----

ExposedMemory::ExposedMemory(Endpoint& endpoint, std::span<std::byte> memory) : endpoint_{&endpoint} {
  OneSidedAccess::throw_if_failed(endpoint);
  region_ = OneSidedAccess::core(endpoint).act([&](Engine& engine) { return &engine.one_sided().expose(memory); });
}

ExposedMemory::~ExposedMemory() {
  if (endpoint_ == nullptr) {
    return;
  }
  detail::Core& core = OneSidedAccess::core(*endpoint_);
  core.act([this](Engine& engine) { engine.one_sided().withdraw(*region_); });
  try {
    core.wait_until([this] { return region_->is_quiet(); });
    core.act([this](Engine& engine) { engine.one_sided().remove(*region_); });
  } catch (const Error&) {
    // The run has failed. The engine keeps what it knows of the memory, as transfers may be under way.
  }
}

MemoryKey ExposedMemory::key() const {
  expect(region_ != nullptr, "only exposed memory has a key");
  return {endpoint_->self(), region_->id(), region_->memory().size()};
}

std::uint64_t ExposedMemory::arrived() const noexcept {
  expect(region_ != nullptr, "only exposed memory counts puts");
  return region_->arrived();
}

Request ExposedMemory::arrival(std::uint64_t count) {
  OneSidedAccess::throw_if_failed(*endpoint_);
  if (arrived() >= count) {
    return {};
  }
  Operation& operation = detail::shared(one_sided_operation(OneSided::arrival, endpoint_->self(), {}),
                                        net::TransferDirection::received,
                                        one_sided,
                                        nullptr);
  Request request{*endpoint_, operation};
  OneSidedAccess::core(*endpoint_).act([&](Engine& engine) {
    engine.one_sided().wait_for(*region_, count, operation);
  });
  return request;
}

void ExposedMemory::wait(std::uint64_t count) {
  if (arrived() < count) {
    endpoint_->progress();
    arrival(count).wait();
  }
}

// ---- put and get ----

Request put(Endpoint& endpoint,
            const MemoryKey& to,
            std::size_t offset,
            std::span<const std::byte> data,
            const SendOptions& options) {
  OneSidedAccess::throw_if_unusable(endpoint, to, offset, data.size());
  detail::Core& core = OneSidedAccess::core(endpoint);
  wire::Header header{.kind = wire::ChunkKind::put, .comm = one_sided.value(), .tag = to.id, .bytes = offset};
  if (!options.is_synchronous &&
      core.act([&](Engine& engine) { return engine.outbox().send_now(to.rank, header, data); })) {
    const Status status{
        .source = endpoint.self(), .tag = Tag{to.id}, .bytes = data.size(), .sequence = header.sequence, .error = {}};
    if (options.completion != nullptr) {
      options.completion->completed(status);
      options.completion->released(status);
    }
    return Request{status};
  }
  const std::span<std::byte> memory{const_cast<std::byte*>(data.data()), data.size()};  // a put only reads it
  Operation& operation = detail::shared(
      one_sided_operation(OneSided::put, to.rank, memory), net::TransferDirection::sent, one_sided, options.completion);
  operation.priority = options.priority;
  operation.is_synchronous = options.is_synchronous;
  operation.tag = Tag{to.id};
  operation.place = offset;
  Request request{endpoint, operation};
  core.act([&](Engine& engine) { engine.outbox().send(operation); });
  return request;
}

Request get(
    Endpoint& endpoint, const MemoryKey& from, std::size_t offset, std::span<std::byte> into, Completion* completion) {
  OneSidedAccess::throw_if_unusable(endpoint, from, offset, into.size());
  Operation& operation = detail::shared(
      one_sided_operation(OneSided::got, from.rank, into), net::TransferDirection::received, one_sided, completion);
  Request request{endpoint, operation};
  OneSidedAccess::core(endpoint).act([&](Engine& engine) { engine.one_sided().get(operation, from.id, offset); });
  return request;
}

}  // namespace plait::comm
