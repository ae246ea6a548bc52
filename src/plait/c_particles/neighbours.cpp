// SPDX-License-Identifier: Apache-2.0
// Neighbour lists.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plait/c/guard.hpp"
#include "plait/c_particles/detail/fields.hpp"
#include "plait/c_particles/handles.hpp"

namespace plait::c_particles::detail {
namespace {

constexpr plait_neighbour_options neighbour_defaults{.size = sizeof(plait_neighbour_options),
                                                     .search = PLAIT_GATHER,
                                                     .radius_field = -1,
                                                     .radius = 0,
                                                     .source_kinds = ~std::uint64_t{0},
                                                     .target_kinds = ~std::uint64_t{0},
                                                     .travel_count = 0,
                                                     .travels = nullptr};

particles::NeighbourOptions options_of(const plait_store& store, const plait_neighbour_options& options) {
  require(options.search >= PLAIT_GATHER && options.search <= PLAIT_SYMMETRIC,
          "neighbours have no valid search: use a value of plait_search");
  particles::NeighbourOptions found{.search = static_cast<particles::Search>(options.search),
                                    .radius = options.radius,
                                    .targets = particles::Kinds::from_bits(options.target_kinds),
                                    .sources = particles::Kinds::from_bits(options.source_kinds),
                                    .travels = any_fields(store, options.travels, options.travel_count, "travels")};
  if (options.radius_field >= 0 && type_of(store, options.radius_field).type == PLAIT_FLOAT) {
    found.radius = float_field(store, options.radius_field, "radius");
  } else if (options.radius_field >= 0) {
    found.radius = number_field(store, options.radius_field, "radius");
  }
  return found;
}

const plait_neighbours* add_neighbours(plait_system& system, const plait_neighbour_options& options) {
  particles::NeighbourOptions wanted = options_of(system.store, options);
  auto made = std::make_unique<plait_neighbours>(plait_neighbours{system.store, nullptr, {PLAIT_POSITION, PLAIT_ID}});
  for (const particles::AnyField& field : wanted.travels) {
    made->imported_fields.push_back(static_cast<int>(field.column));
  }
  made->lists = &system.system.add_neighbour_lists(std::move(wanted));
  note_fields(system.store);
  return system.neighbours.emplace_back(std::move(made)).get();
}

const void* imported_values(const plait_neighbours& neighbours, int field) {
  if (std::ranges::find(neighbours.imported_fields, field) == neighbours.imported_fields.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("field {} does not travel with neighbours: add it to the travels of their options", field)};
  }
  const particles::Particles& imported = neighbours.lists->imported();
  require(!imported.is_empty(), "this rank has no imported particles: check their count first");
  return imported.bytes_of(any_field(neighbours.store, field)).data();
}

}  // namespace
}  // namespace plait::c_particles::detail

using namespace plait::c_particles::detail;

extern "C" {

int plait_neighbour_options_init(plait_neighbour_options* options, size_t size) {
  return plait::c::guarded([&] { set_defaults(options, size, neighbour_defaults); });
}

int plait_system_add_neighbours(plait_system* system,
                                const plait_neighbour_options* options,
                                const plait_neighbours** neighbours) {
  return plait::c::guarded([&] {
    plait::require(neighbours != nullptr, "neighbours have no variable for their handle: give its address");
    *neighbours = add_neighbours(*system, known_options(options, neighbour_defaults));
  });
}

int plait_neighbours_get(const plait_neighbours* neighbours, plait_neighbour_lists* lists) {
  return plait::c::guarded([&] {
    const std::span<const std::size_t> offsets = neighbours->lists->offsets();
    plait::require(!offsets.empty(), "there are no neighbours before the first step: call plait_system_update");
    // An index is below 2^31, and so equal as a signed and an unsigned number.
    *lists = {.count = offsets.size() - 1,
              .offsets = offsets.data(),
              .indices = reinterpret_cast<const std::int32_t*>(neighbours->lists->indices().data()),
              .imported_count = neighbours->lists->imported().size()};
  });
}

const void* plait_neighbours_imported_values(const plait_neighbours* neighbours, int field) {
  const void* values = nullptr;
  (void)plait::c::guarded([&] { values = imported_values(*neighbours, field); });
  return values;
}
}
