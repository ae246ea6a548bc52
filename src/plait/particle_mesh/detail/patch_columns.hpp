// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/particle_mesh/detail/mesh_patch.hpp"

namespace plait::particles::detail {

/// Divides the particles of a patch into columns along axis 2. Columns of one colour have no points of the mesh in
/// common: tasks can deposit their charges at once, without locks and without copies of the mesh.
///
/// Particles are sorted in pieces, one after another in each column: sums do not depend on when tasks run.
class PatchColumns {
 public:
  static constexpr std::uint32_t colours = 4;

  /// Forgets all particles. `patch` covers those to come. Keeps its memory.
  void begin(const fft::IndexBox& patch, std::uint32_t pieces);
  [[nodiscard]] std::uint32_t columns() const noexcept { return static_cast<std::uint32_t>(rows_ * columns_a_row_); }
  [[nodiscard]] std::uint32_t colour_of(std::uint32_t column) const noexcept {
    return 2 * (column / static_cast<std::uint32_t>(columns_a_row_) % 2) +
           column % static_cast<std::uint32_t>(columns_a_row_) % 2;
  }

  /// After `sort_piece` of all pieces.
  [[nodiscard]] bool has_particles(std::uint32_t column) const noexcept {
    return std::ranges::any_of(
        pieces_, [&](const Piece& piece) { return piece.begins[column] < piece.begins[column + std::size_t{1}]; });
  }

  /// Sorts the particles of a piece, which are at `places`, with numbers from `first` on. Threads: concurrent for
  /// different pieces. Cost: O(particles + columns).
  void sort_piece(std::uint32_t piece, const PeriodicMesh& mesh, std::span<const Vector> places, std::size_t first);

  /// Calls `use(number)` for the particles of a column, after `sort_piece` of all pieces.
  template <class Use>
  void for_each(std::uint32_t column, Use use) const {
    for (const Piece& piece : pieces_) {
      for (std::size_t k = piece.begins[column]; k < piece.begins[column + 1]; ++k) {
        use(piece.sorted[k]);
      }
    }
  }

 private:
  /// Its particles in the order of columns.
  struct Piece {
    std::vector<std::size_t> begins;  ///< Of columns in `sorted`, and the end of the last.
    std::vector<std::size_t> sorted;
    std::vector<std::uint32_t> column_of;
  };

  fft::IndexBox patch_;
  fft::Index rows_ = 0;
  fft::Index columns_a_row_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace plait::particles::detail
