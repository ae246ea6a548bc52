// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "plait/particles/store/particles.hpp"

namespace plait::python {

/// The particles of one rank, whose fields NumPy arrays view without copies.
///
/// A view keeps its store, and counts: what may move values in memory is refused while there are views, as NumPy
/// refuses `resize`. During a step of a system, the store cannot change its size. Threads: those that hold the GIL.
class ParticleStore {
 public:
  using View = nanobind::ndarray<nanobind::numpy>;

  /// Marks a call that may move values: a step, or a change of size. Throws: BufferError while there are views;
  /// ValueError within another one.
  class Change {
   public:
    explicit Change(ParticleStore& store);
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() { store_.is_changing_ = false; }

   private:
    ParticleStore& store_;
  };

  ParticleStore();
  ParticleStore(const ParticleStore&) = delete;
  ParticleStore& operator=(const ParticleStore&) = delete;
  ~ParticleStore() = default;

  [[nodiscard]] particles::Particles& particles() noexcept { return store_; }
  [[nodiscard]] std::vector<std::string> names() const;

  /// `type` is NumPy's name of a type. Throws: `Error` with `bad_argument` for others, and for a name that is in use.
  void add_field(const std::string& name, const std::string& type, std::uint32_t components);
  std::size_t add(std::size_t count);
  /// Throws: `Error` with `bad_argument` if places do not ascend, or are not in the store.
  void remove(std::span<const std::int64_t> places);

  // Throw: KeyError for a field that does not exist, `Error` with `bad_argument` for one of another type. `role` is the
  // field's part in a call, for errors.

  [[nodiscard]] particles::Field<double> number_field(const std::string& name, std::string_view role) const;
  [[nodiscard]] particles::Field<particles::Vector> vector_field(const std::string& name, std::string_view role) const;
  [[nodiscard]] particles::Field<float> float_field(const std::string& name, std::string_view role) const;
  [[nodiscard]] std::vector<particles::AnyField> any_fields(const std::vector<std::string>& names) const;

  /// The values of a field: (n,), or (n, components). `self` is this store.
  [[nodiscard]] static View view(const std::shared_ptr<ParticleStore>& self, const std::string& name);

 private:
  struct Described {
    std::string name;
    std::string type;
    std::uint32_t components = 1;
    std::uint32_t column = 0;
  };
  struct Held;

  [[nodiscard]] const Described& find(const std::string& name) const;
  [[nodiscard]] std::uint32_t column_of(const std::string& name, const Described& wanted, std::string_view role) const;

  particles::Particles store_;
  std::vector<Described> fields_;
  std::size_t views_ = 0;
  bool is_changing_ = false;
};

}  // namespace plait::python
