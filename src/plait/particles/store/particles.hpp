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

/// Names a column of a store, and its type. Cheap to copy; valid for the store that made it, and for those made like
/// it.
template <class T>
struct Field {
  std::uint32_t column = 0;
  friend bool operator==(const Field&, const Field&) = default;
};

/// A field of any type: lists of fields that are sent consist of these.
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
/// Position, id and kind are always there; a program adds fields of its own, of any type that may be copied as bytes,
/// before or after it adds particles. All ranks must add the same fields in the same order. The order of particles
/// changes when a tree is built over them and when particles leave or arrive: remember ids, not places. Adding,
/// removing and reordering invalidate spans. Threads: one at a time, but for the pieces of a reorder.
class Particles {
 public:
  using Index = std::uint32_t;  ///< A place; a rank has less than 2^30 particles.
  static constexpr std::size_t size_max = std::size_t{1} << 30;

  Particles();

  /// Throws: `Error` with `bad_argument` when there is a field of that name.
  template <class T>
  Field<T> add_field(std::string name) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64, "travels in messages, aligned to cache lines");
    return {add_column(std::move(name), sizeof(T))};
  }

  /// Without particles, with the same fields.
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
  [[nodiscard]] std::span<const std::byte> bytes_of(AnyField field) const noexcept;
  [[nodiscard]] std::span<std::byte> bytes_of(AnyField field) noexcept;

  static constexpr Field<Vector> position{0};
  static constexpr Field<std::uint64_t> id{1};
  /// What a particle is (gas, star, ...), numbered by the program below 64; interactions choose by it.
  static constexpr Field<std::uint8_t> kind{2};
  /// What its forces took, in any unit: the weight in the decomposition.
  static constexpr Field<float> cost{3};

  [[nodiscard]] std::span<Vector> positions() noexcept { return (*this)[position]; }
  [[nodiscard]] std::span<const Vector> positions() const noexcept { return (*this)[position]; }
  [[nodiscard]] std::span<std::uint64_t> ids() noexcept { return (*this)[id]; }
  [[nodiscard]] std::span<const std::uint64_t> ids() const noexcept { return (*this)[id]; }

  /// Appends particles whose fields are all zero; returns the place of the first.
  /// Throws: `Error` with `bad_argument` beyond `size_max`.
  std::size_t add(std::size_t count);
  /// Removes all but the first `size`.
  void shrink(std::size_t size);
  /// Removes those at `places`, which ascend; particles from the end fill the gaps. Cost: O(places).
  void remove_unordered(std::span<const Index> places);
  void clear() noexcept { size_ = 0; }

  /// Moves the particle at `from[i]` to i. Expects: a permutation. Cost: O(bytes), twice the
  /// memory of the largest column.
  void reorder(std::span<const Index> from);
  /// The same in pieces that may run at the same time: `begin_reorder`, then `reorder_piece` for all of [0, size) in
  /// parts, then `end_reorder`. Needs the memory of all columns twice, which is kept.
  void begin_reorder();
  void reorder_piece(std::span<const Index> from, std::size_t first, std::size_t last);
  void end_reorder() noexcept;

  /// Bytes of a particle that travels: the sum of its fields.
  [[nodiscard]] std::size_t row_bytes() const noexcept;
  /// Appends the particles at `places` to `buffer`, whole, one field after the other.
  void pack(std::span<const Index> places, Bytes& buffer) const;
  /// Appends the particles that one call of `pack` wrote; the fields must be the same.
  /// Throws: `Error` with `bad_input` when `buffer` holds no whole number of particles.
  void unpack(std::span<const std::byte> buffer);
  /// The same for some fields of those at `places`, particle by particle in each field: what others need of them.
  void pack(std::span<const AnyField> fields, std::span<const Index> places, Bytes& buffer) const;
  /// The same for `count` consecutive particles, and back: overwrites these fields of particles that are there.
  /// `unpack` throws: `Error` with `bad_input` when `buffer` has another size.
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
    Memory data;            ///< Of `capacity_` particles, on cache lines.
    Memory spare;           ///< As large, while and after a reorder in pieces.
  };

  std::uint32_t add_column(std::string name, std::size_t bytes);
  void reserve(std::size_t size);
  [[nodiscard]] Memory allocate(const Column& column) const;

  std::vector<Column> columns_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool has_spare_ = false;
};

}  // namespace plait::particles
