// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particles
// Discrete elements: spheres in a drum that turns. They touch by springs and dampers along the normal and along the
// surface, where they slide by friction. An argument names a picture (SVG). Units: a diameter, a mass, a weight.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <numbers>
#include <ranges>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;

constexpr double drum_radius = 8, drum_depth = 3, drum_speed = 0.1, dt = 0.005, inertia = 0.1;
constexpr std::size_t sphere_count = 304;
constexpr double stiffness = 500, damping = 6, tangential_stiffness = 2.0 / 7 * stiffness;

/// The tangential springs of a sphere, by the id of the partner: at most 12, and the drum, which has id 0.
struct Springs {
  std::array<std::uint64_t, 16> partners;
  std::array<Vector, 17> stretches;  ///< The last one is that of partners without a spring.
  std::size_t count;
};

struct Sphere {
  Vector place, velocity, spin;
  int colour;  ///< 1 or 2; 0: none.
};

/// The force at a contact. `v`: of the surface, relative to that of the partner, which is towards `normal`.
Vector contact(const Vector& normal, double overlap, const Vector& v, double friction, Vector& stretch) {
  const double push = std::max(0.0, stiffness * overlap + damping * dot(v, normal));
  const Vector slip = v - dot(v, normal) * normal;
  stretch += dt * slip;
  stretch -= dot(stretch, normal) * normal;  // the contact turns
  Vector drag = -tangential_stiffness * stretch - damping * slip;
  if (const double size = length(drag); size > friction * push) {  // it slides
    drag = (friction * push / size) * drag;
    stretch = (-1 / tangential_stiffness) * (drag + damping * slip);
  }
  return drag - push * normal;
}

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Particles store;
  const auto sphere = store.add_field<Sphere>("sphere");
  const auto force = store.add_field<Vector>("force"), torque = store.add_field<Vector>("torque");
  const auto springs = store.add_field<Springs>("springs");
  const auto reach = store.add_field<float>("reach");
  for (int i = 0; store.size() < sphere_count && runtime.self() == plait::Rank{0}; ++i) {  // a lattice, which falls
    const Vector place{i % 13 - 6 + 0.1 * std::sin(i), i / 13 % 8 - 5.4, i / 104 + 0.5 + 0.1 * std::cos(2 * i)};
    if (std::hypot(place.x, place.y) < drum_radius - 0.55) {
      const std::size_t at = store.add(1);
      store.ids()[at] = at + 1;
      store.positions()[at] = place;
      store[sphere][at] = {place, {}, {}, place.x > 0 ? 1 : 2};
      store[reach][at] = 1;
    }
  }
  const Space space{.root = {{0, 0, 0}, {1, 1, drum_depth}}, .periodic = {false, false, true}};
  System system{runtime.messages(), runtime.scheduler(), store, {.space = space}};
  double speed = 0;  // of the drum
  system.add_short_range(
      {.reach = reach, .travels = {Particles::id, sphere}}, {force, torque}, [&](const Block& block) {
        for (std::size_t i = 0; i < block.targets.size(); ++i) {
          const std::size_t self = block.targets.places()[i];
          const Sphere& own = store[sphere][self];
          const Springs before = std::exchange(store[springs][self], {});
          const auto meet = [&](std::uint64_t partner, Vector normal, double overlap, Vector v, double friction) {
            const auto known = std::ranges::find(before.partners, partner) - before.partners.begin();
            Vector stretch = before.stretches.at(known);
            const Vector push = contact(normal, overlap, v, friction, stretch);
            Springs& now = store[springs][self];
            now.partners.at(now.count) = partner;
            now.stretches.at(now.count++) = stretch;
            store[force][self] += push;
            store[torque][self] += cross(0.5 * normal, push);
          };
          for (std::size_t j = 0; j < block.sources.size(); ++j) {
            const Vector d = block.offset(i, j);
            if (const double r = length(d); r > 0 && r < 1) {
              const Sphere& other = block.source(sphere, j);
              const Vector v = own.velocity - other.velocity + cross(own.spin + other.spin, (0.5 / r) * d);
              meet(block.source(Particles::id, j), (1 / r) * d, 1 - r, v, 0.5);
            }
          }
          if (const double r = std::hypot(own.place.x, own.place.y); r > drum_radius - 0.5) {
            const Vector normal{own.place.x / r, own.place.y / r, 0};
            const Vector v = own.velocity + cross(own.spin, 0.5 * normal) - cross({0, 0, -speed}, drum_radius * normal);
            meet(0, normal, r - drum_radius + 0.5, v, 0.8);
          }
          store[force][self].y -= 1;  // its weight
        }
      });
  system.before("kick, drift", [&](Particles& some, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {  // velocities are half a step behind
      some[sphere][i].velocity += dt * some[force][i];
      some[sphere][i].spin += (dt / inertia) * some[torque][i];
      some[sphere][i].place = some.positions()[i] += dt * some[sphere][i].velocity;
    }
  });
  std::vector<std::array<Sphere, sphere_count>> all;
  // Means over some steps: the slope in degrees, by the middle of all spheres, and the kinetic energy of one.
  const auto run = [&](int steps) {
    Vector middle;
    double energy = 0;
    for (int step = 1; step <= steps; ++step) {
      system.step();
      if (step % 50 == 0) {
        std::array<Sphere, sphere_count> mine{};
        std::ranges::copy(store[sphere], mine.begin());
        all = plait::all_gather_values(runtime.messages(), mine);
        for (const Sphere& s : all | std::views::join) {
          middle += s.place;
          energy += (dot(s.velocity, s.velocity) + inertia * dot(s.spin, s.spin)) / 2;
        }
      }
    }
    return std::array{std::atan2(-middle.x, -middle.y) * 180 / std::numbers::pi, energy / steps * 50 / sphere_count};
  };
  system.update();
  run(3000);
  const double at_rest = run(50)[1];
  speed = drum_speed;
  run(2000);
  const auto before = run(3000), after = run(3000);
  if (runtime.self() == plait::Rank{0}) {
    std::cout << std::boolalpha << "at rest in a drum that does not turn: " << (at_rest < 1e-3)
              << "\nthe angle of repose is between 15 and 35 degrees: " << (before[0] > 15 && before[0] < 35)
              << "\nthe slope stays as it is while the drum turns: " << (std::abs(after[0] - before[0]) < 8)
              << "\nspheres are about as fast as the drum: " << (after[1] > 0.02 && after[1] < 0.5) << '\n';
    std::ofstream svg{argc > 1 ? argv[1] : ""};
    svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='-9 -9 18 18' stroke='#222' stroke-width='0.06'>"
        << "<circle r='8' fill='#eee'/>";
    for (const Sphere& s : all | std::views::join) {
      svg << "<circle r='" << (s.colour > 0 ? 0.5 : 0) << "' cx='" << s.place.x << "' cy='" << -s.place.y << "' fill='"
          << (s.colour == 1 ? "#d95f02" : "#1b9e77") << "'/>";
    }
    svg << "</svg>\n";
  }
}
