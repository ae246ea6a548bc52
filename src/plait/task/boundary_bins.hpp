// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/time_bins.hpp"

namespace plait::task {

/// The objects that this rank and another one have copies of.
struct Boundary {
  Rank rank;
  std::vector<TimeBins::Object> mine;    ///< Objects of this rank that the other has copies of.
  std::vector<TimeBins::Object> theirs;  ///< Copies here of the other's objects; in the order of its `mine`.
};

/// Keeps the bins of copies equal to those of their originals, so that both ranks of a message decide alike whether it
/// is active.
///
/// Threads: one at a time.
class BoundaryBins {
 public:
  /// Collective. Each rank passes a boundary to each rank that has one to it. An object has copies on all ranks that
  /// have neighbours of it. Throws: `Error` with `bad_argument` when a boundary names no other rank.
  BoundaryBins(comm::Endpoint& endpoint, std::vector<Boundary> boundaries);

  /// Begins the steps of active copies, and limits neighbours across ranks as `TimeBins::limit`. Returns the objects
  /// and copies that were shortened here, in order. Collective: called at each time, after `TimeBins::start` of the own
  /// active objects.
  ///
  /// Waits, making progress. Throws: as `Endpoint::progress_until`; `Error` with `bad_argument` when two ranks differ
  /// in the number of objects on their boundary. Cost: most often two rounds, each a reduction and a message to each
  /// neighbour rank.
  std::vector<TimeBins::Object> settle(TimeBins& bins, const TimeBins::Neighbours& neighbours, Ticks now);

  /// Returns the next time after `now` at which an object of any rank is active. Collective; waits and throws as above.
  /// Cost: a reduction.
  [[nodiscard]] Ticks next_time(const TimeBins& bins, Ticks now);

 private:
  std::vector<TimeBins::Object> exchange(TimeBins& bins, Ticks now, bool begins);

  comm::Endpoint& endpoint_;
  comm::Group all_;
  std::vector<Boundary> boundaries_;
};

}  // namespace plait::task
