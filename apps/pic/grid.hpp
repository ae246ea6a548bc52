// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pic {

/// Throws `plait::Error` with `bad_argument` and `sentence`, unless `fact`.
void require(bool fact, const std::string& sentence);

using Vector3 = std::array<double, 3>;

/// A cell, or the node at its lower corner; the first axis is x.
template <int D>
using Place = std::array<std::int32_t, static_cast<std::size_t>(D)>;

/// Cells or nodes from `low` up to, but without, `high`.
template <int D>
struct Box {
  Place<D> low{};
  Place<D> high{};

  [[nodiscard]] std::int32_t extent(int axis) const { return high[axis] - low[axis]; }
  [[nodiscard]] bool is_empty() const {
    for (int d = 0; d < D; ++d) {
      if (high[d] <= low[d]) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::int64_t count() const {
    std::int64_t count = is_empty() ? 0 : 1;
    for (int d = 0; d < D; ++d) {
      count *= extent(d);
    }
    return count;
  }
  [[nodiscard]] bool contains(const Place<D>& place) const {
    for (int d = 0; d < D; ++d) {
      if (place[d] < low[d] || place[d] >= high[d]) {
        return false;
      }
    }
    return true;
  }
  /// With `below` more on the low side of each axis and `above` more on the high side.
  [[nodiscard]] Box grown(std::int32_t below, std::int32_t above) const {
    Box box = *this;
    for (int d = 0; d < D; ++d) {
      box.low[d] -= below;
      box.high[d] += above;
    }
    return box;
  }
  [[nodiscard]] Box shifted(const Place<D>& by) const {
    Box box = *this;
    for (int d = 0; d < D; ++d) {
      box.low[d] += by[d];
      box.high[d] += by[d];
    }
    return box;
  }
  [[nodiscard]] std::array<double, 3> centre() const {
    std::array<double, 3> centre{};
    for (int d = 0; d < D; ++d) {
      centre[static_cast<std::size_t>(d)] = 0.5 * (low[d] + high[d]);
    }
    return centre;
  }
  [[nodiscard]] Box common(const Box& other) const {
    Box box = *this;
    for (int d = 0; d < D; ++d) {
      box.low[d] = std::max(low[d], other.low[d]);
      box.high[d] = std::min(high[d], other.high[d]);
    }
    return box;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(low, high);
  }
  friend bool operator==(const Box&, const Box&) = default;
};

/// Calls `f(place)` with every place of `box`, x running fastest.
template <int D, class F>
void for_each_place(const Box<D>& box, F f) {
  if (box.is_empty()) {
    return;
  }
  Place<D> place = box.low;
  for (;;) {
    f(static_cast<const Place<D>&>(place));
    int d = 0;
    while (++place[d] == box.high[d]) {
      place[d] = box.low[d];
      if (++d == D) {
        return;
      }
    }
  }
}

/// What the fields do at both ends of an axis. A conducting wall is in the nodes 0 and `cells`.
enum class FieldBorder : std::uint8_t { periodic, conducting };

/// What happens to a particle that passes an end of an axis. Periodic requires a periodic field, and both ends.
enum class ParticleBorder : std::uint8_t { periodic, absorbing, reflecting };

/// The whole box: a regular grid of cells from 0 to `cells`, and its borders.
template <int D>
struct Grid {
  using Reals = std::array<double, static_cast<std::size_t>(D)>;

  Place<D> cells{};
  Reals spacing{};  ///< Length of a cell along each axis, in c / plasma frequency.
  std::array<FieldBorder, static_cast<std::size_t>(D)> fields{};
  std::array<std::array<ParticleBorder, 2>, static_cast<std::size_t>(D)> particles{};  ///< At the low and high end.

  [[nodiscard]] bool is_periodic(int axis) const { return fields[axis] == FieldBorder::periodic; }
  [[nodiscard]] Box<D> cell_box() const { return {{}, cells}; }
  /// The number of a cell, x running fastest.
  [[nodiscard]] std::uint64_t number(const Place<D>& cell) const {
    std::uint64_t number = 0;
    for (int d = D - 1; d >= 0; --d) {
      number = number * static_cast<std::uint64_t>(cells[d]) + static_cast<std::uint64_t>(cell[d]);
    }
    return number;
  }
  /// Nodes along an axis: one more than cells between walls.
  [[nodiscard]] std::int32_t node_count(int axis) const { return cells[axis] + (is_periodic(axis) ? 0 : 1); }
  [[nodiscard]] Box<D> node_box() const { return nodes(cell_box()); }
  /// The nodes that belong to a box of cells: their lower corners, and those of the high wall where the box reaches it.
  [[nodiscard]] Box<D> nodes(const Box<D>& box) const {
    Box<D> owned = box;
    for (int d = 0; d < D; ++d) {
      owned.high[d] += !is_periodic(d) && box.high[d] == cells[d] ? 1 : 0;
    }
    return owned;
  }
  /// Whether a node of the grid is in a conducting wall.
  [[nodiscard]] bool is_wall(const Place<D>& node) const {
    for (int d = 0; d < D; ++d) {
      if (!is_periodic(d) && (node[d] == 0 || node[d] == cells[d])) {
        return true;
      }
    }
    return false;
  }
  /// The volume of one cell; in two dimensions its length along z is 1.
  [[nodiscard]] double cell_volume() const {
    double volume = 1;
    for (int d = 0; d < D; ++d) {
      volume *= spacing[d];
    }
    return volume;
  }

  /// Checks all values. Throws: `plait::Error` for bad cells, spacing or borders.
  void check() const;
};

/// The grid divided into parts by planes: part (px, py, pz) of (nx, ny, nz) has the cells from `cells * p / n` to
/// `cells * (p + 1) / n`. Parts are numbered with x running fastest. A division with a multiple of the parts along each
/// axis keeps these planes.
template <int D>
class Division {
 public:
  Division() = default;
  /// Throws: `plait::Error` when an axis has more parts than cells.
  Division(const Place<D>& cells, const Place<D>& parts);

  [[nodiscard]] std::int32_t count() const noexcept;
  [[nodiscard]] const Place<D>& parts() const noexcept { return parts_; }
  [[nodiscard]] Place<D> place(std::int32_t part) const;
  [[nodiscard]] std::int32_t part(const Place<D>& place) const;
  [[nodiscard]] Box<D> box(std::int32_t part) const;
  [[nodiscard]] std::int32_t part_of_cell(const Place<D>& cell) const;
  /// First cell of the p-th part along an axis; `cells` for p = parts.
  [[nodiscard]] std::int32_t cut(int axis, std::int32_t p) const;
  /// The part along an axis that has a cell.
  [[nodiscard]] std::int32_t find(int axis, std::int32_t cell) const;

 private:
  Place<D> cells_{};
  Place<D> parts_{};
};

/// The numbers of parts along each axis whose product is `count`, with the least surface between them.
/// Throws: `plait::Error` when the grid has too few cells for that many.
template <int D>
[[nodiscard]] Place<D> best_parts(const Place<D>& cells, std::int32_t count);

/// The division of the grid for the solver and for the particles.
template <int D>
struct Layout {
  Division<D> blocks;   ///< Of the solver: part p is rank p's.
  Division<D> patches;  ///< Of the particles: the same number in each block.

  /// Throws: `plait::Error` when there are too few cells.
  Layout(const Grid<D>& grid, int ranks, int patches_per_rank);
  /// The rank whose block has that patch.
  [[nodiscard]] int rank_of(std::int32_t patch) const;
};

/// What stands for nodes beyond a wall.
enum class Beyond : std::uint8_t {
  nothing,  ///< They are left out: deposits there are lost in the wall.
  nearest,  ///< The node of the wall.
};

/// Nodes of a region that one part of a division owns.
template <int D>
struct Piece {
  std::int32_t part = 0;
  Box<D> region;     ///< In coordinates of the requested region, which may extend past periodic borders.
  Place<D> shift{};  ///< From a node of `region` to the owner's node.
};

/// Splits `region` by the parts of `division` that own its nodes: every node once, in an order that depends on the
/// arguments only. The region may be larger than the grid, and cover several of its periodic images.
template <int D>
[[nodiscard]] std::vector<Piece<D>> pieces_of(const Box<D>& region,
                                              const Grid<D>& grid,
                                              const Division<D>& division,
                                              Beyond beyond);

}  // namespace pic
