// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "plait/plait.hpp"

#include "pic/parallel/home_tiles.hpp"
#include "pic/parallel/moving_patch.hpp"
#include "pic/parallel/options.hpp"
#include "pic/static_way.hpp"
#include "pic/way.hpp"

namespace pic {

/// The particle phase on a collection of patches, the solver a plain MPI program as before: fields are lent to the
/// patches wherever they are, particles go from patch to patch as messages, and charges and currents are given back.
///
/// With a balancer, patches move between ranks when the seconds that they were measured to take make that worth it; the
/// solver keeps its blocks and does not notice.
template <int D>
class CollectionWay final : public GridWay<D> {
 public:
  /// Collective; runtime and `ranks`, which are those of the runtime in the same order, are borrowed. Throws:
  /// `plait::Error` for a balancer that is not there.
  CollectionWay(Problem<D> problem,
                const BalanceOptions& options,
                plait::Runtime& runtime,
                Ranks& ranks,
                PoissonOptions poisson = {});
  ~CollectionWay() override;

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
  /// What patches have cost while they were on this rank, since this was last asked, in order of patches.
  [[nodiscard]] std::vector<plait::data::ElementLoad> take_loads();

 private:
  struct PatchCost {
    double seconds = 0;
    std::map<plait::data::ElementId, std::uint64_t> sent;  ///< Bytes, by patch.
  };

  [[nodiscard]] plait::Rank home(plait::data::ElementId id) const;
  [[nodiscard]] plait::data::LendSettings<Patch<D>> lend_settings();
  [[nodiscard]] plait::data::balance::RebalanceOptions rebalance_options(const BalanceOptions& options) const;
  /// Else only the particles are worked on.
  [[nodiscard]] bool has_fields() const noexcept { return problem_.physics.solve != Solve::nothing; }
  void lend();
  void move();
  void collect_charge();
  void note_phase(const plait::data::PhaseReport& phase);
  void note_loads();
  void balance();
  void gather_patches(std::span<const Departure<D>> departures);

  Problem<D> problem_;
  Ranks& ranks_;
  plait::trace::Recorder& trace_;
  double worker_count_;
  Layout<D> layout_;
  Solver<D> solver_;
  HomeTiles<D> home_;
  std::unique_ptr<plait::data::balance::Balancer> balancer_;
  std::uint64_t balance_steps_;
  plait::data::Collection<MovingPatch<D>> patches_;
  plait::data::Lender<Patch<D>> lender_;
  plait::data::Rebalancer rebalancer_;
  bool is_lent_ = false;  ///< From one balancing to the next, where there are no fields.
  std::uint64_t steps_ = 0;
  std::map<plait::data::ElementId, PatchCost> costs_;
  Profile profile_;
  std::vector<BalanceNote> notes_;
};

}  // namespace pic
