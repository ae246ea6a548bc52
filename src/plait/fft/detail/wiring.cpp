// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/wiring.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "plait/fft/detail/plan_state.hpp"

namespace plait::fft::detail {

namespace {

/// Allocates parts of one buffer, or counts them before the buffer exists.
class Carver {
 public:
  explicit Carver(Complex* memory) : memory_{memory} {}

  Complex* take(Index count) {
    Complex* const place = memory_ == nullptr ? nullptr : memory_ + taken_;
    constexpr Index per_line = cache_line_bytes / sizeof(Complex);
    taken_ += (count + per_line - 1) / per_line * per_line;
    return place;
  }
  [[nodiscard]] Index taken() const noexcept { return taken_; }

 private:
  Complex* memory_;
  Index taken_ = 0;
};

Complex* place_of(std::span<const std::byte> block) {
  return reinterpret_cast<Complex*>(const_cast<std::byte*>(block.data()));  // received blocks are only read
}

/// Finds the memory of blocks that move: in an exchange, or taken from a buffer.
struct Blocks {
  Exchange* exchange;
  Direction direction;
  Carver& carver;

  /// `sent_in`: the direction in which the block is sent.
  Complex* find(std::uint32_t member, Index count, Direction sent_in) {
    return exchange == nullptr    ? carver.take(count)
           : direction == sent_in ? place_of(exchange->to(member))
                                  : place_of(exchange->from(member));
  }
};

void place_row(const Geometry& geometry, Blocks blocks, Carver& carver, Wiring& wiring) {
  for (std::uint32_t member = 0; member < geometry.grid.row; ++member) {
    const bool is_own = member == geometry.in_row;
    Complex* const before = is_own ? carver.take(geometry.row_before(member))
                                   : blocks.find(member, geometry.row_before(member), Direction::forward);
    wiring.before_row.push_back({geometry.rows().count(), before, geometry.row_plane_before(member)});
    Complex* const after = is_own ? before : blocks.find(member, geometry.row_after(member), Direction::backward);
    wiring.after_row.push_back({geometry.rows(member).count(), after, geometry.row_plane_after(member)});
  }
}

void place_column(const Geometry& geometry, Direction direction, Complex* spectral, Carver& carver, Wiring& wiring) {
  Blocks blocks{wiring.column.get(), direction, carver};
  const bool is_forward = direction == Direction::forward;
  const bool is_tasks = wiring.column == nullptr;
  const Index plane = geometry.column_plane_after();
  Complex* const array = is_forward ? spectral : is_tasks ? carver.take(geometry.lengths[0] * plane) : nullptr;
  for (std::uint32_t member = 0; member < geometry.grid.column; ++member) {
    const bool is_own = member == geometry.in_column;
    const Range planes = geometry.planes(member);
    const Index count = planes.count() * plane;
    Complex* after = array == nullptr ? nullptr : array + planes.low * plane;
    if (!is_tasks && !is_own) {
      after = blocks.find(member, count, Direction::backward);
    } else if (!is_tasks && !is_forward) {
      after = carver.take(count);
    }
    wiring.after_column.push_back({planes.count(), after, plane});
    Complex* const before = is_own ? after : blocks.find(member, geometry.column_before(member), Direction::forward);
    wiring.before_column.push_back(
        {geometry.spectral_rows(member).count(), before, geometry.column_plane_before(member)});
  }
}

Index place(const Geometry& geometry, Direction direction, Complex* spectral, Wiring& wiring) {
  Carver carver{wiring.memory.data()};
  for (auto* segments : {&wiring.before_row, &wiring.after_row, &wiring.before_column, &wiring.after_column}) {
    segments->clear();
  }
  if (geometry.grid.row > 1) {
    place_row(geometry, Blocks{wiring.row.get(), direction, carver}, carver, wiring);
  }
  place_column(geometry, direction, spectral, carver, wiring);
  return carver.taken();
}

}  // namespace

Wiring wire(const Geometry& geometry,
            Direction direction,
            Complex* spectral,
            std::unique_ptr<Exchange> row,
            std::unique_ptr<Exchange> column) {
  Wiring wiring;
  wiring.row = std::move(row);
  wiring.column = std::move(column);
  wiring.memory = Memory{place(geometry, direction, spectral, wiring)};
  place(geometry, direction, spectral, wiring);
  return wiring;
}

std::size_t buffer_bytes(const Geometry& geometry, bool as_tasks) {
  Wiring wiring;
  Index forward = place(geometry, Direction::forward, nullptr, wiring);
  const Index backward = place(geometry, Direction::backward, nullptr, wiring);
  // Tasks receive these blocks into the spectral array.
  for (std::uint32_t member = 0; !as_tasks && member < geometry.grid.column; ++member) {
    forward += member == geometry.in_column ? 0 : geometry.column_after(member);
  }
  return sizeof(Complex) * static_cast<std::size_t>(std::max(forward, backward));
}

}  // namespace plait::fft::detail
