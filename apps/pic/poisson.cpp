// SPDX-License-Identifier: Apache-2.0
#include "pic/poisson.hpp"

#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace pic {

template <int D>
Poisson<D>::Poisson(const Grid<D>& grid, const Division<D>& blocks, Ranks& ranks, PoissonMethod method)
    : grid_{grid},
      blocks_{blocks},
      ranks_{ranks},
      method_{method},
      own_{grid.nodes(blocks.box(ranks.self()))},
      fill_guards_{grid, blocks, ranks.self(), 1},
      right_{own_},
      residual_{own_},
      direction_{own_.grown(1, 1)},
      image_{own_} {
  if (method == PoissonMethod::fourier && !has_fourier()) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "this build has no FFTW: install it (Debian: libfftw3-dev) and build again, or use conjugate "
                       "gradients (--poisson cg)"};
  }
}

template <int D>
double Poisson<D>::dot(const Tile<D, double>& a, const Tile<D, double>& b) {
  ExactSum sum;
  for_each_row(a, own_, [&](const double* first, std::ptrdiff_t count, std::ptrdiff_t done) {
    // Of the two, b has no guards.
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      sum.add(first[i] * b.data()[done + i]);
    }
  });
  ranks_.sum(sum.parts());
  return sum.value();
}

template <int D>
void Poisson<D>::apply(const Tile<D, double>& potential, Tile<D, double>& result) const {
  std::array<double, static_cast<std::size_t>(D)> weight{};
  double diagonal = 0;
  for (int d = 0; d < D; ++d) {
    weight[d] = 1 / (grid_.spacing[d] * grid_.spacing[d]);
    diagonal += 2 * weight[d];
  }
  const std::ptrdiff_t up_y = potential.stride(1);
  const std::ptrdiff_t up_z = D == 3 ? potential.stride(2) : 0;
  for_each_row(potential, own_, [&](const double* phi, std::ptrdiff_t count, std::ptrdiff_t done) {
    double* const out = result.data() + done;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      double sum = diagonal * phi[i] - weight[0] * (phi[i - 1] + phi[i + 1]);
      sum -= weight[1] * (phi[i - up_y] + phi[i + up_y]);
      if constexpr (D == 3) {
        sum -= weight[2] * (phi[i - up_z] + phi[i + up_z]);
      }
      out[i] = sum;
    }
  });
  for_each_place(own_, [&](const Place<D>& node) {
    if (grid_.is_wall(node)) {
      result[node] = 0;
    }
  });
}

template <int D>
double Poisson<D>::mean(const Tile<D, double>& density) {
  for (int d = 0; d < D; ++d) {
    if (!grid_.is_periodic(d)) {
      return 0;
    }
  }
  ExactSum sum;
  for (std::size_t i = 0; i < density.size(); ++i) {
    sum.add(density.data()[i]);
  }
  ranks_.sum(sum.parts());
  return sum.value() / static_cast<double>(grid_.node_box().count());
}

template <int D>
int Poisson<D>::solve(Tile<D, double>& potential, const Tile<D, double>& density, double tolerance) {
  const double average = mean(density);
  for_each_place(own_,
                 [&](const Place<D>& node) { right_[node] = grid_.is_wall(node) ? 0.0 : density[node] - average; });
  if (method_ == PoissonMethod::fourier) {
    by_fourier(potential);
    fill_guards_(potential, ranks_);
    return 1;
  }
  return by_gradients(potential, tolerance);
}

/// M. R. Hestenes, E. Stiefel, Journal of Research of the National Bureau of Standards 49 (1952) 409.
template <int D>
int Poisson<D>::by_gradients(Tile<D, double>& potential, double tolerance) {
  const double right2 = dot(right_, right_);
  int iterations_max = 200;
  for (const std::int32_t cells : grid_.cells) {
    iterations_max += 20 * cells;
  }
  if (right2 == 0) {
    potential.fill(0);
    return 0;
  }
  fill_guards_(potential, ranks_);
  apply(potential, residual_);
  for_each_place(own_, [&](const Place<D>& node) {
    residual_[node] = right_[node] - residual_[node];
    direction_[node] = residual_[node];
  });
  double residual2 = dot(residual_, residual_);
  int iterations = 0;
  while (!(residual2 <= tolerance * tolerance * right2)) {
    if (++iterations > iterations_max || !std::isfinite(residual2)) {
      throw plait::Error{
          plait::ErrorCode::bad_input,
          fmt::format("the potential did not converge in {} iterations (residual {:.3g} of {:.3g}): are the "
                      "charges finite, and is the time step below 2 plasma periods / 2 pi?",
                      iterations - 1,
                      std::sqrt(residual2),
                      std::sqrt(right2))};
    }
    fill_guards_(direction_, ranks_);
    apply(direction_, image_);
    const double step = residual2 / dot(direction_, image_);
    for_each_row(direction_, own_, [&](const double* p, std::ptrdiff_t count, std::ptrdiff_t done) {
      double* const phi = potential.data() + (p - direction_.data());
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        phi[i] += step * p[i];
        residual_.data()[done + i] -= step * image_.data()[done + i];
      }
    });
    const double before = residual2;
    residual2 = dot(residual_, residual_);
    const double keep = residual2 / before;
    for_each_row(direction_, own_, [&](double* p, std::ptrdiff_t count, std::ptrdiff_t done) {
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        p[i] = residual_.data()[done + i] + keep * p[i];
      }
    });
  }
  fill_guards_(potential, ranks_);
  return iterations;
}

/// Rank 0 gathers the density, solves and hands the potential out.
template <int D>
void Poisson<D>::by_fourier(Tile<D, double>& potential) {
  const auto count = static_cast<std::size_t>(ranks_.count());
  std::vector<plait::Bytes> out(count);
  std::vector<plait::Bytes> in(count);
  pack(right_, own_, out[0]);
  const bool is_root = ranks_.self() == 0;
  const auto box_of = [&](std::size_t rank) { return grid_.nodes(blocks_.box(static_cast<std::int32_t>(rank))); };
  if (is_root) {
    for (std::size_t r = 0; r < count; ++r) {
      in[r].resize(static_cast<std::size_t>(box_of(r).count()) * sizeof(double));
    }
  }
  ranks_.exchange(out, in);
  for (plait::Bytes& bytes : out) {
    bytes.clear();
  }
  if (is_root) {
    Tile<D, double> whole{grid_.node_box()};
    for (std::size_t r = 0; r < count; ++r) {
      unpack(whole, box_of(r), in[r]);
      in[r].clear();
    }
    Box<D> inner = whole.box();
    for (int d = 0; d < D; ++d) {
      inner.low[d] += grid_.is_periodic(d) ? 0 : 1;
      inner.high[d] -= grid_.is_periodic(d) ? 0 : 1;
    }
    std::vector<double> values;
    for_each_place(inner, [&](const Place<D>& node) { values.push_back(whole[node]); });
    detail::solve_by_fourier<D>(grid_, values);
    whole.fill(0);
    std::size_t next = 0;
    for_each_place(inner, [&](const Place<D>& node) { whole[node] = values[next++]; });
    for (std::size_t r = 0; r < count; ++r) {
      pack(whole, box_of(r), out[r]);
    }
  }
  in[0].resize(static_cast<std::size_t>(own_.count()) * sizeof(double));
  ranks_.exchange(out, in);
  unpack(potential, own_, in[0]);
}

template class Poisson<2>;
template class Poisson<3>;

}  // namespace pic
