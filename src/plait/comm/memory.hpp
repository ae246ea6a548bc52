// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "plait/base/id.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

namespace detail {
class ExposedRegion;
}  // namespace detail

/// Names the exposed memory of a rank. Plain data, for messages to those who put into it or get from it.
struct MemoryKey {
  Rank rank;                ///< The target: the rank that exposes the memory.
  std::uint64_t id = 0;     ///< Never assigned again on that rank.
  std::uint64_t bytes = 0;  ///< Its size.
};
static_assert(std::is_trivially_copyable_v<MemoryKey>, "travels in messages");

/// Memory that other ranks write with `put` and read with `get`, until this object ends.
///
/// This rank posts nothing for a put or a get; it only makes progress, in any call of the endpoint that does or by a
/// `Progression`. The memory must stay as long as this object. Puts are counted once their data is in place: those of
/// one rank in the order of posting, those of different ranks in any order. A memory for each partner is therefore
/// simplest: its count alone shows which data is here.
///
/// Threads: any, except for moves and the destructor. Must end before its endpoint.
class [[nodiscard]] ExposedMemory {
 public:
  /// Exposes nothing.
  ExposedMemory() = default;
  /// Exposes `memory`, which may be empty. Throws: `Error` when the run has failed.
  ExposedMemory(Endpoint& endpoint, std::span<std::byte> memory);
  ExposedMemory(ExposedMemory&& other) noexcept
      : endpoint_{std::exchange(other.endpoint_, nullptr)}, region_{std::exchange(other.region_, nullptr)} {}
  ExposedMemory& operator=(ExposedMemory&& other) noexcept {
    std::swap(endpoint_, other.endpoint_);
    std::swap(region_, other.region_);
    return *this;
  }
  ExposedMemory(const ExposedMemory&) = delete;
  ExposedMemory& operator=(const ExposedMemory&) = delete;
  /// Withdraws the memory, and waits until transfers that have begun in it are over, or the run has failed. Not from a
  /// handler or a completion.
  ///
  /// A put or get that arrives later stops the run with an error on all ranks: partners must be finished first. After a
  /// failure of the run, memory that large puts are under way to must stay until the endpoint ends (`Endpoint::keep`).
  ~ExposedMemory();

  /// Returns what partners need. Expects: this object exposes memory, here and below.
  [[nodiscard]] MemoryKey key() const;
  /// Puts whose data is in place, and may be read by the caller. Makes no progress.
  [[nodiscard]] std::uint64_t arrived() const noexcept;
  /// Returns a request that completes when `count` puts in all, since the beginning, are in place.
  ///
  /// It is waited for, tested and given a callback as that of a receive. It completes with
  /// `ErrorCode::bad_argument` when the memory is withdrawn before. Throws: `Error` when the run has failed.
  [[nodiscard]] Request arrival(std::uint64_t count);
  /// Waits until `count` puts in all are in place. Throws: as `Request::wait`.
  void wait(std::uint64_t count);

 private:
  Endpoint* endpoint_ = nullptr;
  detail::ExposedRegion* region_ = nullptr;  ///< The engine's.
};

/// Writes `data` into the memory of `to`, from byte `offset` on. Does not wait.
///
/// `data` must stay unchanged until the request is complete; with `SendOptions::is_synchronous` it completes when the
/// data is in place at the target. A small put is one packet that the target copies, a large one uses rendezvous and is
/// not copied; neither is ever unexpected. Puts of this rank into one memory are counted there in the order of posting,
/// but their data, and that of gets, may move in any order. Puts into overlapping memory at once leave either data.
/// `to` may be this rank. Throws: `Error` with `bad_argument` for bytes outside of the memory, or no rank of this run;
/// `Error` when the run has failed. Threads: any. Cost: one copy when eager.
Request put(Endpoint& endpoint,
            const MemoryKey& to,
            std::size_t offset,
            std::span<const std::byte> data,
            const SendOptions& options = {});

/// Reads the memory of `from`, from byte `offset` on, into `into`, which must stay until the request is complete.
///
/// Finds the data of all earlier puts of this rank whose synchronous request is complete. Errors, threads: as `put`.
/// Cost: a round trip, and one copy when eager.
Request get(Endpoint& endpoint,
            const MemoryKey& from,
            std::size_t offset,
            std::span<std::byte> into,
            Completion* completion = nullptr);

}  // namespace plait::comm
