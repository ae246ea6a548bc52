// SPDX-License-Identifier: Apache-2.0
#include "sph/particle_work.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sph/flow_gradient.hpp"

namespace sph {

namespace {

using plait::Error;
using plait::ErrorCode;

constexpr std::uint32_t tries_max = 60;

[[noreturn]] void fail(const Gas& gas, std::size_t i, const std::string& what) {
  const Vector& at = gas.position[i];
  throw Error{ErrorCode::bad_input,
              fmt::format("particle {} at ({:.6g}, {:.6g}, {:.6g}): {}", gas.id[i], at.x, at.y, at.z, what)};
}

float sound_speed(const Scheme& scheme, float energy) {
  return std::sqrt(scheme.gamma * (scheme.gamma - 1) * energy);
}

/// Cullen and Dehnen's switch in the form of Borrow et al.: rises at once where convergence accelerates, decays within
/// sound crossings of the support. Gas that falls freely converges faster without a shock.
void switch_viscosity(const Gas& gas, std::size_t i, const FlowGradient& flow, const Scheme& scheme) {
  const float support = support_ratio(scheme.kernel) * gas.smoothing[i];
  const float sound = sound_speed(scheme, gas.energy_now[i]);
  const float signal = gas.signal_speed[i] > 0 ? gas.signal_speed[i] : 2 * sound;
  float& alpha = gas.alpha[i];
  const float elapsed = gas.age[i];
  const ShockViscosity viscosity = shock_viscosity(scheme);
  const float free = viscosity.ignores_free_fall ? std::max(0.0F, flow.falling) : 0;
  const float quickening = elapsed > 0 ? (gas.divergence[i] - flow.divergence) / elapsed - free : 0;
  const float shock = flow.divergence < 0 ? support * support * std::max(0.0F, quickening) : 0;
  const float onset = viscosity.onset * signal;
  const float wanted = std::max(viscosity.min, viscosity.max * shock / (shock + onset * onset + 1e-30F));
  if (wanted > alpha) {
    alpha = wanted;
  } else {
    const float time = support / (scheme.viscosity_decay * sound + 1e-30F);
    alpha = wanted + (alpha - wanted) * std::exp(-elapsed / time);
  }
}

void switch_conduction(const Gas& gas, std::size_t i, const Scheme& scheme) {
  const float h = gas.smoothing[i];
  const float sound = sound_speed(scheme, gas.energy_now[i]);
  const float signal = gas.signal_speed[i] > 0 ? gas.signal_speed[i] : 2 * sound;
  const float rise =
      scheme.conduction_rise * h * std::abs(gas.laplacian[i]) / std::sqrt(std::max(gas.energy_now[i], 1e-30F));
  const float decay = signal / (support_ratio(scheme.kernel) * h);
  // The exact solution of da/dt = rise - a decay over the time since then.
  const float wanted = rise / std::max(decay, 1e-30F);
  const float alpha = wanted + (gas.conduction[i] - wanted) * std::exp(-gas.age[i] * decay);
  // Viscosity already heats the gas in shocks.
  const float limit = scheme.conduction_max * std::max(0.0F, 1 - gas.alpha[i] / shock_viscosity(scheme).max);
  gas.conduction[i] = std::clamp(alpha, 0.0F, limit);
}

/// The step that gravity allows.
double gravity_step(const Gas& gas, std::size_t i, const GravitySettings& gravity) {
  if (gravity.constant == 0) {
    return gravity.step_max;
  }
  const double pull = length(gas.gravity[i]);
  if (gravity.softening == 0) {
    return std::isfinite(pull) ? gravity.step_max : pull;
  }
  const double step = std::sqrt(2 * gravity.accuracy * gravity.softening / pull);
  return step < gravity.step_max || std::isnan(step) ? step : gravity.step_max;
}

/// The step that the gas allows.
double flow_step(const Gas& gas, std::size_t i, const Scheme& scheme, double shortest) {
  constexpr double smoothing_change_max = 0.3365;  // ln 1.4
  const double h = gas.smoothing[i];
  const double support = support_ratio(scheme.kernel) * h;
  const double signal =
      std::max<double>(gas.signal_speed[i], 2 * static_cast<double>(sound_speed(scheme, gas.energy_now[i])));
  const Vector pull = gas.acceleration[i] + gas.gravity[i];
  const double by_signal = 2 * scheme.courant * support / signal;
  const double by_pull = std::sqrt(2 * scheme.courant * h / length(pull));
  const double by_smoothing = smoothing_change_max * h / std::abs(static_cast<double>(gas.smoothing_rate[i]));
  const double step = std::min({by_signal, by_pull, by_smoothing});
  if (!(step >= shortest) || std::isnan(by_signal) || std::isnan(by_pull) || std::isnan(by_smoothing)) {
    const char* const why = step == by_signal ? "signals of its neighbours are too fast"
                            : step == by_pull ? "its acceleration is too large"
                                              : "its smoothing length changes too fast";
    fail(gas,
         i,
         fmt::format("its time step is {:.3g}, shorter than the shortest ({:.3g}): {} (smoothing length {:.3g}, signal "
                     "speed {:.3g}, acceleration {:.3g}, energy {:.3g})",
                     step,
                     shortest,
                     why,
                     h,
                     signal,
                     length(pull),
                     gas.energy_now[i]));
  }
  return step;
}

}  // namespace

Smoothing improve_smoothing(
    const Gas& gas, std::size_t i, const DensitySums& sums, const Scheme& scheme, SmoothingSearch& search) {
  float& h = gas.smoothing[i];
  if (!(h > 0) || !std::isfinite(h)) {
    fail(gas, i, fmt::format("its smoothing length is {}: it must be a positive number", h));
  }
  // Wanted: number h^3 = eta^3, the mean distance being number^(-1/3).
  const float eta3 = scheme.eta * scheme.eta * scheme.eta;
  const float excess = sums.number * h * h * h - eta3;
  (excess > 0 ? search.high : search.low) = h;
  const float slope = 3 * h * h * sums.number + h * h * h * sums.number_slope;
  float next = slope > 0 ? h - excess / slope : 2 * h;
  if (!std::isfinite(next)) {
    fail(gas, i, fmt::format("the sum over its neighbours is {}", sums.number));
  }
  next = std::clamp(next, 0.5F * h, 2 * h);
  if (next <= search.low || next >= search.high) {
    next = std::isfinite(search.high) ? 0.5F * (search.low + search.high) : 2 * h;
  }
  next = std::min(next, scheme.smoothing_max);
  // In single precision the bracket may close before the tolerance is met by Newton's step.
  if (std::abs(next - h) <= scheme.smoothing_tolerance * h) {
    return Smoothing::found;
  }
  if (++search.tries > tries_max) {
    fail(gas,
         i,
         fmt::format(
             "its smoothing length does not converge ({} after {} tries): has it no neighbours? Set --smoothing-max",
             h,
             search.tries));
  }
  h = next;
  return Smoothing::again;
}

void finish_density(const Gas& gas, std::size_t i, const DensitySums& sums, const Scheme& scheme) {
  const float density = sums.density;
  if (!(density > 0) || !std::isfinite(density)) {
    fail(gas, i, fmt::format("its density is {}: has it a positive mass?", density));
  }
  const float h = gas.smoothing[i];
  gas.density[i] = density;
  gas.pressure[i] = (scheme.gamma - 1) * density * gas.energy_now[i];
  gas.grad_h[i] = 1 / std::max(1 + h * sums.density_slope / (3 * density), 0.1F);
  const FlowGradient flow = flow_gradient(sums);
  const float sound = sound_speed(scheme, gas.energy_now[i]);
  const float turning = std::abs(flow.divergence) + flow.curl + 1e-4F * sound / h;
  const float balsara = turning > 0 ? std::abs(flow.divergence) / turning : 1;
  if (scheme.kind == SchemeKind::minimal) {
    gas.alpha[i] = scheme.viscosity;
    gas.conduction[i] = 0;
  } else {
    switch_viscosity(gas, i, flow, scheme);
    switch_conduction(gas, i, scheme);
  }
  // What is linear, as shear is, has no viscosity in the reconstructed scheme.
  gas.viscosity[i] = gas.alpha[i] * (scheme.kind == SchemeKind::reconstructed ? 1 : balsara);
  gas.strain_along[i] = flow.strain_along;
  gas.strain_across[i] = flow.strain_across;
  gas.divergence[i] = flow.divergence;
  gas.age[i] = 0;
}

void finish_forces(const Gas& gas, std::size_t i, const ForceSums& sums) {
  gas.acceleration[i] = {sums.x, sums.y, sums.z};
  gas.energy_rate[i] = sums.energy_rate;
  gas.smoothing_rate[i] = -gas.smoothing[i] * sums.compression / 3;
  gas.density_rate[i] = gas.density[i] * sums.compression;
  gas.laplacian[i] = sums.laplacian;
  gas.signal_speed[i] = sums.signal_speed;
}

double time_step(const Gas& gas, std::size_t i, const Scheme& scheme, double shortest) {
  const double by_gravity = gravity_step(gas, i, scheme.gravity);
  if (gas.kind[i] == gas_kind) {
    return std::min(by_gravity, flow_step(gas, i, scheme, shortest));
  }
  if (!(by_gravity >= shortest)) {
    fail(gas,
         i,
         fmt::format("its time step is {:.3g}, shorter than the shortest ({:.3g}): its acceleration is {:.3g}",
                     by_gravity,
                     shortest,
                     length(gas.gravity[i])));
  }
  return by_gravity;
}

void kick(const Gas& gas, std::size_t i, const Scheme& scheme, double duration) {
  gas.velocity[i] += duration * (gas.acceleration[i] + gas.gravity[i]);
  const float change = static_cast<float>(duration) * gas.energy_rate[i];
  // Expansion takes at most half at once, so that the energy of cold gas stays positive.
  gas.energy[i] = std::max({gas.energy[i] + change, 0.5F * gas.energy[i], scheme.energy_min});
}

void settle(const Gas& gas, std::size_t i) {
  gas.velocity_now[i] = gas.velocity[i];
  gas.energy_now[i] = gas.energy[i];
}

void drift(const Gas& gas, std::size_t i, const Scheme& scheme, double duration) {
  gas.position[i] += duration * gas.velocity[i];
  gas.velocity_now[i] += duration * (gas.acceleration[i] + gas.gravity[i]);
  if (gas.kind[i] != gas_kind) {
    return;
  }
  const auto time = static_cast<float>(duration);
  gas.age[i] += time;
  gas.energy_now[i] =
      std::max({gas.energy_now[i] + time * gas.energy_rate[i], 0.5F * gas.energy_now[i], scheme.energy_min});
  const float h = gas.smoothing[i];
  gas.smoothing[i] = std::min(h * std::exp(time * gas.smoothing_rate[i] / h), scheme.smoothing_max);
  gas.density[i] *= std::exp(time * gas.density_rate[i] / std::max(gas.density[i], 1e-30F));
}

DensityTarget density_target(const Gas& gas, std::size_t i, const Vector& origin) {
  const Vector at = gas.position[i] - origin;
  const Vector& flow = gas.velocity_now[i];
  return {.x = static_cast<float>(at.x),
          .y = static_cast<float>(at.y),
          .z = static_cast<float>(at.z),
          .velocity_x = static_cast<float>(flow.x),
          .velocity_y = static_cast<float>(flow.y),
          .velocity_z = static_cast<float>(flow.z),
          .smoothing = gas.smoothing[i]};
}

ForceTarget force_target(const Gas& gas, std::size_t i, const Vector& origin) {
  ForceTarget target{density_target(gas, i, origin)};
  target.density = gas.density[i];
  target.grad_h = gas.grad_h[i];
  target.energy = gas.energy_now[i];
  target.viscosity = gas.viscosity[i];
  target.conduction = gas.conduction[i];
  const Vector& along = gas.strain_along[i];
  const Vector& across = gas.strain_across[i];
  target.strain_xx = static_cast<float>(along.x);
  target.strain_yy = static_cast<float>(along.y);
  target.strain_zz = static_cast<float>(along.z);
  target.strain_yz = static_cast<float>(across.x);
  target.strain_xz = static_cast<float>(across.y);
  target.strain_xy = static_cast<float>(across.z);
  return target;
}

}  // namespace sph
