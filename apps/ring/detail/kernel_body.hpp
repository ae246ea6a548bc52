// SPDX-License-Identifier: Apache-2.0
// The force kernels, written once over a set of vector types. Each including source is compiled for another
// processor and keeps its instances to itself: `Set` is local to it, and nothing here calls inline functions that
// other sources could share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ring/kernel.hpp"

namespace ring::detail {

/// Body-body, in double precision, one target against vectors of sources.
template <class Set>
struct BodyKernel {
  using D = typename Set::Double;
  static constexpr std::size_t lanes = Set::double_lanes;

  static void run(const double* x,
                  const double* y,
                  const double* z,
                  std::size_t n,
                  const BodySpan& list,
                  const KernelOptions& options,
                  Pull* pulls,
                  std::uint32_t* near) {
    if (options.contact2 > 0) {
      for (std::size_t i = 0; i < n; ++i) {
        near[i] += one<true>(x[i], y[i], z[i], list, options, pulls[i]);
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        one<false>(x[i], y[i], z[i], list, options, pulls[i]);
      }
    }
  }

 private:
  template <bool contacts>
  static std::uint32_t one(double xi,
                           double yi,
                           double zi,
                           const BodySpan& list,
                           const KernelOptions& options,
                           Pull& pull) {
    const D softening2 = Set::all(options.softening2);
    const D contact2 = Set::all(options.contact2);
    D ax = Set::all(0.0);
    D ay = Set::all(0.0);
    D az = Set::all(0.0);
    D potential = Set::all(0.0);
    D near = Set::all(0.0);
    for (std::size_t j = 0; j < list.length; j += lanes) {
      const D dx = Set::load(list.x + j) - Set::all(xi);
      const D dy = Set::load(list.y + j) - Set::all(yi);
      const D dz = Set::load(list.z + j) - Set::all(zi);
      const D mass = Set::load(list.mass + j);
      D r2 = dx * dx + dy * dy + dz * dz;
      if constexpr (contacts) {
        near = near + Set::one_where_less(r2, contact2);
        r2 = Set::max(r2, contact2);
      }
      const D inverse = Set::inverse_root_or_zero(r2 + softening2);
      const D pull_over_r = mass * inverse;
      const D pull_over_r3 = pull_over_r * inverse * inverse;
      ax = ax + pull_over_r3 * dx;
      ay = ay + pull_over_r3 * dy;
      az = az + pull_over_r3 * dz;
      potential = potential - pull_over_r;
    }
    pull.x += Set::sum(ax);
    pull.y += Set::sum(ay);
    pull.z += Set::sum(az);
    pull.potential += Set::sum(potential);
    return contacts ? static_cast<std::uint32_t>(Set::sum(near)) : 0;
  }
};

/// Body-cell, in single precision, two targets against vectors of cells. Sums go to double after each block.
template <class Set, bool quadrupole>
struct CellKernel {
  using F = typename Set::Float;
  static constexpr std::size_t lanes = Set::float_lanes;
  static constexpr std::size_t block = 1024;

  static void run(const float* x,
                  const float* y,
                  const float* z,
                  std::size_t n,
                  const CellSpan& list,
                  const KernelOptions& options,
                  Pull* pulls) {
    const float softening2 = static_cast<float>(options.softening2);
    for (std::size_t begin = 0; begin < list.length; begin += block) {
      const std::size_t end = list.length - begin < block ? list.length : begin + block;
      std::size_t i = 0;
      for (; i + 2 <= n; i += 2) {
        Sums a;
        Sums b;
        for (std::size_t j = begin; j < end; j += lanes) {
          const Cells cells{list, j};
          a.add(cells, x[i], y[i], z[i], softening2);
          b.add(cells, x[i + 1], y[i + 1], z[i + 1], softening2);
        }
        a.flush(pulls[i]);
        b.flush(pulls[i + 1]);
      }
      for (; i < n; ++i) {
        Sums a;
        for (std::size_t j = begin; j < end; j += lanes) {
          a.add(Cells{list, j}, x[i], y[i], z[i], softening2);
        }
        a.flush(pulls[i]);
      }
    }
  }

 private:
  struct Cells {
    Cells(const CellSpan& list, std::size_t j)
        : x{Set::load(list.x + j)},
          y{Set::load(list.y + j)},
          z{Set::load(list.z + j)},
          mass{Set::load(list.mass + j)} {
      if constexpr (quadrupole) {
        xx = Set::load(list.xx + j);
        xy = Set::load(list.xy + j);
        xz = Set::load(list.xz + j);
        yy = Set::load(list.yy + j);
        yz = Set::load(list.yz + j);
      }
    }
    F x, y, z, mass, xx, xy, xz, yy, yz;
  };

  struct Sums {
    F ax = Set::all(0.0F);
    F ay = Set::all(0.0F);
    F az = Set::all(0.0F);
    F potential = Set::all(0.0F);

    /// With d from body to cell: a = (M / r^3 + 5/2 d.Q.d / r^7) d - Q.d / r^5, pot = -M / r - d.Q.d / (2 r^5).
    void add(const Cells& cells, float xi, float yi, float zi, float softening2) {
      const F dx = cells.x - Set::all(xi);
      const F dy = cells.y - Set::all(yi);
      const F dz = cells.z - Set::all(zi);
      const F r2 = Set::all(softening2) + dx * dx + dy * dy + dz * dz;
      const F inverse = Set::inverse_root(r2);
      const F inverse2 = inverse * inverse;
      const F mass_over_r = cells.mass * inverse;
      F radial = mass_over_r * inverse2;
      potential = potential - mass_over_r;
      if constexpr (quadrupole) {
        const F qx = cells.xx * dx + cells.xy * dy + cells.xz * dz;
        const F qy = cells.xy * dx + cells.yy * dy + cells.yz * dz;
        const F qz = cells.xz * dx + cells.yz * dy - (cells.xx + cells.yy) * dz;
        const F inverse5 = inverse2 * inverse2 * inverse;
        const F half = Set::all(0.5F) * inverse5 * (qx * dx + qy * dy + qz * dz);
        potential = potential - half;
        radial = radial + Set::all(5.0F) * half * inverse2;
        ax = ax - inverse5 * qx;
        ay = ay - inverse5 * qy;
        az = az - inverse5 * qz;
      }
      ax = ax + radial * dx;
      ay = ay + radial * dy;
      az = az + radial * dz;
    }
    void flush(Pull& pull) const {
      pull.x += static_cast<double>(Set::sum(ax));
      pull.y += static_cast<double>(Set::sum(ay));
      pull.z += static_cast<double>(Set::sum(az));
      pull.potential += static_cast<double>(Set::sum(potential));
    }
  };
};

template <class Set>
constexpr Kernels kernels_of(const char* name) {
  return {name, &BodyKernel<Set>::run, &CellKernel<Set, false>::run, &CellKernel<Set, true>::run};
}

}  // namespace ring::detail
