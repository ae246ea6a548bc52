// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pic/grid.hpp"
#include "pic/patch.hpp"
#include "pic/solver.hpp"
#include "pic/transfer.hpp"

namespace pic {

/// The tiles of the patches of this rank's block, which is their home. Copies the solver's fields into them, and adds
/// their currents and charges to the solver's. These patches have no particles.
///
/// Tiles overlap, and extend into the blocks of other ranks: those parts are exchanged.
template <int D>
class HomeTiles {
 public:
  HomeTiles(const Physics<D>& physics, const Layout<D>& layout, Ranks& ranks);

  /// In order of numbers, at constant addresses.
  [[nodiscard]] std::span<Patch<D>> patches() noexcept { return patches_; }
  [[nodiscard]] std::span<const std::int32_t> numbers() const noexcept { return numbers_; }

  /// Copies the solver's fields into all tiles. Collective.
  void take_fields(Solver<D>& solver);
  /// Adds the tiles' currents to the solver's. Collective.
  void give_currents(Solver<D>& solver);
  /// Adds the tiles' charges to the solver's. Collective.
  void give_charges(Solver<D>& solver);

 private:
  /// The part of a tile in one block.
  struct Part {
    std::int32_t patch;  ///< Index in `patches_`; unused for another rank's.
    Box<D> tile;
    Box<D> block;
    friend std::size_t value_count(const Part& part) { return static_cast<std::size_t>(part.tile.count()); }
  };
  /// The parts exchanged with each rank, in the same order on both sides.
  struct Plan {
    std::vector<std::vector<Part>> of_tiles;   ///< By rank of the block: parts of this rank's tiles.
    std::vector<std::vector<Part>> of_blocks;  ///< By rank of the tile: parts in this rank's block.
  };

  template <class BoxOf>
  [[nodiscard]] Plan plan(const Physics<D>& physics, const Layout<D>& layout, BoxOf box_of, Beyond beyond) const;
  template <class T>
  void to_blocks(Tile<D, T>& to, Tile<D, T> Patch<D>::* from, const Plan& plan);

  Ranks& ranks_;
  std::vector<Patch<D>> patches_;
  std::vector<std::int32_t> numbers_;
  Plan fields_;
  Plan currents_;
  Plan charges_;
  RegionExchange exchange_;
};

}  // namespace pic
