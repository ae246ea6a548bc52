// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace plait::replay {

/// Flows that share links max-min fairly: no flow can have more without one that has less or the same having less
/// still.
///
/// Rates are found by filling (Bertsekas, Gallager, "Data Networks", 6.5.2): the link with the least to give for each
/// of its open flows settles them all, then the next. Links leave the heap late: what a link can give only grows while
/// others settle, so a link is computed again when it comes up. Cost: flows times the length of their routes, and a
/// heap of links. A change is settled for those only that share a link with it, directly or through others.
class MaxMin {
 public:
  using Flow = std::uint32_t;

  /// `capacities`: of each link. `route_max`: links of the longest route.
  MaxMin(std::vector<double> capacities, std::uint32_t route_max);

  /// A new flow; its rate is 0 until it is settled. Expects: no link twice.
  Flow add(std::span<const std::uint32_t> route);
  void remove(Flow flow);

  [[nodiscard]] double rate(Flow flow) const noexcept { return rates_[flow]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Flows are numbered below this.
  [[nodiscard]] std::size_t flow_bound() const noexcept { return rates_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> route(Flow flow) const noexcept {
    return {routes_.data() + (std::size_t{flow} << shift_), lengths_[flow]};
  }

  /// Finds the flows that share a link with `link`, directly or through others: `found_flows()`. False, with part of
  /// them, when there are more than `flows_max`.
  [[nodiscard]] bool find(std::uint32_t link, std::size_t flows_max);
  [[nodiscard]] std::span<const Flow> found_flows() const noexcept { return found_flows_; }
  [[nodiscard]] std::span<const std::uint32_t> found_links() const noexcept { return found_links_; }

  /// Settles the flows found. Expects: `find` has found all.
  void settle_found();
  void settle_all();
  /// Gives a new flow what is left, or about what the others on its links have, and changes none of them.
  void settle_roughly(Flow flow);

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Link {
    double capacity = 0;
    double left = 0;   ///< What no settled flow has.
    double level = 0;  ///< What it gave to each of the flows that it settled.
    std::uint32_t open = 0;
  };

  template <class Links>
  void fill(const Links& links);
  void settle(std::uint32_t link, double level);

  std::uint32_t shift_ = 0;  ///< Routes take 2 ^ this.
  std::size_t count_ = 0;
  std::uint32_t mark_ = 0;
  std::vector<Link> links_;
  std::vector<std::vector<std::uint32_t>> flows_of_;  ///< Of each link: flow << shift_ | place in its route.
  std::vector<double> rates_;
  std::vector<std::uint16_t> lengths_;
  std::vector<std::uint32_t> routes_;
  std::vector<std::uint32_t> places_;  ///< In `flows_of_`, for each link of a route.
  std::vector<std::uint32_t> flow_marks_;
  std::vector<std::uint32_t> link_marks_;
  std::vector<Flow> free_;
  std::vector<Flow> found_flows_;
  std::vector<std::uint32_t> found_links_;
  std::vector<std::pair<double, std::uint32_t>> heap_;
};

}  // namespace plait::replay
