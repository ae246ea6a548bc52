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
  compute,     ///< The program's own work, for `took`.
  poll,        ///< The program is in the library for a moment, so messages may move; waits for nothing.
  send,        ///< Begins a send; goes on at once.
  receive,     ///< Begins a receive; goes on at once.
  collective,  ///< Begins a collective; goes on at once.
  wait,        ///< Until the operations that it names have completed.
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

/// One operation of one thread of one rank. Blocking calls are a begin and a wait.
struct Operation {
  Action action = Action::compute;
  Collective collective = Collective::none;
  std::uint32_t step = 0;
  std::uint32_t communicator = 0;
  std::uint32_t peer = trace::nothing;  ///< Rank of the run; root of a collective.
  std::uint32_t first = 0;  ///< Of a wait: where its operations' numbers begin in `Stream::waited`; of a collective
                            ///< with shares: where they begin in `Stream::shares`.
  std::uint32_t count = 0;  ///< How many of them.
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;      ///< Of a message; of a collective: what this rank gives (to all together).
  std::uint64_t bytes_got = 0;  ///< Of a collective: what this rank gets.
  nanoseconds at{};             ///< When it was logged, on rank 0's clock, from the schedule's beginning.
  nanoseconds took{};  ///< As logged: of a compute its length; of a message or collective the time to completion;
                       ///< of a wait the time in it.
};

/// What one thread of a rank does, in order.
struct Stream {
  std::string name;
  std::vector<Operation> operations;
  std::vector<std::uint32_t> waited;  ///< Indices into `operations` of this stream.
  std::vector<std::uint64_t> shares;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, operations, waited, shares);
  }
};

struct RankSchedule {
  std::vector<Stream> streams;
};

/// An exchange between ranks: what is replayed and predicted. Messages match by (source, destination, communicator,
/// tag), in order.
struct Schedule {
  std::vector<RankSchedule> ranks;                                    ///< Index is rank.
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;  ///< Members; 0, all ranks, is not here.
  nanoseconds length{};  ///< As logged, from the first operation to the last end.
  /// What was left out and why, in sentences; of messages with their ranks, tag, size and place in the program.
  std::vector<std::string> notices;
};

}  // namespace plait::replay
