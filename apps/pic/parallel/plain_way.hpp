// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "plait/plait.hpp"

#include "pic/parallel/options.hpp"
#include "pic/way.hpp"

namespace pic {

/// The plain MPI way: all ranks exchange fields, particles, charges and currents in the same calls. Every rank keeps
/// the patches of its block. With a balancer, all ranks periodically stop, place the patches anew by their numbers of
/// particles, and send them. Every rank knows the place of every patch.
///
/// It uses no runtime; of plait only the balancer, a function.
template <int D>
class PlainWay final : public GridWay<D> {
 public:
  /// Collective; borrows `ranks`. Throws: `plait::Error` for a balancer that does not exist.
  PlainWay(Problem<D> problem, const BalanceOptions& options, Ranks& ranks, PoissonOptions poisson = {});

  void step() override;
  [[nodiscard]] double gauss_error() override;
  [[nodiscard]] std::vector<const Patch<D>*> local_patches() override;
  void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) override;

 private:
  using Base = GridWay<D>;
  using Base::home_, Base::layout_, Base::notes_, Base::problem_, Base::profile_, Base::ranks_, Base::solver_,
      Base::steps_;

  enum class To : std::uint8_t { patches, home };
  template <class T>
  void hand_over(Tile<D, T> Patch<D>::* tile, To to);
  void send_leavers();
  void collect_charge();
  void balance();
  void migrate(const plait::data::balance::Placement& placement);

  plait::Rank self_;
  std::unique_ptr<plait::data::balance::Balancer> balancer_;
  std::uint64_t balance_steps_;
  std::vector<plait::Rank> places_;           ///< Of every patch, on every rank.
  std::map<std::int32_t, Patch<D>> patches_;  ///< Those on this rank, by number.
  std::vector<Migrant<D>> leavers_;
  std::vector<plait::Bytes> out_;  ///< By rank, as `in_`.
  std::vector<plait::Bytes> in_;
  RegionExchange exchange_;
};

}  // namespace pic
