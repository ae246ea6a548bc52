// SPDX-License-Identifier: Apache-2.0
// Long-range and short-range interactions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/c/guard.hpp"
#include "plait/c_particles/detail/fields.hpp"
#include "plait/c_particles/handles.hpp"

namespace plait::c_particles::detail {

namespace {

constexpr std::uint64_t all_kinds = ~std::uint64_t{0};

constexpr plait_long_range_options long_range_defaults{.size = sizeof(plait_long_range_options),
                                                       .charge = -1,
                                                       .acceleration = -1,
                                                       .potential = -1,
                                                       .source_kinds = all_kinds,
                                                       .target_kinds = all_kinds,
                                                       .theta = 0.5,
                                                       .softening = 0,
                                                       .coupling = 1,
                                                       .cutoff = 0,
                                                       .order = PLAIT_QUADRUPOLE,
                                                       .precision = PLAIT_FULL,
                                                       .lets = PLAIT_LETS_EXACT,
                                                       .measures_sizes = 0,
                                                       .reuses_lists = 0,
                                                       .kernel = nullptr,
                                                       .argument = nullptr,
                                                       .has_both_signs = 0,
                                                       .moment_bytes = 0,
                                                       .moment_of_none = nullptr,
                                                       .add_body = nullptr,
                                                       .add_child = nullptr,
                                                       .moment_argument = nullptr,
                                                       .velocity = -1};

constexpr plait_short_range_options short_range_defaults{.size = sizeof(plait_short_range_options),
                                                         .search = PLAIT_GATHER,
                                                         .reach = -1,
                                                         .reach_factor = 1,
                                                         .source_kinds = all_kinds,
                                                         .target_kinds = all_kinds,
                                                         .target_count = 0,
                                                         .source_count = 0,
                                                         .result_count = 0,
                                                         .targets = nullptr,
                                                         .sources = nullptr,
                                                         .results = nullptr,
                                                         .kernel = nullptr,
                                                         .argument = nullptr};

// ---- long range ----

plait_bodies list_of(const particles::BodySpan& span) {
  return {.count = span.length, .x = span.x, .y = span.y, .z = span.z, .charge = span.mass};
}

plait_cells list_of(const particles::CellSpan& span) {
  return {.count = span.length,
          .x = span.x,
          .y = span.y,
          .z = span.z,
          .charge = span.mass,
          .xx = span.xx,
          .xy = span.xy,
          .xz = span.xz,
          .yy = span.yy,
          .yz = span.yz};
}

static_assert(sizeof(particles::Pull) == sizeof(double[4]) &&
                  offsetof(particles::Pull, potential) == 3 * sizeof(double),
              "kernels in C add to four doubles");

particles::LongRangeKernel kernel_of(const plait_long_range_options& options) {
  if (options.kernel == nullptr) {
    return {};
  }
  return [kernel = options.kernel, argument = options.argument, moment_bytes = options.moment_bytes](
             const particles::KernelWork& work) {
    const particles::TargetSpan& targets = work.targets;
    const plait_tree_block block{.count = targets.count,
                                 .x = targets.x,
                                 .y = targets.y,
                                 .z = targets.z,
                                 .near_x = targets.near_x,
                                 .near_y = targets.near_y,
                                 .near_z = targets.near_z,
                                 .sums = reinterpret_cast<double (*)[4]>(targets.pulls),
                                 .bodies = list_of(work.bodies),
                                 .near_bodies = list_of(work.near_bodies),
                                 .cells = list_of(work.cells),
                                 .softening2 = work.options.softening2,
                                 .cutoff2 = work.options.cutoff2,
                                 .period = {work.options.period.x, work.options.period.y, work.options.period.z},
                                 .displacement = work.options.displacement,
                                 .moments = work.moments.data(),
                                 .moment_count = moment_bytes > 0 ? work.moments.size() / moment_bytes : 0};
    c::check_call([&] { return kernel(&block, argument); });
  };
}

particles::CellMoments moments_of(plait_store& store, const plait_long_range_options& options) {
  const std::size_t bytes = options.moment_bytes;
  if (bytes == 0) {
    return {};
  }
  require(bytes % sizeof(double) == 0,
          "moments of cells have a size that is no multiple of 8 bytes: add padding to their structure");
  require(options.add_body != nullptr && options.add_child != nullptr && options.kernel != nullptr,
          "moments of cells need add_body, add_child and a kernel that reads them: give all three");
  particles::CellMoments moments{.bytes = bytes, .none = std::vector<std::byte>(bytes)};
  if (options.moment_of_none != nullptr) {
    std::memcpy(moments.none.data(), options.moment_of_none, bytes);
  }
  moments.add_body = [owner = &store, add = options.add_body, argument = options.moment_argument](
                         std::byte* moment,
                         const particles::Particles&,
                         particles::Particles::Index place,
                         const particles::Vector& offset) {
    const std::array at{offset.x, offset.y, offset.z};
    c::check_call([&] { return add(moment, owner, place, at.data(), argument); });
  };
  moments.add_child = [add = options.add_child, argument = options.moment_argument](
                          std::byte* moment, const std::byte* child, const particles::Vector& offset) {
    const std::array at{offset.x, offset.y, offset.z};
    c::check_call([&] { return add(moment, child, at.data(), argument); });
  };
  return moments;
}

particles::LongRangeOptions options_of(plait_store& store, const plait_long_range_options& options) {
  require(options.order == PLAIT_MONOPOLE || options.order == PLAIT_QUADRUPOLE,
          "a long-range interaction has another order than PLAIT_MONOPOLE or PLAIT_QUADRUPOLE: use one of them");
  require(options.precision == PLAIT_MIXED || options.precision == PLAIT_FULL,
          "a long-range interaction has another precision than PLAIT_MIXED or PLAIT_FULL: use one of them");
  require(options.lets >= PLAIT_LETS_ALL_TO_ALL && options.lets <= PLAIT_LETS_FAST,
          "a long-range interaction has no valid exchange of trees: use a value of plait_lets");
  require(options.theta >= 0 && options.softening >= 0 && options.cutoff >= 0,
          "a long-range interaction has a negative opening angle, softening or cut-off: give 0 or more");
  std::optional<particles::Field<particles::Vector>> velocity;
  if (options.velocity >= 0) {
    velocity = vector_field(store, options.velocity, "velocity");
  }
  return {.charge = number_field(store, options.charge, "charge"),
          .signs = options.has_both_signs != 0 ? particles::ChargeSigns::both : particles::ChargeSigns::one,
          .acceleration = vector_field(store, options.acceleration, "acceleration"),
          .potential = number_field(store, options.potential, "potential"),
          .sources = particles::Kinds::from_bits(options.source_kinds),
          .targets = particles::Kinds::from_bits(options.target_kinds),
          .theta = options.theta,
          .order = static_cast<particles::Order>(options.order),
          .precision = static_cast<particles::Precision>(options.precision),
          .softening = options.softening,
          .coupling = options.coupling,
          .cutoff = options.cutoff,
          .kernel = kernel_of(options),
          .moments = moments_of(store, options),
          .lets = static_cast<particles::LetMode>(options.lets),
          .measures_sizes = options.measures_sizes != 0,
          .keeps_lists = options.reuses_lists != 0,
          .velocity = velocity};
}

static_assert(static_cast<int>(particles::Order::monopole) == PLAIT_MONOPOLE &&
              static_cast<int>(particles::Order::quadrupole) == PLAIT_QUADRUPOLE);
static_assert(static_cast<int>(particles::Precision::mixed) == PLAIT_MIXED &&
              static_cast<int>(particles::Precision::full) == PLAIT_FULL);
static_assert(static_cast<int>(particles::LetMode::all_to_all) == PLAIT_LETS_ALL_TO_ALL &&
              static_cast<int>(particles::LetMode::fast) == PLAIT_LETS_FAST);

// ---- short range ----

particles::BlockField block_field(const plait_store& store, int field) {
  const plait_store::Type& type = type_of(store, field);
  const auto column = static_cast<std::uint32_t>(field);
  if (type == plait_store::Type{PLAIT_DOUBLE, 1}) {
    return particles::Field<double>{column};
  }
  if (type == plait_store::Type{PLAIT_FLOAT, 1}) {
    return particles::Field<float>{column};
  }
  if (type == plait_store::Type{PLAIT_DOUBLE, 3}) {
    return particles::Field<particles::Vector>{column};
  }
  if (type == plait_store::Type{plait_store::byte_type, 1}) {
    return particles::Field<std::uint8_t>{column};
  }
  throw Error{ErrorCode::bad_argument,
              fmt::format("field {} cannot be in a block: give fields of one double, one float or three doubles, or "
                          "the kind",
                          field)};
}

std::vector<particles::BlockField> block_fields(const plait_store& store, std::span<const int> fields) {
  std::vector<particles::BlockField> found;
  std::size_t arrays = 0;
  for (const int field : fields) {
    found.push_back(block_field(store, field));
    arrays += found.back().type == particles::BlockField::Type::vector ? 3 : 1;
  }
  require(arrays <= PLAIT_BLOCK_ARRAYS_MAX,
          "a short-range interaction has more fields than PLAIT_BLOCK_ARRAYS_MAX arrays: use two interactions");
  return found;
}

/// The pointers to a side's values, for one call of a kernel.
using Arrays = std::array<const float*, PLAIT_BLOCK_ARRAYS_MAX>;

plait_block_particles side_of(const particles::BlockParticles& side,
                              std::span<const particles::BlockField> fields,
                              Arrays& arrays) {
  std::size_t number = 0;
  for (const particles::BlockField& field : fields) {
    if (field.type == particles::BlockField::Type::vector) {
      const particles::BlockVectors values = side[particles::Field<particles::Vector>{field.column}];
      for (const float* axis : {values.x.data(), values.y.data(), values.z.data()}) {
        arrays[number++] = axis;
      }
    } else {
      arrays[number++] = side[particles::Field<float>{field.column}].data();
    }
  }
  return {.count = side.size(),
          .padded_count = side.padded_size(),
          .x = side.x().data(),
          .y = side.y().data(),
          .z = side.z().data(),
          .values = arrays.data(),
          .places = nullptr};
}

/// The parts of a sum over near pairs.
struct PairSum {
  particles::ShortRangeOptions search;
  std::vector<particles::AnyField> results;
  particles::ShortRangeKernel kernel;
};

PairSum pair_sum(plait_store& store, const plait_short_range_options& options) {
  require(options.kernel != nullptr, "a short-range interaction has no kernel: give one");
  require(options.search >= PLAIT_GATHER && options.search <= PLAIT_SYMMETRIC,
          "a short-range interaction has no valid search: use a value of plait_search");
  particles::ShortRangeOptions search{
      .search = static_cast<particles::Search>(options.search),
      .reach = float_field(store, options.reach, "reach"),
      .reach_factor = options.reach_factor,
      .targets = block_fields(store, listed_fields(options.targets, options.target_count, "targets")),
      .sources = block_fields(store, listed_fields(options.sources, options.source_count, "sources")),
      .target_kinds = options.target_kinds,
      .source_kinds = options.source_kinds,
  };
  auto kernel = [owner = &store,
                 kernel = options.kernel,
                 argument = options.argument,
                 targets = search.targets,
                 sources = search.sources](const particles::Block& block) {
    Arrays target_arrays;
    Arrays source_arrays;
    plait_pair_block given{.store = owner,
                           .centre = {block.centre.x, block.centre.y, block.centre.z},
                           .targets = side_of(block.targets, targets, target_arrays),
                           .sources = side_of(block.sources, sources, source_arrays)};
    // Places of targets have no mark of ghosts, and are equal as signed and unsigned numbers.
    given.targets.places = reinterpret_cast<const std::int32_t*>(block.targets.places().data());
    c::check_call([&] { return kernel(&given, argument); });
  };
  return {.search = std::move(search),
          .results = any_fields(store, options.results, options.result_count, "results"),
          .kernel = std::move(kernel)};
}

static_assert(static_cast<int>(particles::Search::gather) == PLAIT_GATHER &&
              static_cast<int>(particles::Search::symmetric) == PLAIT_SYMMETRIC);

}  // namespace
}  // namespace plait::c_particles::detail

using namespace plait::c_particles::detail;

extern "C" {

int plait_long_range_options_init(plait_long_range_options* options, size_t size) {
  return plait::c::guarded([&] { set_defaults(options, size, long_range_defaults); });
}

int plait_short_range_options_init(plait_short_range_options* options, size_t size) {
  return plait::c::guarded([&] { set_defaults(options, size, short_range_defaults); });
}

int plait_system_add_long_range(plait_system* system, const plait_long_range_options* options) {
  return plait::c::guarded(
      [&] { system->system.add_long_range(options_of(system->store, known_options(options, long_range_defaults))); });
}

int plait_system_add_short_range(plait_system* system, const plait_short_range_options* options) {
  return plait::c::guarded([&] {
    PairSum sum = pair_sum(system->store, known_options(options, short_range_defaults));
    system->system.add_short_range(std::move(sum.search), std::move(sum.results), std::move(sum.kernel));
  });
}

int plait_system_add_pair_stage(plait_system* system, const char* name, const plait_short_range_options* options) {
  return plait::c::guarded([&] {
    plait::require(name != nullptr && *name != '\0', "a stage has no name: give one");
    PairSum sum = pair_sum(system->store, known_options(options, short_range_defaults));
    system->system.add_pair_stage(name, std::move(sum.search), std::move(sum.results), std::move(sum.kernel));
  });
}
}
