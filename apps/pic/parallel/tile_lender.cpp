// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/tile_lender.hpp"

#include <utility>

#include "pic/transfer.hpp"

namespace pic {

namespace {

/// Room for one more tile at the end.
template <class AnyTile>
void add_room(plait::Bytes& bytes, const AnyTile& tile) {
  bytes.resize(bytes.size() + tile.size() * sizeof(*tile.data()));
}

}  // namespace

template <int D>
TileLender<D>::TileLender(const Layout<D>& layout, HomeTiles<D>& home, Ranks& ranks)
    : layout_{layout},
      home_{home},
      ranks_{ranks},
      self_{static_cast<std::size_t>(ranks.self())},
      out_(static_cast<std::size_t>(ranks.count())),
      in_(static_cast<std::size_t>(ranks.count())) {}

template <int D>
std::size_t TileLender<D>::home_of(const Patch<D>& patch) const {
  return static_cast<std::size_t>(layout_.rank_of(layout_.patches.part_of_cell(patch.cells.low)));
}

template <int D>
void TileLender<D>::clear() {
  for (std::size_t rank = 0; rank < out_.size(); ++rank) {
    out_[rank].clear();
    in_[rank].clear();
  }
}

template <int D>
template <class T>
void TileLender<D>::swap_at_home(Tile<D, T> Patch<D>::* tile, const std::vector<Patch<D>*>& here) {
  std::size_t at = 0;
  for (Patch<D>* const patch : here) {
    if (home_of(*patch) == self_) {
      while (home_.numbers()[at] != layout_.patches.part_of_cell(patch->cells.low)) {
        ++at;
      }
      std::swap(patch->*tile, home_.patches()[at].*tile);
    }
  }
}

template <int D>
template <class T>
void TileLender<D>::lend(Tile<D, T> Patch<D>::* tile,
                         std::span<const plait::Rank> places,
                         const std::vector<Patch<D>*>& here) {
  clear();
  for (std::size_t i = 0; i < home_.patches().size(); ++i) {
    const Tile<D, T>& at_home = home_.patches()[i].*tile;
    const std::size_t place = places[static_cast<std::size_t>(home_.numbers()[i])].value();
    if (place != self_) {
      pack(at_home, at_home.box(), out_[place]);
    }
  }
  for (const Patch<D>* const patch : here) {
    if (home_of(*patch) != self_) {
      add_room(in_[home_of(*patch)], patch->*tile);
    }
  }
  swap_at_home(tile, here);
  ranks_.exchange(out_, in_);
  std::vector<std::span<const std::byte>> rest(in_.begin(), in_.end());
  for (Patch<D>* const patch : here) {
    if (home_of(*patch) != self_) {
      auto& from = rest[home_of(*patch)];
      from = unpack(patch->*tile, (patch->*tile).box(), from);
    }
  }
}

template <int D>
template <class T>
void TileLender<D>::give_back(Tile<D, T> Patch<D>::* tile,
                              std::span<const plait::Rank> places,
                              const std::vector<Patch<D>*>& here) {
  clear();
  for (const Patch<D>* const patch : here) {
    if (home_of(*patch) != self_) {
      pack(patch->*tile, (patch->*tile).box(), out_[home_of(*patch)]);
    }
  }
  const auto place_of = [&](std::size_t i) { return places[static_cast<std::size_t>(home_.numbers()[i])].value(); };
  for (std::size_t i = 0; i < home_.patches().size(); ++i) {
    if (place_of(i) != self_) {
      add_room(in_[place_of(i)], home_.patches()[i].*tile);
    }
  }
  swap_at_home(tile, here);
  ranks_.exchange(out_, in_);
  std::vector<std::span<const std::byte>> rest(in_.begin(), in_.end());
  for (std::size_t i = 0; i < home_.patches().size(); ++i) {
    if (place_of(i) != self_) {
      Tile<D, T>& at_home = home_.patches()[i].*tile;
      auto& from = rest[place_of(i)];
      from = unpack(at_home, at_home.box(), from);
    }
  }
}

// Fields, currents and charges.
template class TileLender<2>;
template class TileLender<3>;
#define PIC_LEND(D, T)                                                                      \
  template void TileLender<D>::lend(                                                        \
      Tile<D, T> Patch<D>::*, std::span<const plait::Rank>, const std::vector<Patch<D>*>&); \
  template void TileLender<D>::give_back(                                                   \
      Tile<D, T> Patch<D>::*, std::span<const plait::Rank>, const std::vector<Patch<D>*>&);
PIC_LEND(2, NodeField)
PIC_LEND(2, NodeCurrent)
PIC_LEND(2, Quanta)
PIC_LEND(3, NodeField)
PIC_LEND(3, NodeCurrent)
PIC_LEND(3, Quanta)
#undef PIC_LEND

}  // namespace pic
