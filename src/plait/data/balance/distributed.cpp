// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/distributed.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/detail/tree.hpp"
#include "plait/data/balance/objective.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::balance {
namespace {

/// The parts of all ranks in one process.
class Together {
 public:
  explicit Together(std::uint32_t rank_count) {
    rounds_.reserve(rank_count);
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      rounds_.emplace_back(Rank{rank}, rank_count);
    }
    parts_.reserve(rank_count);
  }

  Decision run(const DistributedBalancer& balancer, std::vector<LocalProblem> problems) {
    for (std::size_t rank = 0; rank < rounds_.size(); ++rank) {
      parts_.push_back(balancer.part(rounds_[rank], std::move(problems[rank])));
      parts_.back().start();
    }
    while (std::ranges::any_of(parts_, [](const auto& part) { return !part.is_done(); })) {
      round();
    }
    return std::move(counts_);
  }

  [[nodiscard]] Placement take(std::size_t rank) { return parts_[rank].take(); }

 private:
  void round() {
    std::vector<std::vector<Mail>> inboxes(rounds_.size());
    bool is_any = false;
    for (std::uint32_t rank = 0; rank < rounds_.size(); ++rank) {
      if (parts_[rank].is_done()) {
        parts_[rank].check();
        throw Error{ErrorCode::bad_argument, "a part of a balancer ended while others went on"};
      }
      for (Mail& mail : rounds_[rank].outbox()) {
        is_any = true;
        ++counts_.messages;
        counts_.message_bytes += mail.bytes.size();
        inboxes[mail.peer.value()].push_back({Rank{rank}, std::move(mail.bytes)});
      }
      rounds_[rank].outbox().clear();
    }
    counts_.rounds += is_any ? 1 : 0;
    for (std::size_t rank = 0; rank < rounds_.size(); ++rank) {
      const auto expected = rounds_[rank].expected();
      expect(!expected || *expected == inboxes[rank].size(), "a rank waits for as many messages as are sent to it");
      rounds_[rank].go_on(std::move(inboxes[rank]));
    }
  }

  std::vector<Rounds> rounds_;
  std::vector<Steps<Placement>> parts_;
  Decision counts_;
};

const DistributedBalancer* as_distributed(const Balancer& balancer) {
  return dynamic_cast<const DistributedBalancer*>(&balancer);
}

}  // namespace

std::vector<LocalProblem> split(const Problem& problem) {
  std::vector<LocalProblem> parts(problem.rank_count);
  std::vector<std::uint32_t> numbers(problem.objects.size());
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    auto& objects = parts[problem.objects[i].rank.value()].objects;
    numbers[i] = static_cast<std::uint32_t>(objects.size());
    objects.push_back(problem.objects[i]);
  }
  const auto add = [&](std::uint32_t here, std::uint32_t there, double bytes) {
    const Object& other = problem.objects[there];
    parts[problem.objects[here].rank.value()].edges.push_back({numbers[here], other.id, other.rank, bytes});
  };
  for (const Edge& edge : problem.edges) {
    add(edge.first, edge.second, edge.bytes);
    if (problem.objects[edge.first].rank != problem.objects[edge.second].rank) {
      add(edge.second, edge.first, edge.bytes);
    }
  }
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].background = problem.background.empty() ? 0 : problem.background[rank];
    parts[rank].node_of_rank = problem.node_of_rank;
    parts[rank].memory_max = problem.memory_max;
    parts[rank].weights = problem.weights;
  }
  return parts;
}

Decision DistributedBalancer::decide(const Problem& problem) const {
  check(problem);
  Together together{problem.rank_count};
  Decision decision = together.run(*this, split(problem));
  std::vector<Placement> places;
  for (std::size_t rank = 0; rank < problem.rank_count; ++rank) {
    places.push_back(together.take(rank));
  }
  std::vector<std::size_t> next(problem.rank_count, 0);
  for (const Object& object : problem.objects) {
    const std::uint32_t rank = object.rank.value();
    decision.placement.push_back(places[rank].at(next[rank]++));
  }
  decision.placement = detail::if_better(problem, std::move(decision.placement));
  return decision;
}

// --- gathered -------------------------------------------------------------------------------------

namespace {

/// What rank 0 gets of a rank's problem.
struct RankInput {
  std::vector<Object> objects;
  std::vector<LocalEdge> edges;
  double background = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(objects, edges, background);
  }
};

/// Puts the problem together again; notes the numbers that a rank's objects have in it.
class Joining {
 public:
  explicit Joining(const std::vector<Bytes>& parts) : ranks_(parts.size()) {
    problem.rank_count = static_cast<std::uint32_t>(parts.size());
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      add(rank, unpack_as<RankInput>(parts[rank]));
    }
    sort();
    join_edges();
  }

  /// By rank: where its objects go, as a message.
  [[nodiscard]] std::vector<Bytes> places(const Placement& placement) const {
    std::vector<Bytes> answers;
    for (const Part& part : ranks_) {
      Placement own;
      for (std::size_t i = 0; i < part.count; ++i) {
        own.push_back(placement[numbers_[part.first + i]]);
      }
      answers.push_back(bytes_of(std::span<const Rank>{own}));
    }
    return answers;
  }

  Problem problem;

 private:
  struct Part {
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<LocalEdge> edges;
  };

  void add(std::size_t rank, RankInput input) {
    ranks_[rank] = {.first = problem.objects.size(), .count = input.objects.size(), .edges = std::move(input.edges)};
    problem.objects.insert(problem.objects.end(), input.objects.begin(), input.objects.end());
    problem.background.push_back(input.background);
  }

  void sort() {
    std::vector<std::uint32_t> order(problem.objects.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return problem.objects[i].id; });
    std::vector<Object> sorted;
    numbers_.resize(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      sorted.push_back(problem.objects[order[i]]);
      numbers_[order[i]] = i;
    }
    problem.objects = std::move(sorted);
  }

  void join_edges() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const LocalEdge& edge : ranks_[rank].edges) {
        const auto other = std::ranges::lower_bound(problem.objects, edge.other, {}, &Object::id);
        if (other == problem.objects.end() || other->id != edge.other) {
          throw Error{
              ErrorCode::bad_argument,
              fmt::format("an edge of rank {} leads to object {}, which no rank has", rank, edge.other.value())};
        }
        const auto second = static_cast<std::uint32_t>(other - problem.objects.begin());
        const std::uint32_t first = numbers_[ranks_[rank].first + edge.object];
        if (other->rank.value() == rank || first < second) {  // the other rank names it too
          problem.edges.push_back({first, second, edge.bytes});
        }
      }
    }
  }

  std::vector<Part> ranks_;
  std::vector<std::uint32_t> numbers_;  ///< In the problem, of objects in the order in which they came.
};

}  // namespace

Steps<Placement> Gathered::part(Rounds& rounds, LocalProblem problem) const {
  // A temporary aggregate in a co_await is destroyed twice by GCC 12.
  Bytes mine = pack(RankInput{std::move(problem.objects), std::move(problem.edges), problem.background});
  const std::vector<Bytes> parts = co_await detail::gather(rounds, std::move(mine));
  std::vector<Bytes> places;
  if (rounds.self() == Rank{0}) {
    Joining whole{parts};
    whole.problem.node_of_rank = std::move(problem.node_of_rank);
    whole.problem.memory_max = problem.memory_max;
    whole.problem.weights = problem.weights;
    places = whole.places(inner_.decide(whole.problem).placement);
  }
  const Bytes own = co_await detail::scatter(rounds, std::move(places));
  co_return values_of<Rank>(own);
}

// --- over the network -----------------------------------------------------------------------------

namespace {

Tag tag_of(std::uint64_t sequence, std::uint32_t round, bool is_confirmation) {
  return Tag{sequence << 32U | std::uint64_t{round} << 1U | (is_confirmation ? 1U : 0U)};
}

/// With the errors of a balancer of the whole.
void check_own(const LocalProblem& problem, const comm::Group& group) {
  Problem own{.rank_count = static_cast<std::uint32_t>(group.size()), .objects = problem.objects};
  own.background.assign(own.rank_count, 0);
  own.background[group.self()] = problem.background;
  own.node_of_rank = problem.node_of_rank;
  own.memory_max = problem.memory_max;
  check(own);
}

}  // namespace

RemotePart::RemotePart(const Balancer& balancer, const comm::Group& group, LocalProblem problem, std::uint32_t sequence)
    : gathered_{as_distributed(balancer) == nullptr ? std::make_unique<Gathered>(balancer) : nullptr},
      group_{group},
      rounds_{Rank{static_cast<std::uint32_t>(group.self())}, static_cast<std::uint32_t>(group.size())},
      part_{(gathered_ ? *gathered_ : *as_distributed(balancer)).part(rounds_, problem)},
      sequence_{sequence} {
  members_.resize(group.endpoint().rank_count());
  for (std::uint32_t member = 0; member < group.size(); ++member) {
    members_[group.rank(member).value()] = member;
  }
  guarded([&] { check_own(problem, group_); });
  guarded([&] {
    part_.start();
    begin_round();
  });
}

template <class Work>
void RemotePart::guarded(Work work) {
  try {
    work();
  } catch (const Error& error) {
    tell_all(error);
    throw;
  }
}

void RemotePart::tell_all(const Error& error) noexcept {
  group_.endpoint().stop_all(error);
}

void RemotePart::begin_round() {
  if (part_.is_done()) {
    part_.check();
    return;
  }
  comm::Endpoint& endpoint = group_.endpoint();
  leaving_ = std::move(rounds_.outbox());
  rounds_.outbox().clear();
  counts_.rounds += leaving_.empty() ? 0 : 1;
  for (const Mail& mail : leaving_) {
    ++counts_.messages;
    counts_.message_bytes += mail.bytes.size();
    sends_.push_back(
        endpoint.send({group_.rank(mail.peer.value()), tag_of(sequence_, round_, false), group_.comm()}, mail.bytes));
  }
  if (const auto expected = rounds_.expected()) {
    for (std::uint32_t i = 0; i < *expected; ++i) {
      Incoming& one = incoming_.emplace_back();
      one.request = endpoint.receive({any_source, tag_of(sequence_, round_, false), group_.comm()}, one.bytes);
    }
  } else {
    for (std::size_t i = 0; i < leaving_.size(); ++i) {
      confirmations_.push_back(
          endpoint.receive({any_source, tag_of(sequence_, round_, true), group_.comm()}, std::span<std::byte>{}));
    }
  }
}

void RemotePart::accept() {
  comm::Endpoint& endpoint = group_.endpoint();
  while (auto message = endpoint.claim({any_source, tag_of(sequence_, round_, false), group_.comm()})) {
    Incoming& one = incoming_.emplace_back();
    one.request = endpoint.receive(std::move(*message), one.bytes);
  }
  while (confirmed_ < incoming_.size() && incoming_[confirmed_].request.is_complete()) {
    const Rank sender = incoming_[confirmed_++].request.status().source;
    sends_.push_back(endpoint.send({sender, tag_of(sequence_, round_, true), group_.comm()}, std::span<std::byte>{}));
  }
}

bool RemotePart::is_round_over() {
  const auto is_complete = [](const comm::Request& request) { return request.is_complete(); };
  if (!rounds_.expected()) {
    accept();
    if (!is_in_barrier_ && std::ranges::all_of(confirmations_, is_complete)) {
      barrier_ = comm::barrier(group_);
      is_in_barrier_ = true;
    }
    if (!is_in_barrier_ || !barrier_.is_complete()) {
      return false;
    }
    (void)barrier_.status();
  }
  return std::ranges::all_of(sends_, is_complete) &&
         std::ranges::all_of(incoming_, [](const Incoming& one) { return one.request.is_complete(); });
}

bool RemotePart::advance() {
  guarded([&] {
    if (const auto failure = group_.endpoint().failure()) {
      throw Error{*failure};
    }
    while (!part_.is_done() && is_round_over()) {
      std::vector<Mail> inbox;
      for (Incoming& one : incoming_) {
        const Rank sender = one.request.status().source;
        inbox.push_back({Rank{members_[sender.value()]}, std::move(one.bytes)});
      }
      std::ranges::stable_sort(inbox, {}, &Mail::peer);
      sends_.clear();
      incoming_.clear();
      confirmations_.clear();
      confirmed_ = 0;
      is_in_barrier_ = false;
      ++round_;
      rounds_.go_on(std::move(inbox));
      begin_round();
    }
  });
  return part_.is_done();
}

void RemotePart::wait() {
  std::exception_ptr trouble;
  group_.endpoint().progress_until([&] {
    try {
      return advance();
    } catch (...) {
      trouble = std::current_exception();
      return true;
    }
  });
  if (trouble) {
    std::rethrow_exception(trouble);
  }
}

Decision RemotePart::take() {
  counts_.placement = part_.take();
  return std::move(counts_);
}

}  // namespace plait::data::balance
