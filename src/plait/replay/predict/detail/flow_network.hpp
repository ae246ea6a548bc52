// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/predict/detail/message_table.hpp"
#include "plait/replay/predict/detail/network.hpp"
#include "plait/replay/predict/detail/places.hpp"
#include "plait/replay/predict/detail/point_network.hpp"
#include "plait/replay/predict/max_min.hpp"
#include "plait/replay/predict/topology.hpp"

namespace plait::replay::predicting {

/// Messages between hosts share the links of their routes, max-min fairly, from the first byte to the last; their
/// latency comes on top. Those within a host go as in `PointNetwork`.
///
/// All that begins or ends at one time is settled together. Few flows that share links are settled at once. Where there
/// are many, they keep their rates until a part of `tolerance` of them has begun or ended, or that part of the mean
/// time which they still need has passed; meanwhile new ones get what is free or about what their neighbours have. So a
/// message costs about 2 / tolerance times the length of its route, whatever the number on their way.
class FlowNetwork final : public Network {
 public:
  explicit FlowNetwork(const NetworkParts& parts);

  void submit(std::uint32_t message, Time now) override;
  void handle(const Event& event) override;
  void end_instant(Time now) override;
  [[nodiscard]] std::size_t bytes() const noexcept override;

 private:
  /// What is left of a flow, at its rate since `since`.
  struct Progress {
    double left = 0;
    double since = 0;
    std::uint32_t message = none;
    std::uint32_t stamp = 0;  ///< Of the one event that is true.
  };

  void begin(std::uint32_t message, Time now);
  void end(std::uint32_t flow, Time now);
  void change(std::uint32_t flow);
  void settle_all(Time now);
  /// `now` is the time of a settlement: flows that end within `window`, at least the first, get events. Returns how far
  /// that reaches.
  template <class Flows>
  double reschedule(const Flows& flows, double now, double window);
  void bring_up(std::uint32_t flow, double now);
  void schedule(std::uint32_t flow, double end);
  void wake(Time at);
  [[nodiscard]] bool may_wait(Time now) const noexcept;

  MessageTable& messages_;
  EventQueue& events_;
  NetworkUser& user_;
  const Topology& topology_;
  Placement placement_;
  Costs between_;
  PointNetwork within_host_;
  double tolerance_;
  MaxMin shares_;
  std::vector<Progress> flows_;
  std::vector<double> old_rates_;
  std::vector<Time> next_begin_;  ///< Of each host: when g lets its interface begin another.
  std::vector<std::uint32_t> changed_links_;
  std::size_t crowded_changes_ = 0;  ///< Of those, the first: they wait until all are settled.
  std::vector<char> is_changed_;
  std::vector<char> is_crowded_;  ///< Links that were found among many flows.
  std::vector<std::uint32_t> begun_;
  std::vector<std::uint32_t> route_;
  std::size_t changes_ = 0;  ///< Since all were settled.
  std::size_t most_flows_ = 0;
  Time settle_at_ = 0;     ///< Until then, many flows may keep their rates.
  Time later_at_ = never;  ///< When those that have no event yet must get one.
  Time alarm_ = never;     ///< When an event for either is due.
  std::size_t scheduled_ = 0;
};

}  // namespace plait::replay::predicting
