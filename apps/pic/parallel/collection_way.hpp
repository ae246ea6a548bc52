// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "plait/plait.hpp"

#include "pic/parallel/moving_patch.hpp"
#include "pic/parallel/options.hpp"
#include "pic/way.hpp"

namespace pic {

/// The particle phase on a collection of patches, beside a plain MPI solver: fields are lent to the patches wherever
/// they are, particles are sent between patches as messages, and charges and currents are given back.
///
/// With a balancer, patches migrate by their measured loads; the solver keeps its blocks.
template <int D>
class CollectionWay final : public GridWay<D> {
 public:
  /// Collective; borrows the runtime and `ranks`, which have the same ranks in the same order. Throws: `plait::Error`
  /// for a balancer that does not exist.
  CollectionWay(Problem<D> problem,
                const BalanceOptions& options,
                plait::Runtime& runtime,
                Ranks& ranks,
                PoissonOptions poisson = {});

  void step() override;
  [[nodiscard]] double gauss_error() override;
  [[nodiscard]] std::vector<const Patch<D>*> local_patches() override;
  void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) override;
  /// The loads of the patches while they were on this rank, since the last call, in order of patches.
  [[nodiscard]] std::vector<plait::data::ElementLoad> take_loads();

 private:
  using Base = GridWay<D>;
  using Base::home_, Base::layout_, Base::notes_, Base::problem_, Base::profile_, Base::ranks_, Base::solver_,
      Base::steps_;

  struct PatchCost {
    double seconds = 0;
    std::map<plait::data::ElementId, std::uint64_t> sent;  ///< Bytes, by patch.
  };

  [[nodiscard]] plait::Rank home(plait::data::ElementId id) const;
  [[nodiscard]] plait::data::LendSettings<Patch<D>> lend_settings();
  [[nodiscard]] plait::data::balance::RebalanceOptions rebalance_options(const BalanceOptions& options) const;
  [[nodiscard]] bool has_fields() const noexcept { return problem_.physics.solve != Solve::nothing; }
  void lend();
  void start_move();
  void collect_charge();
  void wait_for_pieces(plait::data::Transfer transfer);
  void end_phase();
  void note_loads();
  void balance();
  void gather_patches(std::span<const Departure<D>> departures);

  plait::trace::Recorder& trace_;
  double worker_count_;
  std::unique_ptr<plait::data::balance::Balancer> balancer_;
  std::uint64_t balance_steps_;
  plait::data::Collection<MovingPatch<D>> patches_;
  plait::data::Lender<Patch<D>> lender_;
  plait::data::Phase phase_;  ///< Of the last step, until the next one begins.
  plait::data::Rebalancer rebalancer_;
  std::uint64_t steps_noted_ = 0;  ///< Steps whose loads are noted.
  bool is_lent_ = false;           ///< From one balancing to the next, where there are no fields.
  std::map<plait::data::ElementId, PatchCost> costs_;
};

}  // namespace pic
