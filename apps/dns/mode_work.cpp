// SPDX-License-Identifier: Apache-2.0
#include "dns/mode_work.hpp"

#include <algorithm>
#include <cmath>

namespace dns {

namespace {

double* numbers(Array& array, Index place) {
  return reinterpret_cast<double*>(array.data() + place);
}

}  // namespace

FlowArrays::Counts FlowArrays::counts(const Scheme& scheme, std::size_t scalars) {
  const bool has_sum = scheme.integrator == Integrator::rk4;
  const bool has_kept = scheme.dealiasing == Dealiasing::phase_shift;
  return {.modes = (3 + scalars) * (2 + (has_sum ? 1 : 0) + (has_kept ? 1 : 0)) + 3 + scalars * (has_kept ? 3 : 2),
          .points = 6 + 3 * scalars};
}

FlowArrays::FlowArrays(const plait::fft::Plan& plan, const Scheme& scheme, std::size_t scalars) {
  const std::size_t variables = 3 + scalars;
  const Array modes_here(static_cast<std::size_t>(plan.spectral().size()));
  const std::vector<double> points_here(static_cast<std::size_t>(plan.physical().size()));
  const bool has_kept = scheme.dealiasing == Dealiasing::phase_shift;
  state.u.assign(3, modes_here);
  state.scalars.assign(scalars, modes_here);
  input.assign(variables, modes_here);
  sum.assign(scheme.integrator == Integrator::rk4 ? variables : 0, modes_here);
  kept.assign(has_kept ? variables : 0, modes_here);
  transformed.fill(modes_here);
  flux.assign(scalars, {has_kept ? modes_here : Array{}, modes_here, modes_here});
  u.fill(points_here);
  omega.fill(points_here);
  flux_points.assign(scalars, {points_here, points_here, points_here});
}

Shift make_shift(const Modes& modes, const std::array<double, 3>& distance) {
  Shift shift;
  for (int axis = 0; axis < 3 && distance != std::array<double, 3>{}; ++axis) {
    for (const double k : modes.k(axis)) {
      shift.by_axis[axis].push_back(std::polar(1.0, k * distance[axis]));
    }
    shift.by_axis[axis].emplace_back();  // so that no factor is missing where there is no mode
  }
  return shift;
}

Decay make_decay(const Modes& modes, double viscosity, double time) {
  Decay decay;
  for (int axis = 0; axis < 3; ++axis) {
    for (const double k : axis == 2 ? modes.k2_twice() : modes.k(axis)) {
      decay.by_axis[axis].push_back(std::exp(-viscosity * k * k * time));
    }
  }
  return decay;
}

/// Consecutive modes of a line.
struct ModeWork::Piece {
  std::size_t i0;  ///< Relative to the first of this rank, like i1 and i2.
  std::size_t i1;
  std::size_t i2;
  Index count;
  Index place;  ///< Of the first mode in arrays.
  double k0;
  double k1;
  const double* k2;  ///< Each twice.
};

ModeWork::ModeWork(const Modes& modes, const Physics& physics, FlowArrays& arrays)
    : modes_{modes}, physics_{physics}, arrays_{arrays} {
  set_decay(0);
}

void ModeWork::set_decay(double time) {
  decay_ = make_decay(modes_, physics_.viscosity, time);
  scalar_decays_.clear();
  for (const ScalarPhysics& scalar : physics_.scalars) {
    scalar_decays_.push_back(make_decay(modes_, physics_.viscosity / scalar.schmidt, time));
  }
}

template <class Work>
void ModeWork::for_pieces(const Box& box, Work work) const noexcept {
  const Layout& layout = modes_.layout();
  for (Index i0 = box.low[0]; i0 < box.high[0]; ++i0) {
    for (Index i1 = box.low[1]; i1 < box.high[1]; ++i1) {
      const Index end = std::min(box.high[2], layout.box.low[2] + modes_.kept(i0, i1));
      for (Index i2 = box.low[2]; i2 < end; i2 += piece_max) {
        Piece piece{};
        piece.i0 = static_cast<std::size_t>(i0 - layout.box.low[0]);
        piece.i1 = static_cast<std::size_t>(i1 - layout.box.low[1]);
        piece.i2 = static_cast<std::size_t>(i2 - layout.box.low[2]);
        piece.count = std::min(piece_max, end - i2);
        piece.place = layout.offset(i0, i1, i2);
        piece.k0 = modes_.k(0)[piece.i0];
        piece.k1 = modes_.k(1)[piece.i1];
        piece.k2 = modes_.k2_twice().data() + 2 * piece.i2;
        work(piece);
      }
    }
  }
}

void ModeWork::clear_beyond(const Box& box, Array& array) const noexcept {
  const Layout& layout = modes_.layout();
  for (Index i0 = box.low[0]; i0 < box.high[0]; ++i0) {
    for (Index i1 = box.low[1]; i1 < box.high[1]; ++i1) {
      const Index first = std::max(box.low[2], layout.box.low[2] + modes_.kept(i0, i1));
      if (first < box.high[2]) {
        std::fill_n(array.data() + layout.offset(i0, i1, first), box.high[2] - first, Complex{});
      }
    }
  }
}

void ModeWork::apply(const Piece& piece,
                     std::size_t variable,
                     double* __restrict right,
                     const Decay& decay) const noexcept {
  const Index n = 2 * piece.count;
  double* __restrict const state = numbers(arrays_.state_of(variable), piece.place);
  double* __restrict const input = numbers(arrays_.input[variable], piece.place);
  double* __restrict const sum = arrays_.sum.empty() ? nullptr : numbers(arrays_.sum[variable], piece.place);
  const double* __restrict const along = decay.by_axis[2].data() + 2 * piece.i2;
  const double line = decay.of_line(piece.i0, piece.i1);
  const double dt = stage_.dt;
  if (stage_.is_mean) {
    const double* __restrict const kept = numbers(arrays_.kept[variable], piece.place);
    for (Index j = 0; j < n; ++j) {
      right[j] = 0.5 * (right[j] + kept[j]);
    }
  }
  switch (stage_.update) {
    case Update::none:
      std::copy_n(state, n, input);
      break;
    case Update::keep:
      std::copy_n(right, n, numbers(arrays_.kept[variable], piece.place));
      break;
    case Update::rk2_first:
      for (Index j = 0; j < n; ++j) {
        const double a = line * along[j];
        input[j] = a * (state[j] + dt * right[j]);
        state[j] = a * (state[j] + dt / 2 * right[j]);
      }
      break;
    case Update::rk2_last:
      for (Index j = 0; j < n; ++j) {
        state[j] += dt / 2 * right[j];
        input[j] = state[j];
      }
      break;
    case Update::rk4_first:
      for (Index j = 0; j < n; ++j) {
        const double a = line * along[j];
        input[j] = a * (state[j] + dt / 2 * right[j]);
        sum[j] = a * a * (state[j] + dt / 6 * right[j]);
      }
      break;
    case Update::rk4_second:
      for (Index j = 0; j < n; ++j) {
        const double a = line * along[j];
        input[j] = a * state[j] + dt / 2 * right[j];
        sum[j] += dt / 3 * a * right[j];
      }
      break;
    case Update::rk4_third:
      for (Index j = 0; j < n; ++j) {
        const double a = line * along[j];
        input[j] = a * (a * state[j] + dt * right[j]);
        sum[j] += dt / 3 * a * right[j];
      }
      break;
    case Update::rk4_last:
      for (Index j = 0; j < n; ++j) {
        state[j] = sum[j] + dt / 6 * right[j];
        input[j] = state[j];
      }
      break;
  }
}

void ModeWork::shift_and_curl(const Piece& piece) const noexcept {
  std::array<double*, 3> v{};
  for (std::size_t c = 0; c < 3; ++c) {
    v[c] = numbers(arrays_.input[c], piece.place);
    rotate(piece, stage_.next, 1, v[c]);
  }
  const double* __restrict const v0 = v[0];
  const double* __restrict const v1 = v[1];
  const double* __restrict const v2 = v[2];
  double* __restrict const w0 = numbers(arrays_.transformed[0], piece.place);
  double* __restrict const w1 = numbers(arrays_.transformed[1], piece.place);
  double* __restrict const w2 = numbers(arrays_.transformed[2], piece.place);
  const double k0 = piece.k0;
  const double k1 = piece.k1;
  for (Index j = 0; j < piece.count; ++j) {
    const Index re = 2 * j;
    const Index im = re + 1;
    const double k2 = piece.k2[re];
    w0[re] = k2 * v1[im] - k1 * v2[im];
    w0[im] = k1 * v2[re] - k2 * v1[re];
    w1[re] = k0 * v2[im] - k2 * v0[im];
    w1[im] = k2 * v0[re] - k0 * v2[re];
    w2[re] = k1 * v0[im] - k0 * v1[im];
    w2[im] = k0 * v1[re] - k1 * v0[re];
  }
}

/// Multiplies values by the shift's factors, or by their conjugates if `sign` is -1.
void ModeWork::rotate(const Piece& piece, const Shift& shift, double sign, double* __restrict values) noexcept {
  if (!shift.is_any()) {
    return;
  }
  const auto* __restrict const factors = reinterpret_cast<const double*>(shift.by_axis[2].data() + piece.i2);
  const Complex line = shift.of_line(piece.i0, piece.i1);
  const double c = line.real();
  const double s = line.imag();
  for (Index j = 0; j < piece.count; ++j) {
    const double re = c * factors[2 * j] - s * factors[2 * j + 1];
    const double im = sign * (c * factors[2 * j + 1] + s * factors[2 * j]);
    const double x = values[2 * j];
    const double y = values[2 * j + 1];
    values[2 * j] = x * re - y * im;
    values[2 * j + 1] = x * im + y * re;
  }
}

void ModeWork::load_right_side(const Piece& piece, RightSide& right) const noexcept {
  std::array<double*, 3> n{};
  for (std::size_t c = 0; c < 3; ++c) {
    n[c] = right[c].data();
    std::copy_n(numbers(arrays_.transformed[c], piece.place), 2 * piece.count, n[c]);
    rotate(piece, stage_.shift, -1, n[c]);
  }
  remove_divergence(piece, n);
  if (piece.k0 == 0 && piece.k1 == 0 && piece.k2[0] == 0) {
    for (std::size_t c = 0; c < 3; ++c) {
      n[c][0] = n[c][1] = 0;  // the mean of u x omega is 0: momentum is conserved
    }
  }
}

void ModeWork::remove_divergence(const Piece& piece, const std::array<double*, 3>& values) noexcept {
  double* __restrict const n0 = values[0];
  double* __restrict const n1 = values[1];
  double* __restrict const n2 = values[2];
  const double* __restrict const k2 = piece.k2;
  const double k0 = piece.k0;
  const double k1 = piece.k1;
  for (Index j = 0; j < 2 * piece.count; ++j) {
    const double square = k0 * k0 + k1 * k1 + k2[j] * k2[j];
    const double part = (k0 * n0[j] + k1 * n1[j] + k2[j] * n2[j]) / (square > 0 ? square : 1);
    n0[j] -= k0 * part;
    n1[j] -= k1 * part;
    n2[j] -= k2[j] * part;
  }
}

void ModeWork::update_velocity(const Box& box) const noexcept {
  RightSide right;
  for_pieces(box, [&](const Piece& piece) {
    if (stage_.update != Update::none) {
      load_right_side(piece, right);
    }
    for (std::size_t c = 0; c < 3; ++c) {
      apply(piece, c, right[c].data(), decay_);
    }
    shift_and_curl(piece);
  });
  for (Array& array : arrays_.transformed) {
    clear_beyond(box, array);
  }
}

void ModeWork::update_scalar(std::size_t number, const Box& box) const noexcept {
  Array& input = arrays_.input[3 + number];
  const std::array<double, 3>& gradient = physics_.scalars[number].mean_gradient;
  const bool has_gradient = gradient != std::array<double, 3>{};
  std::array<double, 2 * piece_max> right;
  for_pieces(box, [&](const Piece& piece) {
    if (stage_.update != Update::none) {
      load_divergence(piece, number, right.data());
      for (std::size_t c = 0; c < 3 && has_gradient; ++c) {
        const double* const u = numbers(arrays_.input[c], piece.place);
        for (Index j = 0; j < 2 * piece.count; ++j) {
          right[j] -= gradient[c] * u[j];
        }
      }
      rotate(piece, stage_.shift, -1, right.data());
    }
    apply(piece, 3 + number, right.data(), scalar_decays_[number]);
    rotate(piece, stage_.next, 1, numbers(input, piece.place));
  });
  clear_beyond(box, input);
}

void ModeWork::load_divergence(const Piece& piece, std::size_t scalar, double* __restrict out) const noexcept {
  const double* __restrict const f0 = numbers(arrays_.first_flux(scalar), piece.place);
  const double* __restrict const f1 = numbers(arrays_.flux[scalar][1], piece.place);
  const double* __restrict const f2 = numbers(arrays_.flux[scalar][2], piece.place);
  for (Index j = 0; j < piece.count; ++j) {
    const Index re = 2 * j;
    const Index im = re + 1;
    const double k2 = piece.k2[re];
    out[re] = piece.k0 * f0[im] + piece.k1 * f1[im] + k2 * f2[im];
    out[im] = -(piece.k0 * f0[re] + piece.k1 * f1[re] + k2 * f2[re]);
  }
}

void ModeWork::cut_off(const Box& box) const noexcept {
  for (std::size_t v = 0; v < 3 + arrays_.scalars(); ++v) {
    clear_beyond(box, arrays_.state_of(v));
  }
  for (std::size_t c = 0; c < 3; ++c) {
    clear_beyond(box, arrays_.input[c]);
  }
}

void ModeWork::project(const Box& box) const noexcept {
  for_pieces(box, [&](const Piece& piece) {
    std::array<double*, 3> u{};
    for (std::size_t c = 0; c < 3; ++c) {
      u[c] = numbers(arrays_.state.u[c], piece.place);
    }
    remove_divergence(piece, u);
  });
}

void ModeWork::leave_right_side(const Box& box) const noexcept {
  RightSide right;
  for_pieces(box, [&](const Piece& piece) {
    load_right_side(piece, right);
    for (std::size_t c = 0; c < 3; ++c) {
      std::copy_n(right[c].data(), 2 * piece.count, numbers(arrays_.transformed[c], piece.place));
    }
  });
}

void ModeWork::leave_gradients(const Box& box) const noexcept {
  for_pieces(box, [&](const Piece& piece) {
    for (std::size_t c = 0; c < 3; ++c) {
      const double* const u = numbers(arrays_.state.u[c], piece.place);
      double* const out = numbers(arrays_.transformed[c], piece.place);
      for (Index j = 0; j < piece.count; ++j) {
        const double k = c == 0 ? piece.k0 : c == 1 ? piece.k1 : piece.k2[2 * j];
        out[2 * j] = -k * u[2 * j + 1];
        out[2 * j + 1] = k * u[2 * j];
      }
    }
  });
  for (Array& array : arrays_.transformed) {
    clear_beyond(box, array);
  }
}

}  // namespace dns
