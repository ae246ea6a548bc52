// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/rebalancing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>
#include <utility>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/balance/detail/placing.hpp"

namespace plait::data::detail {
namespace {

using balance::bytes_of;
using balance::LocalEdge;
using balance::LocalProblem;
using balance::values_of;

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>{time}.count();
}

template <class Operation>
void reduce_all(const comm::Group& group, std::span<double> values, Operation operation) {
  comm::all_reduce(group, values, operation).wait();
}

/// Values by rank that become messages.
template <class T>
class ByRank {
 public:
  void add(Rank rank, const T& value) { values_[rank].push_back(value); }
  template <class Letter>
  [[nodiscard]] std::vector<Letter> letters() const {
    std::vector<Letter> found;
    for (const auto& [rank, values] : values_) {
      found.push_back({rank, bytes_of(std::span<const T>{values})});
    }
    return found;
  }

 private:
  std::map<Rank, std::vector<T>> values_;
};

struct Place {
  ElementId id;
  Rank rank;
  std::uint32_t is_question = 0;
};

struct Sent {
  ElementId from;
  ElementId to;
  double bytes;
};

}  // namespace

Rebalancing::Rebalancing(comm::Endpoint& endpoint, trace::Recorder& trace, balance::RebalanceOptions options)
    : trace_{trace},
      options_{std::move(options)},
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

void Rebalancing::observe(std::vector<ElementLoad> loads, const Shape& shape, double overhead) {
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
    write_statistics(shape, overhead);
  }
  ++observations_;
}

void Rebalancing::write_statistics(const Shape& shape, double overhead) {
  balance::StatisticsPhase phase{.id = observations_, .background = overhead};
  for (const ElementLoad& load : loads_) {
    balance::StatisticsTask task{.id = load.id, .seconds = load.seconds, .home = self().value()};
    if (shape.is_regular() && load.id.value() < shape.count()) {
      const Index index = shape.index(load.id);
      task.index = {index.x, index.y, index.z};
      task.index.resize(static_cast<std::size_t>(shape.dimensions()));
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

std::vector<Rebalancing::Letter> Rebalancing::exchange(std::vector<Letter> letters) {
  const Tag tag{exchanges_++};
  std::vector<std::uint32_t> counts(ranks(), 0);
  for (const Letter& letter : letters) {
    ++counts[letter.peer.value()];
  }
  comm::all_reduce(group_, std::span{counts}, comm::Sum{}).wait();
  std::vector<Letter> received(counts[self().value()]);
  std::vector<comm::Request> requests;
  for (Letter& letter : received) {
    requests.push_back(group_.endpoint().receive({any_source, tag, group_.comm()}, letter.bytes));
  }
  const std::size_t receives = requests.size();
  for (const Letter& letter : letters) {
    requests.push_back(group_.endpoint().send({letter.peer, tag, group_.comm()}, letter.bytes));
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].wait();
    if (i < receives) {
      received[i].peer = requests[i].status().source;
    }
  }
  // Whichever came first: what follows must not depend on it.
  std::ranges::sort(received, {}, &Letter::peer);
  return received;
}

LocalProblem Rebalancing::problem() {
  LocalProblem problem;
  problem.background = model_.background();
  problem.node_of_rank = options_.node_of_rank;
  problem.memory_max = options_.memory_max;
  problem.weights = options_.weights;
  const double usual_bytes = moved_[0] > 0 ? moved_[1] / moved_[0] : 0;
  for (const ElementLoad& load : loads_) {
    balance::Object object{.id = load.id, .rank = self(), .load = model_.load(load.id)};
    object.bytes = options_.bytes ? options_.bytes(load.id) : usual_bytes;
    if (options_.position) {
      object.position = options_.position(load.id);
    } else if (shape_.is_regular() && load.id.value() < shape_.count()) {
      const Index index = shape_.index(load.id);
      object.position = {1.0 * index.x, 1.0 * index.y, 1.0 * index.z};
    }
    problem.objects.push_back(object);
  }
  add_edges(problem);
  return problem;
}

std::unordered_map<ElementId, Rank> Rebalancing::places_of_peers() {
  // Each place is reported to a rank that follows from the id alone, and requested there.
  const auto clerk_of = [&](ElementId id) { return Rank{static_cast<std::uint32_t>(id.value() % ranks())}; };
  ByRank<Place> told;
  std::unordered_map<ElementId, Rank> places;
  for (const ElementLoad& load : loads_) {
    told.add(clerk_of(load.id), {load.id, self()});
    places.emplace(load.id, self());
  }
  for (const ElementLoad& load : loads_) {
    for (const PeerBytes& peer : load.sent) {
      if (places.emplace(peer.peer, Rank{}).second) {
        told.add(clerk_of(peer.peer), {peer.peer, Rank{}, 1});
      }
    }
  }
  const std::vector<Letter> letters = exchange(told.letters<Letter>());
  std::unordered_map<ElementId, Rank> register_of;
  for (const Letter& letter : letters) {
    for (const Place& place : values_of<Place>(letter.bytes)) {
      if (place.is_question == 0) {
        register_of.emplace(place.id, place.rank);
      }
    }
  }
  ByRank<Place> answers;
  for (const Letter& letter : letters) {
    for (const Place& place : values_of<Place>(letter.bytes)) {
      const auto found = register_of.find(place.id);
      if (place.is_question != 0 && found != register_of.end()) {
        answers.add(letter.peer, {place.id, found->second});
      }
    }
  }
  for (const Letter& letter : exchange(answers.letters<Letter>())) {
    for (const Place& place : values_of<Place>(letter.bytes)) {
      places[place.id] = place.rank;
    }
  }
  return places;
}

void Rebalancing::add_edges(LocalProblem& problem) {
  double bytes = 0;
  for (const ElementLoad& load : loads_) {
    for (const PeerBytes& peer : load.sent) {
      bytes += static_cast<double>(peer.bytes);
    }
  }
  reduce_all(group_, {&bytes, 1}, comm::Sum{});
  if (bytes == 0) {
    return;
  }
  const std::unordered_map<ElementId, Rank> places = places_of_peers();
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
  ByRank<Sent> told;
  for (const ElementLoad& load : loads_) {
    for (const PeerBytes& peer : load.sent) {
      const Rank rank = places.at(peer.peer);
      const auto amount = static_cast<double>(peer.bytes);
      if (rank == self()) {  // Once for both ends.
        add(std::min(load.id, peer.peer), std::max(load.id, peer.peer), rank, amount);
      } else if (rank) {  // Not one that has gone.
        add(load.id, peer.peer, rank, amount);
        told.add(rank, {load.id, peer.peer, amount});
      }
    }
  }
  for (const Letter& letter : exchange(told.letters<Letter>())) {
    for (const Sent& sent : values_of<Sent>(letter.bytes)) {
      add(sent.to, sent.from, letter.peer, sent.bytes);
    }
  }
  for (const auto& entry : edges) {
    problem.edges.push_back(entry.second);
  }
}

Rebalancing::Overview Rebalancing::overview(const LocalProblem& problem) {
  double load = problem.background;
  double heaviest = 0;
  for (const balance::Object& object : problem.objects) {
    load += object.load;
    heaviest = std::max(heaviest, object.load);
  }
  std::array<double, 4> most{load, heaviest, problem.background, measured_};
  std::array<double, 2> sums{load, measured_};
  reduce_all(group_, most, comm::Maximum{});
  reduce_all(group_, sums, comm::Sum{});
  const double mean = sums[0] / ranks();
  return {.load_max = most[0],
          .load_mean = mean,
          .load_bound = std::max({mean, most[1], most[2]}),
          .measured_max = most[3],
          .measured_mean = sums[1] / ranks()};
}

std::vector<Rank> Rebalancing::new_places_of_peers(const LocalProblem& problem, const balance::Placement& placement) {
  ByRank<Place> told;
  std::unordered_map<ElementId, Rank> places;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    places.emplace(problem.objects[i].id, placement[i]);
  }
  for (const LocalEdge& edge : problem.edges) {
    if (edge.other_rank != self()) {
      told.add(edge.other_rank, {problem.objects[edge.object].id, placement[edge.object]});
    }
  }
  for (const Letter& letter : exchange(told.letters<Letter>())) {
    for (const Place& place : values_of<Place>(letter.bytes)) {
      places[place.id] = place.rank;
    }
  }
  std::vector<Rank> found;
  for (const LocalEdge& edge : problem.edges) {
    found.push_back(places.at(edge.other));
  }
  return found;
}

Rebalancing::Outcome Rebalancing::outcome(const LocalProblem& problem, const balance::Placement& placement) {
  balance::Problem costs;  // A problem without objects has the cost of a byte.
  costs.rank_count = ranks();
  costs.node_of_rank = problem.node_of_rank;
  costs.weights = problem.weights;
  const std::vector<Rank> peers = new_places_of_peers(problem, placement);
  // Loads and costs then by rank, then what all ranks move.
  std::vector<double> sums(2 * std::size_t{ranks()} + 2, 0.0);
  const std::span loads = std::span{sums}.first(ranks());
  const std::span edges = std::span{sums}.subspan(ranks(), ranks());
  double now = problem.background;
  loads[self().value()] = problem.background;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const balance::Object& object = problem.objects[i];
    now += object.load;
    loads[placement[i].value()] += object.load;
    if (placement[i] != self()) {
      sums[2 * std::size_t{ranks()}] += 1;
      sums[2 * std::size_t{ranks()} + 1] += object.bytes;
      edges[placement[i].value()] += object.bytes * problem.weights.moved;
      edges[self().value()] += object.bytes * problem.weights.moved;
    }
  }
  for (std::size_t i = 0; i < problem.edges.size(); ++i) {
    const LocalEdge& edge = problem.edges[i];
    const Rank here = placement[edge.object];
    now += edge.bytes * balance::detail::byte_cost(costs, self(), edge.other_rank);
    const double cost = edge.bytes * balance::detail::byte_cost(costs, here, peers[i]);
    edges[here.value()] += cost;
    if (edge.other_rank == self()) {  // No other rank knows this edge.
      edges[peers[i].value()] += cost;
    }
  }
  reduce_all(group_, sums, comm::Sum{});
  reduce_all(group_, {&now, 1}, comm::Maximum{});
  Outcome found{.cost_now = now, .load_then = std::ranges::max(loads)};
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    found.cost_then = std::max(found.cost_then, loads[rank] + edges[rank]);
  }
  found.objects = static_cast<std::uint64_t>(sums[2 * std::size_t{ranks()}]);
  found.bytes = sums[2 * std::size_t{ranks()} + 1];
  return found;
}

std::vector<Move> Rebalancing::decide(const balance::Balancer& balancer) {
  const nanoseconds start = trace_.now();
  is_fresh_ = false;
  const LocalProblem local = problem();
  const Overview before = overview(local);
  // Rounding must not make it negative.
  const auto imbalance = [&](double most) {
    return before.load_mean > 0 ? std::max(0.0, most / before.load_mean - 1) : 0.0;
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
  const Outcome outcome = this->outcome(local, decision.placement);

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

balance::BalanceReport Rebalancing::moved(const MigrationReport& migration, std::span<const Move> moves) {
  balance::BalanceReport& report = history_.back();
  pass_on_histories(moves);
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

void Rebalancing::pass_on_histories(std::span<const Move> moves) {
  ByRank<double> told;  // By element: id, number of values, values.
  for (const Move& move : moves) {
    const std::vector<double> values = model_.take(move.id);
    told.add(move.to, std::bit_cast<double>(move.id.value()));
    told.add(move.to, static_cast<double>(values.size()));
    for (const double value : values) {
      told.add(move.to, value);
    }
  }
  for (const Letter& letter : exchange(told.letters<Letter>())) {
    const std::vector<double> values = values_of<double>(letter.bytes);
    for (std::size_t at = 0; at + 1 < values.size();) {
      const ElementId id{std::bit_cast<std::uint64_t>(values[at])};
      const auto length = static_cast<std::size_t>(values[at + 1]);
      model_.give(id, std::span{values}.subspan(at + 2, length));
      at += 2 + length;
    }
  }
}

void Rebalancing::finish(balance::BalanceReport report) {
  count("balance: imbalance before", report.imbalance_before);
  count("balance: imbalance predicted", report.imbalance_predicted);
  constexpr std::size_t reports_max = 1000;
  history_.push_back(std::move(report));
  if (history_.size() > reports_max) {
    history_.pop_front();
  }
}

void Rebalancing::note(std::string_view what, nanoseconds start) {
  trace_.thread(WorkerId{0}, "")
      .span({.name = trace_.name(trace::Role::span, what),
             .start = start,
             .end = trace_.now(),
             .step = static_cast<std::uint32_t>(observations_)});
}

void Rebalancing::count(std::string_view what, double value) {
  if (self() == Rank{0}) {
    trace_.thread(WorkerId{0}, "")
        .counter({.name = trace_.name(trace::Role::counter, what),
                  .time = trace_.now(),
                  .value = value,
                  .step = static_cast<std::uint32_t>(observations_)});
  }
}

}  // namespace plait::data::detail
