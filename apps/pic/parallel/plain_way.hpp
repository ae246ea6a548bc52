// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "plait/plait.hpp"

#include "pic/parallel/options.hpp"
#include "pic/parallel/tile_lender.hpp"
#include "pic/way.hpp"

namespace pic {

/// The plain MPI way: fields to patches, particles to their patches, charges and currents to blocks, in exchanges that
/// all ranks make together. Every rank keeps the patches of its block; with a balancer, all ranks stop every so many
/// steps, divide the patches anew by the number of their particles, and send them. Every rank knows where every patch
/// is.
///
/// No runtime is used; of plait only the balancer, a function.
template <int D>
class PlainWay final : public GridWay<D> {
 public:
  /// Collective; `ranks` is borrowed. Throws: `plait::Error` for a balancer that does not exist.
  PlainWay(Problem<D> problem, const BalanceOptions& options, Ranks& ranks, PoissonOptions poisson = {});
  ~PlainWay() override;

  void step() override;
  [[nodiscard]] double gauss_error() override;
  [[nodiscard]] std::vector<const Patch<D>*> local_patches() override;
  void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) override;

 private:
  using Base = GridWay<D>;
  using Base::home_, Base::layout_, Base::notes_, Base::problem_, Base::profile_, Base::ranks_, Base::solver_,
      Base::steps_;

  [[nodiscard]] Patch<D>& local(std::int32_t patch);
  [[nodiscard]] std::vector<Patch<D>*> here();
  void hand_leavers_over();
  void collect_charge();
  void balance();
  void migrate(const plait::data::balance::Placement& placement);

  TileLender<D> lender_;
  std::unique_ptr<plait::data::balance::Balancer> balancer_;
  std::uint64_t balance_steps_;
  std::vector<plait::Rank> places_;    ///< Of every patch, on every rank.
  std::vector<std::int32_t> numbers_;  ///< Of the patches here, rising.
  std::vector<Patch<D>> patches_;
  std::vector<Migrant<D>> leavers_;
  std::vector<plait::Bytes> out_;  ///< By rank, as `in_`.
  std::vector<plait::Bytes> in_;
};

}  // namespace pic
