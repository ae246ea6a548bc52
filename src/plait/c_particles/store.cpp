// SPDX-License-Identifier: Apache-2.0
// Stores and their fields.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plait/c/guard.hpp"
#include "plait/c_particles/detail/fields.hpp"
#include "plait/c_particles/handles.hpp"

namespace plait::c_particles::detail {
namespace {

/// 0 for a type that does not exist.
std::size_t bytes_of(int type) {
  switch (type) {
    case plait_store::byte_type:
      return 1;
    case PLAIT_INT32:
    case PLAIT_FLOAT:
      return 4;
    case PLAIT_INT64:
    case PLAIT_DOUBLE:
    case PLAIT_FLOAT_COMPLEX:
      return 8;
    case PLAIT_DOUBLE_COMPLEX:
      return 16;
    default:
      return 0;
  }
}

void require_type(
    const plait_store& store, int field, const plait_store::Type& type, std::string_view name, std::string_view role) {
  if (type_of(store, field) != type) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "field {}, the {}, has another type than {}: add a field of this type to the store", field, role, name)};
  }
}

int add_field(plait_store& store, const char* name, int type, int components) {
  if (type == plait_store::byte_type || bytes_of(type) == 0 || components < 1) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "the field \"{}\" has {} components of type {}: give 1 or more of a plait_type", name, components, type)};
  }
  note_fields(store);
  const particles::AnyField field = store.store.add_field(name, bytes_of(type) * static_cast<std::size_t>(components));
  store.types.push_back({type, components});
  return static_cast<int>(field.column);
}

}  // namespace

const plait_store::Type& type_of(const plait_store& store, int field) {
  if (field < 0 || static_cast<std::size_t>(field) >= store.types.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the store has no field {}: use what plait_store_add_field has given", field)};
  }
  return store.types[static_cast<std::size_t>(field)];
}

particles::Field<double> number_field(const plait_store& store, int field, std::string_view role) {
  require_type(store, field, {PLAIT_DOUBLE, 1}, "one double", role);
  return {static_cast<std::uint32_t>(field)};
}

particles::Field<particles::Vector> vector_field(const plait_store& store, int field, std::string_view role) {
  require_type(store, field, {PLAIT_DOUBLE, 3}, "three doubles", role);
  return {static_cast<std::uint32_t>(field)};
}

particles::Field<float> float_field(const plait_store& store, int field, std::string_view role) {
  require_type(store, field, {PLAIT_FLOAT, 1}, "one float", role);
  return {static_cast<std::uint32_t>(field)};
}

particles::AnyField any_field(const plait_store& store, int field) {
  const plait_store::Type& type = type_of(store, field);
  particles::AnyField any;
  any.column = static_cast<std::uint32_t>(field);
  any.bytes = static_cast<std::uint32_t>(bytes_of(type.type) * static_cast<std::size_t>(type.components));
  return any;
}

std::span<const int> listed_fields(const int* first, std::size_t count, std::string_view role) {
  if (first == nullptr && count != 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the list of {} is NULL, and has {} fields: give it", role, count)};
  }
  return {first, count};
}

std::vector<particles::AnyField> any_fields(const plait_store& store,
                                            const int* first,
                                            std::size_t count,
                                            std::string_view role) {
  std::vector<particles::AnyField> found;
  for (const int field : listed_fields(first, count, role)) {
    found.push_back(any_field(store, field));
  }
  return found;
}

void note_fields(plait_store& store) {
  while (store.types.size() < store.store.field_count()) {
    const std::size_t bytes = store.store.bytes_of_column(static_cast<std::uint32_t>(store.types.size()));
    const int type = bytes == 1 ? plait_store::byte_type : bytes == 4 ? PLAIT_FLOAT : PLAIT_INT64;
    store.types.push_back({type, 1});
  }
}

}  // namespace plait::c_particles::detail

using namespace plait::c_particles::detail;

extern "C" {

int plait_store_create(plait_store** store) {
  return plait::c::create(store, [] { return new plait_store; });
}

int plait_store_free(plait_store** store) {
  return plait::c::destroy(store);
}

int plait_store_add_field(plait_store* store, const char* name, int type, int components, int* field) {
  return plait::c::guarded([&] {
    plait::require(name != nullptr && field != nullptr,
                   "a field has no name, or no variable for its number: give both");
    *field = add_field(*store, name, type, components);
  });
}

int plait_store_describe_field(const plait_store* store, int field, int* type, int* components) {
  return plait::c::guarded([&] {
    const plait_store::Type& found = type_of(*store, field);
    *type = found.type;
    *components = found.components;
  });
}

size_t plait_store_size(const plait_store* store) {
  return store->store.size();
}

int plait_store_add(plait_store* store, size_t count, size_t* first) {
  return plait::c::guarded([&] {
    const std::size_t place = store->store.add(count);
    if (first != nullptr) {
      *first = place;
    }
  });
}

int plait_store_remove(plait_store* store, size_t count, const int32_t* places) {
  return plait::c::guarded([&] {
    for (std::size_t i = 0; i < count; ++i) {
      plait::require(places[i] >= 0 && static_cast<std::size_t>(places[i]) < store->store.size() &&
                         (i == 0 || places[i] > places[i - 1]),
                     "places to remove are not in the store, or do not ascend: sort them, each once");
    }
    // Places below 2^30 are equal as signed and unsigned numbers.
    store->store.remove_unordered({reinterpret_cast<const plait::particles::Particles::Index*>(places), count});
  });
}

void* plait_store_values(plait_store* store, int field) {
  std::span<std::byte> values;
  const int error = plait::c::guarded([&] { values = store->store.bytes_of(any_field(*store, field)); });
  if (error == PLAIT_SUCCESS && values.empty()) {
    plait_fail(PLAIT_SUCCESS, "this rank has no particles: ask plait_store_size first");
  }
  return values.empty() ? nullptr : values.data();
}
}
