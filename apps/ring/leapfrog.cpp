// SPDX-License-Identifier: Apache-2.0
#include "ring/leapfrog.hpp"

namespace ring {

void kick(std::span<Body> bodies, double time) {
  for (Body& body : bodies) {
    body.velocity += time * body.acceleration;
  }
}

void drift(std::span<Body> bodies, double time) {
  for (Body& body : bodies) {
    body.position += time * body.velocity;
  }
}

void kick_and_drift(std::span<Body> bodies, double dt) {
  for (Body& body : bodies) {
    body.velocity += (dt / 2) * body.acceleration;
    body.position += dt * body.velocity;
  }
}

}  // namespace ring
