// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"
#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/problem.hpp"
#include "plait/data/balance/rounds.hpp"

namespace plait::data::balance {

/// An edge, seen from one of its ends. If the other end is on another rank, that rank has the edge, too.
struct LocalEdge {
  std::uint32_t object;  ///< Number in `LocalProblem::objects`.
  ElementId other;
  Rank other_rank;
  double bytes = 0;
};

/// One rank's part of a `Problem`.
struct LocalProblem {
  std::vector<Object> objects;  ///< In order of id; all on this rank.
  std::vector<LocalEdge> edges;
  double background = 0;
  std::vector<std::uint32_t> node_of_rank;  ///< As in `Problem`, the same on all ranks; empty: one node.
  double memory_max = std::numeric_limits<double>::infinity();
  Weights weights;
};

/// A balancer that all ranks run together, each with its part of the problem, in rounds of messages.
class DistributedBalancer : public Balancer {
 public:
  /// One rank's part of the algorithm. Returns the new ranks of its objects, in their order.
  [[nodiscard]] virtual Steps<Placement> part(Rounds& rounds, LocalProblem problem) const = 0;

  /// Runs the parts of all ranks in this process, and counts rounds and messages. Returns the present placement unless
  /// the new one is better.
  [[nodiscard]] Decision decide(const Problem& problem) const override;
};

/// Runs any balancer on rank 0, behind a gather and before a scatter along a tree. 2 ceil(log2(ranks)) rounds.
class Gathered final : public DistributedBalancer {
 public:
  /// Borrows `inner`.
  explicit Gathered(const Balancer& inner) : inner_{inner} {}

  [[nodiscard]] std::string name() const override { return inner_.name(); }
  [[nodiscard]] Steps<Placement> part(Rounds& rounds, LocalProblem problem) const override;

 private:
  const Balancer& inner_;
};

/// The part of each rank.
[[nodiscard]] std::vector<LocalProblem> split(const Problem& problem);

/// One rank's part of a decision over the network. Collective: all ranks of the group construct one with the same
/// balancer and `sequence`, and call `advance` until it returns true. A balancer that is not distributed is `Gathered`.
///
/// Borrows the balancer and the group until it is done. Where no rank knows how many messages it receives, each message
/// is confirmed and a non-blocking barrier ends the round: Hoefler, Siebert and Lumsdaine, "Scalable communication
/// protocols for dynamic sparse data exchange", 2010. Threads: one at a time.
class RemotePart {
 public:
  /// `sequence`: a different one for each decision of this group. Throws: on all ranks, `Error` with `bad_argument` for
  /// loads that are not numbers of 0 or more.
  RemotePart(const Balancer& balancer, const comm::Group& group, LocalProblem problem, std::uint32_t sequence);

  /// Continues as far as possible without waiting or polling the network. Returns whether this rank's part is done.
  /// Throws: `Error` when the network or any rank's part failed.
  [[nodiscard]] bool advance();
  /// Polls the network until done. Throws as above.
  void wait();
  /// Returns the new ranks of this rank's objects, and what it has sent. Expects: done, and called once.
  [[nodiscard]] Decision take();

 private:
  struct Incoming {
    Rank peer;
    Bytes bytes;
    comm::Request request;
  };
  void begin_round();
  [[nodiscard]] bool is_round_over();
  void accept();
  template <class Work>
  void guarded(Work work);

  std::unique_ptr<Gathered> gathered_;
  const comm::Group& group_;
  std::vector<std::uint32_t> members_;  ///< By rank of the run.
  Rounds rounds_;
  Steps<Placement> part_;
  std::uint64_t sequence_;
  std::uint32_t round_ = 0;
  Decision counts_;
  std::vector<Mail> leaving_;  ///< Until the round ends.
  std::vector<comm::Request> sends_;
  std::deque<Incoming> incoming_;  ///< Receives under way need a stable address.
  std::size_t confirmed_ = 0;      ///< Of the incoming: confirmed to the sender.
  std::vector<comm::Request> confirmations_;
  std::optional<comm::Request> barrier_;  ///< Once it has started.
};

}  // namespace plait::data::balance
