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

/// Adds the values of a tile in `box`, x running fastest, to the end of `out`. Expects: `box` lies in the tile.
template <int D, class T>
void pack(const Tile<D, T>& tile, const Box<D>& box, plait::Bytes& out) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(box.count()) * sizeof(T));
  for_each_row(tile, box, [&](const T* first, std::ptrdiff_t count, std::ptrdiff_t done) {
    std::memcpy(out.data() + begin + done * sizeof(T), first, static_cast<std::size_t>(count) * sizeof(T));
  });
}

/// Puts packed values in the place of those in `box`. Returns what is left of `in`.
/// Expects: `in` has as many.
template <int D, class T>
std::span<const std::byte> unpack(Tile<D, T>& tile, const Box<D>& box, std::span<const std::byte> in) {
  const std::size_t length = static_cast<std::size_t>(box.count()) * sizeof(T);
  plait::expect(in.size() >= length, "a message has the values of all its pieces");
  for_each_row(tile, box, [&](T* first, std::ptrdiff_t count, std::ptrdiff_t done) {
    std::memcpy(first, in.data() + done * sizeof(T), static_cast<std::size_t>(count) * sizeof(T));
  });
  return in.subspan(length);
}

/// As `unpack`, but adds; of quanta, so that the order does not matter.
template <int D, class T>
std::span<const std::byte> add_packed(Tile<D, T>& tile, const Box<D>& box, std::span<const std::byte> in) {
  static_assert(sizeof(T) % sizeof(std::int64_t) == 0, "one or more quanta");
  const std::size_t length = static_cast<std::size_t>(box.count()) * sizeof(T);
  plait::expect(in.size() >= length, "a message has the values of all its pieces");
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

/// What one rank sends and receives to fill the nodes around its block of a division with their owners' values. Part p
/// of the division is rank p's. Made once; nodes beyond walls are left as they are.
template <int D>
class GuardExchange {
 public:
  /// For tiles with `guard` more nodes on each side than the rank's own.
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
    const std::size_t count = out_.size();
    out_bytes_.resize(count);
    in_bytes_.resize(count);
    for (std::size_t r = 0; r < count; ++r) {
      out_bytes_[r].clear();
      for (const Box<D>& box : out_[r]) {
        pack(tile, box, out_bytes_[r]);
      }
      std::size_t values = 0;
      for (const Box<D>& box : in_[r]) {
        values += static_cast<std::size_t>(box.count());
      }
      in_bytes_[r].resize(values * sizeof(T));
    }
    ranks.exchange(out_bytes_, in_bytes_);
    for (std::size_t r = 0; r < count; ++r) {
      std::span<const std::byte> rest = in_bytes_[r];
      for (const Box<D>& box : in_[r]) {
        rest = unpack(tile, box, rest);
      }
    }
  }

 private:
  std::vector<std::vector<Box<D>>> out_;  ///< By rank.
  std::vector<std::vector<Box<D>>> in_;
  std::vector<plait::Bytes> out_bytes_;
  std::vector<plait::Bytes> in_bytes_;
};

}  // namespace pic
