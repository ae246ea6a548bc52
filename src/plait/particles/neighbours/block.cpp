// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/block.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

constexpr std::align_val_t line{64};
constexpr std::size_t place_arrays = 3;
constexpr float far_away = 1e12F;  // its third power is still a float

}  // namespace

AnyField BlockField::whole() const {
  switch (type) {
    case Type::number8:
      return Field<std::uint8_t>{column};
    case Type::number32:
      return Field<float>{column};
    case Type::number64:
      return Field<double>{column};
    case Type::vector:
      break;
  }
  return Field<Vector>{column};
}

void BlockParticles::Free::operator()(float* memory) const noexcept {
  ::operator delete(memory, line);
}

std::size_t BlockParticles::find(std::uint32_t column) const {
  const auto found = std::ranges::find(columns_, column);
  expect(found != columns_.end(), "a kernel reads the fields of its search");
  return place_arrays + static_cast<std::size_t>(found - columns_.begin());
}

void BlockParticles::allocate(std::size_t capacity, std::size_t arrays) {
  std::unique_ptr<float, Free> grown{static_cast<float*>(::operator new(capacity * arrays * sizeof(float), line))};
  for (std::size_t i = 0; i < std::min(arrays, arrays_); ++i) {
    std::memcpy(grown.get() + i * capacity, data_.get() + i * capacity_, size_ * sizeof(float));
  }
  data_ = std::move(grown);
  capacity_ = capacity;
  arrays_ = arrays;
  places_.resize(capacity);
}

void BlockParticles::reserve(std::size_t size) {
  if (size + padding > capacity_) {
    allocate(std::max(2 * capacity_, (size + 2 * padding) / padding * padding), std::max(arrays_, place_arrays));
  }
}

template <class T>
void BlockParticles::gather_numbers(std::size_t array, const T* own, const T* ghosts) {
  float* to = data_.get() + array * capacity_;
  for (std::size_t i = 0; i < size_; ++i) {
    const Particles::Index place = places_[i];
    to[i] = static_cast<float>((place & ghost) == 0 ? own[place] : ghosts[place & ~ghost]);
  }
}

void BlockParticles::gather_vectors(std::size_t array, const Vector* own, const Vector* ghosts) {
  float* to = data_.get() + array * capacity_;
  for (std::size_t i = 0; i < size_; ++i) {
    const Particles::Index place = places_[i];
    const Vector& value = (place & ghost) == 0 ? own[place] : ghosts[place & ~ghost];
    to[i] = static_cast<float>(value.x);
    to[capacity_ + i] = static_cast<float>(value.y);
    to[2 * capacity_ + i] = static_cast<float>(value.z);
  }
}

void BlockParticles::add_to_y(Field<Vector> field, std::span<const double> more) {
  const auto found = std::ranges::find(columns_, field.column);
  if (found == columns_.end()) {
    return;  // kernels do not read it
  }
  const auto first = place_arrays + static_cast<std::size_t>(found - columns_.begin());
  float* const y = data_.get() + (first + 1) * capacity_;
  for (std::size_t i = 0; i < more.size(); ++i) {
    y[i] += static_cast<float>(more[i]);
  }
}

void BlockParticles::gather(std::span<const BlockField> fields, const Particles& own, const Particles& ghosts) {
  columns_.clear();
  for (const BlockField& field : fields) {
    columns_.insert(columns_.end(), field.type == BlockField::Type::vector ? 3 : 1, field.column);
  }
  reserve(size_);
  if (arrays_ < place_arrays + columns_.size()) {
    allocate(capacity_, place_arrays + columns_.size());
  }
  std::size_t array = place_arrays;
  const auto numbers = [&](auto field) {
    gather_numbers(array, own[field].data(), ghosts[field].data());
    ++array;
  };
  for (const BlockField& field : fields) {
    switch (field.type) {
      case BlockField::Type::number8:
        numbers(Field<std::uint8_t>{field.column});
        break;
      case BlockField::Type::number32:
        numbers(Field<float>{field.column});
        break;
      case BlockField::Type::number64:
        numbers(Field<double>{field.column});
        break;
      case BlockField::Type::vector:
        gather_vectors(array, own[Field<Vector>{field.column}].data(), ghosts[Field<Vector>{field.column}].data());
        array += 3;
        break;
    }
  }
  for (std::size_t i = 0; i < array; ++i) {
    float* to = data_.get() + i * capacity_;
    const float value = i < place_arrays ? far_away : size_ > 0 ? to[size_ - 1] : 0;
    std::fill(to + size_, to + padded_size(), value);
  }
}

}  // namespace plait::particles
