// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_store.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::python {

namespace nb = nanobind;
using particles::AnyField;
using particles::Field;
using particles::Particles;
using particles::Vector;

namespace {

struct ElementType {
  std::string_view name;  ///< NumPy's.
  nb::dlpack::dtype type;
};

template <class Number>
ElementType element(std::string_view name) {
  return {name, nb::dtype<Number>()};
}

const ElementType& element_type(std::string_view name) {
  static const std::array known{element<double>("float64"),
                                element<float>("float32"),
                                element<std::int64_t>("int64"),
                                element<std::int32_t>("int32"),
                                element<std::uint8_t>("uint8")};
  const auto* const found = std::ranges::find(known, name, &ElementType::name);
  if (found == known.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a field has the type {}: use float64, float32, int64, int32 or uint8", name)};
  }
  return *found;
}

std::size_t bytes_of(const ElementType& element) {
  return element.type.bits / 8U;
}

}  // namespace

/// Counts a view, and keeps its store.
struct ParticleStore::Held {
  explicit Held(std::shared_ptr<ParticleStore> viewed) : store{std::move(viewed)} { ++store->views_; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { --store->views_; }

  std::shared_ptr<ParticleStore> store;
};

ParticleStore::Change::Change(ParticleStore& store) : store_{store} {
  if (store.is_changing_) {
    throw nb::value_error("a function of a step changes its store, or steps again: do this between steps");
  }
  if (store.views_ > 0) {
    throw nb::buffer_error(
        fmt::format("{} arrays view fields of the store, whose values may move now: delete them, or copy them with "
                    "numpy.array, and view fields again afterwards",
                    store.views_)
            .c_str());
  }
  store.is_changing_ = true;
}

ParticleStore::ParticleStore()
    : fields_{{"position", "float64", 3, Particles::position.column},
              {"id", "int64", 1, Particles::id.column},
              {"kind", "uint8", 1, Particles::kind.column},
              {"cost", "float32", 1, Particles::cost.column}} {}

std::vector<std::string> ParticleStore::names() const {
  std::vector<std::string> names;
  for (const Described& field : fields_) {
    names.push_back(field.name);
  }
  return names;
}

void ParticleStore::add_field(const std::string& name, const std::string& type, std::uint32_t components) {
  const std::size_t bytes = bytes_of(element_type(type)) * components;
  const Change change{*this};
  const AnyField added = store_.add_field(name, bytes);
  fields_.push_back({name, type, components, added.column});
}

std::size_t ParticleStore::add(std::size_t count) {
  const Change change{*this};
  return store_.add(count);
}

void ParticleStore::remove(std::span<const std::int64_t> places) {
  std::vector<Particles::Index> indices;
  for (const std::int64_t place : places) {
    const bool ascends = indices.empty() || place > static_cast<std::int64_t>(indices.back());
    require(place >= 0 && static_cast<std::size_t>(place) < store_.size() && ascends,
            "places to remove are not in the store, or do not ascend: sort them, each once");
    indices.push_back(static_cast<Particles::Index>(place));
  }
  const Change change{*this};
  store_.remove_unordered(indices);
}

const ParticleStore::Described& ParticleStore::find(const std::string& name) const {
  const auto found = std::ranges::find(fields_, name, &Described::name);
  if (found == fields_.end()) {
    const std::string all = fmt::format("{}", fmt::join(names(), ", "));
    throw nb::key_error(fmt::format("the store has no field {}: it has {}", name, all).c_str());
  }
  return *found;
}

std::uint32_t ParticleStore::column_of(const std::string& name, const Described& wanted, std::string_view role) const {
  const Described& found = find(name);
  if (found.type != wanted.type || found.components != wanted.components) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the field {}, the {}, has {} of {}: the {} needs {} of {}",
                            name,
                            role,
                            found.components,
                            found.type,
                            role,
                            wanted.components,
                            wanted.type)};
  }
  return found.column;
}

Field<double> ParticleStore::number_field(const std::string& name, std::string_view role) const {
  return {column_of(name, {"", "float64", 1, 0}, role)};
}

Field<Vector> ParticleStore::vector_field(const std::string& name, std::string_view role) const {
  return {column_of(name, {"", "float64", 3, 0}, role)};
}

Field<float> ParticleStore::float_field(const std::string& name, std::string_view role) const {
  return {column_of(name, {"", "float32", 1, 0}, role)};
}

std::vector<AnyField> ParticleStore::any_fields(const std::vector<std::string>& names) const {
  std::vector<AnyField> all;
  for (const std::string& name : names) {
    AnyField field;
    field.column = find(name).column;
    field.bytes = static_cast<std::uint32_t>(store_.bytes_of_column(field.column));
    all.push_back(field);
  }
  return all;
}

ParticleStore::View ParticleStore::view(const std::shared_ptr<ParticleStore>& self, const std::string& name) {
  const Described& field = self->find(name);
  AnyField any;
  any.column = field.column;
  const nb::capsule owner{new Held{self}, [](void* held) noexcept { delete static_cast<Held*>(held); }};
  const std::array<std::size_t, 2> shape{self->store_.size(), field.components};
  return {self->store_.bytes_of(any).data(),
          field.components == 1 ? std::size_t{1} : std::size_t{2},
          shape.data(),
          owner,
          nullptr,
          element_type(field.type).type};
}

}  // namespace plait::python
