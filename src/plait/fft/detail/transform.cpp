// SPDX-License-Identifier: Apache-2.0
// The computing, and its order step by step; transform_tasks.cpp has the tasks.
#include "plait/fft/detail/transform.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace plait::fft::detail {

namespace {

/// Batches between two looks at the network.
constexpr Index batches_between_pulses = 16;

/// Copies columns of rows that stand `row_length` apart to, or from, a block where they stand side by side.
struct RowPart {
  Index rows;
  Index columns;
  Index row_length;
};

void copy_out(const Complex* rows, const RowPart& part, Complex* block) {
  for (Index row = 0; row < part.rows; ++row) {
    std::memcpy(block + row * part.columns,
                rows + row * part.row_length,
                static_cast<std::size_t>(part.columns) * sizeof(Complex));
  }
}

void copy_in(const Complex* block, const RowPart& part, Complex* rows) {
  for (Index row = 0; row < part.rows; ++row) {
    std::memcpy(rows + row * part.row_length,
                block + row * part.columns,
                static_cast<std::size_t>(part.columns) * sizeof(Complex));
  }
}

}  // namespace

Transform::Transform(std::shared_ptr<PlanState> plan, Direction direction, const Arrays& arrays, double scale)
    : plan_{std::move(plan)}, direction_{direction}, arrays_{arrays}, scale_{scale}, number_{plan_->executions++} {
  if (plan_->runs_as_tasks()) {
    for_tasks_ = wire(plan_->geometry, direction_, arrays_.spectral);
    return;
  }
  const auto make = [&](const comm::Group& group, BlockBytes bytes) -> std::unique_ptr<Exchange> {
    if (group.size() == 1) {
      return nullptr;
    }
    if (direction_ == Direction::backward) {
      std::swap(bytes.to, bytes.from);
    }
    return plan_->variant.make(group, bytes);
  };
  std::unique_ptr<Exchange> row = make(plan_->groups[0], plan_->geometry.row_bytes());
  std::unique_ptr<Exchange> column = make(plan_->groups[1], plan_->geometry.column_bytes());
  in_order_ = wire(plan_->geometry, direction_, arrays_.spectral, std::move(row), std::move(column));
  list_steps();
}

// --- computing ------------------------------------------------------------------------------------

std::byte* Transform::physical_plane(Index plane) const noexcept {
  const Geometry& geometry = plan_->geometry;
  const std::size_t number_bytes = geometry.kind == Kind::real ? sizeof(double) : sizeof(Complex);
  return arrays_.physical +
         static_cast<std::size_t>(plane * geometry.rows().count() * geometry.lengths[2]) * number_bytes;
}

void Transform::along_axis_1(const Runs& from, const Runs& to, Index plane, Complex* batch) const {
  const AxisLines& lines = plan_->along[1][static_cast<std::size_t>(direction_)];
  const double scale = direction_ == Direction::forward ? 1 : scale_;
  const Index columns = plan_->geometry.columns().count();
  for (Index first = 0; first < columns; first += batch_width) {
    const Batch which{plane, first, std::min(batch_width, columns - first)};
    gather(from, which, batch);
    lines.run(which.width, batch);
    scatter(batch, scale, which, to);
  }
}

void Transform::near_forward(const Wiring& wiring, Index plane, const Scratch& scratch) const {
  const Geometry& geometry = plan_->geometry;
  const Index row_length = geometry.spectral_length;
  Complex* const rows = scratch.plane.data();
  if (geometry.rows().count() > 0) {
    plan_->rows.forward(physical_plane(plane), rows);
  }
  if (geometry.grid.row == 1) {
    const std::array<Segment, 1> whole{Segment{geometry.lengths[1], rows, 0}};
    along_axis_1({whole, row_length}, {wiring.before_column, row_length}, plane, scratch.batch.data());
    return;
  }
  for (std::uint32_t member = 0; member < geometry.grid.row; ++member) {
    const Range columns = geometry.columns(member);
    const Segment& block = wiring.before_row[member];
    copy_out(rows + columns.low, {block.count, columns.count(), row_length}, block.base + plane * block.plane_stride);
  }
}

void Transform::near_backward(const Wiring& wiring, Index plane, const Scratch& scratch) const {
  const Geometry& geometry = plan_->geometry;
  const Index row_length = geometry.spectral_length;
  Complex* const rows = scratch.plane.data();
  if (geometry.grid.row == 1) {
    const std::array<Segment, 1> whole{Segment{geometry.lengths[1], rows, 0}};
    along_axis_1({wiring.before_column, row_length}, {whole, row_length}, plane, scratch.batch.data());
  } else {
    for (std::uint32_t member = 0; member < geometry.grid.row; ++member) {
      const Range columns = geometry.columns(member);
      const Segment& block = wiring.before_row[member];
      copy_in(block.base + plane * block.plane_stride, {block.count, columns.count(), row_length}, rows + columns.low);
    }
  }
  if (geometry.rows().count() > 0) {
    plan_->rows.backward(rows, physical_plane(plane));
  }
}

void Transform::near(const Wiring& wiring, const Range& planes, std::size_t worker) const {
  const Scratch& scratch = plan_->scratch[worker];
  for (Index plane = planes.low; plane < planes.high; ++plane) {
    if (direction_ == Direction::forward) {
      near_forward(wiring, plane, scratch);
    } else {
      near_backward(wiring, plane, scratch);
    }
  }
}

void Transform::middle(const Wiring& wiring, const Range& planes, std::size_t worker) const {
  const Index stride = plan_->geometry.columns().count();
  const Runs in_row{wiring.after_row, stride};
  const Runs in_column{wiring.before_column, stride};
  for (Index plane = planes.low; plane < planes.high; ++plane) {
    if (direction_ == Direction::forward) {
      along_axis_1(in_row, in_column, plane, plan_->scratch[worker].batch.data());
    } else {
      along_axis_1(in_column, in_row, plane, plan_->scratch[worker].batch.data());
    }
  }
}

void Transform::far(const Wiring& wiring, const Range& sequences, std::size_t worker) const {
  const bool is_forward = direction_ == Direction::forward;
  const AxisLines& lines = plan_->along[0][static_cast<std::size_t>(direction_)];
  const std::array<Segment, 1> whole{Segment{plan_->geometry.lengths[0], arrays_.spectral, 0}};
  const Runs in_array{whole, sequence_count()};
  const Runs in_blocks{wiring.after_column, sequence_count()};
  Complex* const batch = plan_->scratch[worker].batch.data();
  for (Index first = sequences.low; first < sequences.high; first += batch_width) {
    const Batch which{0, first, std::min(batch_width, sequences.high - first)};
    gather(is_forward ? in_blocks : in_array, which, batch);
    lines.run(which.width, batch);
    scatter(batch, is_forward ? scale_ : 1, which, is_forward ? in_array : in_blocks);
  }
}

// --- in order -------------------------------------------------------------------------------------

void Transform::list_steps() {
  const bool has_middle = plan_->geometry.grid.row > 1;
  Exchange* const row = in_order_->row.get();
  Exchange* const column = in_order_->column.get();
  if (direction_ == Direction::forward) {
    steps_.push_back({nullptr, &Transform::near_in_order, has_middle ? row : column});
    if (has_middle) {
      steps_.push_back({row, &Transform::middle_in_order, column});
    }
    steps_.push_back({column, &Transform::far_in_order, nullptr});
  } else {
    steps_.push_back({nullptr, &Transform::far_in_order, column});
    if (has_middle) {
      steps_.push_back({column, &Transform::middle_in_order, row});
    }
    steps_.push_back({has_middle ? row : column, &Transform::near_in_order, nullptr});
  }
}

void Transform::carry_out(std::size_t step, const std::function<void()>& pulse) {
  const Step& now = steps_[step];
  if (now.awaited != nullptr) {
    now.awaited->wait();
    under_way_ = nullptr;
  }
  (this->*now.compute)(pulse);
  if (now.started != nullptr) {
    now.started->start();
    under_way_ = now.started;
  }
}

void Transform::advance() {
  if (under_way_ != nullptr) {
    under_way_->advance();
  }
}

void Transform::near_in_order(const std::function<void()>& pulse) {
  for (Index plane = 0; plane < plan_->geometry.planes().count(); ++plane) {
    near(*in_order_, {plane, plane + 1}, 0);
    pulse();
  }
}

void Transform::middle_in_order(const std::function<void()>& pulse) {
  for (Index plane = 0; plane < plan_->geometry.planes().count(); ++plane) {
    middle(*in_order_, {plane, plane + 1}, 0);
    pulse();
  }
}

void Transform::far_in_order(const std::function<void()>& pulse) {
  constexpr Index some = batch_width * batches_between_pulses;
  for (Index first = 0; first < sequence_count(); first += some) {
    far(*in_order_, {first, std::min(first + some, sequence_count())}, 0);
    pulse();
  }
}

}  // namespace plait::fft::detail
