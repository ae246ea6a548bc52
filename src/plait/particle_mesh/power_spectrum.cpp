// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/power_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>
#include <string>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/fft/execution.hpp"
#include "plait/fft/plan.hpp"
#include "plait/particle_mesh/detail/mesh_patch.hpp"
#include "plait/particle_mesh/detail/patch_overlaps.hpp"
#include "plait/particle_mesh/detail/spline.hpp"

namespace plait::particles {

namespace {

using detail::MeshPatch;
using detail::PatchOverlap;
using fft::Index;

detail::PeriodicMesh mesh_for_spectrum(const PowerSpectrumOptions& options) {
  const Vector edges = options.box.high - options.box.low;
  const bool has_volume = edges.x > 0 && edges.y > 0 && edges.z > 0;
  if (!has_volume || *std::ranges::min_element(options.mesh) < detail::spline_order) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a power spectrum in a box with edges {}, {}, {} on {} x {} x {} points: the box needs a "
                            "volume, each axis {} points",
                            edges.x,
                            edges.y,
                            edges.z,
                            options.mesh[0],
                            options.mesh[1],
                            options.mesh[2],
                            detail::spline_order)};
  }
  return detail::PeriodicMesh::over(options.box, options.mesh);
}

/// Calls `use(i, j)` for each row of points along axis 2.
template <class Use>
void for_rows_of(const fft::IndexBox& box, Use use) {
  for (Index i = box.low[0]; i < box.high[0]; ++i) {
    for (Index j = box.low[1]; j < box.high[1]; ++j) {
      use(i, j);
    }
  }
}

/// Adds the patches of all ranks to the parts of the mesh that ranks have. Collective.
class PatchSum {
 public:
  PatchSum(const comm::Group& group, MeshPatch& patch, const fft::ArrayLayout& part)
      : group_{group}, patch_{patch}, part_{part} {}

  void add_to(std::span<double> mesh) {
    struct Extent {
      fft::IndexBox patch;
      fft::IndexBox part;
    };
    const Extent mine{patch_.box(), part_.box};
    std::vector<Extent> all(group_.size());
    comm::all_gather(group_, std::span{&mine, 1}, std::span{all}).wait();
    std::vector<std::vector<double>> to(all.size());
    std::vector<std::vector<double>> from(all.size());
    std::vector<std::vector<PatchOverlap>> overlaps(all.size());
    comm::BlocksToSend to_blocks;
    comm::BlocksToReceive from_blocks;
    for (std::size_t member = 0; member < all.size(); ++member) {
      to[member] = values_in(detail::overlaps_of(mine.patch, all[member].part, part_.lengths));
      overlaps[member] = detail::overlaps_of(all[member].patch, mine.part, part_.lengths);
      from[member].resize(static_cast<std::size_t>(detail::points_of(overlaps[member])));
      to_blocks.push_back(std::as_bytes(std::span{to[member]}));
      from_blocks.push_back(std::as_writable_bytes(std::span{from[member]}));
    }
    comm::all_to_all(group_, to_blocks, from_blocks).wait();
    for (std::size_t member = 0; member < all.size(); ++member) {
      add(overlaps[member], from[member], mesh);
    }
  }

 private:
  [[nodiscard]] std::vector<double> values_in(const std::vector<PatchOverlap>& overlaps) const {
    std::vector<double> values;
    for (const PatchOverlap& overlap : overlaps) {
      for_rows_of(overlap.box, [&](Index i, Index j) {
        const auto row = patch_.values().begin() + static_cast<Index>(patch_.offset(i, j, overlap.box.low[2]));
        values.insert(values.end(), row, row + overlap.box.extent(2));
      });
    }
    return values;
  }

  void add(const std::vector<PatchOverlap>& overlaps, const std::vector<double>& values, std::span<double> mesh) const {
    const double* value = values.data();
    for (const auto& [box, shift] : overlaps) {
      for_rows_of(box, [&, &shift = shift, &box = box](Index i, Index j) {
        double* const row =
            &mesh[static_cast<std::size_t>(part_.offset(i - shift[0], j - shift[1], box.low[2] - shift[2]))];
        for (Index k = 0; k < box.extent(2); ++k) {
          row[k] += *value++;
        }
      });
    }
  }

  const comm::Group& group_;
  MeshPatch& patch_;
  const fft::ArrayLayout& part_;
};

/// The sums over the waves of one shell.
struct Shell {
  double wave_number = 0;
  double power = 0;
  double waves = 0;
  friend Shell operator+(const Shell& one, const Shell& other) {
    return {one.wave_number + other.wave_number, one.power + other.power, one.waves + other.waves};
  }
};

/// Of the waves along one axis.
struct AxisWaves {
  std::vector<double> number;
  std::vector<double> spline;  ///< The transform of the spline that spreads particles.

  AxisWaves(Index length, double edge) {
    for (Index index = 0; index < length; ++index) {
      const Index k = 2 * index > length ? index - length : index;
      const double phase = std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      number.push_back(2 * std::numbers::pi * static_cast<double>(k) / edge);
      spline.push_back(k == 0 ? 1 : std::pow(std::sin(phase) / phase, detail::spline_order));
    }
  }
};

/// Adds this rank's waves to the shells.
void add_waves(const fft::ArrayLayout& layout,
               std::span<const std::complex<double>> spectrum,
               const PowerSpectrumOptions& options,
               std::vector<Shell>& shells) {
  const Vector edges = options.box.high - options.box.low;
  const std::array axes{
      AxisWaves{options.mesh[0], edges.x}, AxisWaves{options.mesh[1], edges.y}, AxisWaves{options.mesh[2], edges.z}};
  const double width = 2 * std::numbers::pi / std::max({edges.x, edges.y, edges.z});
  const Index last = options.mesh[2];
  for_rows_of(layout.box, [&](Index i, Index j) {
    for (Index k = layout.box.low[2]; k < layout.box.high[2]; ++k) {
      const auto [x, y, z] =
          std::array{static_cast<std::size_t>(i), static_cast<std::size_t>(j), static_cast<std::size_t>(k)};
      const double wave_number = std::hypot(axes[0].number[x], axes[1].number[y], axes[2].number[z]);
      const auto shell = static_cast<std::size_t>(std::lround(wave_number / width));
      if (shell == 0 || shell > shells.size()) {
        continue;
      }
      const double spline = axes[0].spline[x] * axes[1].spline[y] * axes[2].spline[z];
      // Planes 0 and N / 2 have both a wave and its opposite; of the others, only one is kept.
      const double waves = k == 0 || 2 * k == last ? 1 : 2;
      const double power = std::norm(spectrum[static_cast<std::size_t>(layout.offset(i, j, k))]) / (spline * spline);
      shells[shell - 1] = shells[shell - 1] + Shell{waves * wave_number, waves * power, waves};
    }
  });
}

}  // namespace

PowerSpectrum measure_power_spectrum(comm::Endpoint& messages,
                                     task::Scheduler& scheduler,
                                     const Particles& particles,
                                     const PowerSpectrumOptions& options) {
  const detail::PeriodicMesh mesh = mesh_for_spectrum(options);
  const comm::Group group{messages};
  MeshPatch patch;
  patch.cover(mesh, MeshPatch::points_around(mesh, particles.positions()));
  patch.clear(0, 1);
  struct Masses {
    double sum = 0;
    double squares = 0;
  } masses;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    if (options.kinds.has(particles[Particles::kind][i])) {
      const double mass = particles[options.mass][i];
      patch.deposit(particles.positions()[i], mass);
      masses.sum += mass;
      masses.squares += mass * mass;
    }
  }
  const fft::Plan plan{messages, scheduler, mesh.lengths, {.effort = fft::Effort::estimate}};
  std::vector<double> density(static_cast<std::size_t>(plan.physical().size()));
  std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(plan.spectral().size()));
  PatchSum{group, patch, plan.physical()}.add_to(density);
  fft::Execution{plan, density, spectrum}.run();

  const Vector edges = options.box.high - options.box.low;
  const double volume = edges.x * edges.y * edges.z;
  std::vector<Shell> shells(static_cast<std::size_t>(*std::ranges::max_element(mesh.lengths) / 2));
  add_waves(plan.spectral(), spectrum, options, shells);
  // Masses travel as one more shell.
  shells.push_back({masses.sum, masses.squares, 0});
  comm::all_reduce(group, std::span{shells}).wait();
  const double mass = shells.back().wave_number;
  if (!(mass > 0)) {
    throw Error{ErrorCode::bad_argument, fmt::format("a power spectrum of particles with a mass of {} in all", mass)};
  }
  PowerSpectrum result{.shot_noise = volume * shells.back().power / (mass * mass)};
  shells.pop_back();
  for (const Shell& shell : shells) {
    if (shell.waves > 0) {
      result.wave_number.push_back(shell.wave_number / shell.waves);
      result.power.push_back(volume * shell.power / shell.waves / (mass * mass));
      result.waves.push_back(static_cast<std::uint64_t>(std::lround(shell.waves)));
    }
  }
  return result;
}

}  // namespace plait::particles
