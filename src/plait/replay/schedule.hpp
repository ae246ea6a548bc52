// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/trace/event.hpp"

namespace plait::replay {

/// What one operation of a schedule does.
enum class Action : std::uint8_t {
  compute,     ///< The program computes for `took`.
  poll,        ///< The program polls the library once, so that messages can progress.
  send,        ///< Starts a send; does not wait.
  receive,     ///< Starts a receive; does not wait.
  collective,  ///< Starts a collective; does not wait.
  wait,        ///< Waits until the operations that it names are complete.
  after,       ///< Waits until other streams of its rank have passed the operations that it names.
};

enum class Collective : std::uint8_t {
  none,
  barrier,
  broadcast,
  reduce,
  all_reduce,
  gather,
  scatter,
  all_gather,
  all_to_all,
  reduce_scatter,
  scan,
};

/// One operation of one thread of one rank. A blocking call is a start and a wait.
struct Operation {
  Action action = Action::compute;
  Collective collective = Collective::none;
  std::uint32_t step = 0;
  std::uint32_t communicator = 0;
  std::uint32_t peer = trace::nothing;  ///< Rank of the run; root of a collective.
  /// Wait: index in `Stream::waited` of its first operation. After: in `Stream::others`. Collective with shares: in
  /// `Stream::shares`.
  std::uint32_t first = 0;
  std::uint32_t count = 0;  ///< Number of entries from `first` on.
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;      ///< Message: its size. Collective: what this rank contributes in all.
  std::uint64_t bytes_got = 0;  ///< Collective: what this rank receives in all.
  nanoseconds at{};             ///< Time in the log, by rank 0's clock, since the beginning of the schedule.
  nanoseconds took{};           ///< Duration in the log; of a message or collective, until its completion.
};

/// An operation of another stream of the same rank.
struct StreamPoint {
  std::uint32_t stream = 0;
  std::uint32_t operation = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(stream, operation);
  }
};

/// The operations of one thread of a rank, in order.
struct Stream {
  std::string name;
  std::vector<Operation> operations;
  std::vector<std::uint32_t> waited;  ///< Indices into `operations` of this stream.
  std::vector<std::uint64_t> shares;  ///< Bytes given to each member, of the collectives in which they differ.
  std::vector<StreamPoint> others;    ///< What `Action::after` waits for.

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, operations, waited, shares, others);
  }
};

struct RankSchedule {
  std::vector<Stream> streams;
};

/// An exchange between ranks, to be replayed or predicted. Messages match by (source, destination, communicator, tag),
/// in order.
struct Schedule {
  std::vector<RankSchedule> ranks;  ///< Index is rank.
  std::map<std::uint32_t, std::vector<std::uint32_t>>
      communicators;     ///< Members of each; without 0, which has all ranks.
  nanoseconds length{};  ///< In the log, from the first operation to the end of the last.
  /// Sentences about what was left out and why; messages are named by ranks, tag, size and call site.
  std::vector<std::string> notices;
};

}  // namespace plait::replay
