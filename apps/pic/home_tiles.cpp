// SPDX-License-Identifier: Apache-2.0
#include "pic/home_tiles.hpp"

namespace pic {

template <int D>
HomeTiles<D>::HomeTiles(const Physics<D>& physics, const Layout<D>& layout, Ranks& ranks) : ranks_{ranks} {
  for (std::int32_t patch = 0; patch < layout.patches.count(); ++patch) {
    if (layout.rank_of(patch) == ranks.self()) {
      numbers_.push_back(patch);
      patches_.emplace_back(layout.patches.box(patch), physics);
    }
  }
  fields_ = plan(physics, layout, [](const Patch<D>& patch) { return patch.fields.box(); }, Beyond::nearest);
  currents_ = plan(physics, layout, [](const Patch<D>& patch) { return patch.current.box(); }, Beyond::nothing);
  charges_ = plan(physics, layout, [](const Patch<D>& patch) { return patch.charge.box(); }, Beyond::nothing);
}

template <int D>
template <class BoxOf>
auto HomeTiles<D>::plan(const Physics<D>& physics, const Layout<D>& layout, BoxOf box_of, Beyond beyond) const -> Plan {
  const auto ranks = static_cast<std::size_t>(ranks_.count());
  Plan plan{std::vector<std::vector<Part>>(ranks), std::vector<std::vector<Part>>(ranks)};
  std::int32_t own = 0;
  for (std::int32_t patch = 0; patch < layout.patches.count(); ++patch) {
    const int home = layout.rank_of(patch);
    const Box<D> box = box_of(Patch<D>{layout.patches.box(patch), physics});
    for (const Piece<D>& piece : pieces_of(box, physics.grid, layout.blocks, beyond)) {
      const Part part{own, piece.region, piece.region.shifted(piece.shift)};
      if (home == ranks_.self()) {
        plan.of_tiles[static_cast<std::size_t>(piece.part)].push_back(part);
      }
      if (piece.part == ranks_.self()) {
        plan.of_blocks[static_cast<std::size_t>(home)].push_back(part);
      }
    }
    own += home == ranks_.self() ? 1 : 0;
  }
  return plan;
}

template <int D>
template <class T>
void HomeTiles<D>::to_blocks(Tile<D, T>& to, Tile<D, T> Patch<D>::* from, const Plan& plan) {
  exchange_.move<T>(
      ranks_,
      plan.of_tiles,
      [&](const Part& part, plait::Bytes& bytes) {
        pack(patches_[static_cast<std::size_t>(part.patch)].*from, part.tile, bytes);
      },
      plan.of_blocks,
      [&](const Part& part, std::span<const std::byte> bytes) { return add_packed(to, part.block, bytes); });
}

template <int D>
void HomeTiles<D>::take_fields(Solver<D>& solver) {
  exchange_.move<NodeField>(
      ranks_,
      fields_.of_blocks,
      [&](const Part& part, plait::Bytes& bytes) { pack(solver.fields(), part.block, bytes); },
      fields_.of_tiles,
      [&](const Part& part, std::span<const std::byte> bytes) {
        return unpack(patches_[static_cast<std::size_t>(part.patch)].fields, part.tile, bytes);
      });
}

template <int D>
void HomeTiles<D>::give_currents(Solver<D>& solver) {
  to_blocks(solver.current(), &Patch<D>::current, currents_);
}

template <int D>
void HomeTiles<D>::give_charges(Solver<D>& solver) {
  to_blocks(solver.charge(), &Patch<D>::charge, charges_);
}

template class HomeTiles<2>;
template class HomeTiles<3>;

}  // namespace pic
