// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/home_tiles.hpp"

#include "pic/transfer.hpp"

namespace pic {

template <int D>
HomeTiles<D>::HomeTiles(const Physics<D>& physics, const Layout<D>& layout, Ranks& ranks)
    : ranks_{ranks}, out_(static_cast<std::size_t>(ranks.count())), in_(static_cast<std::size_t>(ranks.count())) {
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
void HomeTiles<D>::size_buffers(const std::vector<std::vector<Part>>& incoming) {
  for (std::size_t rank = 0; rank < in_.size(); ++rank) {
    std::size_t values = 0;
    for (const Part& part : incoming[rank]) {
      values += static_cast<std::size_t>(part.tile.count());
    }
    in_[rank].resize(values * sizeof(T));
    out_[rank].clear();
  }
}

template <int D>
template <class T>
void HomeTiles<D>::to_tiles(const Tile<D, T>& from, Tile<D, T> Patch<D>::* to, const Plan& plan) {
  size_buffers<T>(plan.of_tiles);
  for (std::size_t rank = 0; rank < out_.size(); ++rank) {
    for (const Part& part : plan.of_blocks[rank]) {
      pack(from, part.block, out_[rank]);
    }
  }
  ranks_.exchange(out_, in_);
  for (std::size_t rank = 0; rank < in_.size(); ++rank) {
    std::span<const std::byte> rest = in_[rank];
    for (const Part& part : plan.of_tiles[rank]) {
      rest = unpack(patches_[static_cast<std::size_t>(part.patch)].*to, part.tile, rest);
    }
  }
}

template <int D>
template <class T>
void HomeTiles<D>::to_blocks(Tile<D, T>& to, Tile<D, T> Patch<D>::* from, const Plan& plan) {
  size_buffers<T>(plan.of_blocks);
  for (std::size_t rank = 0; rank < out_.size(); ++rank) {
    for (const Part& part : plan.of_tiles[rank]) {
      pack(patches_[static_cast<std::size_t>(part.patch)].*from, part.tile, out_[rank]);
    }
  }
  ranks_.exchange(out_, in_);
  for (std::size_t rank = 0; rank < in_.size(); ++rank) {
    std::span<const std::byte> rest = in_[rank];
    for (const Part& part : plan.of_blocks[rank]) {
      rest = add_packed(to, part.block, rest);
    }
  }
}

template <int D>
void HomeTiles<D>::take_fields(Solver<D>& solver) {
  to_tiles(solver.fields(), &Patch<D>::fields, fields_);
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
