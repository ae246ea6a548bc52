// SPDX-License-Identifier: Apache-2.0
#include "sph/diagnostics.hpp"

namespace sph {

Totals& Totals::operator+=(const Totals& b) {
  mass += b.mass;
  kinetic += b.kinetic;
  thermal += b.thermal;
  potential += b.potential;
  momentum += b.momentum;
  angular_momentum += b.angular_momentum;
  speed_sum += b.speed_sum;
  return *this;
}

Totals totals_of(const Gas& gas) {
  Totals totals;
  for (std::size_t i = 0; i < gas.count; ++i) {
    const double m = gas.mass[i];
    const Vector& v = gas.velocity[i];
    totals.mass += m;
    totals.kinetic += m * dot(v, v) / 2;
    totals.thermal += gas.kind[i] == gas_kind ? m * static_cast<double>(gas.energy[i]) : 0;
    totals.potential += m * gas.potential[i] / 2;
    totals.momentum += m * v;
    totals.angular_momentum += m * cross(gas.position[i], v);
    totals.speed_sum += m * length(v);
  }
  return totals;
}

}  // namespace sph
