// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// Identifies a column of a store, and its type. Cheap to copy. Valid for the store that created it and for stores
/// created by `make_like`.
template <class T>
struct Field {
  std::uint32_t column = 0;
  friend bool operator==(const Field&, const Field&) = default;
};

/// A field of any type, for lists of fields to send.
struct AnyField {
  std::uint32_t column = 0;
  std::uint32_t bytes = 0;  ///< Of one particle.

  AnyField() = default;
  template <class T>
  AnyField(Field<T> field)  // NOLINT(google-explicit-constructor): lists of fields of several types
      : column{field.column}, bytes{sizeof(T)} {}
};

/// The particles of one rank: a structure of arrays, one array for each field, all in the same order.
///
/// All stores have position, id, kind and cost. A program adds fields of any trivially copyable type, before or after
/// it adds particles. All ranks must add the same fields in the same order. Tree builds and migration change the order
/// of particles: identify them by id, not by place. Adding, removing and reordering invalidate spans. Threads: one at a
/// time, except for the pieces of a reorder.
class Particles {
 public:
  using Index = std::uint32_t;  ///< A place; a rank has less than 2^30 particles.
  static constexpr std::size_t size_max = std::size_t{1} << 30;

  Particles();

  /// Adds a field, which is zero for existing particles. Throws: `Error` with `bad_argument` if the name is in use.
  template <class T>
  Field<T> add_field(std::string name) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64, "travels in messages, aligned to cache lines");
    return {add_field(std::move(name), sizeof(T)).column};
  }
  /// As above, for types that are known at run time only: `bytes` of each particle. Throws: also for 0 bytes.
  AnyField add_field(std::string name, std::size_t bytes);

  /// An empty store with the same fields.
  [[nodiscard]] Particles make_like() const;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }

  template <class T>
  [[nodiscard]] std::span<T> operator[](Field<T> field) noexcept {
    return {reinterpret_cast<T*>(columns_[field.column].data.get()), size_};
  }
  template <class T>
  [[nodiscard]] std::span<const T> operator[](Field<T> field) const noexcept {
    return {reinterpret_cast<const T*>(columns_[field.column].data.get()), size_};
  }
  [[nodiscard]] std::span<const std::byte> bytes_of(AnyField field) const noexcept {
    return {columns_[field.column].data.get(), size_ * columns_[field.column].bytes};
  }
  [[nodiscard]] std::span<std::byte> bytes_of(AnyField field) noexcept {
    return {columns_[field.column].data.get(), size_ * columns_[field.column].bytes};
  }

  static constexpr Field<Vector> position{0};
  static constexpr Field<std::uint64_t> id{1};
  /// The kind of particle (gas, star, ...), a number below 64; interactions select by it.
  static constexpr Field<std::uint8_t> kind{2};
  /// The cost of its forces, in any unit: the weight in domain decomposition.
  static constexpr Field<float> cost{3};

  [[nodiscard]] std::span<Vector> positions() noexcept { return (*this)[position]; }
  [[nodiscard]] std::span<const Vector> positions() const noexcept { return (*this)[position]; }
  [[nodiscard]] std::span<std::uint64_t> ids() noexcept { return (*this)[id]; }
  [[nodiscard]] std::span<const std::uint64_t> ids() const noexcept { return (*this)[id]; }

  /// Appends particles whose fields are zero; returns the place of the first.
  /// Throws: `Error` with `bad_argument` beyond `size_max`.
  std::size_t add(std::size_t count);
  /// Keeps the first `size` particles.
  void shrink(std::size_t size);
  /// Removes the particles at `places`, which ascend; particles from the end fill the gaps. Cost: O(places).
  void remove_unordered(std::span<const Index> places);
  void clear() noexcept { size_ = 0; }

  /// Moves the particle at `from[i]` to i. Expects: a permutation. Keeps a second copy of all columns. Cost: O(bytes).
  void reorder(std::span<const Index> from);
  /// The same in pieces: `begin_reorder`, `reorder_piece` for parts of [0, size), `end_reorder`. Threads: pieces may
  /// run concurrently.
  void begin_reorder();
  void reorder_piece(std::span<const Index> from, std::size_t first, std::size_t last);
  void end_reorder() noexcept;

  /// The bytes of one particle in a message: the sum of its fields.
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  /// Appends all fields of the particles at `places` to `buffer`, one field after the other.
  void pack(std::span<const Index> places, Bytes& buffer) const;
  /// Adds the particles that one call of `pack` wrote, for equal fields.
  /// Throws: `Error` with `bad_input` if `buffer` does not hold a whole number of particles.
  void unpack(std::span<const std::byte> buffer);
  /// Appends some fields of the particles at `places` to `buffer`, one field after the other.
  void pack(std::span<const AnyField> fields, std::span<const Index> places, Bytes& buffer) const;
  /// The same for consecutive particles. `unpack` overwrites these fields of existing particles.
  /// Throws: `Error` with `bad_input` if `buffer` has the wrong size.
  void pack(std::span<const AnyField> fields, Index first, Index count, Bytes& buffer) const;
  void unpack(std::span<const AnyField> fields, Index first, Index count, std::span<const std::byte> buffer);

  [[nodiscard]] std::size_t field_count() const noexcept { return columns_.size(); }
  [[nodiscard]] std::size_t bytes_of_column(std::uint32_t column) const { return columns_[column].bytes; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte[], Free>;
  struct Column {
    std::string name;
    std::size_t bytes = 0;  ///< Of one particle.
    Memory data;            ///< Of `capacity_` particles, aligned to cache lines.
    Memory spare;           ///< The target of a reorder, of the same size; empty before the first.
  };

  void reserve(std::size_t size);
  [[nodiscard]] Memory allocate(const Column& column) const;

  std::vector<Column> columns_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool has_spare_ = false;
};

}  // namespace plait::particles
