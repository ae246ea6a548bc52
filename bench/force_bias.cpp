// SPDX-License-Identifier: Apache-2.0
// What of the error of forces has one sign. The energy of a system drifts with such errors, while those of random signs
// cancel largely. Compares trees with direct sums in double precision, the kernels of each processor with double
// arithmetic on the same lists, and the drift of the energy over steps with that of direct sums.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/particles.hpp"

#include "support/report.hpp"

namespace {

using namespace plait::particles;

constexpr int drift_steps = 16;
constexpr double monopole_theta = 0.5;
constexpr double quadrupole_theta = 0.7;  // the rms error of the force is about half that of monopoles at 0.5

struct Bodies {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<double> potential = store.add_field<double>("potential");

  void add(const Vector& place, const Vector& speed, double m) {
    const std::size_t i = store.add(1);
    store.ids()[i] = i;
    store.positions()[i] = place;
    store[velocity][i] = speed;
    store[mass][i] = m;
  }
};

using Random = std::mt19937_64;

Vector in_ball(Random& random) {
  std::uniform_real_distribution<double> coordinate{-1, 1};
  Vector p;
  do {
    p = {coordinate(random), coordinate(random), coordinate(random)};
  } while (dot(p, p) > 1 || dot(p, p) < 1e-6);
  return p;
}
Vector direction(Random& random) {
  const Vector p = in_ball(random);
  return (1 / length(p)) * p;
}

/// A cold homogeneous sphere of radius and mass 1.
void add_sphere(Bodies& bodies, std::size_t count) {
  Random random{7};
  for (std::size_t i = 0; i < count; ++i) {
    bodies.add(in_ball(random), {}, 1.0 / static_cast<double>(count));
  }
}

/// The speed of a body of a Plummer sphere over the escape speed there: density q^2 (1 - q^2)^(7/2), by rejection
/// (Aarseth, Henon and Wielen 1974).
double plummer_speed(Random& random) {
  std::uniform_real_distribution<double> uniform{0, 1};
  double q = 0;
  double y = 0;
  do {
    q = uniform(random);
    y = 0.1 * uniform(random);
  } while (y > q * q * std::pow(1 - q * q, 3.5));
  return q;
}

/// Ten Plummer spheres of scale 0.1 and mass 0.1 in equilibrium, at random places within 2.
void add_clumps(Bodies& bodies, std::size_t count) {
  constexpr std::size_t clumps = 10;
  constexpr double scale = 0.1;
  constexpr double clump_mass = 0.1;
  Random random{7};
  std::uniform_real_distribution<double> uniform{0, 1};
  for (std::size_t clump = 0; clump < clumps; ++clump) {
    const Vector center = 2 * in_ball(random);
    for (std::size_t i = 0; i < count / clumps; ++i) {
      double r = 0;
      do {
        r = scale / std::sqrt(std::pow(uniform(random), -2.0 / 3) - 1);
      } while (r > 10 * scale);
      const double escape = std::sqrt(2 * clump_mass) * std::pow(r * r + scale * scale, -0.25);
      bodies.add(center + r * direction(random),
                 (plummer_speed(random) * escape) * direction(random),
                 clump_mass / static_cast<double>(count / clumps));
    }
  }
}

constexpr double ring_center = 1;  // the mass at the origin

/// The ring of plait-ring: circles of evenly spaced bodies about a central mass.
void add_ring(Bodies& bodies, std::size_t count) {
  constexpr std::size_t circles = 20;
  const std::size_t azimuthal = count / circles;
  for (std::size_t i = 0; i < azimuthal * circles; ++i) {
    const double phi = 2 * std::numbers::pi * static_cast<double>(i / circles) / static_cast<double>(azimuthal);
    const double r = 1 + 0.1 * static_cast<double>(i % circles) / (circles - 1);
    const double v = std::sqrt(ring_center / r);
    bodies.add({r * std::cos(phi), r * std::sin(phi), 0},
               {-v * std::sin(phi), v * std::cos(phi), 0},
               5e-5 / static_cast<double>(count));
  }
}

struct Shape {
  std::string name;
  void (*add)(Bodies&, std::size_t);
  double softening;
  double central_mass;
  double time_step;
};
const std::vector<Shape> shapes{{"uniform sphere", add_sphere, 1.0 / 32, 0, 1.0 / 128},
                                {"ten Plummer clumps", add_clumps, 0.01, 0, 1.0 / 1024},
                                {"ring", add_ring, 0, ring_center, 1.0 / 1024}};

struct Method {
  std::string name;
  Order order;
  double theta;
  Precision precision;
};
constexpr std::size_t few = 10'000;  // direct sums of more take minutes
constexpr std::size_t chosen = 3;    // of the methods: the one beside direct sums
const std::vector<Method> methods{{"monopole", Order::monopole, monopole_theta, Precision::mixed},
                                  {"monopole, near pairs in double", Order::monopole, monopole_theta, Precision::full},
                                  {"quadrupole", Order::quadrupole, 0.5, Precision::mixed},
                                  {"quadrupole", Order::quadrupole, quadrupole_theta, Precision::mixed},
                                  {"direct, double", Order::quadrupole, 0, Precision::full}};

/// Adds the forces of all on all to cleared fields, by `kernel` if it is given. Returns interactions for each body.
double compute(
    Bodies& bodies, Tree& tree, const Shape& shape, const Method& method, const LongRangeKernel& kernel = {}) {
  build_tree(tree, bodies.store, {.charge = bodies.mass, .theta = method.theta, .order = method.order});
  std::ranges::fill(bodies.store[bodies.acceleration], Vector{});
  std::ranges::fill(bodies.store[bodies.potential], 0.0);
  const TreeView view = tree.view();
  WalkSpace space;
  walk({view},
       {bodies.store, tree, {}, bodies.acceleration, bodies.potential},
       tree.batches(),
       {.precision = method.precision, .softening = shape.softening, .kernel = kernel},
       space);
  return static_cast<double>(space.sums.body_body + space.sums.body_cell) / static_cast<double>(bodies.store.size());
}

/// The sums of some of the bodies, evenly spaced in their order.
std::vector<Pull> sample_of(const Bodies& bodies, std::size_t samples) {
  std::vector<Pull> pulls;
  const std::size_t n = bodies.store.size();
  for (std::size_t k = 0; k < samples; ++k) {
    const std::size_t i = n * k / samples;
    const Vector& a = bodies.store[bodies.acceleration][i];
    pulls.push_back({a.x, a.y, a.z, bodies.store[bodies.potential][i]});
  }
  return pulls;
}

/// The direct sums of the same bodies, with each body's own potential if there is softening.
std::vector<Pull> direct_sums(const Bodies& bodies, const Shape& shape, std::size_t samples) {
  const std::size_t n = bodies.store.size();
  std::vector<Pull> pulls(samples);
  std::vector<double> x(samples), y(samples), z(samples);
  for (std::size_t k = 0; k < samples; ++k) {
    const Vector& p = bodies.store.positions()[n * k / samples];
    x[k] = p.x;
    y[k] = p.y;
    z[k] = p.z;
  }
  std::vector<std::uint32_t> near(samples);
  const TargetSpan targets{x.data(), y.data(), z.data(), nullptr, nullptr, nullptr, samples, pulls.data()};
  constexpr std::size_t part = 4096;  // stays in the cache
  BodyList list;
  list.reserve(part);
  for (std::size_t begin = 0; begin < n; begin += part) {
    const std::size_t count = std::min(part, n - begin);
    for (std::size_t j = 0; j < count; ++j) {
      const Vector& p = bodies.store.positions()[begin + j];
      list.x[j] = p.x;
      list.y[j] = p.y;
      list.z[j] = p.z;
      list.mass[j] = bodies.store[bodies.mass][begin + j];
    }
    best_kernels().bodies(targets, list.pad(count), {.softening2 = shape.softening * shape.softening}, near.data());
  }
  return pulls;
}

/// Means over the sample, relative to the mean potential or force of the whole sum.
struct Errors {
  double potential = 0;  ///< Signed: deeper is positive.
  double force = 0;      ///< Signed: along the force.
  double rms = 0;        ///< Of the force.
};

Errors errors_of(const std::vector<Pull>& found, const std::vector<Pull>& exact, const std::vector<Pull>& whole) {
  Errors errors;
  double potential = 0;
  double force = 0;
  double square = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Vector difference{found[i].x - exact[i].x, found[i].y - exact[i].y, found[i].z - exact[i].z};
    const Vector field{whole[i].x, whole[i].y, whole[i].z};
    errors.potential += found[i].potential - exact[i].potential;
    errors.force += dot(difference, field) / length(field);
    errors.rms += dot(difference, difference);
    potential += whole[i].potential;
    force += length(field);
    square += dot(field, field);
  }
  errors.potential /= potential;
  errors.force /= force;
  errors.rms = std::sqrt(errors.rms / square);
  return errors;
}

enum class Part { near, far };

/// The far part in double arithmetic, on the same cells as the kernels.
void far_in_double(const KernelWork& work, Order order) {
  const CellSpan& c = work.cells;
  for (std::size_t i = 0; i < work.targets.count; ++i) {
    Pull& pull = work.targets.pulls[i];
    for (std::size_t j = 0; j < c.length; ++j) {
      const Vector d{double{c.x[j]} - work.targets.near_x[i],
                     double{c.y[j]} - work.targets.near_y[i],
                     double{c.z[j]} - work.targets.near_z[i]};
      const double inverse2 = 1 / (dot(d, d) + work.options.softening2);
      const double inverse = std::sqrt(inverse2);
      double radial = c.mass[j] * inverse * inverse2;
      pull.potential -= c.mass[j] * inverse;
      if (order == Order::quadrupole) {
        const double zz = -(double{c.xx[j]} + c.yy[j]);
        const Vector q{c.xx[j] * d.x + c.xy[j] * d.y + c.xz[j] * d.z,
                       c.xy[j] * d.x + c.yy[j] * d.y + c.yz[j] * d.z,
                       c.xz[j] * d.x + c.yz[j] * d.y + zz * d.z};
        const double inverse5 = inverse2 * inverse2 * inverse;
        pull.potential -= 0.5 * inverse5 * dot(q, d);
        radial += 2.5 * inverse5 * dot(q, d) * inverse2;
        pull.x -= inverse5 * q.x;
        pull.y -= inverse5 * q.y;
        pull.z -= inverse5 * q.z;
      }
      pull.x += radial * d.x;
      pull.y += radial * d.y;
      pull.z += radial * d.z;
    }
  }
}

/// One part of the forces, by `kernels`; null: in double arithmetic.
LongRangeKernel part_of(Part part, Order order, const Kernels* kernels) {
  return [part, order, kernels](const KernelWork& work) {
    if (part == Part::far && kernels == nullptr) {
      far_in_double(work, order);
    } else if (part == Part::far) {
      (order == Order::quadrupole ? kernels->quadrupoles : kernels->monopoles)(work.targets, work.cells, work.options);
    } else if (work.near_bodies.length > 0) {
      kernels->near_bodies(work.targets, work.near_bodies, work.options);
    } else {
      std::vector<std::uint32_t> near(work.targets.count);
      best_kernels().bodies(work.targets, work.bodies, work.options, near.data());
    }
  };
}

std::map<std::string, std::string> params_of(const Shape& shape, const Method& method, std::size_t count) {
  return {{"shape", shape.name},
          {"particles", std::to_string(count)},
          {"order", method.name},
          {"theta", fmt::format("{}", method.theta)}};
}

void add_errors(bench::Report& report,
                const std::string& what,
                const std::map<std::string, std::string>& params,
                const Errors& errors) {
  report.add({what + ": mean error of the potential", params, errors.potential});
  report.add({what + ": mean error along the force", params, errors.force});
  report.add({what + ": rms error of the force", params, errors.rms});
}

/// What the multipoles leave out, and what the arithmetic of each kind of processor adds.
void measure_errors(bench::Report& report, const Shape& shape, std::size_t count, std::size_t samples) {
  Bodies bodies;
  shape.add(bodies, count);
  Tree tree;
  build_tree(tree, bodies.store, {.charge = bodies.mass});  // sorts: the sample is the same from here on
  const std::vector<Pull> whole = direct_sums(bodies, shape, samples);
  for (const Method& method : methods) {
    if (method.theta == 0 || method.precision == Precision::full) {
      continue;
    }
    const auto params = params_of(shape, method, count);
    const auto sums = [&](Part part, const Kernels* kernels) {
      Method exact = method;
      exact.precision = part == Part::near && kernels == nullptr ? Precision::full : method.precision;
      const double interactions = compute(bodies, tree, shape, exact, part_of(part, method.order, kernels));
      return std::pair{sample_of(bodies, samples), interactions};
    };
    const auto [near, interactions] = sums(Part::near, nullptr);
    const std::vector<Pull> far = sums(Part::far, nullptr).first;
    std::vector<Pull> both = near;
    for (std::size_t i = 0; i < both.size(); ++i) {
      both[i].x += far[i].x;
      both[i].y += far[i].y;
      both[i].z += far[i].z;
      both[i].potential += far[i].potential;
    }
    report.add({"interactions of a body", params, interactions});
    add_errors(report, "multipoles", params, errors_of(both, whole, whole));
    for (const Kernels* const kernels : available_kernels()) {
      if (&shape != &shapes.front()) {
        break;  // arithmetic does not depend on shapes
      }
      auto with_kernel = params;
      with_kernel["kernel"] = kernels->name;
      if (&method == &methods.front()) {
        const std::vector<Pull> rounded = sums(Part::near, kernels).first;
        add_errors(report, "arithmetic of near bodies", with_kernel, errors_of(rounded, near, whole));
      }
      const std::vector<Pull> rounded = sums(Part::far, kernels).first;
      add_errors(report, "arithmetic of cells", with_kernel, errors_of(rounded, far, whole));
    }
  }
}

double energy_of(const Bodies& bodies, const Shape& shape) {
  const Conserved sum = conserved(bodies.store, {bodies.mass, bodies.velocity, bodies.potential});
  double energy = sum.kinetic + sum.potential;
  for (std::size_t i = 0; i < bodies.store.size() && shape.central_mass > 0; ++i) {
    energy -= bodies.store[bodies.mass][i] * shape.central_mass / length(bodies.store.positions()[i]);
  }
  return energy;
}

/// The largest error of the total energy over the steps of a kick-drift-kick leapfrog, relative to the energy.
double drift_of(const Shape& shape, const Method& method, std::size_t count) {
  Bodies bodies;
  shape.add(bodies, count);
  Tree tree;
  const auto forces = [&] {
    compute(bodies, tree, shape, method);
    for (std::size_t i = 0; i < bodies.store.size() && shape.central_mass > 0; ++i) {
      const Vector& p = bodies.store.positions()[i];
      bodies.store[bodies.acceleration][i] -= (shape.central_mass / std::pow(dot(p, p), 1.5)) * p;
    }
  };
  const auto kick = [&] {
    for (std::size_t i = 0; i < bodies.store.size(); ++i) {
      bodies.store[bodies.velocity][i] += (shape.time_step / 2) * bodies.store[bodies.acceleration][i];
    }
  };
  forces();
  const double begin = energy_of(bodies, shape);
  double largest = 0;
  for (int step = 0; step < drift_steps; ++step) {
    kick();
    for (std::size_t i = 0; i < bodies.store.size(); ++i) {
      bodies.store.positions()[i] += shape.time_step * bodies.store[bodies.velocity][i];
    }
    forces();
    kick();
    largest = std::max(largest, std::abs(energy_of(bodies, shape) / begin - 1));
  }
  return largest;
}

/// Of all methods; direct sums only for a few particles, beside which quadrupoles have the same few.
void measure_drifts(bench::Report& report, const Shape& shape, std::size_t count) {
  const auto add = [&](const Method& method, std::size_t n) {
    report.add({fmt::format("largest error of the energy in {} steps", drift_steps),
                params_of(shape, method, n),
                drift_of(shape, method, n)});
  };
  for (const Method& method : std::span{methods}.first(methods.size() - 1)) {
    add(method, count);
  }
  if (count > few) {
    add(methods[chosen], few);
  }
  add(methods.back(), std::min(few, count));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t wanted = 0;
  bench::Report report{
      "force_bias",
      "quadrupoles at theta 0.7 conserve the energy better than monopoles at 0.5, with fewer interactions",
      bench::Place{},
      argc,
      argv,
      [&wanted](CLI::App& app) {
        app.add_option("--particles", wanted, "Of each shape [100000; with --full 1000000]")
            ->check(CLI::Range(1'000, 100'000'000));
      }};
  const std::size_t count = wanted > 0 ? wanted : report.is_full() ? 1'000'000 : 100'000;
  for (const Shape& shape : shapes) {
    measure_errors(report, shape, count, std::min<std::size_t>(count, 2'000));
    measure_drifts(report, shape, count);
  }
  report.finish();
}
