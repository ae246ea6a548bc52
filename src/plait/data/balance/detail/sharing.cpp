// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/sharing.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance::detail {
namespace {

/// More objects at once are tried only where fewer do not remove this part of the excess.
constexpr double part_that_will_do = 0.4;
/// The cost, in `most_`, of a side that is set aside.
constexpr double aside = -1;
/// An exchange that removes less than this part of the excess is not made.
constexpr double least_part = 0.02;
/// Objects of other ranks that are tried in exchange.
constexpr std::size_t window = 32;
/// Parts of the best amount that are tried, one after the other.
constexpr std::array<double, 4> parts{1, 0.5, 0.25, 0.1};
constexpr std::size_t pair_window = 128;
/// Pairs of objects are taken only from ranks that have at most so many objects.
constexpr std::size_t pairs_of_max = 8;
/// A rank with more objects offers only about so many.
constexpr std::size_t offered_max = 64;

/// The pairs of sides with few tokens, if all have few: exchanges of single tokens do not suffice there.
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

/// The load that the side with most should give away at once.
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
  std::vector<std::pair<std::uint32_t, Token>> all;                 // with their sides
  boost::unordered_flat_map<std::uint32_t, std::uint32_t> side_of;  // by rank
  for (std::uint32_t side = 0; side < sides_.size(); ++side) {
    side_of.emplace(sides_[side].rank.value(), side);
    for (const Token& token : tokens[side]) {
      order.push_back({token.load, static_cast<std::uint32_t>(all.size())});
      all.emplace_back(side, token);
    }
  }
  sort_heaviest_first(order);
  tokens_.reserve(order.size());
  for (const LoadOf& one : order) {
    const auto& [side, token] = all[one.number];
    held_[side].push_back(static_cast<std::uint32_t>(tokens_.size()));
    tokens_.push_back(token);
    loads_.push_back(token.load);
    owner_.push_back(side);
    const auto home = side_of.find(token.home.value());
    home_.push_back(home != side_of.end() ? home->second : none);
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

/// Takes from each side above the goal the lightest token that suffices, or else the heaviest, and so on. A token that
/// would leave the side further below the goal than it is above stays, for exchanges. Returns the heaviest first.
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

/// Moves the excess, the heaviest first, to the side that it brings closest to the goal from below (best fit), or to
/// the side with least load where it fits on none. Undoes all if the largest cost grows, or memory is short.
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
      const auto found =
          std::ranges::find_if(by_cost, [&](const auto& one) { return has_room(one.second, tokens_[token].bytes); });
      has_room_for_all = has_room_for_all && found != by_cost.end();
      side = found != by_cost.end() ? found->second : owner_[token];
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

/// Makes one exchange. Sets a side aside if nothing helps it, as exchanges of others may change that. Returns false
/// when all sides are good enough or set aside, or the tries are used up.
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

/// Whether giving so much more than is returned may help. Where moving costs anything, this is unknown.
bool Sharing::is_promising(double more, std::uint32_t partner) {
  options_.tries -= options_.tries > 0 ? 1 : 0;
  return partner != heavy_ &&
         (options_.moved > 0 || (least_.load(heavy_) - more < best_.cost && least_.load(partner) + more < best_.cost));
}

/// Sets `best_` to this exchange if that is better. Returns whether it brings both sides to the goal.
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

/// Tries to send one object home or to the side with least load, or to exchange it for another.
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
  for (const double wanted : {excess, half}) {  // the lightest that suffices, and the nearest to one half
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

/// As `try_singles`, for two or three objects at once of a side with few.
bool Sharing::try_several(std::size_t count) {
  const std::vector<std::uint32_t>& held = held_[heavy_];
  if (held.size() < count || held.size() > (count == 2 ? 16 : 8)) {
    return false;
  }
  std::array<std::uint32_t, 3> give{};
  const std::span<const std::uint32_t> all{give.data(), count};
  const auto helps = [&] { return try_give(all) || try_exchange(all) || try_pairs(all); };
  for (std::size_t i = 0; i < held.size(); ++i) {
    for (std::size_t j = i + 1; j < held.size(); ++j) {
      give = {held[i], held[j], none};
      if (count == 2 && helps()) {
        return true;
      }
      for (std::size_t k = j + 1; count == 3 && k < held.size(); ++k) {
        give[2] = held[k];
        if (helps()) {
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

/// Tries to exchange `give` for one object of another side. The difference should be the excess or, where no side has
/// so much room, what the lightest can take, or parts of it.
bool Sharing::try_exchange(std::span<const std::uint32_t> give) {
  const double sum = sum_of(give, loads_);
  const double best = amount(least_.load(heavy_), least_.load(least_.top()), options_.goal);
  return std::ranges::any_of(parts, [&](double part) { return try_around(give, sum - part * best, sum); });
}

/// Tries objects with loads near `wanted`: first lighter ones, for which the partner needs more room, then heavier
/// ones.
bool Sharing::try_around(std::span<const std::uint32_t> give, double wanted, double sum) {
  const double most = least_.load(heavy_);
  const double least = least_.load(least_.top());
  const auto place = std::ranges::partition_point(loads_, [&](double load) { return load > wanted; });
  const auto begin = static_cast<std::size_t>(place - loads_.begin());
  const auto helps = [&](std::size_t i) {
    const auto token = static_cast<std::uint32_t>(i);
    return is_promising(sum - loads_[i], owner_[i]) && consider(give, {&token, 1}, owner_[i]);
  };
  for (std::size_t i = begin; i < std::min(begin + window, loads_.size()); ++i) {
    if (least + sum - loads_[i] >= best_.cost) {
      break;  // no side has so much room
    }
    if (helps(i)) {
      return true;
    }
  }
  for (std::size_t i = begin; i-- > begin - std::min(begin, window / 2);) {
    if (most - sum + loads_[i] >= best_.cost) {
      break;
    }
    if (helps(i)) {
      return true;
    }
  }
  return false;
}

/// Tries to exchange `give` for two objects of another side.
bool Sharing::try_pairs(std::span<const std::uint32_t> give) {
  const double sum = sum_of(give, loads_);
  const double wanted = sum - amount(least_.load(heavy_), least_.load(least_.top()), options_.goal);
  const auto is_there = [&](const PairIndex::Pair& pair) { return owner_[pair.first] == owner_[pair.second]; };
  return pairs_.walk(wanted, pair_window, is_there, [&](const PairIndex::Pair& pair) {
    const std::array<std::uint32_t, 2> get{pair.first, pair.second};
    return is_promising(sum - pair.sum, owner_[pair.first]) && consider(give, get, owner_[pair.first]);
  });
}

/// The last resort: tries to divide all objects of the heavy side and another. The lightest first; few partners where
/// both have many objects, as that takes long.
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

/// Sends home the objects that fit there.
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

void share_out(const Problem& problem, Placement& placement, double tolerance, std::uint64_t tries) {
  const std::vector<double> loads = fixed_loads(problem);
  const std::vector<double> bytes = fixed_bytes(problem);
  const std::vector<double> present = rank_bytes(problem, present_placement(problem));
  std::vector<std::vector<Token>> tokens(problem.rank_count);
  for (std::uint32_t i = 0; i < problem.objects.size(); ++i) {
    const Object& object = problem.objects[i];
    if (object.is_migratable) {
      tokens[placement[i].value()].push_back({object.load, object.bytes, object.rank, i});
    }
  }
  std::vector<Side> sides;
  for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
    sides.push_back({Rank{rank}, loads[rank], bytes[rank], std::max(present[rank], problem.memory_max)});
  }
  const double goal = load_bound(problem) * (1 + tolerance);
  Sharing sharing{std::move(sides), tokens, {.goal = goal, .moved = problem.weights.moved, .tries = tries}};
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
