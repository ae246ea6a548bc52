// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/particles/store/box.hpp"
#include "plait/particles/store/cell_sizes.hpp"
#include "plait/particles/store/lattice.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// A range of nearby particles in a store, and their largest reach.
struct Extent {
  Box box;  ///< Tight.
  float reach = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The unit of search: the particles of a near leaf are tested individually.
using Leaf = Extent;

/// Particles that share a block of sources.
struct CellGroup : Extent {
  std::uint32_t first_leaf = 0;
  std::uint32_t leaf_count = 0;
};

/// The unit of work, of messages and of time steps.
struct Cell : Extent {
  std::uint32_t first_group = 0;
  std::uint32_t group_count = 0;
};

struct CellOptions {
  std::uint32_t leaf_particles_max = 16;
  std::uint32_t group_particles_max = 64;
  std::uint32_t cell_particles_max = 512;
  /// Down to this number, the particles of a leaf are in the order of further bisections, by which a tree divides
  /// leaves (`TreeOverCells::assign`). 0: their order in a leaf is undefined.
  std::uint32_t ordered_particles_max = 0;
};

/// Divides particles into cells by recursive bisection across the longest edge. `order[i]` becomes the present place of
/// the particle to move to i. Any number of particles may share a position. Throws: as `check_position`.
/// Cost: O(n log n).
[[nodiscard]] CellSizes divide_into_cells(const Particles& store,
                                          const CellOptions& options,
                                          std::vector<Particles::Index>& order);

/// The cells of a rank, the ghosts (copies of other ranks' cells near to any of them), and the neighbours of each.
///
/// Own cells are numbered first, then ghosts. Threads: different cells may be refreshed concurrently.
class CellTable {
 public:
  /// Borrows both stores. `period` is the length of the space along each axis, 0 along open axes.
  CellTable(Particles& own, Particles& ghosts, const Vector& period) : own_{&own}, ghosts_{&ghosts}, images_{period} {}

  /// Divides the particles of `own` by `sizes`. Removes ghosts and neighbours. Boxes are undefined until `refresh`.
  void assign(const CellSizes& sizes);
  /// Divides the next particles of `ghosts` by `sizes`.
  void add_ghosts(const CellSizes& sizes);

  /// Recomputes the boxes and reaches of a cell.
  void refresh(std::uint32_t cell, Field<float> reach, double reach_factor);

  /// Lists, for each own cell, the cells within `max(reach, its reach) * growth + skin`.
  /// Cost: O(cells log cells).
  void find_neighbours(double growth, double skin);

  /// The sizes of the parts of the own particles. Cost: O(leaves).
  [[nodiscard]] CellSizes own_sizes() const;

  [[nodiscard]] std::uint32_t own_count() const noexcept { return own_count_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(cells_.size()); }
  [[nodiscard]] bool is_ghost(std::uint32_t cell) const noexcept { return cell >= own_count_; }
  [[nodiscard]] const Cell& operator[](std::uint32_t cell) const { return cells_[cell]; }
  [[nodiscard]] std::span<const CellGroup> groups_of(const Cell& cell) const {
    return std::span{groups_}.subspan(cell.first_group, cell.group_count);
  }
  [[nodiscard]] std::span<const Leaf> leaves_of(const CellGroup& group) const {
    return std::span{leaves_}.subspan(group.first_leaf, group.leaf_count);
  }
  /// The neighbours of an own cell, ascending, including itself. Symmetric among own cells.
  [[nodiscard]] std::span<const std::uint32_t> neighbours(std::uint32_t cell) const {
    return std::span{neighbours_}.subspan(first_neighbour_[cell], first_neighbour_[cell + 1] - first_neighbour_[cell]);
  }
  /// The own cells that are neighbours of a ghost.
  [[nodiscard]] std::span<const std::uint32_t> near_ghost(std::uint32_t ghost) const {
    const std::uint32_t i = ghost - own_count_;
    return std::span{near_ghosts_}.subspan(first_near_ghost_[i], first_near_ghost_[i + 1] - first_near_ghost_[i]);
  }

  [[nodiscard]] Particles& own() const noexcept { return *own_; }
  [[nodiscard]] Particles& ghosts() const noexcept { return *ghosts_; }
  [[nodiscard]] Particles& store_of(std::uint32_t cell) const noexcept { return is_ghost(cell) ? *ghosts_ : *own_; }
  [[nodiscard]] const Vector& period() const noexcept { return images_.period; }
  [[nodiscard]] const Lattice& images() const noexcept { return images_; }
  /// Moves the images of a shearing box. Neighbours are those of before until `find_neighbours`.
  void set_slide(const Slide& slide) noexcept { images_.slide = slide; }

 private:
  void append(const CellSizes& sizes, std::uint32_t first_particle);

  Particles* own_;
  Particles* ghosts_;
  Lattice images_;
  std::uint32_t own_count_ = 0;
  std::uint32_t ghost_particles_ = 0;
  std::vector<Cell> cells_;
  std::vector<CellGroup> groups_;
  std::vector<Leaf> leaves_;
  std::vector<std::uint32_t> first_neighbour_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<std::uint32_t> first_near_ghost_;
  std::vector<std::uint32_t> near_ghosts_;
};

/// The squared distance between the nearest images of two boxes; 0 if they touch. Bitwise symmetric in a and b.
[[nodiscard]] inline double distance2(const Box& a, const Box& b, const Vector& period) {
  const auto gap = [](double low_a, double high_a, double low_b, double high_b, double its_period) {
    double between = std::abs((low_a + high_a) - (low_b + high_b)) / 2;
    if (its_period > 0 && between > its_period / 2) {
      between = std::abs(between - its_period * std::round(between / its_period));
    }
    return std::max(0.0, between - ((high_a - low_a) + (high_b - low_b)) / 2);
  };
  const double x = gap(a.low.x, a.high.x, b.low.x, b.high.x, period.x);
  const double y = gap(a.low.y, a.high.y, b.low.y, b.high.y, period.y);
  const double z = gap(a.low.z, a.high.z, b.low.z, b.high.z, period.z);
  return x * x + y * y + z * z;
}
/// The same where images may slide.
[[nodiscard]] double distance2_of_images(const Box& a, const Box& b, const Lattice& images);
/// Whether cells of these extents may have particles within reach of each other. Bitwise symmetric in a and b.
[[nodiscard]] bool are_near(const Extent& a, const Extent& b, const Lattice& images, double growth, double skin);

}  // namespace plait::particles
