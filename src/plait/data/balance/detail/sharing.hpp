// SPDX-License-Identifier: Apache-2.0
// How many ranks divide the objects of all, computed on one rank.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "plait/data/balance/detail/divide.hpp"
#include "plait/data/balance/detail/load_order.hpp"
#include "plait/data/balance/detail/pair_index.hpp"
#include "plait/data/balance/problem.hpp"

namespace plait::data::balance::detail {

struct SharingOptions {
  double goal = 0;                   ///< A rank with at most this cost is good enough.
  double moved = 0;                  ///< Cost of a byte away from home, in seconds.
  std::uint64_t tries = 10'000'000;  ///< Of exchanges, some 10 ns each.
  /// If more than this part of all load must move, all objects are placed anew, the heaviest first, so that every rank
  /// also has light ones. For ranks that share again with others: heavy objects alone cannot make loads even.
  double anew = 2;
};

/// Brings every rank's cost to the goal with few moves. First each rank above the goal gives away the fewest objects
/// that suffice, the heaviest first, to where they fit best. Then the rank with most gives up to three objects for
/// none, one or two of another rank: the fewest that bring both below the goal, or else those that help most. Where no
/// exchange helps, it divides all it has with another (`divide`); where that does not help either, it waits for the
/// exchanges of others. At the end, objects that fit at home return there.
class Sharing {
 public:
  /// `sides[i]` has `tokens[i]`, in any order.
  Sharing(std::vector<Side> sides, const std::vector<std::vector<Token>>& tokens, const SharingOptions& options);

  /// Runs until all ranks are good enough, nothing helps, or the tries are used up. Never increases the largest cost.
  /// Returns whether anything has changed.
  bool run();
  [[nodiscard]] double cost_max() const { return std::ranges::max(least_.loads()); }
  /// By side.
  [[nodiscard]] std::vector<std::vector<Token>> tokens() const;

 private:
  static constexpr std::uint32_t none = ~0U;
  /// What the heavy side gives and gets, and the larger cost of both sides then.
  struct Exchange {
    double cost = 0;
    std::array<std::uint32_t, 3> give{none, none, none};
    std::array<std::uint32_t, 2> get{none, none};
    std::uint32_t partner = none;
  };

  void shed();
  [[nodiscard]] std::vector<std::uint32_t> take_excess();
  void restore(const std::vector<std::uint32_t>& owners);
  [[nodiscard]] bool step();
  [[nodiscard]] bool try_singles();
  [[nodiscard]] bool try_several(std::size_t count);
  [[nodiscard]] bool try_give(std::span<const std::uint32_t> give);
  [[nodiscard]] bool try_exchange(std::span<const std::uint32_t> give);
  [[nodiscard]] bool try_around(std::span<const std::uint32_t> give, double wanted, double sum);
  [[nodiscard]] bool try_pairs(std::span<const std::uint32_t> give);
  [[nodiscard]] bool is_promising(double more, std::uint32_t partner);
  [[nodiscard]] bool consider(std::span<const std::uint32_t> give,
                              std::span<const std::uint32_t> get,
                              std::uint32_t partner);
  [[nodiscard]] bool share_with_any();
  [[nodiscard]] bool share_with(std::uint32_t heavy, std::uint32_t light);
  void send_home();

  [[nodiscard]] bool has_room(std::uint32_t side, double more) const {
    return bytes_[side] + more <= sides_[side].bytes_max;
  }
  [[nodiscard]] double cost_on(std::uint32_t side, std::uint32_t token) const {
    return loads_[token] + (home_[token] == side ? 0 : tokens_[token].bytes * options_.moved);
  }
  void move(std::uint32_t token, std::uint32_t to);
  void set_cost(std::uint32_t side, double cost);
  void add_up();

  SharingOptions options_;
  std::vector<Side> sides_;
  std::vector<Token> tokens_;                     ///< The heaviest first; numbers of tokens are places here.
  std::vector<double> loads_;                     ///< Of tokens.
  std::vector<std::uint32_t> home_;               ///< Of tokens: a side, or none.
  std::vector<std::uint32_t> owner_;              ///< Of tokens: a side.
  std::vector<std::vector<std::uint32_t>> held_;  ///< By side: its tokens, rising.
  std::vector<double> bytes_;                     ///< By side.
  RankHeap<std::less<>> least_;                   ///< Costs of sides.
  RankHeap<std::greater<>> most_;                 ///< The same, but for those set aside.
  std::vector<std::uint32_t> aside_;
  std::uint64_t changes_ = 0;
  PairIndex pairs_;  ///< Of sides with few tokens, where all have few.

  std::uint32_t heavy_ = 0;  ///< Of the present step, as are those below.
  Exchange best_;
};

/// Improves `placement`, up to `tolerance` above the bound (`load_bound`).
void share_out(const Problem& problem,
               Placement& placement,
               double tolerance = 1e-3,
               std::uint64_t tries = SharingOptions{}.tries);

}  // namespace plait::data::balance::detail
