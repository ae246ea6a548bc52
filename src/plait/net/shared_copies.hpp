// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "plait/base/id.hpp"

namespace plait::net {

/// A copy among those of its owner. The owner sends it to the readers in a packet.
using SharedCopyId = Id<struct SharedCopyTag>;

/// The memory for copies that each rank has. The same on all ranks.
struct SharedCopyOptions {
  std::uint32_t count = 0;    ///< Copies that are in use at once; 0: none can be created.
  std::size_t bytes_max = 0;  ///< Of each copy.
};

/// Copies of data in memory that several ranks read: written once, however many ranks it is for.
///
/// A driver whose ranks share memory provides them. The owner creates a copy, writes it, and then sends its id to each
/// reader in a packet, which orders the writes before the reads. The copy ends when all readers have released it.
/// Threads: as the driver.
class SharedCopies {
 public:
  struct Created {
    SharedCopyId id;
    std::span<std::byte> bytes;  ///< To be written before the id is sent.
  };

  SharedCopies() = default;
  SharedCopies(const SharedCopies&) = delete;
  SharedCopies& operator=(const SharedCopies&) = delete;
  virtual ~SharedCopies() = default;

  /// The longest copy, in bytes.
  [[nodiscard]] virtual std::size_t bytes_max() const noexcept = 0;
  /// Whether `peer`, which may be this rank, can read copies of this rank.
  [[nodiscard]] virtual bool reaches(Rank peer) const noexcept = 0;
  /// Creates a copy of 1 to `bytes_max()` bytes that `reader_count` ranks, at least one, will release. Nothing when all
  /// memory is in use. Cost: linear in `SharedCopyOptions::count`.
  [[nodiscard]] virtual std::optional<Created> create(std::size_t bytes, std::uint32_t reader_count) = 0;
  /// The first `bytes` bytes of a copy of `owner`, which stay until this rank releases it. Empty when `owner` cannot
  /// have created it.
  [[nodiscard]] virtual std::span<const std::byte> read(Rank owner, SharedCopyId id, std::size_t bytes) const = 0;
  /// Ends the use of a copy by this rank, which has read it.
  virtual void release(Rank owner, SharedCopyId id) noexcept = 0;
};

}  // namespace plait::net
