// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/base/id.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// An operation of a rank: those of its streams are counted one stream after the other.
using OperationId = Id<struct OperationTag>;

/// The other end of a message.
struct Envelope {
  Rank peer;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
};

/// A collective as one rank takes part in it. Reductions are of bytes.
struct CollectiveCall {
  Collective what = Collective::none;
  std::uint32_t communicator = 0;
  std::uint32_t root = trace::nothing;        ///< Rank of the run.
  std::span<const std::byte> given;           ///< To all members together.
  std::span<std::byte> got;                   ///< From all members together.
  std::span<const std::uint64_t> shares;      ///< What each member is given; empty: `given` divided evenly.
  std::span<const std::uint64_t> got_shares;  ///< What each member gives; empty: `got` divided evenly.
};

/// What a backend's calls are named in the log of a replay.
struct CallNames {
  std::string send;
  std::string receive;
  std::string wait;
  std::string test;
  std::string progress;
};

/// Whether a call returns at once, or when its operation has ended.
enum class Calling : std::uint8_t { goes_on, waits };

/// A way to move the messages of a replay: what `Player` plays a schedule on.
///
/// Messages match by (source, destination, communicator, tag), in the order of their posting. Buffers stay until the
/// operation has ended, that is until `test` returned true or `wait` returned. Threads: as each backend
/// describes; one operation by one thread at a time. Progress: inside the calls below only. Throws: `Error`
/// with `network`.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// For people: "mpi", "plait (shm)".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual CallNames call_names() const = 0;
  [[nodiscard]] virtual std::string call_name(Collective what, Calling calling) const = 0;

  // These begin an operation and return at once. Each operation is posted once in a repetition.
  virtual void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) = 0;
  /// The buffer is exactly as long as the message.
  virtual void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) = 0;
  virtual void collective(OperationId operation, const CollectiveCall& call) = 0;

  /// Begins a collective and returns when it has ended.
  virtual void collective_to_end(OperationId operation, const CollectiveCall& call) {
    collective(operation, call);
    wait({&operation, 1});
  }

  /// True when the operation has ended; asked again only before. Makes some progress.
  [[nodiscard]] virtual bool test(OperationId operation) = 0;
  /// Until all have ended, which had not before.
  virtual void wait(std::span<const OperationId> operations) = 0;
  /// As a program that polls the library once.
  virtual void progress() = 0;
};

}  // namespace plait::replay
