// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particles
// A patch of a planetary ring: a shearing box of ice spheres that collide, without and with their gravity. An argument
// names a picture (SVG). Units: a diameter, and the time of an orbit over 2 pi. Collisions heat the flow until their
// losses balance it (Wisdom and Tremaine, Astronomical Journal 95 (1988) 925). Gravity makes wakes (Salo, Nature 359
// (1992) 619).
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numbers>
#include <random>
#include <ranges>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;

constexpr double width = 36, length_along = 48, optical_depth = 0.5, dt = 0.0125;
constexpr auto sphere_count = static_cast<std::size_t>(optical_depth * width * length_along * 4 / std::numbers::pi);
constexpr double mass_of_ice = 0.8;  // G m: about 100 000 km from Saturn

struct Sphere {
  Vector place, velocity;
  std::uint8_t is_there;
};
using Spheres = std::vector<std::array<Sphere, sphere_count>>;  // by rank

class Patch {
 public:
  /// `heat`: the speed of random motions at the start.
  Patch(plait::Runtime& runtime, double mass, double heat) : runtime_{runtime} {
    std::mt19937_64 random{1};
    std::normal_distribution<double> thermal{0, heat};
    store_.add(runtime.self() == plait::Rank{0} ? sphere_count : 0);
    for (std::size_t i = 0; i < store_.size(); ++i) {  // a lattice, a little disturbed
      constexpr auto columns = static_cast<std::size_t>(width);
      const double x = static_cast<double>(i % columns) - width / 2 + 0.5 + 0.05 * std::sin(i);
      store_.ids()[i] = i;
      store_.positions()[i] = {
          x, static_cast<double>(i / columns) * length_along * width / sphere_count, std::cos(7 * i)};
      store_[mass_][i] = mass;
      store_[velocity_][i] = {thermal(random), thermal(random) / 2 - 1.5 * x, thermal(random)};
    }
    const ContactLaw law{{.radius = 1, .period = 0.25, .restitution = 0.5}};
    system_.add_long_range({.charge = mass_,
                            .acceleration = acceleration_,
                            .potential = potential_,
                            .theta = 0.7,
                            .near_radius = 1,
                            .cutoff = mass < mass_of_ice ? 1.5 : 0,  // spheres that are too light to attract
                            .near = contacts(law, store_, {mass_, velocity_, acceleration_, potential_}),
                            .near_sums = contact_sums,
                            .travels = {velocity_}});
    add_hill_leapfrog(system_, {.velocity = velocity_, .acceleration = acceleration_, .time_step = dt});
    system_.update();
  }

  void run(double orbits) {
    for (const double end = time_ + orbits * 2 * std::numbers::pi; time_ < end;) {
      system_.set_time(time_ += dt);
      system_.step();
    }
  }

  Spheres spheres() {
    std::array<Sphere, sphere_count> mine{};
    for (std::size_t i = 0; i < store_.size(); ++i) {
      mine[i] = {store_.positions()[i], store_[velocity_][i], 1};
    }
    return plait::all_gather_values(runtime_.messages(), mine);
  }
  Lattice images() const { return system_.space().lattice(); }

 private:
  plait::Runtime& runtime_;
  Particles store_;
  Field<double> mass_ = store_.add_field<double>("mass"), potential_ = store_.add_field<double>("potential");
  Field<Vector> velocity_ = store_.add_field<Vector>("velocity"), acceleration_ = store_.add_field<Vector>("pull");
  System system_{runtime_.messages(),
                 runtime_.scheduler(),
                 store_,
                 {.space = {.root = {{-width / 2, 0, 0}, {width / 2, length_along, 0}},
                            .periodic = {true, true, false},
                            .shear = {.rate = 1.5, .velocity = velocity_}},
                  .grid = square_grid(runtime_.messages().rank_count())}};
  double time_ = 0;
};

void for_each(const Spheres& spheres, const auto& use) {
  for (const Sphere& sphere : spheres | std::views::join) {
    sphere.is_there != 0 ? use(sphere) : void();
  }
}

double dispersion(Patch& patch) {
  double sum = 0;
  for_each(patch.spheres(), [&](const Sphere& s) { sum += s.velocity.x * s.velocity.x / sphere_count; });
  return std::sqrt(sum);
}

/// Pairs up to 5 diameters apart: their number over that in a uniform sheet, and how much more of them trail.
std::array<double, 2> clumping(Patch& patch) {
  double pairs = 0, trailing = 0;
  const Spheres all = patch.spheres();
  for_each(all, [&](const Sphere& a) {
    for_each(all, [&](const Sphere& b) {
      const Vector d = patch.images().in_box(b.place - a.place).offset;
      const double square = d.x * d.x + d.y * d.y;
      const bool is_pair = square > 0 && square < 25;
      pairs += is_pair ? 1 : 0;
      trailing -= is_pair ? 2 * d.x * d.y / square : 0;
    });
  });
  const double uniform = sphere_count * (sphere_count - 1) * 25 * std::numbers::pi / (width * length_along);
  return {pairs / uniform, trailing / pairs};
}

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Patch cold{runtime, 1e-6, 0}, hot{runtime, 1e-6, 2};
  cold.run(4);
  hot.run(4);
  const double of_cold = dispersion(cold), of_hot = dispersion(hot);
  Patch ring{runtime, mass_of_ice, 0.5};
  ring.run(3);
  const auto light = clumping(hot), heavy = clumping(ring);
  const Spheres spheres = ring.spheres();
  if (runtime.self() == plait::Rank{0}) {
    std::cout << std::boolalpha
              << "collisions lead to one speed, from below and above: " << (std::abs(of_cold - of_hot) < 0.2 * of_hot)
              << "\nit is about a diameter in the time of an orbit over 2 pi: " << (of_hot > 0.5 && of_hot < 1.5)
              << "\nspheres that do not attract lie evenly: "
              << (std::abs(light[0] - 1) < 0.03 && std::abs(light[1]) < 0.02)
              << "\ngravity gathers spheres in wakes, which trail: " << (heavy[0] > 1.05 && heavy[1] > 0.04) << '\n';
    std::ofstream svg{argc > 1 ? argv[1] : ""};
    svg.precision(4);
    svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='" << -width / 2 << " 0 " << width << ' ' << length_along
        << "' stroke='#111' stroke-width='0.15'><rect x='-50%' width='100%' height='100%'/>";
    for_each(spheres, [&svg](const Sphere& s) {
      svg << "<circle r='0.5' cx='" << s.place.x << "' cy='" << length_along - s.place.y << "' fill='#e8dcc8'/>";
    });
    svg << "</svg>\n";
  }
}
