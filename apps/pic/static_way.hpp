// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pic/problem.hpp"
#include "pic/solver.hpp"
#include "pic/way.hpp"

namespace pic {

/// How the grid is cut for the solver and for the particles.
template <int D>
struct Layout {
  Division<D> blocks;   ///< Of the solver: part p is rank p's.
  Division<D> patches;  ///< Each block cut again into equal numbers.

  /// Throws: `plait::Error` when there are too few cells.
  Layout(const Grid<D>& grid, int ranks, int patches_per_rank);
  /// The rank whose block has that patch.
  [[nodiscard]] int rank_of(std::int32_t patch) const;
};

/// The plain way: every rank keeps the patches of its block for good, and steps are made of three exchanges: fields to
/// patches, particles to their patches, charges and currents to blocks. Nobody balances anything.
template <int D>
class StaticWay final : public GridWay<D> {
 public:
  /// Collective; `ranks` is borrowed for its lifetime.
  StaticWay(Problem<D> problem, int patches_per_rank, Ranks& ranks, PoissonOptions poisson = {});

  void step() override;
  [[nodiscard]] std::uint64_t steps_done() const override { return steps_; }
  [[nodiscard]] Totals totals() override;
  [[nodiscard]] double gauss_error() override;
  [[nodiscard]] const Profile& profile() const override { return profile_; }
  [[nodiscard]] std::uint64_t local_particles() const override;

  [[nodiscard]] const Problem<D>& problem() const override { return problem_; }
  [[nodiscard]] Solver<D>& solver() override { return solver_; }
  [[nodiscard]] std::vector<const Patch<D>*> local_patches() const override;
  void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) override;
  /// For tests.
  [[nodiscard]] std::vector<Patch<D>>& patches() noexcept { return patches_; }

 private:
  /// Nodes of one patch on one rank's block.
  struct Copy {
    std::size_t patch = 0;  ///< Which of this rank's patches; meaningless at the block's end.
    Box<D> region;          ///< In the coordinates of whichever side this rank is.
  };
  /// By rank: what of this rank's patches is on its block, and what of this rank's block is in its patches. Both
  /// ranks list the same in the same order.
  struct Copies {
    std::vector<std::vector<Copy>> of_patches;
    std::vector<std::vector<Copy>> of_block;
  };

  enum class Nodes : std::uint8_t { felt, deposited };
  [[nodiscard]] Copies plan(Nodes nodes) const;
  void fields_to_patches();
  void leavers_to_patches();
  template <class T>
  void deposits_to_block(Tile<D, T> Patch<D>::* from, Tile<D, T>& to);
  void collect_charge();
  [[nodiscard]] Patch<D>& local(std::int32_t patch);

  Problem<D> problem_;
  Ranks& ranks_;
  Layout<D> layout_;
  Solver<D> solver_;
  std::vector<std::int32_t> numbers_;  ///< Of this rank's patches, rising.
  std::vector<Patch<D>> patches_;
  Copies felt_;
  Copies deposited_;
  std::vector<Migrant<D>> leavers_;
  std::vector<plait::Bytes> out_;  ///< By rank, as `in_`.
  std::vector<plait::Bytes> in_;
  std::uint64_t steps_ = 0;
  Profile profile_;
};

}  // namespace pic
