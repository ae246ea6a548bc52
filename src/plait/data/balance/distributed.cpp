// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/distributed.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::balance {
namespace {

/// Carries out one round of all ranks in one process.
void run_round(std::vector<Rounds>& rounds, std::vector<Steps<Placement>>& parts, Decision& counts) {
  std::vector<std::vector<Mail>> inboxes(rounds.size());
  bool is_any = false;
  for (std::uint32_t rank = 0; rank < rounds.size(); ++rank) {
    if (parts[rank].is_done()) {
      parts[rank].check();
      throw Error{ErrorCode::bad_argument, "a part of a balancer ended while others went on"};
    }
    for (Mail& mail : std::exchange(rounds[rank].outbox(), {})) {
      is_any = true;
      ++counts.messages;
      counts.message_bytes += mail.bytes.size();
      inboxes[mail.peer.value()].push_back({Rank{rank}, std::move(mail.bytes)});
    }
  }
  counts.rounds += is_any ? 1 : 0;
  for (std::size_t rank = 0; rank < rounds.size(); ++rank) {
    const auto expected = rounds[rank].expected();
    expect(!expected || *expected == inboxes[rank].size(), "a rank waits for as many messages as are sent to it");
    rounds[rank].go_on(std::move(inboxes[rank]));
  }
}

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
  std::vector<LocalProblem> locals = split(problem);
  std::vector<Rounds> rounds;
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    rounds.emplace_back(Rank{rank}, problem.rank_count);
  }
  std::vector<Steps<Placement>> parts;
  for (std::size_t rank = 0; rank < locals.size(); ++rank) {
    parts.push_back(part(rounds[rank], std::move(locals[rank])));
    parts.back().start();
  }
  Decision decision;
  while (std::ranges::any_of(parts, [](const auto& part) { return !part.is_done(); })) {
    run_round(rounds, parts, decision);
  }
  std::vector<Placement> places;
  std::ranges::transform(parts, std::back_inserter(places), &Steps<Placement>::take);
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

// Rank 0 is the root of a binomial tree. The subtree of a rank has the ranks behind it, up to its lowest bit.

/// Returns what each rank gave, by rank, on rank 0; nothing elsewhere. ceil(log2(ranks)) rounds.
Steps<std::vector<Bytes>> gather(Rounds& rounds, Bytes mine) {
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  std::vector<Bytes> all{std::move(mine)};  // of the subtree, by rank
  for (std::uint32_t bit = 1; bit < count; bit <<= 1U) {
    const bool is_above = self % (2 * bit) == 0 && self + bit < count;
    std::vector<Mail> out;
    if (self % (2 * bit) == bit) {
      out.push_back({Rank{self - bit}, pack(all)});
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_above ? 1 : 0);
    if (is_above) {
      std::ranges::move(unpack_as<std::vector<Bytes>>(inbox.front().bytes), std::back_inserter(all));
    }
  }
  co_return self == 0 ? std::move(all) : std::vector<Bytes>{};
}

/// Sends each rank its entry of rank 0's `all`. ceil(log2(ranks)) rounds.
Steps<Bytes> scatter(Rounds& rounds, std::vector<Bytes> all) {
  const std::uint32_t self = rounds.self().value();
  const std::uint32_t count = rounds.rank_count();
  for (std::uint32_t bit = std::bit_ceil(count) / 2; bit >= 1; bit >>= 1U) {
    const bool is_below = self % (2 * bit) == bit;
    std::vector<Mail> out;
    if (self % (2 * bit) == 0 && self + bit < count) {  // `all` is of the subtree
      const auto behind = all.begin() + bit;
      out.push_back({Rank{self + bit}, pack(std::vector<Bytes>(behind, all.end()))});
      all.resize(bit);
    }
    const std::vector<Mail> inbox = co_await rounds.exchange(std::move(out), is_below ? 1 : 0);
    if (is_below) {
      all = unpack_as<std::vector<Bytes>>(inbox.front().bytes);
    }
  }
  co_return std::move(all.front());
}

/// A rank's part of the problem.
struct RankInput {
  std::vector<Object> objects;
  std::vector<LocalEdge> edges;
  double background = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(objects, edges, background);
  }
};

/// The problem that the ranks' parts make up.
class Joined {
 public:
  explicit Joined(const std::vector<Bytes>& parts) {
    problem.rank_count = static_cast<std::uint32_t>(parts.size());
    for (const Bytes& part : parts) {
      const RankInput& input = inputs_.emplace_back(unpack_as<RankInput>(part));
      problem.objects.insert(problem.objects.end(), input.objects.begin(), input.objects.end());
      problem.background.push_back(input.background);
    }
    std::ranges::stable_sort(problem.objects, {}, &Object::id);
    for (const RankInput& input : inputs_) {
      for (const LocalEdge& edge : input.edges) {
        const Object& here = input.objects[edge.object];
        const std::uint32_t first = number_of(here.id, here.rank);
        const std::uint32_t second = number_of(edge.other, here.rank);
        if (problem.objects[second].rank == here.rank || first < second) {  // the other rank has the edge, too
          problem.edges.push_back({first, second, edge.bytes});
        }
      }
    }
  }

  /// Where each rank's objects go, as messages.
  [[nodiscard]] std::vector<Bytes> places(const Placement& placement) const {
    std::vector<Bytes> answers;
    for (const RankInput& input : inputs_) {
      Placement own;
      for (const Object& object : input.objects) {
        own.push_back(placement[number_of(object.id, object.rank)]);
      }
      answers.push_back(bytes_of(std::span<const Rank>{own}));
    }
    return answers;
  }

  Problem problem;

 private:
  [[nodiscard]] std::uint32_t number_of(ElementId id, Rank rank) const {
    const auto found = std::ranges::lower_bound(problem.objects, id, {}, &Object::id);
    if (found == problem.objects.end() || found->id != id) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("an edge of rank {} leads to object {}, which no rank has", rank.value(), id.value())};
    }
    return static_cast<std::uint32_t>(found - problem.objects.begin());
  }

  std::vector<RankInput> inputs_;
};

}  // namespace

Steps<Placement> Gathered::part(Rounds& rounds, LocalProblem problem) const {
  // A temporary aggregate in a co_await is destroyed twice by GCC 12.
  Bytes mine = pack(RankInput{std::move(problem.objects), std::move(problem.edges), problem.background});
  const std::vector<Bytes> parts = co_await gather(rounds, std::move(mine));
  std::vector<Bytes> places;
  if (rounds.self() == Rank{0}) {
    Joined whole{parts};
    whole.problem.node_of_rank = std::move(problem.node_of_rank);
    whole.problem.memory_max = problem.memory_max;
    whole.problem.weights = problem.weights;
    places = whole.places(inner_.decide(whole.problem).placement);
  }
  const Bytes own = co_await scatter(rounds, std::move(places));
  co_return values_of<Rank>(own);
}

// --- over the network -----------------------------------------------------------------------------

namespace {

Tag tag_of(std::uint64_t sequence, std::uint32_t round, bool is_confirmation) {
  return Tag{sequence << 32U | std::uint64_t{round} << 1U | (is_confirmation ? 1U : 0U)};
}

/// Throws what a balancer of the whole problem would throw.
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
    group_.endpoint().stop_all(error);
    throw;
  }
}

void RemotePart::begin_round() {
  if (part_.is_done()) {
    part_.check();
    return;
  }
  comm::Endpoint& endpoint = group_.endpoint();
  leaving_ = std::exchange(rounds_.outbox(), {});
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
    if (!barrier_ && std::ranges::all_of(confirmations_, is_complete)) {
      barrier_ = comm::barrier(group_);
    }
    if (!barrier_ || !barrier_->is_complete()) {
      return false;
    }
    (void)barrier_->status();
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
      barrier_.reset();
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
