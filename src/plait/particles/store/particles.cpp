// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/particles.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace plait::particles {
namespace {

constexpr std::align_val_t line{64};

/// Copies the entries at the places `from`, of `bytes` each, to consecutive memory.
template <class Size>
void gather_sized(const std::byte* source, Size bytes, std::span<const Particles::Index> from, std::byte* to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(to + i * bytes, source + from[i] * bytes, bytes);
  }
}
template <std::size_t bytes>
using Known = std::integral_constant<std::size_t, bytes>;

/// The compiler knows the common sizes, and copies them in registers.
void gather(const std::byte* source, std::size_t bytes, std::span<const Particles::Index> from, std::byte* to) {
  const auto copies = [&]<std::size_t... sizes>(std::index_sequence<sizes...>) {
    return ((bytes == sizes && (gather_sized(source, Known<sizes>{}, from, to), true)) || ...);
  };
  if (!copies(std::index_sequence<1, 4, 8, 12, 24>{})) {
    gather_sized(source, bytes, from, to);
  }
}

}  // namespace

void Particles::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, line);
}

Particles::Particles() {
  add_field("position", sizeof(Vector));
  add_field("id", sizeof(std::uint64_t));
  add_field("kind", sizeof(std::uint8_t));
  add_field("cost", sizeof(float));
}

Particles Particles::make_like() const {
  Particles made;
  for (std::size_t column = made.columns_.size(); column < columns_.size(); ++column) {
    made.add_field(columns_[column].name, columns_[column].bytes);
  }
  return made;
}

Particles::Memory Particles::allocate(const Column& column) const {
  return Memory{static_cast<std::byte*>(::operator new(capacity_ * column.bytes, line))};
}

AnyField Particles::add_field(std::string name, std::size_t bytes) {
  if (bytes == 0 || bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the field \"{}\" has {} bytes: give it 1 or more, and less than 4 GiB", name, bytes)};
  }
  for (const Column& column : columns_) {
    if (column.name == name) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("the store has a field \"{}\" already: choose another name", name)};
    }
  }
  Column column{std::move(name), bytes, {}, {}};
  if (capacity_ > 0) {
    column.data = allocate(column);
    std::memset(column.data.get(), 0, size_ * bytes);
  }
  columns_.push_back(std::move(column));
  has_spare_ = false;
  AnyField field;
  field.column = static_cast<std::uint32_t>(columns_.size() - 1);
  field.bytes = static_cast<std::uint32_t>(bytes);
  return field;
}

void Particles::reserve(std::size_t size) {
  if (size <= capacity_) {
    return;
  }
  if (size >= size_max) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} particles on one rank; at most {} are possible", size, size_max)};
  }
  capacity_ = std::max(size, capacity_ + capacity_ / 2);
  has_spare_ = false;
  for (Column& column : columns_) {
    Memory grown = allocate(column);
    if (size_ > 0) {
      std::memcpy(grown.get(), column.data.get(), size_ * column.bytes);
    }
    column.data = std::move(grown);
    column.spare.reset();
  }
}

std::size_t Particles::add(std::size_t count) {
  const std::size_t first = size_;
  reserve(size_ + count);
  for (Column& column : columns_) {
    if (count > 0) {
      std::memset(column.data.get() + first * column.bytes, 0, count * column.bytes);
    }
  }
  size_ += count;
  return first;
}

void Particles::shrink(std::size_t size) {
  expect(size <= size_, "no more particles than there are");
  size_ = size;
}

void Particles::remove_unordered(std::span<const Index> places) {
  if (places.empty()) {
    return;
  }
  expect(std::ranges::adjacent_find(places, std::greater_equal<>{}) == places.end() && places.back() < size_,
         "places ascend and are in the store");
  const std::size_t left = size_ - places.size();
  std::vector<Index> fillers;  // particles that stay, but are beyond the new size
  auto removed = std::ranges::lower_bound(places, left);
  const auto holes = places.first(static_cast<std::size_t>(removed - places.begin()));
  for (std::size_t place = left; place < size_; ++place) {
    if (removed != places.end() && *removed == place) {
      ++removed;
    } else {
      fillers.push_back(static_cast<Index>(place));
    }
  }
  for (Column& column : columns_) {
    for (std::size_t i = 0; i < holes.size(); ++i) {
      std::memcpy(
          column.data.get() + holes[i] * column.bytes, column.data.get() + fillers[i] * column.bytes, column.bytes);
    }
  }
  size_ = left;
}

void Particles::reorder(std::span<const Index> from) {
  begin_reorder();
  reorder_piece(from, 0, size_);
  end_reorder();
}

void Particles::begin_reorder() {
  if (!has_spare_ && capacity_ > 0) {
    for (Column& column : columns_) {
      column.spare = allocate(column);
    }
    has_spare_ = true;
  }
}

void Particles::reorder_piece(std::span<const Index> from, std::size_t first, std::size_t last) {
  expect(from.size() == size_ && first <= last && last <= size_, "a permutation of all particles");
  for (Column& column : columns_) {
    gather(
        column.data.get(), column.bytes, from.subspan(first, last - first), column.spare.get() + first * column.bytes);
  }
}

void Particles::end_reorder() noexcept {
  for (Column& column : columns_) {
    column.data.swap(column.spare);
  }
}

std::size_t Particles::row_bytes() const noexcept {
  std::size_t sum = 0;
  for (const Column& column : columns_) {
    sum += column.bytes;
  }
  return sum;
}

void Particles::pack(std::span<const Index> places, Bytes& buffer) const {
  std::size_t at = buffer.size();
  buffer.resize(at + places.size() * row_bytes());
  for (const Column& column : columns_) {
    gather(column.data.get(), column.bytes, places, buffer.data() + at);
    at += places.size() * column.bytes;
  }
}

void Particles::pack(std::span<const AnyField> fields, std::span<const Index> places, Bytes& buffer) const {
  for (const AnyField& field : fields) {
    const std::size_t at = buffer.size();
    buffer.resize(at + places.size() * field.bytes);
    gather(columns_[field.column].data.get(), field.bytes, places, buffer.data() + at);
  }
}

void Particles::pack(std::span<const AnyField> fields, Index first, Index count, Bytes& buffer) const {
  expect(first + std::size_t{count} <= size_, "particles that are there");
  for (const AnyField& field : fields) {
    const std::size_t at = buffer.size();
    const std::size_t bytes = std::size_t{count} * field.bytes;
    buffer.resize(at + bytes);
    if (bytes > 0) {
      std::memcpy(buffer.data() + at, columns_[field.column].data.get() + std::size_t{first} * field.bytes, bytes);
    }
  }
}

void Particles::unpack(std::span<const AnyField> fields, Index first, Index count, std::span<const std::byte> buffer) {
  expect(first + std::size_t{count} <= size_, "particles that are there");
  std::size_t row = 0;
  for (const AnyField& field : fields) {
    row += field.bytes;
  }
  if (buffer.size() != row * count) {
    throw Error{ErrorCode::bad_input,
                fmt::format("received {} bytes for {} particles of {} bytes: do all ranks send the same fields?",
                            buffer.size(),
                            count,
                            row)};
  }
  for (const AnyField& field : fields) {
    const std::size_t bytes = std::size_t{count} * field.bytes;
    if (bytes > 0) {
      std::memcpy(columns_[field.column].data.get() + std::size_t{first} * field.bytes, buffer.data(), bytes);
    }
    buffer = buffer.subspan(bytes);
  }
}

void Particles::unpack(std::span<const std::byte> buffer) {
  const std::size_t row = row_bytes();
  if (buffer.size() % row != 0) {
    throw Error{
        ErrorCode::bad_input,
        fmt::format("{} bytes are not a whole number of particles of {} bytes: do all ranks have the same fields?",
                    buffer.size(),
                    row)};
  }
  const std::size_t count = buffer.size() / row;
  const std::size_t first = size_;
  reserve(size_ + count);
  size_ += count;
  for (Column& column : columns_) {
    if (count > 0) {
      std::memcpy(column.data.get() + first * column.bytes, buffer.data(), count * column.bytes);
    }
    buffer = buffer.subspan(count * column.bytes);
  }
}

}  // namespace plait::particles
