// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/id.hpp"

#include "pic/home_tiles.hpp"

namespace pic {

/// Brings tiles from where patches are at home to where they are now, and back. A patch at home gets the home's own
/// tile, without a copy. What ranks exchange follows from the places, which all know.
///
/// All calls are collective. `places`: of every patch. `here`: the patches on this rank, by rising number, with tiles.
template <int D>
class TileLender {
 public:
  /// All are borrowed.
  TileLender(const Layout<D>& layout, HomeTiles<D>& home, Ranks& ranks) : layout_{layout}, home_{home}, ranks_{ranks} {}

  template <class T>
  void lend(Tile<D, T> Patch<D>::* tile, std::span<const plait::Rank> places, const std::vector<Patch<D>*>& here) {
    const Away<T> away = split(tile, places, here);
    move(away.of_home, away.here);
  }
  template <class T>
  void give_back(Tile<D, T> Patch<D>::* tile, std::span<const plait::Rank> places, const std::vector<Patch<D>*>& here) {
    const Away<T> away = split(tile, places, here);
    move(away.here, away.of_home);
  }

 private:
  template <class T>
  using TilesByRank = std::vector<std::vector<Tile<D, T>*>>;
  /// Tiles of patches that are not at home: those at home on this rank by where they are, those here by their home.
  template <class T>
  struct Away {
    TilesByRank<T> of_home;
    TilesByRank<T> here;
  };

  /// Swaps the tiles of patches that are at home.
  template <class T>
  [[nodiscard]] Away<T> split(Tile<D, T> Patch<D>::* tile,
                              std::span<const plait::Rank> places,
                              const std::vector<Patch<D>*>& here) {
    const auto self = static_cast<std::size_t>(ranks_.self());
    const auto ranks = static_cast<std::size_t>(ranks_.count());
    Away<T> away{TilesByRank<T>(ranks), TilesByRank<T>(ranks)};
    auto next = here.begin();
    for (std::size_t i = 0; i < home_.patches().size(); ++i) {
      const std::int32_t number = home_.numbers()[i];
      Tile<D, T>& at_home = home_.patches()[i].*tile;
      if (const std::size_t place = places[static_cast<std::size_t>(number)].value(); place != self) {
        away.of_home[place].push_back(&at_home);
        continue;
      }
      next = std::find_if(next, here.end(), [&](const Patch<D>* patch) { return number_of(*patch) == number; });
      std::swap((*next)->*tile, at_home);
    }
    for (Patch<D>* const patch : here) {
      if (const auto home = static_cast<std::size_t>(layout_.rank_of(number_of(*patch))); home != self) {
        away.here[home].push_back(&(patch->*tile));
      }
    }
    return away;
  }

  [[nodiscard]] std::int32_t number_of(const Patch<D>& patch) const {
    return layout_.patches.part_of_cell(patch.cells.low);
  }

  template <class T>
  void move(const TilesByRank<T>& out, const TilesByRank<T>& in) {
    exchange_.move<T>(
        ranks_,
        out,
        [](const Tile<D, T>* tile, plait::Bytes& bytes) { pack(*tile, tile->box(), bytes); },
        in,
        [](Tile<D, T>* tile, std::span<const std::byte> bytes) { return unpack(*tile, tile->box(), bytes); });
  }

  const Layout<D>& layout_;
  HomeTiles<D>& home_;
  Ranks& ranks_;
  RegionExchange exchange_;
};

}  // namespace pic
