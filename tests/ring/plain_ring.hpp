// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "ring/ring.hpp"

namespace ring::test {

/// A ring without trees, tasks and messages: what the simulation is held against.
struct Body {
  Vector position;
  Vector velocity;
  Vector acceleration;
  double mass = 0;
  std::uint64_t id = 0;
  double potential = 0;
};

inline void fill(Bodies& bodies, std::span<const Body> from) {
  std::size_t at = bodies.store.add(from.size());
  for (const Body& body : from) {
    bodies.store.positions()[at] = body.position;
    bodies.store.ids()[at] = body.id;
    bodies.store[bodies.velocity][at] = body.velocity;
    bodies.store[bodies.acceleration][at] = body.acceleration;
    bodies.store[bodies.mass][at] = body.mass;
    bodies.store[bodies.potential][at++] = body.potential;
  }
}

inline void append(const Bodies& bodies, std::vector<Body>& to) {
  for (std::size_t i = 0; i < bodies.store.size(); ++i) {
    to.push_back({bodies.store.positions()[i],
                  bodies.store[bodies.velocity][i],
                  bodies.store[bodies.acceleration][i],
                  bodies.store[bodies.mass][i],
                  bodies.store.ids()[i],
                  bodies.store[bodies.potential][i]});
  }
}

/// Self-gravity by direct summation, O(n^2).
inline std::vector<Vector> direct_accelerations(std::span<const Body> bodies) {
  std::vector<Vector> result(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (const Body& other : bodies) {
      const Vector d = other.position - bodies[i].position;
      const double r2 = dot(d, d);
      if (r2 > 0) {
        result[i] += (other.mass / (r2 * std::sqrt(r2))) * d;
      }
    }
  }
  return result;
}

/// Root mean square of the differences over that of the reference. Not that of each body's relative error: inside a
/// regular ring forces cancel, and a body's own force may be next to nothing.
inline double rms_error(std::span<const Body> bodies, std::span<const Vector> reference) {
  double error2 = 0;
  double norm2 = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Vector difference = bodies[i].acceleration - reference[i];
    error2 += dot(difference, difference);
    norm2 += dot(reference[i], reference[i]);
  }
  return std::sqrt(error2 / norm2);
}

/// Kick, drift, kick, with direct sums and the centre; no contacts.
inline std::vector<Body> integrate(std::vector<Body> bodies, const Parameters& parameters, std::uint64_t steps) {
  const double dt = parameters.time_step;
  const auto accelerate = [&] {
    const std::vector<Vector> pulls = direct_accelerations(bodies);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double r = length(bodies[i].position);
      bodies[i].acceleration = pulls[i] - (parameters.central_mass / (r * r * r)) * bodies[i].position;
    }
  };
  accelerate();
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (Body& body : bodies) {
      body.velocity += (dt / 2) * body.acceleration;
      body.position += dt * body.velocity;
    }
    accelerate();
    for (Body& body : bodies) {
      body.velocity += (dt / 2) * body.acceleration;
    }
  }
  return bodies;
}

}  // namespace ring::test
