// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/modes.hpp"
#include "dns/physics.hpp"

namespace dns {

/// How a stage uses a right-hand side N. u is the state, v the input of the next stage, s a sum kept between stages.
/// a = exp(-nu k^2 dt / 2) in a step of fourth order, exp(-nu k^2 dt) in one of second order.
enum class Update : std::uint8_t {
  none,        ///< v = u: before the first step.
  keep,        ///< Keeps N of the first of two grids; v stays. N becomes the mean of both afterwards.
  rk2_first,   ///< v = a (u + dt N), u = a (u + dt/2 N)
  rk2_last,    ///< v = u = u + dt/2 N
  rk4_first,   ///< v = a (u + dt/2 N), s = a^2 (u + dt/6 N)
  rk4_second,  ///< v = a u + dt/2 N, s += dt/3 a N
  rk4_third,   ///< v = a^2 u + dt a N, s += dt/3 a N
  rk4_last,    ///< v = u = s + dt/6 N
};

/// The arrays of a flow on this rank: of modes, and of points. Variables are numbered: the three components of the
/// velocity, then the scalars.
struct FlowArrays {
  FlowArrays(const plait::fft::Plan& plan, const Scheme& scheme, std::size_t scalars);

  /// The numbers of arrays of modes and of points.
  struct Counts {
    std::size_t modes = 0;
    std::size_t points = 0;
  };
  [[nodiscard]] static Counts counts(const Scheme& scheme, std::size_t scalars);

  [[nodiscard]] std::size_t scalars() const noexcept { return flux.size(); }
  [[nodiscard]] Array& state_of(std::size_t variable) noexcept {
    return variable < 3 ? state.u[variable] : state.scalars[variable - 3];
  }
  /// The modes of a scalar's flux along axis 0, which may be those of its input.
  [[nodiscard]] Array& first_flux(std::size_t scalar) noexcept {
    return kept.empty() ? input[3 + scalar] : flux[scalar][0];
  }

  Fields state;
  std::vector<Array> input;          ///< By variable: v, shifted; transformed to points.
  std::vector<Array> sum;            ///< By variable; empty unless the scheme is of fourth order.
  std::vector<Array> kept;           ///< By variable; empty unless each right-hand side takes two grids.
  std::array<Array, 3> transformed;  ///< i k x v before a transform, u x omega after one; results of `ModeWork`.
  std::vector<std::array<Array, 3>> flux;
  std::array<std::vector<double>, 3> u;
  std::array<std::vector<double>, 3> omega;
  std::vector<std::array<std::vector<double>, 3>> flux_points;  ///< The first is the scalar itself.
};

/// A factor per mode, stored as one factor per axis and wave number of this rank: no mode needs an exponential.
template <class T>
struct ModeFactors {
  std::array<std::vector<T>, 3> by_axis;

  [[nodiscard]] bool is_any() const noexcept { return !by_axis[0].empty(); }
  /// Without the factor of axis 2.
  [[nodiscard]] T of_line(std::size_t i0, std::size_t i1) const noexcept { return by_axis[0][i0] * by_axis[1][i1]; }
};
using Shift = ModeFactors<Complex>;
using Decay = ModeFactors<double>;

/// Factors exp(i k d) of a shift by `distance` d; none if d is 0.
[[nodiscard]] Shift make_shift(const Modes& modes, const std::array<double, 3>& distance);
/// Factors exp(-nu k^2 time); those of axis 2 twice, for real and imaginary parts.
[[nodiscard]] Decay make_decay(const Modes& modes, double viscosity, double time);

/// What one stage of a step does to modes.
struct StageWork {
  Update update = Update::none;
  double dt = 0;
  bool is_mean = false;  ///< N is averaged with the kept one.
  Shift shift;           ///< Of the grid of these products.
  Shift next;            ///< Of the grid of the next products, relative to that of `input` if it stays.
};

/// The work on modes: the end of one right-hand side and the beginning of the next, in one pass through memory.
/// Threads: any number at once, on parts without a common mode; none while a member is changed.
class ModeWork {
 public:
  /// Borrows all.
  ModeWork(const Modes& modes, const Physics& physics, FlowArrays& arrays);

  /// Must be called before `update_*` when the time step changes.
  void set_decay(double time);
  StageWork& stage() noexcept { return stage_; }

  /// Subtracts the divergent part of u x omega, applies the stage's update, computes i k x v. Zeroes what is not kept.
  void update_velocity(const Box& box) const noexcept;
  /// Must precede `update_velocity` of the same modes if there is a mean gradient.
  void update_scalar(std::size_t number, const Box& box) const noexcept;
  /// Zeroes the modes that are not kept: of the state and the velocity's input.
  void cut_off(const Box& box) const noexcept;
  /// Subtracts the divergent part of the state.
  void project(const Box& box) const noexcept;
  /// Writes N to `transformed`, without an update. Velocity only.
  void leave_right_side(const Box& box) const noexcept;
  /// Writes d u_a / d x_a of the state to `transformed`.
  void leave_gradients(const Box& box) const noexcept;

 private:
  struct Piece;
  /// Modes per pass: the data of a loop fits into the first-level cache.
  static constexpr Index piece_max = 128;
  using RightSide = std::array<std::array<double, 2 * piece_max>, 3>;

  template <class Work>
  void for_pieces(const Box& box, Work work) const noexcept;
  void clear_beyond(const Box& box, Array& array) const noexcept;
  void load_right_side(const Piece& piece, RightSide& right) const noexcept;
  void load_divergence(const Piece& piece, std::size_t scalar, double* out) const noexcept;
  static void remove_divergence(const Piece& piece, const std::array<double*, 3>& values) noexcept;
  void apply(const Piece& piece, std::size_t variable, double* right, const Decay& decay) const noexcept;
  void shift_and_curl(const Piece& piece) const noexcept;
  static void rotate(const Piece& piece, const Shift& shift, double sign, double* values) noexcept;

  const Modes& modes_;
  const Physics& physics_;
  FlowArrays& arrays_;
  Decay decay_;
  std::vector<Decay> scalar_decays_;
  StageWork stage_;
};

}  // namespace dns
