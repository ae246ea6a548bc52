// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/sharing.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::detail {
namespace {

/// More objects at once are tried only where fewer do not take this part away.
constexpr double part_that_will_do = 0.4;
/// In place of the cost of a side that is set aside.
constexpr double aside = -1;
/// An exchange that takes less than this part of what is too much away is not worth a step.
constexpr double least_part = 0.02;
/// How many objects of other ranks are tried for one or some that the heavy rank gives.
constexpr std::size_t window = 32;
/// Of the amount that should go over: where none that large helps, less.
constexpr std::array<double, 4> parts{1, 0.5, 0.25, 0.1};
constexpr std::size_t pair_window = 128;
/// Two objects at once are got of a rank that has no more than so many.
constexpr std::size_t pairs_of_max = 8;
/// Of a rank with more objects, so many are offered.
constexpr std::size_t offered_max = 64;

/// The side whose rank it is, or none: by rank, with its side.
class Homes {
 public:
  explicit Homes(const std::vector<Side>& sides) : sides_{sides} {
    for (std::uint32_t side = 0; side < sides.size(); ++side) {
      by_rank_.emplace_back(sides[side].rank.value(), side);
    }
    std::ranges::sort(by_rank_);
  }
  [[nodiscard]] std::uint32_t of(Rank rank, std::uint32_t none) const {
    if (rank.value() < sides_.size() && sides_[rank.value()].rank == rank) {
      return rank.value();
    }
    const auto found = std::ranges::lower_bound(by_rank_, std::pair{rank.value(), 0U});
    return found != by_rank_.end() && found->first == rank.value() ? found->second : none;
  }

 private:
  const std::vector<Side>& sides_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_rank_;
};

/// Of sides with few tokens, where all have few: one for one and two for one are not ways enough there.
PairIndex pairs_of(const std::vector<std::vector<std::uint32_t>>& held, const std::vector<double>& loads) {
  if (loads.size() > pairs_of_max * held.size()) {
    return {};
  }
  std::vector<PairIndex::Pair> pairs;
  for (const std::vector<std::uint32_t>& tokens : held) {
    for (std::size_t i = 0; i < tokens.size() && tokens.size() <= pairs_of_max; ++i) {
      for (std::size_t j = i + 1; j < tokens.size(); ++j) {
        pairs.push_back({loads[tokens[i]] + loads[tokens[j]], tokens[i], tokens[j]});
      }
    }
  }
  return PairIndex{std::move(pairs)};
}

/// The part of the sum of `costs` that is above the goal.
double excess_part(std::span<const double> costs, double goal) {
  double sum = 0;
  double excess = 0;
  for (const double cost : costs) {
    sum += cost;
    excess += std::max(0.0, cost - goal);
  }
  return sum > 0 ? excess / sum : 0;
}

double sum_of(std::span<const std::uint32_t> tokens, const std::vector<double>& loads) {
  return std::transform_reduce(
      tokens.begin(), tokens.end(), 0.0, std::plus{}, [&](auto token) { return loads[token]; });
}

/// How much the side with most should give away at once.
double amount(double most, double least, double goal) {
  return std::min(most - goal, std::max(goal - least, (most - least) / 2));
}

}  // namespace

Sharing::Sharing(std::vector<Side> sides, const std::vector<std::vector<Token>>& tokens, const SharingOptions& options)
    : options_{options},
      sides_{std::move(sides)},
      held_(sides_.size()),
      bytes_(sides_.size()),
      least_{std::vector<double>(sides_.size())},
      most_{std::vector<double>(sides_.size())} {
  std::vector<LoadOf> order;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> from;  // side, place there
  for (std::uint32_t side = 0; side < sides_.size(); ++side) {
    for (std::uint32_t i = 0; i < tokens[side].size(); ++i) {
      order.push_back({tokens[side][i].load, static_cast<std::uint32_t>(from.size())});
      from.emplace_back(side, i);
    }
  }
  sort_heaviest_first(order);
  const Homes homes{sides_};
  tokens_.reserve(order.size());
  for (const LoadOf& one : order) {
    const auto [side, place] = from[one.number];
    const Token& token = tokens[side][place];
    held_[side].push_back(static_cast<std::uint32_t>(tokens_.size()));
    tokens_.push_back(token);
    loads_.push_back(token.load);
    owner_.push_back(side);
    home_.push_back(homes.of(token.home, none));
  }
  add_up();
}

void Sharing::add_up() {
  std::vector<double> costs;
  for (std::uint32_t side = 0; side < sides_.size(); ++side) {
    double cost = sides_[side].load;
    bytes_[side] = sides_[side].bytes;
    for (const std::uint32_t token : held_[side]) {
      cost += cost_on(side, token);
      bytes_[side] += tokens_[token].bytes;
    }
    costs.push_back(cost);
  }
  most_ = RankHeap<std::greater<>>{costs};
  least_ = RankHeap<std::less<>>{std::move(costs)};
}

bool Sharing::run() {
  if (sides_.empty() || cost_max() <= options_.goal) {
    return false;
  }
  const double before = cost_max();
  const std::vector<std::uint32_t> owners = owner_;
  shed();
  pairs_ = pairs_of(held_, loads_);
  for (std::uint64_t before_aside = ~std::uint64_t{0}; before_aside != changes_;) {
    before_aside = changes_;
    while (step()) {
    }
    for (const std::uint32_t side : std::exchange(aside_, {})) {
      most_.set(side, least_.load(side));
    }
  }
  send_home();
  if (cost_max() < before) {
    return true;
  }
  restore(owners);
  return false;
}

std::vector<std::vector<Token>> Sharing::tokens() const {
  std::vector<std::vector<Token>> all(held_.size());
  for (std::size_t side = 0; side < held_.size(); ++side) {
    for (const std::uint32_t token : held_[side]) {
      all[side].push_back(tokens_[token]);
    }
  }
  return all;
}

void Sharing::set_cost(std::uint32_t side, double cost) {
  if (most_.load(side) != aside) {
    most_.set(side, cost);
  }
  least_.set(side, cost);
}

void Sharing::move(std::uint32_t token, std::uint32_t to) {
  const std::uint32_t from = owner_[token];
  std::vector<std::uint32_t>& old = held_[from];
  old.erase(std::ranges::lower_bound(old, token));
  std::vector<std::uint32_t>& now = held_[to];
  now.insert(std::ranges::lower_bound(now, token), token);
  owner_[token] = to;
  if (!pairs_.is_empty() && now.size() <= pairs_of_max) {
    for (const std::uint32_t other : now) {
      if (other != token) {
        pairs_.add({loads_[token] + loads_[other], token, other});
      }
    }
  }
  bytes_[from] -= tokens_[token].bytes;
  bytes_[to] += tokens_[token].bytes;
  set_cost(from, least_.load(from) - cost_on(from, token));
  set_cost(to, least_.load(to) + cost_on(to, token));
}

/// Takes from each side above the goal the lightest that is enough, or else the heaviest and so on; what that would
/// leave below the goal by more than it is above stays, for exchanges. The heaviest first.
std::vector<std::uint32_t> Sharing::take_excess() {
  std::vector<std::uint32_t> taken;
  for (std::uint32_t side = 0; side < sides_.size(); ++side) {
    std::vector<std::uint32_t>& held = held_[side];
    double excess = least_.load(side) - options_.goal;
    std::size_t first = 0;
    const std::size_t taken_before = taken.size();
    while (excess > 0 && first < held.size() && loads_[held[first]] > 0) {
      const auto rest = held.begin() + static_cast<std::ptrdiff_t>(first);
      const auto below = std::partition_point(rest, held.end(), [&](auto token) { return loads_[token] >= excess; });
      if (below != rest) {
        if (loads_[*(below - 1)] <= 2 * excess) {
          taken.push_back(*(below - 1));
          held.erase(below - 1);
        }
        break;
      }
      excess -= loads_[held[first]];
      taken.push_back(held[first++]);
    }
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(first));
    double cost = least_.load(side);
    for (std::size_t i = taken_before; i < taken.size(); ++i) {
      cost -= cost_on(side, taken[i]);
      bytes_[side] -= tokens_[taken[i]].bytes;
    }
    set_cost(side, cost);
  }
  std::ranges::sort(taken);
  return taken;
}

/// What is too much goes, the heaviest first, to the side that it brings nearest to the goal from below (best fit), or,
/// where it fits on none, to that with least. With few objects a side that comes much closer than the least one
/// always. Undoes all where that makes the largest cost larger, or memory does not allow it.
void Sharing::shed() {
  const double before = cost_max();
  const double goal = options_.goal;
  const std::vector<std::uint32_t> owners = owner_;
  const bool is_anew = excess_part(least_.loads(), options_.goal) > options_.anew;
  if (is_anew) {
    options_.goal = 0;
  }
  const std::vector<std::uint32_t> taken = take_excess();
  options_.goal = goal;
  std::set<std::pair<double, std::uint32_t>> by_cost;
  for (std::uint32_t side = 0; side < sides_.size(); ++side) {
    by_cost.emplace(least_.load(side), side);
  }
  bool has_room_for_all = true;
  for (const std::uint32_t token : taken) {
    const auto above = by_cost.upper_bound({options_.goal - loads_[token], none});
    std::uint32_t side = is_anew || above == by_cost.begin() ? least_.top() : std::prev(above)->second;
    if (!has_room(side, tokens_[token].bytes)) {
      std::tie(side, has_room_for_all) = least_with_room(token, has_room_for_all);
    }
    auto entry = by_cost.extract({least_.load(side), side});
    owner_[token] = side;
    held_[side].push_back(token);
    bytes_[side] += tokens_[token].bytes;
    set_cost(side, least_.load(side) + cost_on(side, token));
    entry.value().first = least_.load(side);
    by_cost.insert(std::move(entry));
  }
  for (std::vector<std::uint32_t>& held : held_) {
    std::ranges::sort(held);
  }
  if (!has_room_for_all || cost_max() > before) {
    restore(owners);
  }
}

/// Of the sides with room for a token, that with least; its last owner and false when there is none.
std::pair<std::uint32_t, bool> Sharing::least_with_room(std::uint32_t token, bool has_been_room) const {
  std::uint32_t best = none;
  for (std::uint32_t side = 0; side < sides_.size(); ++side) {
    if (has_room(side, tokens_[token].bytes) && (best == none || least_.load(side) < least_.load(best))) {
      best = side;
    }
  }
  return {best == none ? owner_[token] : best, has_been_room && best != none};
}

void Sharing::restore(const std::vector<std::uint32_t>& owners) {
  owner_ = owners;
  for (std::vector<std::uint32_t>& held : held_) {
    held.clear();
  }
  for (std::uint32_t token = 0; token < owner_.size(); ++token) {
    held_[owner_[token]].push_back(token);
  }
  add_up();
}

/// False when all are good enough, set aside, or tries are used up. One that nothing helps is set aside: what others
/// exchange may bring what it needs.
bool Sharing::step() {
  heavy_ = most_.top();
  const double most = most_.load(heavy_);
  if (most <= options_.goal || options_.tries == 0) {
    return false;
  }
  best_ = Exchange{.cost = most - least_part * (most - options_.goal)};
  const double will_do = most - part_that_will_do * (most - options_.goal);
  for (std::size_t count = 1; count <= 3 && best_.cost > will_do; ++count) {
    if (count == 1 ? try_singles() : try_several(count)) {
      break;
    }
  }
  if (best_.partner == none) {
    if (share_with_any()) {
      ++changes_;
    } else {
      most_.set(heavy_, aside);
      aside_.push_back(heavy_);
    }
    return true;
  }
  ++changes_;
  for (const std::uint32_t token : best_.give) {
    if (token != none) {
      move(token, best_.partner);
    }
  }
  for (const std::uint32_t token : best_.get) {
    if (token != none) {
      move(token, heavy_);
    }
  }
  return true;
}

/// Whether giving so much more than is got back might help. Where moving costs, this is unknown.
bool Sharing::is_promising(double more, std::uint32_t partner) {
  options_.tries -= options_.tries > 0 ? 1 : 0;
  return partner != heavy_ &&
         (options_.moved > 0 || (least_.load(heavy_) - more < best_.cost && least_.load(partner) + more < best_.cost));
}

/// Whether that brings both to the goal. Keeps it in `best_` when it is better than that.
bool Sharing::consider(std::span<const std::uint32_t> give, std::span<const std::uint32_t> get, std::uint32_t partner) {
  options_.tries -= options_.tries > 0 ? 1 : 0;
  double mine = least_.load(heavy_);
  double its = least_.load(partner);
  double bytes = 0;  // that the partner has more
  for (const std::uint32_t token : give) {
    mine -= cost_on(heavy_, token);
    its += cost_on(partner, token);
    bytes += tokens_[token].bytes;
  }
  for (const std::uint32_t token : get) {
    mine += cost_on(heavy_, token);
    its -= cost_on(partner, token);
    bytes -= tokens_[token].bytes;
  }
  const double cost = std::max(mine, its);
  if (cost >= best_.cost || !has_room(partner, bytes) || !has_room(heavy_, -bytes)) {
    return false;
  }
  best_ = Exchange{.cost = cost, .partner = partner};
  std::ranges::copy(give, best_.give.begin());
  std::ranges::copy(get, best_.get.begin());
  return cost <= options_.goal;
}

/// Looks for one object that goes home, goes to the side with least, or is exchanged for another.
bool Sharing::try_singles() {
  const std::vector<std::uint32_t>& held = held_[heavy_];
  for (const std::uint32_t token : held) {
    const std::uint32_t home = home_[token];
    if (home != none && home != heavy_ && consider({&token, 1}, {}, home)) {
      return true;
    }
  }
  const double excess = least_.load(heavy_) - options_.goal;
  const double half = (least_.load(heavy_) - least_.load(least_.top())) / 2;
  for (const double wanted : {excess, half}) {  // the lightest that is enough, and what is nearest to one half
    const auto below = std::ranges::partition_point(held, [&](std::uint32_t token) { return loads_[token] >= wanted; });
    if ((below != held.begin() && try_give({&*(below - 1), 1})) || (below != held.end() && try_give({&*below, 1}))) {
      return true;
    }
  }
  const std::size_t stride = held.size() / offered_max + 1;
  for (std::size_t i = 0; i < held.size() && options_.tries > 0; i += stride) {
    if (try_exchange({&held[i], 1})) {
      return true;
    }
  }
  return std::ranges::any_of(held, [&](const std::uint32_t& token) { return try_pairs({&token, 1}); });
}

/// The same for two or three at once, where there are few.
bool Sharing::try_several(std::size_t count) {
  const std::vector<std::uint32_t>& held = held_[heavy_];
  if (held.size() < count || held.size() > (count == 2 ? 16 : 8)) {
    return false;
  }
  std::array<std::uint32_t, 3> give{};
  const std::span<const std::uint32_t> all{give.data(), count};
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (std::size_t j = i + 1; j < held.size(); ++j) {
      give = {held[i], held[j], none};
      if (count == 2) {
        if (try_give(all) || try_exchange(all) || try_pairs(all)) {
          return true;
        }
        continue;
      }
      for (std::size_t k = j + 1; k < held.size(); ++k) {
        give[2] = held[k];
        if (try_give(all) || try_exchange(all) || try_pairs(all)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool Sharing::try_give(std::span<const std::uint32_t> give) {
  return least_.top() != heavy_ && consider(give, {}, least_.top());
}

/// For which single object of another side? What goes over should be what is too much or, where no side has so much
/// room, what the lightest can take, or parts of it.
bool Sharing::try_exchange(std::span<const std::uint32_t> give) {
  const double sum = sum_of(give, loads_);
  const double best = amount(least_.load(heavy_), least_.load(least_.top()), options_.goal);
  return std::ranges::any_of(parts, [&](double part) { return try_around(give, sum - part * best, sum); });
}

/// For an object of the load `wanted`, or a little lighter, of which the partner must have more room, or a little
/// heavier?
bool Sharing::try_around(std::span<const std::uint32_t> give, double wanted, double sum) {
  const double most = least_.load(heavy_);
  const double least = least_.load(least_.top());
  const auto place = std::ranges::partition_point(loads_, [&](double load) { return load > wanted; });
  const auto begin = static_cast<std::size_t>(place - loads_.begin());
  for (std::size_t i = begin; i < std::min(begin + window, loads_.size()); ++i) {
    if (least + sum - loads_[i] >= best_.cost) {
      break;  // no side has so much room
    }
    const auto token = static_cast<std::uint32_t>(i);
    if (is_promising(sum - loads_[i], owner_[i]) && consider(give, {&token, 1}, owner_[i])) {
      return true;
    }
  }
  for (std::size_t i = begin; i-- > begin - std::min(begin, window / 2);) {
    if (most - sum + loads_[i] >= best_.cost) {
      break;
    }
    const auto token = static_cast<std::uint32_t>(i);
    if (is_promising(sum - loads_[i], owner_[i]) && consider(give, {&token, 1}, owner_[i])) {
      return true;
    }
  }
  return false;
}

/// For which two objects of another side?
bool Sharing::try_pairs(std::span<const std::uint32_t> give) {
  const double sum = sum_of(give, loads_);
  const double wanted = sum - amount(least_.load(heavy_), least_.load(least_.top()), options_.goal);
  const auto is_there = [&](const PairIndex::Pair& pair) { return owner_[pair.first] == owner_[pair.second]; };
  return pairs_.walk(wanted, pair_window, is_there, [&](const PairIndex::Pair& pair) {
    const std::array<std::uint32_t, 2> get{pair.first, pair.second};
    return is_promising(sum - pair.sum, owner_[pair.first]) && consider(give, get, owner_[pair.first]);
  });
}

/// The last resort: a side with which dividing all that both have helps. The lightest first; where both have few
/// objects, which takes little time, all.
bool Sharing::share_with_any() {
  constexpr std::size_t partners_with_many = 64;
  constexpr std::size_t few = 10;
  std::vector<std::uint32_t> partners(sides_.size());
  std::iota(partners.begin(), partners.end(), 0U);
  std::ranges::sort(partners, [&](std::uint32_t one, std::uint32_t other) {
    return std::pair{least_.load(one), one} < std::pair{least_.load(other), other};
  });
  std::size_t with_many = 0;
  return std::ranges::any_of(partners, [&](std::uint32_t light) {
    const bool are_few = held_[heavy_].size() + held_[light].size() <= few;
    with_many += are_few ? 0 : 1;
    return light != heavy_ && options_.tries > 0 && (are_few || with_many <= partners_with_many) &&
           share_with(heavy_, light);
  });
}

bool Sharing::share_with(std::uint32_t heavy, std::uint32_t light) {
  std::vector<std::uint32_t> both;
  std::ranges::merge(held_[heavy], held_[light], std::back_inserter(both));
  std::vector<Token> tokens;
  std::vector<char> way;
  for (const std::uint32_t token : both) {
    tokens.push_back(tokens_[token]);
    way.push_back(owner_[token] == heavy ? 1 : 0);
  }
  options_.tries -= std::min<std::uint64_t>(options_.tries, 20 * both.size());
  const double most = least_.load(heavy);
  const DivideOptions how{
      .moved = options_.moved, .tolerance = least_part * (most - options_.goal) / most, .even = options_.goal};
  if (!divide(tokens, sides_[heavy], sides_[light], way, how)) {
    return false;
  }
  for (std::size_t i = 0; i < both.size(); ++i) {
    const std::uint32_t to = way[i] != 0 ? heavy : light;
    if (owner_[both[i]] != to) {
      move(both[i], to);
    }
  }
  return true;
}

/// What may go home without harm does.
void Sharing::send_home() {
  const double limit = std::max(options_.goal, cost_max());
  for (std::uint32_t token = 0; token < tokens_.size(); ++token) {
    const std::uint32_t home = home_[token];
    if (home != none && home != owner_[token] && has_room(home, tokens_[token].bytes) &&
        least_.load(home) + loads_[token] <= limit) {
      move(token, home);
    }
  }
}

void share_out(const Problem& problem, Placement& placement, const ShareOutOptions& options) {
  const std::vector<double> loads = fixed_loads(problem);
  const std::vector<double> bytes = fixed_bytes(problem);
  std::vector<double> before(problem.rank_count, 0.0);
  std::vector<std::vector<Token>> tokens(problem.rank_count);
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const Object& object = problem.objects[i];
    before[object.rank.value()] += object.bytes;
    if (object.is_migratable) {
      tokens[placement[i].value()].push_back({object.load, object.bytes, object.rank, i});
    }
  }
  std::vector<Side> sides;
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    sides.push_back({Rank{rank}, loads[rank], bytes[rank], std::max(before[rank], problem.memory_max)});
  }
  const double goal = load_bound(problem) * (1 + options.tolerance);
  Sharing sharing{std::move(sides), tokens, {.goal = goal, .moved = problem.weights.moved, .tries = options.tries}};
  if (!sharing.run()) {
    return;
  }
  tokens = sharing.tokens();
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    for (const Token& token : tokens[rank]) {
      placement[token.number] = Rank{rank};
    }
  }
}

}  // namespace plait::data::balance::detail
