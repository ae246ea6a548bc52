// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"
#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/problem.hpp"
#include "plait/data/balance/rounds.hpp"

namespace plait::data::balance {

/// An edge as the rank of one of its ends knows it; the rank of the other end knows it too, unless both are here.
struct LocalEdge {
  std::uint32_t object;  ///< Number in `LocalProblem::objects`.
  ElementId other;
  Rank other_rank;
  double bytes = 0;
};

/// What one rank knows of a `Problem`: its own.
struct LocalProblem {
  std::vector<Object> objects;  ///< In order of id; all on this rank.
  std::vector<LocalEdge> edges;
  double background = 0;
  std::vector<std::uint32_t> node_of_rank;  ///< As in `Problem`, the same on all ranks; empty: one node.
  double memory_max = std::numeric_limits<double>::infinity();
  Weights weights;
};

/// A balancer that ranks carry out together, each with what it knows, in rounds of messages.
class DistributedBalancer : public Balancer {
 public:
  /// The part of one rank. Answers where its objects go, in their order.
  [[nodiscard]] virtual Steps<Placement> part(Rounds& rounds, LocalProblem problem) const = 0;

  /// Carries out the parts of all ranks in this process, round by round, and counts. Keeps what is now when nothing
  /// better came out.
  [[nodiscard]] Decision decide(const Problem& problem) const override;
};

/// Makes any balancer one that ranks carry out together: what all know goes along a tree to rank 0, which decides, and
/// places come back. 2 ceil(log2(ranks)) rounds.
class Gathered final : public DistributedBalancer {
 public:
  /// Borrows `inner`.
  explicit Gathered(const Balancer& inner) : inner_{inner} {}

  [[nodiscard]] std::string name() const override { return inner_.name(); }
  [[nodiscard]] Steps<Placement> part(Rounds& rounds, LocalProblem problem) const override;

 private:
  const Balancer& inner_;
};

/// What each rank knows of `problem`.
[[nodiscard]] std::vector<LocalProblem> split(const Problem& problem);

/// One rank's part, carried out over the network. Collective over the group: all ranks make one with the same balancer
/// and the same `sequence`, and call `advance` until it answers true. A balancer that is not distributed is `Gathered`.
///
/// Borrows the balancer and the group until it is done. In rounds in which no rank knows how many messages come, each
/// message is confirmed and a barrier ends the round: Hoefler, Siebert and Lumsdaine, "Scalable communication
/// protocols for dynamic sparse data exchange", 2010. Threads: one at a time.
class RemotePart {
 public:
  /// `sequence`: another one for each decision on this group. Throws: `Error` with `bad_argument` when loads make no
  /// sense; all ranks throw then.
  RemotePart(const Balancer& balancer, const comm::Group& group, LocalProblem problem, std::uint32_t sequence);

  /// Does what can be done without waiting; true when this rank's part is done. Makes no progress on the network.
  /// Throws: `Error` when the network failed, or some rank's part did.
  [[nodiscard]] bool advance();
  /// Makes progress until done. Throws as above.
  void wait();
  /// Where this rank's objects go, in their order, and what this rank has sent. Expects: done, and not asked before.
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
  void tell_all(const Error& error) noexcept;
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
  std::vector<Mail> leaving_;
  std::vector<comm::Request> sends_;
  std::deque<Incoming> incoming_;  ///< Memory of receives under way must stay where it is.
  std::size_t confirmed_ = 0;      ///< Of the incoming: confirmed to the sender.
  std::vector<comm::Request> confirmations_;
  comm::Request barrier_;
  bool is_in_barrier_ = false;
};

}  // namespace plait::data::balance
