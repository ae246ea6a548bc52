// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/base/id.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// An operation of a rank, numbered over its streams, one stream after the other.
using OperationId = Id<struct OperationTag>;

/// The other end of a message.
struct Envelope {
  Rank peer;
  std::uint32_t communicator = 0;
  std::uint64_t tag = 0;
};

/// One rank's part of a collective. Reductions combine bytes.
struct CollectiveCall {
  Collective what = Collective::none;
  std::uint32_t communicator = 0;
  std::uint32_t root = trace::nothing;        ///< Rank of the run.
  std::span<const std::byte> given;           ///< The data for all members.
  std::span<std::byte> got;                   ///< The data from all members.
  std::span<const std::uint64_t> shares;      ///< Bytes for each member; empty: `given` divided evenly.
  std::span<const std::uint64_t> got_shares;  ///< Bytes from each member; empty: `got` divided evenly.
};

/// The names of a backend's calls in the trace of a replay.
struct CallNames {
  std::string send;
  std::string receive;
  std::string wait;
  std::string test;
  std::string progress;
};

/// Whether a call returns at once, or when its operation is complete.
enum class Calling : std::uint8_t { goes_on, waits };

/// The interface by which a `Player` moves messages.
///
/// Messages match by (source, destination, communicator, tag), in the order of posting. Buffers must stay valid until
/// the operation is complete: until `test` returns true, or `wait` returns. Threads: see each backend; one thread at a
/// time for each operation. Progress: in the calls below only. Throws: `Error` with `network`.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// For output: "mpi", "plait (shm)".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual CallNames call_names() const = 0;
  [[nodiscard]] virtual std::string call_name(Collective what, Calling calling) const = 0;

  // These start an operation and do not wait. Each operation is posted once in a repetition.
  virtual void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) = 0;
  /// The buffer has exactly the size of the message.
  virtual void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) = 0;
  virtual void collective(OperationId operation, const CollectiveCall& call) = 0;

  /// Starts a collective and returns when it is complete.
  virtual void collective_to_end(OperationId operation, const CollectiveCall& call) {
    collective(operation, call);
    wait({&operation, 1});
  }

  /// Makes progress. Returns whether the operation is complete; not called again after that.
  [[nodiscard]] virtual bool test(OperationId operation) = 0;
  /// Waits until the operations are complete. Expects: none was complete before.
  virtual void wait(std::span<const OperationId> operations) = 0;
  /// Polls the library once.
  virtual void progress() = 0;
};

}  // namespace plait::replay
