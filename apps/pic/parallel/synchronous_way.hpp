// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plait/plait.hpp"

#include "pic/parallel/home_tiles.hpp"
#include "pic/parallel/options.hpp"
#include "pic/parallel/tile_lender.hpp"
#include "pic/static_way.hpp"
#include "pic/way.hpp"

namespace pic {

/// What a plain MPI code does about imbalance: every so many steps all ranks stop, divide the patches anew by the
/// number of their particles, and send them. Every rank knows where every patch is. The solver keeps its blocks.
///
/// No runtime is used; of plait only the balancer, a function.
template <int D>
class SynchronousWay final : public GridWay<D> {
 public:
  /// Collective; `ranks` is borrowed. Throws: `plait::Error` for a balancer that is not there.
  SynchronousWay(Problem<D> problem, const BalanceOptions& options, Ranks& ranks, PoissonOptions poisson = {});
  ~SynchronousWay() override;

  void step() override;
  [[nodiscard]] std::uint64_t steps_done() const override { return steps_; }
  [[nodiscard]] Totals totals() override;
  [[nodiscard]] double gauss_error() override;
  [[nodiscard]] const Profile& profile() const override { return profile_; }
  [[nodiscard]] std::uint64_t local_particles() const override;

  [[nodiscard]] std::span<const BalanceNote> balancings() const override { return notes_; }
  [[nodiscard]] const Problem<D>& problem() const override { return problem_; }
  [[nodiscard]] Solver<D>& solver() override { return solver_; }
  [[nodiscard]] std::vector<const Patch<D>*> local_patches() const override;
  void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) override;

 private:
  [[nodiscard]] Patch<D>& local(std::int32_t patch);
  [[nodiscard]] std::vector<Patch<D>*> here();
  void hand_leavers_over();
  void collect_charge();
  void balance();
  void migrate(const plait::data::balance::Placement& placement);

  Problem<D> problem_;
  Ranks& ranks_;
  Layout<D> layout_;
  Solver<D> solver_;
  HomeTiles<D> home_;
  TileLender<D> lender_;
  std::unique_ptr<plait::data::balance::Balancer> balancer_;
  std::uint64_t balance_steps_;
  std::vector<plait::Rank> places_;    ///< Of every patch, on every rank.
  std::vector<std::int32_t> numbers_;  ///< Of the patches here, rising.
  std::vector<Patch<D>> patches_;
  std::vector<Migrant<D>> leavers_;
  std::vector<plait::Bytes> out_;  ///< By rank, as `in_`.
  std::vector<plait::Bytes> in_;
  std::uint64_t steps_ = 0;
  Profile profile_;
  std::vector<BalanceNote> notes_;
};

}  // namespace pic
