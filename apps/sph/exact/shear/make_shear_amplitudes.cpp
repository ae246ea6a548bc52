// SPDX-License-Identifier: Apache-2.0
// sph_make_shear_amplitudes [POINTS] > shear_amplitudes.inc: grows the Kelvin-Helmholtz instability on a grid
// of POINTS^2 (default 256), and prints the amplitudes that shear_layer.cpp includes.
//
// Central differences of sixth order in space, Runge-Kutta steps of fourth order, and a filter of eighth order that
// removes waves of two points. The solution has a period of 1/2 along x: half of the square is computed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "sph/exact/shear/shear_layer.hpp"

namespace {

namespace exact = sph::exact;

constexpr std::size_t intervals = 40;  ///< Of the table.
constexpr double courant = 0.5;
constexpr double filter = 0.1;

/// Density, momenta along x and y, total energy: of each point of a row, row by row.
struct Fields {
  std::array<std::vector<double>, 4> of;

  explicit Fields(std::size_t count) {
    for (auto& field : of) {
      field.resize(count);
    }
  }
};

class Grid {
 public:
  explicit Grid(std::size_t points)
      : columns_{points / 2}, rows_{points}, spacing_{1.0 / static_cast<double>(points)}, now_{columns_ * rows_} {
    for (std::size_t row = 0; row < rows_; ++row) {
      const exact::State layer = exact::shear_layer_at(y_of(row));
      for (std::size_t column = 0; column < columns_; ++column) {
        const double wave = exact::shear_wave_at(x_of(column));
        const std::size_t i = row * columns_ + column;
        now_.of[0][i] = layer.density;
        now_.of[1][i] = layer.density * layer.speed;
        now_.of[2][i] = layer.density * wave;
        now_.of[3][i] =
            layer.pressure / (exact::shear_gamma - 1) + layer.density * (layer.speed * layer.speed + wave * wave) / 2;
      }
    }
  }

  void run(double duration) {
    const double fastest = 2.6;  // sound in the thin gas, and the gas
    const auto steps = static_cast<std::size_t>(std::ceil(duration * fastest / (courant * spacing_)));
    for (std::size_t step = 0; step < steps; ++step) {
      advance(duration / static_cast<double>(steps));
    }
  }

  [[nodiscard]] double amplitude() const {
    exact::ShearMode mode;
    for (std::size_t i = 0; i < columns_ * rows_; ++i) {
      mode.add(x_of(i % columns_), y_of(i / columns_), now_.of[2][i] / now_.of[0][i], spacing_ * spacing_);
    }
    return mode.amplitude();
  }

 private:
  using Weights = std::array<double, 5>;  ///< Of a point, and of the pairs at distances 1 to 4.

  [[nodiscard]] double x_of(std::size_t column) const { return (static_cast<double>(column) + 0.5) * spacing_; }
  [[nodiscard]] double y_of(std::size_t row) const { return (static_cast<double>(row) + 0.5) * spacing_; }

  /// A step of fourth order that needs two fields beside the present (Jameson's form).
  void advance(double dt) {
    const Fields before = now_;
    for (const double part : {0.25, 1.0 / 3, 0.5, 1.0}) {
      const Fields rates = find_rates();
      for (std::size_t f = 0; f < 4; ++f) {
        for (std::size_t i = 0; i < columns_ * rows_; ++i) {
          now_.of[f][i] = before.of[f][i] + part * dt * rates.of[f][i];
        }
      }
    }
    for (auto& field : now_.of) {
      smooth(field);
    }
  }

  [[nodiscard]] Fields find_rates() const {
    Fields along_x{columns_ * rows_};
    Fields along_y{columns_ * rows_};
    for (std::size_t i = 0; i < columns_ * rows_; ++i) {
      const double density = now_.of[0][i], px = now_.of[1][i], py = now_.of[2][i], energy = now_.of[3][i];
      const double pressure = (exact::shear_gamma - 1) * (energy - (px * px + py * py) / (2 * density));
      const std::array x{px, px * px / density + pressure, px * py / density, (energy + pressure) * px / density};
      const std::array y{py, px * py / density, py * py / density + pressure, (energy + pressure) * py / density};
      for (std::size_t f = 0; f < 4; ++f) {
        along_x.of[f][i] = x[f];
        along_y.of[f][i] = y[f];
      }
    }
    Fields rates{columns_ * rows_};
    for (std::size_t f = 0; f < 4; ++f) {
      for_lines([&](std::size_t i, const auto& column, const auto& row) {
        rates.of[f][i] = -slope(along_x.of[f], column) - slope(along_y.of[f], row);
      });
    }
    return rates;
  }

  /// The derivative along a line of nine points.
  [[nodiscard]] double slope(const std::vector<double>& of, const std::array<std::size_t, 9>& at) const {
    return (45 * (of[at[5]] - of[at[3]]) - 9 * (of[at[6]] - of[at[2]]) + (of[at[7]] - of[at[1]])) / (60 * spacing_);
  }

  void smooth(std::vector<double>& field) const {
    constexpr std::array<double, 9> eighth{1, -8, 28, -56, 70, -56, 28, -8, 1};
    std::vector<double> change(field.size());
    for_lines([&](std::size_t i, const auto& column, const auto& row) {
      for (std::size_t k = 0; k < 9; ++k) {
        change[i] += eighth[k] * (field[column[k]] + field[row[k]]);
      }
    });
    for (std::size_t i = 0; i < field.size(); ++i) {
      field[i] -= filter / 256 * change[i];
    }
  }

  /// Calls `use(i, column, row)` for each point, with the indices of the nine points around it along x and along y.
  template <class Use>
  void for_lines(const Use& use) const {
    std::array<std::size_t, 9> column{};
    std::array<std::size_t, 9> row{};
    for (std::size_t y = 0; y < rows_; ++y) {
      for (std::size_t x = 0; x < columns_; ++x) {
        for (std::size_t k = 0; k < 9; ++k) {
          column[k] = y * columns_ + (x + columns_ + k - 4) % columns_;
          row[k] = (y + rows_ + k - 4) % rows_ * columns_ + x;
        }
        use(y * columns_ + x, column, row);
      }
    }
  }

  std::size_t columns_, rows_;
  double spacing_;
  Fields now_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t points = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  if (points < 16 || points % 2 != 0) {
    fmt::print(stderr, "POINTS must be even, and at least 16\n");
    return 2;
  }
  Grid grid{points};
  fmt::print("// Made by sph_make_shear_amplitudes {}.\n{:.6g},\n", points, grid.amplitude());
  for (std::size_t i = 0; i < intervals; ++i) {
    grid.run(exact::shear_time_max / intervals);
    fmt::print("{:.6g},\n", grid.amplitude());
    std::fflush(stdout);
  }
  return 0;
}
