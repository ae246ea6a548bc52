// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/time_bins.hpp"

namespace plait::task {

/// What this rank and one other see of each other.
struct Boundary {
  Rank rank;
  std::vector<TimeBins::Object> mine;    ///< Objects of this rank that the other has copies of.
  std::vector<TimeBins::Object> theirs;  ///< Copies here of the other's objects; in the order of its `mine`.
};

/// Keeps the bins of copies equal to those of the objects that they are copies of: then both ranks of a message decide
/// alike whether it is active.
///
/// Threads: one at a time.
class BoundaryBins {
 public:
  /// Every rank makes one, with a boundary to each rank that has one to it; an object has copies on all ranks that have
  /// neighbours of it. Throws: `Error` with `bad_argument` when a boundary is to no other rank.
  BoundaryBins(comm::Endpoint& endpoint, std::vector<Boundary> boundaries);

  /// To be called by every rank at each time, when its own active objects have begun their steps (`TimeBins::start`):
  /// begins those of the copies, then limits neighbours as `TimeBins::limit`, across ranks. Afterwards each copy has
  /// its object's bin. Returns what was shortened here, copies too, in order.
  ///
  /// Waits, making progress; throws as `Endpoint::progress_until`, and `Error` with `bad_argument` when two ranks do
  /// not have the same number of objects on their boundary. Cost: rounds of one message to each neighbour rank and a
  /// reduction, until a round changes nothing: two, mostly.
  std::vector<TimeBins::Object> settle(TimeBins& bins, const TimeBins::Neighbours& neighbours, Ticks now);

  /// When an object of any rank is active next, after `now`; the same on all ranks, each of which calls it. Waits and
  /// throws as above. Cost: a reduction.
  [[nodiscard]] Ticks next_time(const TimeBins& bins, Ticks now);

 private:
  /// Sends the bins of what is ours, takes those of what is theirs; returns which copies have changed.
  std::vector<TimeBins::Object> exchange(TimeBins& bins, Ticks now, bool begins);
  void throw_unless_same_size(const Boundary& boundary, const Bytes& bins) const;
  [[nodiscard]] bool is_anything(bool here);

  comm::Endpoint& endpoint_;
  comm::Group all_;
  std::vector<Boundary> boundaries_;
};

}  // namespace plait::task
