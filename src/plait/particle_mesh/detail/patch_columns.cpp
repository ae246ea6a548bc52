// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/patch_columns.hpp"

#include "plait/particle_mesh/detail/spline.hpp"

namespace plait::particles::detail {

namespace {

/// A particle has points from its first one on. Two columns with one between them have none in common.
constexpr fft::Index edge = spline_order;

}  // namespace

void PatchColumns::begin(const fft::IndexBox& patch, std::uint32_t pieces) {
  patch_ = patch;
  rows_ = (patch.extent(0) + edge - 1) / edge;
  columns_a_row_ = (patch.extent(1) + edge - 1) / edge;
  pieces_.resize(pieces);
  for (Piece& piece : pieces_) {
    piece.begins.assign(std::size_t{columns()} + 1, 0);
    piece.sorted.clear();
  }
}

void PatchColumns::sort_piece(std::uint32_t number,
                              const PeriodicMesh& mesh,
                              std::span<const Vector> places,
                              std::size_t first) {
  Piece& piece = pieces_[number];
  piece.sorted.resize(places.size());
  piece.column_of.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::array<double, 3> at = mesh.coordinates(places[i]);
    const fft::Index row = (first_point(at[0]) - patch_.low[0]) / edge;
    const fft::Index in_row = (first_point(at[1]) - patch_.low[1]) / edge;
    piece.column_of[i] = static_cast<std::uint32_t>(row * columns_a_row_ + in_row);
    ++piece.begins[piece.column_of[i] + std::size_t{1}];
  }
  for (std::uint32_t column = 0; column < columns(); ++column) {
    piece.begins[column + std::size_t{1}] += piece.begins[column];
  }
  // Entry c + 1 is the end of column c, and moves to its begin.
  for (std::size_t i = places.size(); i-- > 0;) {
    piece.sorted[--piece.begins[piece.column_of[i] + std::size_t{1}]] = first + i;
  }
  for (std::uint32_t column = 0; column < columns(); ++column) {
    piece.begins[column] = piece.begins[column + std::size_t{1}];
  }
  piece.begins[columns()] = places.size();
}

}  // namespace plait::particles::detail
