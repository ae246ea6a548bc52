// SPDX-License-Identifier: Apache-2.0
#include "pic/layout.hpp"

namespace pic {

namespace {

template <int D>
Division<D> divide_blocks(const Division<D>& blocks, const Place<D>& cells, int per_block) {
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
    : blocks{grid.cells, best_parts<D>(grid.cells, ranks)},
      patches{divide_blocks(blocks, grid.cells, patches_per_rank)} {}

template <int D>
int Layout<D>::rank_of(std::int32_t patch) const {
  Place<D> place = patches.place(patch);
  for (int d = 0; d < D; ++d) {
    place[d] /= patches.parts()[d] / blocks.parts()[d];
  }
  return blocks.part(place);
}

template struct Layout<2>;
template struct Layout<3>;

}  // namespace pic
