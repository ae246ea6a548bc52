// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// A field as it is stored in blocks: in single precision, a vector as three arrays.
struct BlockField {
  enum class Type : std::uint8_t { number8, number32, number64, vector };

  std::uint32_t column = 0;
  Type type = Type::number32;

  // NOLINTBEGIN(google-explicit-constructor): lists of fields of several types
  BlockField(Field<std::uint8_t> field) : column{field.column}, type{Type::number8} {}
  BlockField(Field<float> field) : column{field.column} {}
  BlockField(Field<double> field) : column{field.column}, type{Type::number64} {}
  BlockField(Field<Vector> field) : column{field.column}, type{Type::vector} {}
  // NOLINTEND(google-explicit-constructor)

  /// The field in full precision, for messages.
  [[nodiscard]] AnyField whole() const;
};

/// A vector field in a block.
struct BlockVectors {
  std::span<const float> x, y, z;
};

/// Particles gathered for a kernel: an array of `padded_size` floats for each property. Positions are relative to the
/// block's centre. Padding is far away, and has the last particle's other properties.
class BlockParticles {
 public:
  /// Loops may run to a multiple of this. Arrays begin at cache lines.
  static constexpr std::size_t padding = 16;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t padded_size() const noexcept { return (size_ + padding - 1) / padding * padding; }

  [[nodiscard]] std::span<const float> x() const noexcept { return array(0); }
  [[nodiscard]] std::span<const float> y() const noexcept { return array(1); }
  [[nodiscard]] std::span<const float> z() const noexcept { return array(2); }

  /// Expects: the field is one of those that the search was made with.
  template <class T>
  [[nodiscard]] std::span<const float> operator[](Field<T> field) const {
    return array(find(field.column));
  }
  [[nodiscard]] BlockVectors operator[](Field<Vector> field) const {
    const std::size_t first = find(field.column);
    return {array(first), array(first + 1), array(first + 2)};
  }

  /// The places of the particles in the store. The bit `ghost` marks copies of other ranks' particles.
  [[nodiscard]] std::span<const Particles::Index> places() const noexcept { return {places_.data(), size_}; }
  static constexpr Particles::Index ghost = 1U << 31U;

  void clear() noexcept { size_ = 0; }
  /// Adds the particles with `positions`, at `first` and following, for which `is_wanted(offset, index)`. The offset is
  /// `position - centre` in single precision. `mark` is set in their places.
  template <class IsWanted>
  void add(std::span<const Vector> positions,
           Particles::Index first,
           Particles::Index mark,
           const Vector& centre,
           IsWanted is_wanted) {
    reserve(size_ + positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const Vector& p = positions[i];
      const std::array offset{
          static_cast<float>(p.x - centre.x), static_cast<float>(p.y - centre.y), static_cast<float>(p.z - centre.z)};
      // Without a branch: writes each entry, and keeps it if wanted.
      for (std::size_t axis = 0; axis < 3; ++axis) {
        data_.get()[axis * capacity_ + size_] = offset[axis];
      }
      const Particles::Index place = first + static_cast<Particles::Index>(i);
      places_[size_] = place | mark;
      size_ += is_wanted(offset, place) ? 1 : 0;
    }
  }
  /// Adds to the y components of a gathered vector field, by particle.
  void add_to_y(Field<Vector> field, std::span<const double> more);
  /// Gathers the fields of all added particles.
  void gather(std::span<const BlockField> fields, const Particles& own, const Particles& ghosts);

 private:
  struct Free {
    void operator()(float* memory) const noexcept;
  };

  [[nodiscard]] std::span<const float> array(std::size_t number) const noexcept {
    return {data_.get() + number * capacity_, padded_size()};
  }
  [[nodiscard]] std::size_t find(std::uint32_t column) const;
  void reserve(std::size_t size);
  void allocate(std::size_t capacity, std::size_t arrays);
  template <class T>
  void gather_numbers(std::size_t array, const T* own, const T* ghosts);
  void gather_vectors(std::size_t array, const Vector* own, const Vector* ghosts);

  std::unique_ptr<float, Free> data_;
  std::size_t arrays_ = 0;
  std::size_t capacity_ = 0;  ///< Of each array.
  std::size_t size_ = 0;
  std::vector<Particles::Index> places_;
  std::vector<std::uint32_t> columns_;  ///< By array, from array 3 on.
};

/// The input of a short-range kernel: a group of targets, and all particles that may be within reach of any of them. A
/// target whose kind is a source is also among the sources, at distance 0.
struct Block {
  Vector centre;
  BlockParticles targets;
  BlockParticles sources;
  const Particles* own = nullptr;     ///< The store of the targets, and of the sources of this rank.
  const Particles* ghosts = nullptr;  ///< The store of the other sources, with the fields that travel.

  /// In a shearing box, by source: the velocity of the image along y, minus that of its particle. Else empty.
  std::vector<double> image_speeds;

  /// From target `i` to source `j`, which may be a periodic image. A block may have several images of a particle.
  [[nodiscard]] Vector offset(std::size_t i, std::size_t j) const {
    return {static_cast<double>(sources.x()[j] - targets.x()[i]),
            static_cast<double>(sources.y()[j] - targets.y()[i]),
            static_cast<double>(sources.z()[j] - targets.z()[i])};
  }
  /// The velocity of source `j`, which may be an image in a shearing box. Expects: as `source`.
  [[nodiscard]] Vector velocity(Field<Vector> field, std::size_t j) const {
    return source(field, j) + Vector{0, image_speeds.empty() ? 0 : image_speeds[j], 0};
  }
  /// The value of source `j` as it is stored. Expects: the field is in `ShortRangeOptions::travels` or `sources`, or is
  /// position, kind or reach.
  template <class T>
  [[nodiscard]] const T& source(Field<T> field, std::size_t j) const {
    const Particles::Index place = sources.places()[j];
    return (place & BlockParticles::ghost) == 0 ? (*own)[field][place]
                                                : (*ghosts)[field][place & ~BlockParticles::ghost];
  }
};

}  // namespace plait::particles
