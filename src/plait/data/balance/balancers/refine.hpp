// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// Moves few objects: each rank with too much load gives away the fewest that suffice, to where they fit best. Then the
/// rank with most load exchanges a few objects with another, the fewest that help, until all are within the tolerance,
/// nothing helps, or the tries are used up (`detail::Sharing`). With few objects it tries all placements, by branch and
/// bound, as far as the tries reach.
///
/// Ignores edges; where these cost anything, it starts from the placement of `Greedy`, which does not. Cost: objects
/// * log(objects), and at most 10 ns a try: with two or three objects a rank, quality costs time.
class Refine final : public Balancer {
 public:
  /// Options: `from`, where it starts: `now`, so that few objects move, or `greedy`; `tolerance` above the bound
  /// (`load_bound`), where it stops; `tries`, of exchanges in all.
  explicit Refine(Settings& settings);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Decision decide(const Problem& problem) const override;

 private:
  std::size_t from_;
  double tolerance_;
  std::uint32_t tries_;
};

}  // namespace plait::data::balance
