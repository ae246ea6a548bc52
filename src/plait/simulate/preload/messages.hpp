// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <mpi.h>

#include "plait/base/executor.hpp"
#include "plait/base/id.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/simulate/preload/data_types.hpp"

namespace plait::simulate {

/// What a receive takes, or what a message has. Ranks are those of the world.
struct MessagePattern {
  std::uint64_t context = 0;
  std::optional<Rank> source;  ///< Nothing: any.
  std::optional<int> tag;      ///< Nothing: any.
};

/// An operation under way. It is complete when nothing is pending.
struct SimulatedRequest {
  std::size_t pending = 0;
  bool is_canceled = false;
  MPI_Comm communicator = MPI_COMM_NULL;  ///< Of a receive: `source` has a rank there.
  Rank source;
  int tag = MPI_ANY_TAG;
  std::size_t bytes = 0;
};
using RequestPointer = std::shared_ptr<SimulatedRequest>;

/// Messages of simulated ranks: they travel on the simulated network, and wait where they arrive for their receive.
///
/// A message is copied when it is sent. One of more than `eager_bytes_max` is sent when it has arrived. Threads: those
/// of one virtual time.
class Messages {
 public:
  static constexpr std::size_t eager_bytes_max = 4096;
  /// A message takes at least so much of the network: its envelope.
  static constexpr std::size_t envelope_bytes = 16;

  /// Borrows both. `executors`: by rank.
  Messages(net::SimNetwork& network, std::vector<Executor*> executors);

  /// Called when a message has arrived that fits: it may throw nothing.
  using Received = std::function<void(const Payload& data)>;

  /// Sends `data` from `from`. `request`: completed as well; may be null.
  void send(Rank from, Rank to, std::uint64_t context, int tag, Payload data, RequestPointer request);
  /// Receives one message at `at`. `request`: completed then.
  void receive(Rank at, const MessagePattern& wanted, RequestPointer request, Received received);
  /// Removes a receive that has no message yet. False when there is none.
  bool cancel(Rank at, const RequestPointer& request);
  /// Waits until something may have changed for `at`. Throws: `Error` with `network` when a rank has failed: the error
  /// handler of MPI_COMM_WORLD ends the program then. Expects: a thread of rank `at` calls.
  void wait_for_event(Rank at);
  /// Throws: as `wait_for_event`, without a wait.
  void check_alive() const;
  /// What receives of `at` wait for, as "a message of rank 3 with tag 7"; empty if there are none.
  [[nodiscard]] std::string describe_wait(Rank at) const;
  /// Waits until the request is complete. Throws, expects: as `wait_for_event`.
  void wait(Rank at, const SimulatedRequest& request);

  /// A handle for a request, until it is taken out.
  [[nodiscard]] MPI_Request keep(RequestPointer request);
  /// Throws: `Error` with `bad_argument` for a handle that does not exist.
  [[nodiscard]] RequestPointer find(MPI_Request handle) const;
  void forget(MPI_Request handle) noexcept;

 private:
  struct Arrived {
    MessagePattern envelope;
    Payload data;
  };
  struct Posted {
    MessagePattern wanted;
    RequestPointer request;
    Received received;
  };
  /// Of a rank.
  struct Mailbox {
    std::deque<Arrived> arrived;
    std::deque<Posted> posted;
  };

  void arrive(Rank to, Arrived message);
  static void complete(const Posted& posted, const Arrived& message);

  net::SimNetwork& network_;
  std::vector<Executor*> executors_;
  std::vector<Mailbox> mailboxes_;
  std::unordered_map<std::uint32_t, RequestPointer> requests_;
  std::uint32_t request_count_ = 0;
};

/// The bytes of all parts.
[[nodiscard]] std::size_t bytes_of(const Parts& parts) noexcept;

}  // namespace plait::simulate
