// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/rebalancer.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <unordered_map>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/nodes.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/distributed.hpp"

namespace plait::data {
namespace {

using balance::LocalEdge;
using balance::LocalProblem;

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>{time}.count();
}

std::optional<Index> index_of(ElementId id, const Shape& shape) {
  return shape.is_regular() && id.value() < shape.count() ? std::optional{shape.index(id)} : std::nullopt;
}

template <class Operation>
void reduce_all(const comm::Group& group, std::span<double> values, Operation operation) {
  comm::all_reduce(group, values, operation).wait();
}

template <class T>
using ByRank = std::map<Rank, std::vector<T>>;

/// Sends the values to their ranks. Returns what this rank received, with senders and in their order. Collective.
template <class T>
std::vector<std::pair<Rank, T>> exchange_values(const comm::Group& group, const ByRank<T>& values) {
  constexpr Tag tag{0};
  comm::Endpoint& endpoint = group.endpoint();
  std::vector<std::uint32_t> counts(group.size(), 0);
  for (const auto& to : values) {
    counts[to.first.value()] = 1;
  }
  comm::all_reduce(group, std::span{counts}, comm::Sum{}).wait();
  std::vector<balance::Mail> received(counts[group.self()]);
  std::vector<comm::Request> requests;
  for (balance::Mail& mail : received) {
    requests.push_back(endpoint.receive({any_source, tag, group.comm()}, mail.bytes));
  }
  for (const auto& [rank, some] : values) {
    requests.push_back(endpoint.send({rank, tag, group.comm()}, std::as_bytes(std::span{some})));
  }
  for (comm::Request& request : requests) {
    request.wait();
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    received[i].peer = requests[i].status().source;
  }
  std::ranges::sort(received, {}, &balance::Mail::peer);  // the order of arrival must not matter
  std::vector<std::pair<Rank, T>> found;
  for (const balance::Mail& mail : received) {
    for (const T& value : balance::values_of<T>(mail.bytes)) {
      found.emplace_back(mail.peer, value);
    }
  }
  return found;
}

struct Place {
  ElementId id;
  Rank rank;
  std::uint32_t is_question = 0;
};

/// The ranks of all elements that those of this rank have sent messages to; invalid for erased ones. Collective.
std::unordered_map<ElementId, Rank> ranks_of_peers(const comm::Group& group, std::span<const ElementLoad> loads) {
  // The id determines the rank where a location is registered and requested.
  const auto directory_of = [&](ElementId id) { return Rank{static_cast<std::uint32_t>(id.value() % group.size())}; };
  const Rank self = group.rank(group.self());
  ByRank<Place> out;
  std::unordered_map<ElementId, Rank> ranks;
  for (const ElementLoad& load : loads) {
    out[directory_of(load.id)].push_back({load.id, self});
    ranks.emplace(load.id, self);
  }
  for (const ElementLoad& load : loads) {
    for (const PeerBytes& peer : load.sent) {
      if (ranks.emplace(peer.peer, Rank{}).second) {
        out[directory_of(peer.peer)].push_back({peer.peer, Rank{}, 1});
      }
    }
  }
  std::unordered_map<ElementId, Rank> registered;
  ByRank<ElementId> questions;
  for (const auto& [from, place] : exchange_values(group, out)) {
    if (place.is_question == 0) {
      registered.emplace(place.id, place.rank);
    } else {
      questions[from].push_back(place.id);
    }
  }
  ByRank<Place> answers;
  for (const auto& [from, ids] : questions) {
    for (const ElementId id : ids) {
      if (const auto found = registered.find(id); found != registered.end()) {
        answers[from].push_back({id, found->second});
      }
    }
  }
  for (const auto& [from, place] : exchange_values(group, answers)) {
    ranks[place.id] = place.rank;
  }
  return ranks;
}

struct Sent {
  ElementId from;
  ElementId to;
  double bytes;
};

/// Collective.
void add_edges(const comm::Group& group, std::span<const ElementLoad> loads, LocalProblem& problem) {
  double bytes = 0;
  for (const ElementLoad& load : loads) {
    for (const PeerBytes& peer : load.sent) {
      bytes += static_cast<double>(peer.bytes);
    }
  }
  reduce_all(group, {&bytes, 1}, comm::Sum{});
  if (bytes == 0) {
    return;
  }
  const std::unordered_map<ElementId, Rank> ranks = ranks_of_peers(group, loads);
  std::unordered_map<ElementId, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    numbers.emplace(problem.objects[i].id, i);
  }
  std::map<std::pair<std::uint32_t, ElementId>, LocalEdge> edges;
  const auto add = [&](ElementId here, ElementId other, Rank rank, double amount) {
    const auto local = numbers.find(here);
    if (local != numbers.end() && here != other) {
      LocalEdge& edge = edges[{local->second, other}];
      edge = {local->second, other, rank, edge.bytes + amount};
    }
  };
  ByRank<Sent> sent;
  for (const ElementLoad& load : loads) {
    for (const PeerBytes& peer : load.sent) {
      const Rank rank = ranks.at(peer.peer);
      const auto amount = static_cast<double>(peer.bytes);
      if (rank == group.rank(group.self())) {  // one edge for both ends
        add(std::min(load.id, peer.peer), std::max(load.id, peer.peer), rank, amount);
      } else if (rank) {
        add(load.id, peer.peer, rank, amount);
        sent[rank].push_back({load.id, peer.peer, amount});
      }
    }
  }
  for (const auto& [from, one] : exchange_values(group, sent)) {
    add(one.to, one.from, from, one.bytes);
  }
  for (const auto& entry : edges) {
    problem.edges.push_back(entry.second);
  }
}

/// Loads of all ranks, in seconds a phase.
struct Overview {
  double load_max = 0;
  double load_mean = 0;
  double load_bound = 0;
  double measured_max = 0;
  double measured_mean = 0;
};

/// Collective.
Overview overview_of(const comm::Group& group, const LocalProblem& problem, double measured) {
  double load = problem.background;
  double heaviest = 0;
  for (const balance::Object& object : problem.objects) {
    load += object.load;
    heaviest = std::max(heaviest, object.load);
  }
  std::array<double, 4> most{load, heaviest, problem.background, measured};
  std::array<double, 2> sums{load, measured};
  reduce_all(group, most, comm::Maximum{});
  reduce_all(group, sums, comm::Sum{});
  const auto ranks = static_cast<double>(group.size());
  return {.load_max = most[0],
          .load_mean = sums[0] / ranks,
          .load_bound = std::max({sums[0] / ranks, most[1], most[2]}),
          .measured_max = most[3],
          .measured_mean = sums[1] / ranks};
}

/// The new ranks of the other ends of `problem.edges`. Collective.
std::vector<Rank> new_ranks_of_peers(const comm::Group& group,
                                     const LocalProblem& problem,
                                     const balance::Placement& placement) {
  ByRank<Place> out;
  std::unordered_map<ElementId, Rank> ranks;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    ranks.emplace(problem.objects[i].id, placement[i]);
  }
  for (const LocalEdge& edge : problem.edges) {
    if (edge.other_rank != group.rank(group.self())) {
      out[edge.other_rank].push_back({problem.objects[edge.object].id, placement[edge.object]});
    }
  }
  for (const auto& [from, place] : exchange_values(group, out)) {
    ranks[place.id] = place.rank;
  }
  std::vector<Rank> found;
  for (const LocalEdge& edge : problem.edges) {
    found.push_back(ranks.at(edge.other));
  }
  return found;
}

/// Costs of the ranks before and after, and what moves.
struct Outcome {
  double cost_now = 0;
  double cost_then = 0;
  double load_then = 0;
  double objects = 0;
  double bytes = 0;
};

/// Collective.
Outcome outcome_of(const comm::Group& group, const LocalProblem& problem, const balance::Placement& placement) {
  const std::size_t ranks = group.size();
  const Rank self = group.rank(group.self());
  // A problem without objects has the cost of a byte.
  const balance::Problem costs{.rank_count = static_cast<std::uint32_t>(ranks),
                               .node_of_rank = problem.node_of_rank,
                               .weights = problem.weights};
  const std::vector<Rank> peers = new_ranks_of_peers(group, problem, placement);
  // Loads and costs by rank, then the objects and bytes that all ranks move.
  std::vector<double> sums(2 * ranks + 2, 0.0);
  const std::span loads = std::span{sums}.first(ranks);
  const std::span edges = std::span{sums}.subspan(ranks, ranks);
  const std::span moves = std::span{sums}.last(2);
  double now = problem.background;
  loads[self.value()] = problem.background;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const balance::Object& object = problem.objects[i];
    now += object.load;
    loads[placement[i].value()] += object.load;
    if (placement[i] != self) {
      moves[0] += 1;
      moves[1] += object.bytes;
      edges[placement[i].value()] += object.bytes * problem.weights.moved;
      edges[self.value()] += object.bytes * problem.weights.moved;
    }
  }
  for (std::size_t i = 0; i < problem.edges.size(); ++i) {
    const LocalEdge& edge = problem.edges[i];
    const Rank here = placement[edge.object];
    now += edge.bytes * balance::detail::byte_cost(costs, self, edge.other_rank);
    const double cost = edge.bytes * balance::detail::byte_cost(costs, here, peers[i]);
    edges[here.value()] += cost;
    if (edge.other_rank == self) {  // no other rank has this edge
      edges[peers[i].value()] += cost;
    }
  }
  reduce_all(group, sums, comm::Sum{});
  reduce_all(group, {&now, 1}, comm::Maximum{});
  Outcome found{.cost_now = now, .load_then = std::ranges::max(loads), .objects = moves[0], .bytes = moves[1]};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    found.cost_then = std::max(found.cost_then, loads[rank] + edges[rank]);
  }
  return found;
}

balance::RebalanceOptions with_nodes(balance::RebalanceOptions options, const comm::Endpoint& endpoint) {
  const std::vector<std::uint32_t>& known = comm::Nodes::of(endpoint);
  const bool are_several = std::ranges::any_of(known, [&](std::uint32_t node) { return node != known.front(); });
  if (options.node_of_rank.empty() && are_several) {
    options.node_of_rank = known;
  }
  return options;
}

}  // namespace

Rebalancer::Rebalancer(comm::Endpoint& endpoint, trace::Recorder& trace, balance::RebalanceOptions options)
    : trace_{trace},
      options_{with_nodes(std::move(options), endpoint)},
      group_{endpoint},
      model_{options_.model},
      trigger_{options_.trigger} {
  if (!options_.statistics.empty()) {
    balance::StatisticsRank about{.rank = self()};
    if (!options_.node_of_rank.empty()) {
      const std::vector<std::uint32_t>& nodes = options_.node_of_rank;
      about.node = nodes.at(self().value());
      about.ranks_of_node = static_cast<std::uint32_t>(std::ranges::count(nodes, *about.node));
      about.rank_in_node =
          static_cast<std::uint32_t>(std::count(nodes.begin(), nodes.begin() + self().value(), *about.node));
      about.node_count = std::ranges::max(nodes) + 1;
    }
    statistics_.emplace(options_.statistics, about);
  }
}

void Rebalancer::observe(std::vector<ElementLoad> loads, const Shape& shape, double overhead) {
  loads_ = std::move(loads);
  shape_ = shape;
  std::vector<LoadModel::Load> seconds;
  seconds.reserve(loads_.size());
  measured_ = overhead;
  for (const ElementLoad& load : loads_) {
    seconds.push_back({load.id, load.seconds});
    measured_ += load.seconds;
  }
  model_.observe(seconds, overhead);
  is_fresh_ = true;
  if (statistics_) {
    write_statistics(overhead);
  }
  ++observations_;
}

void Rebalancer::write_statistics(double overhead) {
  balance::StatisticsPhase phase{.id = observations_, .background = overhead};
  for (const ElementLoad& load : loads_) {
    balance::StatisticsTask task{.id = load.id, .seconds = load.seconds, .home = self().value()};
    if (const auto index = index_of(load.id, shape_)) {
      task.index = {index->x, index->y, index->z};
      task.index.resize(static_cast<std::size_t>(shape_.dimensions()));
    }
    if (options_.position) {
      task.position = options_.position(load.id);
    }
    task.bytes = options_.bytes ? options_.bytes(load.id) : 0;
    phase.tasks.push_back(std::move(task));
    for (const PeerBytes& peer : load.sent) {
      phase.messages.push_back({.from = load.id, .to = peer.peer, .bytes = static_cast<double>(peer.bytes)});
    }
  }
  statistics_->write(phase);
}

LocalProblem Rebalancer::problem() const {
  LocalProblem problem{.background = model_.background(),
                       .node_of_rank = options_.node_of_rank,
                       .memory_max = options_.memory_max,
                       .weights = options_.weights};
  const double usual_bytes = moved_[0] > 0 ? moved_[1] / moved_[0] : 0;
  for (const ElementLoad& load : loads_) {
    balance::Object object{.id = load.id, .rank = self(), .load = model_.load(load.id)};
    object.bytes = options_.bytes ? options_.bytes(load.id) : usual_bytes;
    if (options_.position) {
      object.position = options_.position(load.id);
    } else if (const auto index = index_of(load.id, shape_)) {
      object.position = {1.0 * index->x, 1.0 * index->y, 1.0 * index->z};
    }
    problem.objects.push_back(object);
  }
  add_edges(group_, loads_, problem);
  return problem;
}

std::vector<Move> Rebalancer::decide(const balance::Balancer& balancer) {
  const nanoseconds start = trace_.now();
  is_fresh_ = false;
  const LocalProblem local = problem();
  const Overview before = overview_of(group_, local, measured_);
  const auto imbalance = [&](double most) {
    return before.load_mean > 0 ? std::max(0.0, most / before.load_mean - 1) : 0.0;  // -0.0 by rounding
  };
  if (!history_.empty() && before.measured_mean > 0) {
    history_.back().imbalance_measured = before.measured_max / before.measured_mean - 1;
    count("balance: imbalance measured", *history_.back().imbalance_measured);
  }
  balance::BalanceReport report{.balancer = balancer.name(),
                                .imbalance_before = imbalance(before.load_max),
                                .imbalance_bound = imbalance(before.load_bound),
                                .imbalance_predicted = imbalance(before.load_max)};
  const balance::Verdict first = trigger_.before_deciding(before.load_max, before.load_mean, before.load_bound);
  const bool has_costs = local.weights.between_ranks > 0 || local.weights.between_nodes > 0;
  report.gain = first.gain;
  report.cost = first.cost;
  if (!first.is_worth_it && (!has_costs || first.is_minor)) {
    report.reason = first.reason;
    finish(std::move(report));
    return {};
  }
  balance::RemotePart part{balancer, group_, local, decisions_++};
  part.wait();
  const balance::Decision decision = part.take();
  const Outcome outcome = outcome_of(group_, local, decision.placement);

  std::array<double, 2> most{seconds_of(trace_.now() - start), static_cast<double>(decision.rounds)};
  auto messages = static_cast<double>(decision.messages);
  reduce_all(group_, most, comm::Maximum{});
  reduce_all(group_, {&messages, 1}, comm::Sum{});
  trigger_.learn_deciding(most[0]);
  note("balance: decide", start);
  report.seconds_deciding = most[0];
  report.rounds = static_cast<std::uint32_t>(most[1]);
  report.messages = static_cast<std::uint64_t>(messages);

  const balance::Verdict second = trigger_.before_moving(outcome.cost_now, outcome.cost_then, outcome.bytes);
  report.gain = second.gain;
  report.cost = second.cost;
  report.imbalance_predicted = imbalance(outcome.load_then);
  report.is_done = second.is_worth_it && outcome.objects > 0;
  report.reason = report.is_done ? "" : second.reason;
  std::vector<Move> moves;
  for (std::size_t i = 0; i < local.objects.size() && report.is_done; ++i) {
    if (decision.placement[i] != self()) {
      moves.push_back({local.objects[i].id, decision.placement[i]});
    }
  }
  finish(std::move(report));
  return moves;
}

balance::BalanceReport Rebalancer::moved(const MigrationReport& migration, std::span<const Move> moves) {
  balance::BalanceReport& report = history_.back();
  ByRank<double> histories;  // by element: its id, the number of values, the values
  for (const Move& move : moves) {
    const std::vector<double> values = model_.take(move.id);
    std::vector<double>& out = histories[move.to];
    out.push_back(std::bit_cast<double>(move.id.value()));
    out.push_back(static_cast<double>(values.size()));
    out.insert(out.end(), values.begin(), values.end());
  }
  std::vector<double> received;
  for (const auto& [from, value] : exchange_values(group_, histories)) {
    received.push_back(value);
  }
  for (std::size_t at = 0; at < received.size();) {
    const auto length = static_cast<std::size_t>(received.at(at + 1));
    model_.give(ElementId{std::bit_cast<std::uint64_t>(received[at])}, std::span{received}.subspan(at + 2, length));
    at += 2 + length;
  }
  std::array<double, 2> sums{static_cast<double>(migration.sent), static_cast<double>(migration.bytes_sent)};
  double seconds = seconds_of(migration.took);
  reduce_all(group_, sums, comm::Sum{});
  reduce_all(group_, {&seconds, 1}, comm::Maximum{});
  moved_ = {moved_[0] + sums[0], moved_[1] + sums[1]};
  report.objects_moved = static_cast<std::uint64_t>(sums[0]);
  report.bytes_moved = sums[1];
  report.seconds_moving = seconds;
  trigger_.learn_moving(seconds, sums[1]);
  note("balance: move", trace_.now() - migration.took);
  count("balance: objects moved", sums[0]);
  count("balance: bytes moved", sums[1]);
  return report;
}

void Rebalancer::finish(balance::BalanceReport report) {
  count("balance: imbalance before", report.imbalance_before);
  count("balance: imbalance predicted", report.imbalance_predicted);
  constexpr std::size_t reports_max = 1000;
  history_.push_back(std::move(report));
  if (history_.size() > reports_max) {
    history_.pop_front();
  }
}

void Rebalancer::note(std::string_view what, nanoseconds start) {
  trace_.thread(WorkerId{0}, "")
      .span({.name = trace_.name(trace::Role::span, what),
             .start = start,
             .end = trace_.now(),
             .step = static_cast<std::uint32_t>(observations_)});
}

void Rebalancer::count(std::string_view what, double value) {
  if (self() == Rank{0}) {
    trace_.thread(WorkerId{0}, "")
        .counter({.name = trace_.name(trace::Role::counter, what),
                  .time = trace_.now(),
                  .value = value,
                  .step = static_cast<std::uint32_t>(observations_)});
  }
}

}  // namespace plait::data
