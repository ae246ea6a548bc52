// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/topology.hpp"

namespace plait::simulate {

/// The ways of messages on the platform of a prediction: L, o, g and G within and between hosts, and the links of its
/// topology, of which each takes messages in the order of their sending.
///
/// Ranks fill the hosts in order. Measured curves of a platform are left out: the engine has a protocol of its own.
class PlatformRoutes final : public net::SimRoutes {
 public:
  /// Throws: `Error` with `bad_input` when the ranks do not fit on the platform.
  PlatformRoutes(const replay::Platform& platform, std::uint32_t rank_count);

  [[nodiscard]] std::uint32_t link_count() const noexcept override { return topology_.link_count(); }
  [[nodiscard]] double per_byte_ns(std::uint32_t link) const noexcept override { return 1 / topology_.capacity(link); }
  [[nodiscard]] net::SimRoute find(Rank from, Rank to) const override;

 private:
  [[nodiscard]] std::uint32_t host_of(Rank rank) const noexcept { return rank.value() / ranks_per_host_; }

  const std::uint32_t ranks_per_host_;
  const replay::Topology topology_;
  const net::LogGP within_;
  const net::LogGP between_;
  mutable std::vector<std::uint32_t> links_;  ///< Of the last way.
};

}  // namespace plait::simulate
