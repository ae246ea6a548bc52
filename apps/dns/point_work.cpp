// SPDX-License-Identifier: Apache-2.0
#include "dns/point_work.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dns {

namespace {

constexpr std::size_t lanes = 2;

/// A vector of doubles. Compilers use vector instructions for it, but not for loops with a comparison.
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

Lanes load(const double* from) noexcept {
  Lanes values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

void store(double* to, const Lanes& values) noexcept {
  std::memcpy(to, &values, sizeof values);
}

/// The largest values by lane. Comparisons ignore NaN; the sum reports it.
struct Largest {
  Lanes max{};
  Lanes sum{};

  void add(const Lanes& values) noexcept {
    max = values > max ? values : max;
    sum += values;
  }
  [[nodiscard]] double value() const noexcept {
    double largest = 0;
    double all = 0;
    for (std::size_t j = 0; j < lanes; ++j) {
      largest = max[j] > largest ? max[j] : largest;
      all += sum[j];
    }
    return std::isfinite(all) ? largest : std::numeric_limits<double>::infinity();
  }
};

/// Points `first` ... `first` + lanes - 1 of three arrays; zero beyond the end.
struct Three {
  Lanes x;
  Lanes y;
  Lanes z;
};

template <class Pointer>
Three load(const std::array<Pointer, 3>& from, std::size_t first) noexcept {
  return {load(from[0] + first), load(from[1] + first), load(from[2] + first)};
}

template <class Pointer>
Three load_rest(const std::array<Pointer, 3>& from, std::size_t first, std::size_t end) noexcept {
  std::array<std::array<double, lanes>, 3> rest{};
  for (std::size_t a = 0; a < 3; ++a) {
    std::copy(from[a] + first, from[a] + end, rest[a].begin());
  }
  return {load(rest[0].data()), load(rest[1].data()), load(rest[2].data())};
}

Lanes size_of(const Lanes& x) noexcept {
  return x < 0 ? -x : x;
}

Lanes rate_of(const Three& u, const std::array<double, 3>& inverse_step) noexcept {
  return size_of(u.x) * inverse_step[0] + size_of(u.y) * inverse_step[1] + size_of(u.z) * inverse_step[2];
}

/// Calls `work` with all points of `u`.
template <class Work>
void for_points(const std::array<const double*, 3>& u, std::size_t count, Work work) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    work(load(u, i));
  }
  if (i < count) {
    work(load_rest(u, i, count));
  }
}

Three cross(const Three& u, const Three& w) noexcept {
  return {u.y * w.z - u.z * w.y, u.z * w.x - u.x * w.z, u.x * w.y - u.y * w.x};
}

}  // namespace

Speeds cross_in_place(const std::array<const double*, 3>& u,
                      const std::array<double*, 3>& omega,
                      std::size_t count,
                      const std::array<double, 3>& inverse_step) noexcept {
  Largest rate;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Three velocity = load(u, i);
    const Three product = cross(velocity, load(omega, i));
    rate.add(rate_of(velocity, inverse_step));
    store(omega[0] + i, product.x);
    store(omega[1] + i, product.y);
    store(omega[2] + i, product.z);
  }
  if (i < count) {
    const Three velocity = load_rest(u, i, count);
    const Three product = cross(velocity, load_rest(omega, i, count));
    rate.add(rate_of(velocity, inverse_step));
    for (std::size_t j = 0; i + j < count; ++j) {
      omega[0][i + j] = product.x[j];
      omega[1][i + j] = product.y[j];
      omega[2][i + j] = product.z[j];
    }
  }
  return {.rate = rate.value()};
}

void flux_in_place(const std::array<const double*, 3>& u,
                   const std::array<double*, 3>& flux,
                   std::size_t count) noexcept {
  const double* __restrict const u0 = u[0];
  const double* __restrict const u1 = u[1];
  const double* __restrict const u2 = u[2];
  double* __restrict const f0 = flux[0];
  double* __restrict const f1 = flux[1];
  double* __restrict const f2 = flux[2];
  for (std::size_t i = 0; i < count; ++i) {
    const double theta = f0[i];
    f0[i] = u0[i] * theta;
    f1[i] = u1[i] * theta;
    f2[i] = u2[i] * theta;
  }
}

Speeds speeds(const std::array<const double*, 3>& u,
              std::size_t count,
              const std::array<double, 3>& inverse_step) noexcept {
  Largest rate;
  Largest square;
  for_points(u, count, [&](const Three& here) {
    rate.add(rate_of(here, inverse_step));
    square.add(here.x * here.x + here.y * here.y + here.z * here.z);
  });
  return {.rate = rate.value(), .square_max = square.value()};
}

std::array<double, 2> moments(const double* values, std::size_t count) noexcept {
  Lanes squares{};
  Lanes cubes{};
  for_points({values, values, values}, count, [&](const Three& here) {
    squares += here.x * here.x;
    cubes += here.x * here.x * here.x;
  });
  std::array<double, 2> sums{};
  for (std::size_t j = 0; j < lanes; ++j) {
    sums[0] += squares[j];
    sums[1] += cubes[j];
  }
  return sums;
}

}  // namespace dns
