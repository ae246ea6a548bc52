// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace plait::replay {

/// Flows that share links max-min fairly: no flow can get a higher rate unless a flow of equal or lower rate loses.
///
/// Rates are found by progressive filling (Bertsekas, Gallager, "Data Networks", 6.5.2): the link with the smallest
/// share for each of its open flows settles them, then the next link. The share of a link only grows while others
/// settle, so it is recomputed only when the link is at the top of the heap. Cost: flows times the length of their
/// routes, and a heap of links. After a change, only flows that share links with it, directly or indirectly, need to be
/// settled.
class MaxMin {
 public:
  using Flow = std::uint32_t;

  /// `capacities`: of each link. `route_max`: links of the longest route.
  MaxMin(std::vector<double> capacities, std::uint32_t route_max);

  /// Adds a flow; its rate is 0 until it is settled. Expects: no link twice.
  Flow add(std::span<const std::uint32_t> route);
  void remove(Flow flow);

  [[nodiscard]] double rate(Flow flow) const noexcept { return rates_[flow]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// All numbers of flows are below this.
  [[nodiscard]] std::size_t flow_bound() const noexcept { return rates_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> route(Flow flow) const noexcept {
    return {routes_.data() + (std::size_t{flow} << shift_), lengths_[flow]};
  }

  /// Finds the flows that share links with those of `link`, directly or indirectly. Stops and returns false if there
  /// are more than `flows_max`.
  [[nodiscard]] bool find(std::uint32_t link, std::size_t flows_max);
  [[nodiscard]] std::span<const Flow> found_flows() const noexcept { return found_flows_; }
  [[nodiscard]] std::span<const std::uint32_t> found_links() const noexcept { return found_links_; }

  /// Settles the flows found. Expects: `find` has returned true.
  void settle_found();
  void settle_all();
  /// Gives a new flow what is left on its links, or about the rate of its neighbours, whose rates do not change.
  void settle_roughly(Flow flow);

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Link {
    double capacity = 0;
    double left = 0;   ///< Capacity that no settled flow uses.
    double level = 0;  ///< Rate of each of the flows that it settled.
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
