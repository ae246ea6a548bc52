// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/id.hpp"

#include "pic/parallel/home_tiles.hpp"

namespace pic {

/// Brings tiles from where patches are at home to where they are now, and back. A patch at home gets the home's own
/// tile, without a copy. What ranks exchange follows from the places, which all know.
///
/// All calls are collective. `places`: of every patch. `here`: the patches on this rank, by rising number, with tiles.
template <int D>
class TileLender {
 public:
  /// All are borrowed.
  TileLender(const Layout<D>& layout, HomeTiles<D>& home, Ranks& ranks);

  template <class T>
  void lend(Tile<D, T> Patch<D>::* tile, std::span<const plait::Rank> places, const std::vector<Patch<D>*>& here);
  template <class T>
  void give_back(Tile<D, T> Patch<D>::* tile, std::span<const plait::Rank> places, const std::vector<Patch<D>*>& here);

 private:
  [[nodiscard]] std::size_t home_of(const Patch<D>& patch) const;
  void clear();
  /// Swaps the tiles of patches that are at home.
  template <class T>
  void swap_at_home(Tile<D, T> Patch<D>::* tile, const std::vector<Patch<D>*>& here);

  const Layout<D>& layout_;
  HomeTiles<D>& home_;
  Ranks& ranks_;
  std::size_t self_;
  std::vector<plait::Bytes> out_;  ///< By rank, as `in_`.
  std::vector<plait::Bytes> in_;
};

}  // namespace pic
