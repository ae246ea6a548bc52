// SPDX-License-Identifier: Apache-2.0
#include "pic/static_way.hpp"

#include <algorithm>
#include <cstring>

#include "plait/base/error.hpp"

#include "pic/timer.hpp"
#include "pic/totals.hpp"
#include "pic/transfer.hpp"

namespace pic {

namespace {

template <int D>
Division<D> cut_blocks(const Division<D>& blocks, const Place<D>& cells, int per_block) {
  Place<D> smallest{};
  for (int d = 0; d < D; ++d) {
    smallest[d] = cells[d] / blocks.parts()[d];
  }
  Place<D> parts = best_parts<D>(smallest, per_block);
  for (int d = 0; d < D; ++d) {
    parts[d] *= blocks.parts()[d];
  }
  return {cells, parts};
}

}  // namespace

template <int D>
Layout<D>::Layout(const Grid<D>& grid, int ranks, int patches_per_rank)
    : blocks{grid.cells, best_parts<D>(grid.cells, ranks)}, patches{cut_blocks(blocks, grid.cells, patches_per_rank)} {}

template <int D>
int Layout<D>::rank_of(std::int32_t patch) const {
  Place<D> place = patches.place(patch);
  for (int d = 0; d < D; ++d) {
    place[d] /= patches.parts()[d] / blocks.parts()[d];
  }
  return blocks.part(place);
}

template <int D>
StaticWay<D>::StaticWay(Problem<D> problem, int patches_per_rank, Ranks& ranks, PoissonOptions poisson)
    : problem_{std::move(problem)},
      ranks_{ranks},
      layout_{problem_.physics.grid, ranks.count(), patches_per_rank},
      solver_{problem_.physics, layout_.blocks, ranks, poisson},
      out_(static_cast<std::size_t>(ranks.count())),
      in_(static_cast<std::size_t>(ranks.count())) {
  for (std::int32_t patch = 0; patch < layout_.patches.count(); ++patch) {
    if (layout_.rank_of(patch) == ranks.self()) {
      numbers_.push_back(patch);
      load(problem_, patches_.emplace_back(layout_.patches.box(patch), problem_.physics));
    }
  }
  felt_ = plan(Nodes::felt);
  deposited_ = plan(Nodes::deposited);
  if (problem_.physics.solve != Solve::nothing) {
    collect_charge();
  }
  solver_.start();
}

template <int D>
typename StaticWay<D>::Copies StaticWay<D>::plan(Nodes nodes) const {
  const Physics<D>& physics = problem_.physics;
  const std::int32_t guard = nodes == Nodes::felt ? physics.field_guard() : physics.current_guard();
  const auto count = static_cast<std::size_t>(ranks_.count());
  Copies copies{std::vector<std::vector<Copy>>(count), std::vector<std::vector<Copy>>(count)};
  std::size_t mine = 0;
  for (std::int32_t patch = 0; patch < layout_.patches.count(); ++patch) {
    const int owner = layout_.rank_of(patch);
    const Box<D> region = layout_.patches.box(patch).grown(guard, guard + 1);
    const Beyond beyond = nodes == Nodes::felt ? Beyond::nearest : Beyond::nothing;
    for (const Piece<D>& piece : pieces_of(region, physics.grid, layout_.blocks, beyond)) {
      if (owner == ranks_.self()) {
        copies.of_patches[static_cast<std::size_t>(piece.part)].push_back({mine, piece.region});
      }
      if (piece.part == ranks_.self()) {
        copies.of_block[static_cast<std::size_t>(owner)].push_back({0, piece.region.shifted(piece.shift)});
      }
    }
    mine += owner == ranks_.self() ? 1 : 0;
  }
  return copies;
}

template <int D>
Patch<D>& StaticWay<D>::local(std::int32_t patch) {
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), patch);
  plait::expect(found != numbers_.end() && *found == patch, "particles are sent to the rank that has their patch");
  return patches_[static_cast<std::size_t>(found - numbers_.begin())];
}

template <int D>
void StaticWay<D>::fields_to_patches() {
  for (std::size_t r = 0; r < out_.size(); ++r) {
    out_[r].clear();
    for (const Copy& copy : felt_.of_block[r]) {
      pack(solver_.fields(), copy.region, out_[r]);
    }
    std::size_t values = 0;
    for (const Copy& copy : felt_.of_patches[r]) {
      values += static_cast<std::size_t>(copy.region.count());
    }
    in_[r].resize(values * sizeof(NodeField));
  }
  ranks_.exchange(out_, in_);
  for (std::size_t r = 0; r < in_.size(); ++r) {
    std::span<const std::byte> rest = in_[r];
    for (const Copy& copy : felt_.of_patches[r]) {
      rest = unpack(patches_[copy.patch].fields, copy.region, rest);
    }
  }
}

template <int D>
template <class T>
void StaticWay<D>::deposits_to_block(Tile<D, T> Patch<D>::* from, Tile<D, T>& to) {
  for (std::size_t r = 0; r < out_.size(); ++r) {
    out_[r].clear();
    for (const Copy& copy : deposited_.of_patches[r]) {
      pack(patches_[copy.patch].*from, copy.region, out_[r]);
    }
    std::size_t values = 0;
    for (const Copy& copy : deposited_.of_block[r]) {
      values += static_cast<std::size_t>(copy.region.count());
    }
    in_[r].resize(values * sizeof(T));
  }
  ranks_.exchange(out_, in_);
  for (std::size_t r = 0; r < in_.size(); ++r) {
    std::span<const std::byte> rest = in_[r];
    for (const Copy& copy : deposited_.of_block[r]) {
      rest = add_packed(to, copy.region, rest);
    }
  }
}

template <int D>
void StaticWay<D>::leavers_to_patches() {
  for (plait::Bytes& bytes : out_) {
    bytes.clear();
  }
  // A message is particles, one after the other: where each belongs follows from its place.
  for (const Migrant<D>& particle : leavers_) {
    const std::int32_t patch = layout_.patches.part_of_cell(cell_of<D>(particle.position));
    plait::Bytes& bytes = out_[static_cast<std::size_t>(layout_.rank_of(patch))];
    const auto* const first = reinterpret_cast<const std::byte*>(&particle);
    bytes.insert(bytes.end(), first, first + sizeof particle);
  }
  leavers_.clear();
  ranks_.exchange_unknown(out_, in_);
  for (const plait::Bytes& bytes : in_) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Migrant<D>)) {
      Migrant<D> particle;
      std::memcpy(&particle, bytes.data() + at, sizeof particle);
      take<D>(local(layout_.patches.part_of_cell(cell_of<D>(particle.position))), {&particle, 1});
    }
  }
}

template <int D>
void StaticWay<D>::collect_charge() {
  solver_.clear();
  {
    const Timer timer{profile_.particles};
    for (Patch<D>& patch : patches_) {
      deposit_charge(patch, problem_.physics);
    }
  }
  const Timer timer{profile_.hand_over};
  deposits_to_block(&Patch<D>::charge, solver_.charge());
}

template <int D>
void StaticWay<D>::step() {
  if (problem_.physics.forces == Forces::fields) {
    const Timer timer{profile_.hand_over};
    fields_to_patches();
  }
  {
    const Timer timer{profile_.particles};
    for (Patch<D>& patch : patches_) {
      move_particles(problem_, patch, steps_, leavers_);
    }
  }
  {
    const Timer timer{profile_.migration};
    leavers_to_patches();
  }
  if (problem_.physics.solve == Solve::electrostatic) {
    collect_charge();
  } else if (problem_.physics.solve == Solve::electromagnetic) {
    const Timer timer{profile_.hand_over};
    solver_.clear();
    deposits_to_block(&Patch<D>::current, solver_.current());
  }
  const Timer timer{profile_.solve};
  solver_.step(++steps_);
}

template <int D>
Totals StaticWay<D>::totals() {
  PartialTotals<D> mine;
  for (const Patch<D>& patch : patches_) {
    mine.add(problem_, patch, steps_);
  }
  return mine.sum(solver_, ranks_);
}

template <int D>
double StaticWay<D>::gauss_error() {
  if (problem_.physics.solve == Solve::nothing) {
    return 0;
  }
  collect_charge();
  return solver_.gauss_error();
}

template <int D>
std::uint64_t StaticWay<D>::local_particles() const {
  std::uint64_t count = 0;
  for (const Patch<D>& patch : patches_) {
    count += patch.particle_count();
  }
  return count;
}

template <int D>
std::vector<const Patch<D>*> StaticWay<D>::local_patches() const {
  std::vector<const Patch<D>*> patches;
  for (const Patch<D>& patch : patches_) {
    patches.push_back(&patch);
  }
  return patches;
}

template struct Layout<2>;
template struct Layout<3>;
template <int D>
void StaticWay<D>::go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) {
  steps_ = steps;
  patches_.front().absorbed += absorbed;
  leavers_ = std::move(particles);
  leavers_to_patches();
}

template class StaticWay<2>;
template class StaticWay<3>;

}  // namespace pic
