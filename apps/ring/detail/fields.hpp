// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "ring/snapshot.hpp"

namespace ring::detail {

/// A data set with one row for each body, and its unit: U_M^mass U_L^length U_t^time.
struct Column {
  const char* path;
  const char* description;
  std::uint64_t width;  ///< Numbers in a row.
  double mass, length, time;
};

/// A column of doubles and how a body's row is taken and given.
struct RealColumn : Column {
  void (*get)(const Body&, double*);
  void (*set)(Body&, const double*);
};

template <Vector Body::* member>
constexpr RealColumn vector_column(const Column& column) {
  return {column,
          [](const Body& body, double* row) {
            row[0] = (body.*member).x;
            row[1] = (body.*member).y;
            row[2] = (body.*member).z;
          },
          [](Body& body, const double* row) { body.*member = {row[0], row[1], row[2]}; }};
}
template <double Body::* member>
constexpr RealColumn scalar_column(const Column& column) {
  return {column,
          [](const Body& body, double* row) { *row = body.*member; },
          [](Body& body, const double* row) { body.*member = *row; }};
}

/// The one list of what a body is in a file.
inline constexpr std::array real_columns{
    vector_column<&Body::position>({"PartType1/Coordinates", "Positions, from the central mass", 3, 0, 1, 0}),
    vector_column<&Body::velocity>({"PartType1/Velocities", "Velocities of the bodies", 3, 0, 1, -1}),
    vector_column<&Body::acceleration>({"PartType1/Accelerations", "Of the centre, bodies and contacts", 3, 0, 1, -2}),
    scalar_column<&Body::mass>({"PartType1/Masses", "Masses of the bodies", 1, 1, 0, 0}),
    scalar_column<&Body::potential>({"PartType1/Potentials", "Of the other bodies, not the centre", 1, 0, 2, -2}),
    scalar_column<&Body::cost>({"PartType1/Costs", "Interactions that the last force took", 1, 0, 0, 0}),
};
inline constexpr Column id_column{"PartType1/ParticleIDs", "Unique ids of the bodies", 1, 0, 0, 0};

inline constexpr const char* state_group = "RunState";

/// Calls `visit(key, value)` for everything in the state: the one list of what a run is in a file.
template <class Visit>
void visit_state(RunState& state, Visit visit) {
  visit("Time", state.time);
  visit("Step", state.step);
  visit("EnergyAtBegin", state.energy_begin);
  visit("DissipatedEnergy", state.dissipation.energy);
  visit("DissipationRate", state.dissipation.rate);
  visit("SpringEnergy", state.spring);
  visit("CentralMass", state.parameters.central_mass);
  visit("TimeStep", state.parameters.time_step);
  visit("Theta", state.parameters.theta);
  visit("MultipoleOrder", state.parameters.order);
  visit("Softening", state.parameters.softening);
  visit("CollisionRadius", state.parameters.collision_radius);
  visit("Restitution", state.parameters.restitution);
  visit("ContactSteps", state.parameters.contact_steps);
  visit("LeafBodiesMax", state.parameters.leaf_bodies_max);
  visit("GroupBodiesMax", state.parameters.group_bodies_max);
  visit("DomainsInAzimuth", state.grid.phi);
  visit("DomainsInRadius", state.grid.r);
  visit("DomainsInHeight", state.grid.z);
  visit("DomainBounds", state.domain_bounds);
  visit("BodiesOfRanks", state.rank_bodies);
}

}  // namespace ring::detail
