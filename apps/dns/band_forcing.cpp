// SPDX-License-Identifier: Apache-2.0
#include "dns/band_forcing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "support/random_mode.hpp"

namespace dns {

namespace {

void check(const Forcing& settings) {
  if (settings.kind == ForcingKind::none) {
    return;
  }
  if (!(settings.wavenumber_max >= 1)) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "Forcing needs a largest wave number of 1 or more, or there is no mode to force."};
  }
  if (settings.kind == ForcingKind::stochastic && !(settings.correlation_time > 0 && settings.variance >= 0)) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "Stochastic forcing needs a correlation time above 0 and a variance that is not negative."};
  }
}

}  // namespace

BandForcing::BandForcing(const Forcing& settings, const Modes& modes, plait::Group& group)
    : settings_{settings}, group_{group} {
  check(settings);
  if (!is_any()) {
    return;
  }
  const double k_max = settings.wavenumber_max;
  const int reach = static_cast<int>(k_max);
  shells_ = static_cast<std::size_t>(k_max + 0.5) + 1;
  const auto for_modes = [&](auto work) {
    for (int k0 = -reach; k0 <= reach; ++k0) {
      for (int k1 = -reach; k1 <= reach; ++k1) {
        for (int k2 = 0; k2 <= reach; ++k2) {
          const int square_k = k0 * k0 + k1 * k1 + k2 * k2;
          if (square_k > 0 && square_k <= k_max * k_max && modes.is_kept({k0, k1, k2})) {
            work(std::array<int, 3>{k0, k1, k2}, std::sqrt(square_k));
          }
        }
      }
    }
  };
  for_modes([this](const std::array<int, 3>& k, double) {
    if (app::decides(k)) {
      processes_.push_back(k);
    }
  });
  const Box& here = modes.layout().box;
  for_modes([&](const std::array<int, 3>& k, double size) {
    Box box;
    bool is_here = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.low[axis] = k[axis] < 0 ? k[axis] + modes.lengths()[axis] : k[axis];
      box.high[axis] = box.low[axis] + 1;
      is_here = is_here && box.low[axis] >= here.low[axis] && box.low[axis] < here.high[axis];
    }
    if (is_here) {
      Mode mode;
      mode.place = static_cast<std::size_t>(modes.layout().offset(box.low[0], box.low[1], box.low[2]));
      mode.k = {static_cast<double>(k[0]), static_cast<double>(k[1]), static_cast<double>(k[2])};
      mode.weight = k[2] > 0 ? 2 : 1;
      mode.shell = static_cast<std::size_t>(size + 0.5);
      mode.is_conjugate = !app::decides(k);
      const std::array<int, 3> decider = mode.is_conjugate ? std::array<int, 3>{-k[0], -k[1], -k[2]} : k;
      const auto found = std::find(processes_.begin(), processes_.end(), decider);
      mode.process = static_cast<std::size_t>(found - processes_.begin());
      modes_.push_back(mode);
      boxes_.push_back(box);
    }
  });
  if (settings.kind == ForcingKind::stochastic) {
    state_.assign(6 * processes_.size(), 0);
    advance_processes(0, 0);
  }
}

void BandForcing::forget() noexcept {
  if (settings_.kind == ForcingKind::hold_energy) {
    state_.clear();
  }
}

void BandForcing::begin(const Fields& fields) {
  if (settings_.kind == ForcingKind::hold_energy && state_.empty()) {
    state_ = energies(fields);
  }
}

double BandForcing::apply(Fields& fields, double dt, std::uint64_t step) {
  const std::vector<double> before = energies(fields);
  if (settings_.kind == ForcingKind::stochastic) {
    advance_processes(std::exp(-dt / settings_.correlation_time), step);
    accelerate(fields, dt);
    const std::vector<double> after = energies(fields);
    return std::accumulate(after.begin(), after.end(), 0.0) - std::accumulate(before.begin(), before.end(), 0.0);
  }
  const std::vector<double> factor = factors(before, dt);
  for (const Mode& mode : modes_) {
    for (Array& u : fields.u) {
      u[mode.place] *= factor[mode.shell];
    }
  }
  double given = 0;
  for (std::size_t shell = 0; shell < shells_; ++shell) {
    given += (factor[shell] * factor[shell] - 1) * before[shell];
  }
  return given;
}

std::vector<double> BandForcing::energies(const Fields& fields) const {
  std::vector<double> sums(shells_);
  for (const Mode& mode : modes_) {
    for (const Array& u : fields.u) {
      sums[mode.shell] += mode.weight / 2 * std::norm(u[mode.place]);
    }
  }
  plait::all_reduce(group_, std::span{sums}).wait();
  return sums;
}

/// By shell, of the velocity: from the energies of the shells `before`.
std::vector<double> BandForcing::factors(const std::vector<double>& before, double dt) const {
  std::vector<double> factor(shells_, 1);
  if (settings_.kind == ForcingKind::hold_energy) {
    for (std::size_t shell = 0; shell < shells_; ++shell) {
      if (before[shell] > 0 && state_[shell] > 0) {
        factor[shell] = std::sqrt(state_[shell] / before[shell]);
      }
    }
    return factor;
  }
  const double energy = std::accumulate(before.begin(), before.end(), 0.0);
  const double given = settings_.power * dt;
  if (!(energy > 0) || energy + given < 0) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "Constant power scales the modes of low wave numbers, which have no energy here; "
                       "start from another field, or choose stochastic forcing."};
  }
  factor.assign(shells_, std::sqrt(1 + given / energy));
  return factor;
}

void BandForcing::accelerate(Fields& fields, double dt) const {
  for (const Mode& mode : modes_) {
    std::array<Complex, 3> a;
    Complex along{};
    double k_square = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const double* const part = state_.data() + 6 * mode.process + 2 * c;
      a[c] = {part[0], mode.is_conjugate ? -part[1] : part[1]};
      along += mode.k[c] * a[c];
      k_square += mode.k[c] * mode.k[c];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      fields.u[c][mode.place] += dt * (a[c] - mode.k[c] / k_square * along);
    }
  }
}

void BandForcing::advance_processes(double keep, std::uint64_t step) {
  const double noise = std::sqrt(settings_.variance * (1 - keep * keep));
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    app::RandomOfMode random{settings_.seed, processes_[p], step};
    for (std::size_t c = 0; c < 3; ++c) {
      double* const part = state_.data() + 6 * p + 2 * c;
      const Complex change = noise * random.normal();
      part[0] = keep * part[0] + change.real();
      part[1] = keep * part[1] + change.imag();
    }
  }
}

void BandForcing::set_state(std::span<const double> state) {
  const std::size_t expected = settings_.kind == ForcingKind::hold_energy ? shells_ : state_.size();
  if (state.size() != expected && !(state.empty() && settings_.kind == ForcingKind::hold_energy)) {
    throw plait::Error{plait::ErrorCode::bad_input,
                       "The saved state of the forcing has " + std::to_string(state.size()) + " numbers instead of " +
                           std::to_string(expected) + ": it is of another kind or another range of wave numbers."};
  }
  state_.assign(state.begin(), state.end());
}

}  // namespace dns
