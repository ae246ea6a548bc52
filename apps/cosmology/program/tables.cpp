// SPDX-License-Identifier: Apache-2.0
#include "cosmology/program/tables.hpp"

#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "plait/files/partial_file.hpp"
#include "plait/files/system_file.hpp"

namespace cosmology {

namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  plait::files::PartialFile partial{path};
  plait::files::SystemFile{partial.path(), plait::files::SystemFile::Mode::create}.write(
      0, std::as_bytes(std::span{text}));
  partial.complete();
}

}  // namespace

void PowerFile::add(const RunState& state, const plait::particles::PowerSpectrum& spectrum) {
  const double growth = state.universe.expansion().growth(state.scale_factor);
  if (first_.empty()) {
    first_ = spectrum.power;
    first_growth_ = growth;
  }
  const double grown = growth * growth / (first_growth_ * first_growth_);
  for (std::size_t i = 0; i < spectrum.power.size(); ++i) {
    rows_ += fmt::format("{} {:.8g} {:.6g} {:.6g} {:.6g} {}\n",
                         state.step,
                         state.scale_factor,
                         spectrum.wave_number[i],
                         spectrum.power[i],
                         first_[i] * grown,
                         spectrum.waves[i]);
  }
  const std::string head = fmt::format(
      "# power spectra of plait-cosmology; shot noise {:.6g} Mpc^3 is not taken off\n"
      "# step  scale_factor  k[1/Mpc]  power[Mpc^3]  linear[Mpc^3]  waves\n",
      spectrum.shot_noise);
  write_text(path_, head + rows_);
}

namespace {

/// The physical radius of a sphere of the mass in 200 times the mean density of matter.
double radius_of(double mass, const RunState& state) {
  const double expansion = 100 * state.universe.hubble;
  const double density = state.universe.matter * 3 * expansion * expansion / (8 * std::numbers::pi * gravity);
  return state.scale_factor * std::cbrt(3 * mass / (4 * std::numbers::pi * 200 * density));
}

}  // namespace

void write_groups(const std::filesystem::path& file, const RunState& state, const std::vector<GroupRow>& groups) {
  std::string text = fmt::format(
      "# groups of plait-cosmology, scale factor {:.8g}: friends of friends, 0.2 mean distances, 20 particles or more\n"
      "# id  members  mass[1e10 Msun]  x y z[Mpc]  vx vy vz[km/s]  radius[Mpc]  dispersion[km/s]  "
      "intermediate/longest  shortest/longest axis  specific angular momentum x y z[Mpc km/s, physical]  "
      "half-mass radius[Mpc]  spin parameter\n",
      state.scale_factor);
  for (const GroupRow& group : groups) {
    const plait::particles::AxisRatios axes = plait::particles::axis_ratios(group);
    const Vector spin = (1 / group.mass) * group.angular_momentum;
    text += fmt::format(
        "{} {} {:.6g} {:.6f} {:.6f} {:.6f} {:.4f} {:.4f} {:.4f} {:.5g} {:.5g} "
        "{:.4f} {:.4f} {:.5g} {:.5g} {:.5g} {:.5g} {:.5g}\n",
        group.id,
        group.members,
        group.mass,
        group.centre.x,
        group.centre.y,
        group.centre.z,
        group.velocity.x,
        group.velocity.y,
        group.velocity.z,
        group.radius(),
        group.speed(),
        axes.intermediate,
        axes.shortest,
        spin.x,
        spin.y,
        spin.z,
        group.half_mass_radius,
        plait::particles::spin_parameter(group, radius_of(group.mass, state), gravity));
  }
  write_text(file, text);
}

}  // namespace cosmology
