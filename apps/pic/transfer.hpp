// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"

#include "pic/ranks.hpp"
#include "pic/tile.hpp"

namespace pic {

/// Appends the values of a tile in `box`, x running fastest, to `out`. Expects: `box` is in the tile.
template <int D, class T>
void pack(const Tile<D, T>& tile, const Box<D>& box, plait::Bytes& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(box.count()) * sizeof(T));
  for_each_row(tile, box, [&](const T* first, std::ptrdiff_t count, std::ptrdiff_t done) {
    std::memcpy(out.data() + begin + done * sizeof(T), first, static_cast<std::size_t>(count) * sizeof(T));
  });
}

/// Replaces the values in `box` by packed ones. Returns the rest of `in`. Expects: `in` is long enough.
template <int D, class T>
std::span<const std::byte> unpack(Tile<D, T>& tile, const Box<D>& box, std::span<const std::byte> in) {
  const std::size_t length = static_cast<std::size_t>(box.count()) * sizeof(T);
  plait::expect(in.size() >= length, "a message has the values of all its regions");
  for_each_row(tile, box, [&](T* first, std::ptrdiff_t count, std::ptrdiff_t done) {
    std::memcpy(first, in.data() + done * sizeof(T), static_cast<std::size_t>(count) * sizeof(T));
  });
  return in.subspan(length);
}

/// As `unpack`, but adds the values, which are quanta, so that the order does not matter.
template <int D, class T>
std::span<const std::byte> add_packed(Tile<D, T>& tile, const Box<D>& box, std::span<const std::byte> in) {
  static_assert(sizeof(T) % sizeof(std::int64_t) == 0, "one or more quanta");
  const std::size_t length = static_cast<std::size_t>(box.count()) * sizeof(T);
  plait::expect(in.size() >= length, "a message has the values of all its regions");
  for_each_row(tile, box, [&](T* first, std::ptrdiff_t count, std::ptrdiff_t done) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      std::array<std::int64_t, sizeof(T) / sizeof(std::int64_t)> more{};
      std::array<std::int64_t, sizeof(T) / sizeof(std::int64_t)> all{};
      std::memcpy(more.data(), in.data() + (done + i) * sizeof(T), sizeof(T));
      std::memcpy(all.data(), first + i, sizeof(T));
      for (std::size_t k = 0; k < all.size(); ++k) {
        all[k] += more[k];
      }
      std::memcpy(first + i, all.data(), sizeof(T));
    }
  });
  return in.subspan(length);
}

/// The number of values in a region.
template <int D>
[[nodiscard]] std::size_t value_count(const Box<D>& box) {
  return static_cast<std::size_t>(box.count());
}
template <int D, class T>
[[nodiscard]] std::size_t value_count(const Tile<D, T>* tile) {
  return tile->size();
}

/// Exchanges regions with values of type T between ranks. Reuses its buffers.
class RegionExchange {
 public:
  /// Calls `pack(region, bytes)`, which appends, for each region of `out`, and `unpack(region, bytes)`, which returns
  /// the rest, for each of `in`. Both are by rank; both sides list the same regions in the same order. Collective.
  template <class T, class Out, class Pack, class In, class Unpack>
  void move(Ranks& ranks, const Out& out, const Pack& pack, const In& in, const Unpack& unpack) {
    out_.resize(out.size());
    in_.resize(in.size());
    for (std::size_t r = 0; r < out.size(); ++r) {
      out_[r].clear();
      for (const auto& region : out[r]) {
        pack(region, out_[r]);
      }
      std::size_t values = 0;
      for (const auto& region : in[r]) {
        values += value_count(region);
      }
      in_[r].resize(values * sizeof(T));
    }
    ranks.exchange(out_, in_);
    for (std::size_t r = 0; r < in.size(); ++r) {
      std::span<const std::byte> rest = in_[r];
      for (const auto& region : in[r]) {
        rest = unpack(region, rest);
      }
    }
  }

 private:
  std::vector<plait::Bytes> out_;  ///< By rank, as `in_`.
  std::vector<plait::Bytes> in_;
};

/// Fills the guard nodes of this rank's block with their owners' values. Part p of the division is rank p's. Nodes
/// beyond walls do not change.
template <int D>
class GuardExchange {
 public:
  /// For tiles with `guard` guard nodes on each side.
  GuardExchange(const Grid<D>& grid, const Division<D>& blocks, int self, std::int32_t guard)
      : out_(static_cast<std::size_t>(blocks.count())), in_(static_cast<std::size_t>(blocks.count())) {
    for (std::int32_t block = 0; block < blocks.count(); ++block) {
      const Box<D> own = grid.nodes(blocks.box(block));
      for (const Piece<D>& piece : pieces_of(own.grown(guard, guard), grid, blocks, Beyond::nothing)) {
        if (own.contains(piece.region.low)) {
          continue;
        }
        if (block == self) {
          in_[static_cast<std::size_t>(piece.part)].push_back(piece.region);
        }
        if (piece.part == self) {
          out_[static_cast<std::size_t>(block)].push_back(piece.region.shifted(piece.shift));
        }
      }
    }
  }

  /// Collective.
  template <class T>
  void operator()(Tile<D, T>& tile, Ranks& ranks) {
    exchange_.move<T>(
        ranks,
        out_,
        [&](const Box<D>& box, plait::Bytes& bytes) { pack(tile, box, bytes); },
        in_,
        [&](const Box<D>& box, std::span<const std::byte> bytes) { return unpack(tile, box, bytes); });
  }

 private:
  std::vector<std::vector<Box<D>>> out_;  ///< By rank.
  std::vector<std::vector<Box<D>>> in_;
  RegionExchange exchange_;
};

}  // namespace pic
