// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "pic/grid.hpp"

namespace pic {

/// One particle in flight between two patches.
template <int D>
struct Migrant {
  std::uint64_t id = 0;
  std::array<double, static_cast<std::size_t>(D)> position{};  ///< In cells from the grid's corner.
  Vector3 momentum{};                                          ///< Lorentz factor times velocity, in c.
  std::uint64_t species = 0;
};
static_assert(std::is_trivially_copyable_v<Migrant<2>> && sizeof(Migrant<2>) == 56, "is sent as bytes");
static_assert(std::is_trivially_copyable_v<Migrant<3>> && sizeof(Migrant<3>) == 64, "is sent as bytes");

/// The particles of one species in one patch, a structure of arrays, in any order.
///
/// Positions are in cells from the corner of the whole grid. So they do not change with the patch, and the position in
/// a cell follows without rounding.
template <int D>
struct Particles {
  std::array<std::vector<double>, static_cast<std::size_t>(D)> position;
  std::array<std::vector<double>, 3> momentum;
  std::vector<std::uint64_t> id;

  [[nodiscard]] std::size_t size() const noexcept { return id.size(); }
  void add(const Migrant<D>& particle) {
    for (int d = 0; d < D; ++d) {
      position[d].push_back(particle.position[d]);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      momentum[k].push_back(particle.momentum[k]);
    }
    id.push_back(particle.id);
  }
  [[nodiscard]] Migrant<D> get(std::size_t i, std::uint64_t species) const {
    Migrant<D> particle{.id = id[i], .species = species};
    for (int d = 0; d < D; ++d) {
      particle.position[d] = position[d][i];
    }
    for (std::size_t k = 0; k < 3; ++k) {
      particle.momentum[k] = momentum[k][i];
    }
    return particle;
  }
  /// Replaces the i-th particle by the last one.
  void remove(std::size_t i) {
    for (auto& x : position) {
      x[i] = x.back();
      x.pop_back();
    }
    for (auto& u : momentum) {
      u[i] = u.back();
      u.pop_back();
    }
    id[i] = id.back();
    id.pop_back();
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(position, momentum, id);
  }
};

}  // namespace pic
