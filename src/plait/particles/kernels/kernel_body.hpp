// SPDX-License-Identifier: Apache-2.0
// The force kernels, written once over a set of vector types. Each including source is compiled for another
// processor and keeps its instances to itself: `Set` is local to it, and nothing here calls inline functions that
// other sources could share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/particles/kernels/kernel.hpp"

namespace plait::particles::detail {

/// Body-body, in double precision: a few targets at once against vectors of sources.
template <class Set>
struct BodyKernel {
  using D = typename Set::Double;
  static constexpr std::size_t lanes = Set::double_lanes;
  static constexpr std::size_t together = Set::targets_together;

  static void run(const double* x,
                  const double* y,
                  const double* z,
                  std::size_t n,
                  const BodySpan& list,
                  const KernelOptions& options,
                  Pull* pulls,
                  std::uint32_t* near) {
    if (options.contact2 > 0) {
      all<true>(x, y, z, n, list, options, pulls, near);
    } else {
      all<false>(x, y, z, n, list, options, pulls, near);
    }
  }

 private:
  template <bool contacts>
  static void all(const double* x,
                  const double* y,
                  const double* z,
                  std::size_t n,
                  const BodySpan& list,
                  const KernelOptions& options,
                  Pull* pulls,
                  std::uint32_t* near) {
    std::size_t i = 0;
    for (; i + together <= n; i += together) {
      some<contacts, together>(x + i, y + i, z + i, list, options, pulls + i, near + i);
    }
    for (; i < n; ++i) {
      some<contacts, 1>(x + i, y + i, z + i, list, options, pulls + i, near + i);
    }
  }

  struct Sums {
    D ax = Set::all(0.0);
    D ay = Set::all(0.0);
    D az = Set::all(0.0);
    D potential = Set::all(0.0);
    D near = Set::all(0.0);
  };

  template <bool contacts, std::size_t targets>
  static void some(const double* x,
                   const double* y,
                   const double* z,
                   const BodySpan& list,
                   const KernelOptions& options,
                   Pull* pulls,
                   std::uint32_t* near) {
    const D softening2 = Set::all(options.softening2);
    const D contact2 = Set::all(options.contact2);
    Sums sums[targets];
    for (std::size_t j = 0; j < list.length; j += lanes) {
      const D xj = Set::load(list.x + j);
      const D yj = Set::load(list.y + j);
      const D zj = Set::load(list.z + j);
      const D mass = Set::load(list.mass + j);
      for (std::size_t t = 0; t < targets; ++t) {
        const D dx = xj - Set::all(x[t]);
        const D dy = yj - Set::all(y[t]);
        const D dz = zj - Set::all(z[t]);
        D r2 = dx * dx + dy * dy + dz * dz;
        if constexpr (contacts) {
          sums[t].near = sums[t].near + Set::one_where_less(r2, contact2);
          r2 = Set::max(r2, contact2);
        }
        const D inverse = Set::inverse_root_or_zero(r2 + softening2);
        const D pull_over_r = mass * inverse;
        const D pull_over_r3 = pull_over_r * inverse * inverse;
        sums[t].ax = sums[t].ax + pull_over_r3 * dx;
        sums[t].ay = sums[t].ay + pull_over_r3 * dy;
        sums[t].az = sums[t].az + pull_over_r3 * dz;
        sums[t].potential = sums[t].potential - pull_over_r;
      }
    }
    for (std::size_t t = 0; t < targets; ++t) {
      Set::add_sums(sums[t].ax, sums[t].ay, sums[t].az, sums[t].potential, pulls[t]);
      if constexpr (contacts) {
        near[t] += static_cast<std::uint32_t>(Set::sum(sums[t].near));
      }
    }
  }
};

/// Body-cell, in single precision: a few targets at once against vectors of cells. Sums go to double after each block.
template <class Set, bool quadrupole>
struct CellKernel {
  using F = typename Set::Float;
  static constexpr std::size_t lanes = Set::float_lanes;
  static constexpr std::size_t together = Set::targets_together;
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
      for (; i + together <= n; i += together) {
        some<together>(x + i, y + i, z + i, list, begin, end, softening2, pulls + i);
      }
      for (; i < n; ++i) {
        some<1>(x + i, y + i, z + i, list, begin, end, softening2, pulls + i);
      }
    }
  }

 private:
  template <std::size_t targets>
  static void some(const float* x,
                   const float* y,
                   const float* z,
                   const CellSpan& list,
                   std::size_t begin,
                   std::size_t end,
                   float softening2,
                   Pull* pulls) {
    Sums sums[targets];
    for (std::size_t j = begin; j < end; j += lanes) {
      const Cells cells{list, j};
      for (std::size_t t = 0; t < targets; ++t) {
        sums[t].add(cells, x[t], y[t], z[t], softening2);
      }
    }
    for (std::size_t t = 0; t < targets; ++t) {
      Set::add_sums(sums[t].ax, sums[t].ay, sums[t].az, sums[t].potential, pulls[t]);
    }
  }

  struct Cells {
    Cells(const CellSpan& list, std::size_t j)
        : x{Set::load(list.x + j)}, y{Set::load(list.y + j)}, z{Set::load(list.z + j)}, mass{Set::load(list.mass + j)} {
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
  };
};

template <class Set>
constexpr Kernels kernels_of(const char* name) {
  return {name, &BodyKernel<Set>::run, &CellKernel<Set, false>::run, &CellKernel<Set, true>::run};
}

}  // namespace plait::particles::detail
