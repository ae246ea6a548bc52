// SPDX-License-Identifier: Apache-2.0
#include "pic/grid.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace pic {

namespace {

constexpr char axis_names[] = "xyz";

/// A run of nodes along one axis that one part owns.
struct Run {
  std::int32_t part = 0;
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::int32_t shift = 0;
};

/// Of the nodes `low` to `high` - 1 along an axis.
template <int D>
std::vector<Run> runs_of(std::int32_t low, std::int32_t high, const Grid<D>& grid, const Division<D>& division, int d) {
  std::vector<Run> runs;
  const std::int32_t cells = grid.cells[d];
  const bool is_periodic = grid.is_periodic(d);
  for (std::int32_t node = low; node < high;) {
    std::int32_t wrapped = node;
    if (is_periodic) {
      wrapped = (node % cells + cells) % cells;
    } else {
      wrapped = std::clamp(node, 0, cells);
    }
    const std::int32_t part = division.find(d, std::min(wrapped, cells - 1));
    std::int32_t end = node + 1;
    if (is_periodic || (node >= 0 && node < cells)) {
      end = std::min(high, node + division.cut(d, part + 1) - wrapped);
    }
    runs.push_back({part, node, end, wrapped - node});
    node = end;
  }
  return runs;
}

}  // namespace

void require(bool fact, const std::string& sentence) {
  if (!fact) {
    throw plait::Error{plait::ErrorCode::bad_argument, sentence};
  }
}

template <int D>
void Grid<D>::check() const {
  for (int d = 0; d < D; ++d) {
    require(cells[d] >= 1 && cells[d] <= (1 << 24),
            fmt::format("{} cells along {}: there must be from 1 to 2^24", cells[d], axis_names[d]));
    require(spacing[d] > 0 && std::isfinite(spacing[d]),
            fmt::format("cells of length {} along {}: give a positive one", spacing[d], axis_names[d]));
    for (const ParticleBorder border : particles[d]) {
      require((border == ParticleBorder::periodic) == is_periodic(d),
              fmt::format("along {}, fields and particles must both be periodic, or neither", axis_names[d]));
    }
  }
}

template <int D>
Division<D>::Division(const Place<D>& cells, const Place<D>& parts) : cells_{cells}, parts_{parts} {
  for (int d = 0; d < D; ++d) {
    require(parts[d] >= 1 && parts[d] <= cells[d],
            fmt::format("{} parts along {} of a grid with {} cells there: each part needs at least one cell; use fewer "
                        "ranks or patches, or more cells",
                        parts[d],
                        axis_names[d],
                        cells[d]));
  }
}

template <int D>
std::int32_t Division<D>::count() const noexcept {
  std::int32_t count = 1;
  for (const std::int32_t n : parts_) {
    count *= n;
  }
  return count;
}

template <int D>
Place<D> Division<D>::place(std::int32_t part) const {
  Place<D> place{};
  for (int d = 0; d < D; ++d) {
    place[d] = part % parts_[d];
    part /= parts_[d];
  }
  return place;
}

template <int D>
std::int32_t Division<D>::part(const Place<D>& place) const {
  std::int32_t part = 0;
  for (int d = D - 1; d >= 0; --d) {
    part = part * parts_[d] + place[d];
  }
  return part;
}

template <int D>
std::int32_t Division<D>::cut(int axis, std::int32_t p) const {
  return static_cast<std::int32_t>(std::int64_t{cells_[axis]} * p / parts_[axis]);
}

template <int D>
std::int32_t Division<D>::find(int axis, std::int32_t cell) const {
  // The first guess is right or one too low, as cuts are rounded down.
  auto p = static_cast<std::int32_t>(std::int64_t{cell} * parts_[axis] / cells_[axis]);
  while (p + 1 < parts_[axis] && cut(axis, p + 1) <= cell) {
    ++p;
  }
  return p;
}

template <int D>
Box<D> Division<D>::box(std::int32_t part) const {
  const Place<D> p = place(part);
  Box<D> box;
  for (int d = 0; d < D; ++d) {
    box.low[d] = cut(d, p[d]);
    box.high[d] = cut(d, p[d] + 1);
  }
  return box;
}

template <int D>
std::int32_t Division<D>::part_of_cell(const Place<D>& cell) const {
  Place<D> p{};
  for (int d = 0; d < D; ++d) {
    p[d] = find(d, cell[d]);
  }
  return part(p);
}

template <int D>
Place<D> best_parts(const Place<D>& cells, std::int32_t count) {
  Place<D> best{};
  double best_surface = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Place<D>& parts) {
    double surface = 0;
    for (int d = 0; d < D; ++d) {
      if (parts[d] > cells[d]) {
        return;
      }
      double area = parts[d];
      for (int e = 0; e < D; ++e) {
        area *= e == d ? 1 : cells[e];
      }
      surface += area;
    }
    if (surface < best_surface) {
      best_surface = surface;
      best = parts;
    }
  };
  for (std::int32_t x = 1; x <= count; ++x) {
    if (count % x != 0) {
      continue;
    }
    if constexpr (D == 2) {
      consider({x, count / x});
    } else {
      for (std::int32_t y = 1; y <= count / x; ++y) {
        if (count / x % y == 0) {
          consider({x, y, count / x / y});
        }
      }
    }
  }
  require(std::isfinite(best_surface),
          fmt::format("a grid of {} cells cannot be divided into {} parts of at least one cell: use fewer ranks or "
                      "patches, or more --cells",
                      fmt::join(cells, " x "),
                      count));
  return best;
}

template <int D>
std::vector<Piece<D>> pieces_of(const Box<D>& region, const Grid<D>& grid, const Division<D>& division, Beyond beyond) {
  Box<D> inside = region;
  if (beyond == Beyond::nothing) {
    for (int d = 0; d < D; ++d) {
      if (!grid.is_periodic(d)) {
        inside.low[d] = std::max(inside.low[d], 0);
        inside.high[d] = std::min(inside.high[d], grid.node_count(d));
      }
    }
  }
  std::vector<Piece<D>> pieces;
  if (inside.is_empty()) {
    return pieces;
  }
  std::array<std::vector<Run>, static_cast<std::size_t>(D)> runs;
  Box<D> choices;
  for (int d = 0; d < D; ++d) {
    runs[d] = runs_of(inside.low[d], inside.high[d], grid, division, d);
    choices.high[d] = static_cast<std::int32_t>(runs[d].size());
  }
  pieces.reserve(static_cast<std::size_t>(choices.count()));
  for_each_place(choices, [&](const Place<D>& choice) {
    Piece<D> piece;
    Place<D> part{};
    for (int d = 0; d < D; ++d) {
      const Run& run = runs[d][static_cast<std::size_t>(choice[d])];
      part[d] = run.part;
      piece.region.low[d] = run.low;
      piece.region.high[d] = run.high;
      piece.shift[d] = run.shift;
    }
    piece.part = division.part(part);
    pieces.push_back(piece);
  });
  return pieces;
}

namespace {

template <int D>
Division<D> divide_blocks(const Division<D>& blocks, const Place<D>& cells, int per_block) {
  Place<D> smallest{};
  for (int d = 0; d < D; ++d) {
    smallest[d] = cells[d] / blocks.parts()[d];
  }
  Place<D> parts = best_parts<D>(smallest, per_block);
  for (int d = 0; d < D; ++d) {
    parts[d] *= blocks.parts()[d];
  }
  return {cells, parts};
}

}  // namespace

template <int D>
Layout<D>::Layout(const Grid<D>& grid, int ranks, int patches_per_rank)
    : blocks{grid.cells, best_parts<D>(grid.cells, ranks)},
      patches{divide_blocks(blocks, grid.cells, patches_per_rank)} {}

template <int D>
int Layout<D>::rank_of(std::int32_t patch) const {
  Place<D> place = patches.place(patch);
  for (int d = 0; d < D; ++d) {
    place[d] /= patches.parts()[d] / blocks.parts()[d];
  }
  return blocks.part(place);
}

template struct Grid<2>;
template struct Grid<3>;
template class Division<2>;
template class Division<3>;
template struct Layout<2>;
template struct Layout<3>;
template Place<2> best_parts<2>(const Place<2>&, std::int32_t);
template Place<3> best_parts<3>(const Place<3>&, std::int32_t);
template std::vector<Piece<2>> pieces_of<2>(const Box<2>&, const Grid<2>&, const Division<2>&, Beyond);
template std::vector<Piece<3>> pieces_of<3>(const Box<3>&, const Grid<3>&, const Division<3>&, Beyond);

}  // namespace pic
