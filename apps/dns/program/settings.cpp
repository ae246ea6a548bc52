// SPDX-License-Identifier: Apache-2.0
#include "dns/program/settings.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "support/choice.hpp"

namespace dns {
namespace {

[[noreturn]] void throw_bad(const std::string& sentence) {
  throw plait::Error{plait::ErrorCode::bad_argument, sentence};
}

void expect_positive(std::string_view option, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw_bad(fmt::format("{} {}: must be a number above 0", option, value));
  }
}

}  // namespace

Physics RunSettings::physics() const {
  if (reynolds != 0 && viscosity >= 0) {
    throw_bad("--reynolds and --viscosity exclude each other: give one of them");
  }
  Physics physics;
  if (viscosity >= 0) {
    physics.viscosity = viscosity;
  } else {
    const double number = reynolds != 0 ? reynolds : 100;
    expect_positive("--reynolds", number);
    physics.viscosity = 1 / number;
  }
  if (!std::isfinite(physics.viscosity)) {
    throw_bad(fmt::format("--viscosity {}: must be a number", viscosity));
  }
  physics.forcing.kind = app::choose<ForcingKind>("--forcing",
                                                  forcing,
                                                  {{"none", ForcingKind::none},
                                                   {"hold-energy", ForcingKind::hold_energy},
                                                   {"constant-power", ForcingKind::constant_power},
                                                   {"stochastic", ForcingKind::stochastic}});
  physics.forcing.wavenumber_max = forcing_wavenumber;
  physics.forcing.power = forcing_power;
  physics.forcing.variance = forcing_variance;
  physics.forcing.correlation_time = forcing_time;
  physics.forcing.seed = seed;
  for (std::size_t i = 0; i < schmidt.size(); ++i) {
    expect_positive("--scalars", schmidt[i]);
    physics.scalars.push_back(
        {.name = fmt::format("scalar{}", i + 1), .schmidt = schmidt[i], .mean_gradient = {scalar_gradient, 0, 0}});
  }
  return physics;
}

Scheme RunSettings::numerics() const {
  return {
      .integrator = app::choose<Integrator>("--scheme", scheme, {{"rk2", Integrator::rk2}, {"rk4", Integrator::rk4}}),
      .dealiasing = app::choose<Dealiasing>("--dealias",
                                            dealias,
                                            {{"truncation", Dealiasing::truncation},
                                             {"phase-shift", Dealiasing::phase_shift},
                                             {"phase-shift-step", Dealiasing::phase_shift_step},
                                             {"phase-shift-random", Dealiasing::phase_shift_random},
                                             {"none", Dealiasing::none}}),
      .seed = seed};
}

plait::fft::PlanOptions RunSettings::plan_options() const {
  plait::fft::PlanOptions options{.pieces = pieces, .variant = variant};
  options.effort = app::choose<plait::fft::Effort>("--effort",
                                                   effort,
                                                   {{"estimate", plait::fft::Effort::estimate},
                                                    {"measure", plait::fft::Effort::measure},
                                                    {"patient", plait::fft::Effort::patient}});
  if (!grid.empty()) {
    const char* const end = grid.data() + grid.size();
    const auto [middle, first_error] = std::from_chars(grid.data(), end, options.grid.row);
    const bool has_both = first_error == std::errc{} && middle != end && *middle == 'x';
    const auto [last, error] = std::from_chars(has_both ? middle + 1 : end, end, options.grid.column);
    if (!has_both || error != std::errc{} || last != end || options.grid.row == 0 || options.grid.column == 0) {
      throw_bad(fmt::format("--grid {}: must be ranks in a row, x, ranks in a column, as 2x3", grid));
    }
  }
  return options;
}

OnCourant RunSettings::courant_policy() const {
  return app::choose<OnCourant>(
      "--on-cfl", on_courant, {{"stop", OnCourant::stop}, {"warn", OnCourant::warn}, {"adapt", OnCourant::adapt}});
}

Precision RunSettings::output_precision() const {
  return app::choose<Precision>("--precision", precision, {{"single", Precision::single}, {"double", Precision::full}});
}

void RunSettings::check() const {
  (void)physics();
  (void)plan_options();
  (void)courant_policy();
  (void)output_precision();
  if (points.size() != 0 && points.size() != 1 && points.size() != 3) {
    throw_bad("--points: give one number, or three, along x, y and z");
  }
  for (const plait::fft::Index n : points) {
    if (n < 1) {
      throw_bad(fmt::format("--points {}: an axis has at least one point", n));
    }
  }
  if (time_end != 0) {
    expect_positive("--time-end", time_end);
  }
  if (time_step != 0) {
    expect_positive("--time-step", time_step);
  }
  if (courant != 0) {
    expect_positive("--cfl", courant);
    const double limit = courant_limit(numerics());
    if (courant > limit) {
      throw_bad(fmt::format("--cfl {}: {} with --dealias {} is stable up to {:.3f} only; choose a smaller one",
                            courant,
                            scheme,
                            dealias,
                            limit));
    }
  }
  if (!(memory_limit_gib >= 0)) {
    throw_bad("--memory-limit: must be a number of GiB above 0");
  }
  if ((problem == "file") != !field.empty()) {
    throw_bad("--problem file and --field FILE belong together: give both or neither");
  }
}

}  // namespace dns
