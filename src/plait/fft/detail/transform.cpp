// SPDX-License-Identifier: Apache-2.0
// The computing in order; transform_tasks.cpp has the tasks.
#include "plait/fft/detail/transform.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "plait/task/scheduler.hpp"

namespace plait::fft::detail {

namespace {

/// Batches between two polls of the network.
constexpr Index strips_between_pulses = 2;

/// A batch of adjacent sequences along axis 0, counted through a plane.
struct Strip {
  Index first = 0;
  Index width = 0;
};

/// Calls `move(run, element)` for each element of the sequences.
template <class Move>
void for_each_run(std::span<const Segment> segments, Index first, Move move) {
  Index element = 0;
  for (const Segment& segment : segments) {
    Complex* run = segment.base + first;
    for (Index plane = 0; plane < segment.count; ++plane, ++element, run += segment.plane_stride) {
      move(run, element);
    }
  }
}

/// Gathers the sequences of a batch: element i of sequence s to `to[i * stride + s]`.
void gather(std::span<const Segment> from, const Strip& strip, Index stride, Complex* to) {
  const std::size_t bytes = static_cast<std::size_t>(strip.width) * sizeof(Complex);
  for_each_run(
      from, strip.first, [=](const Complex* run, Index element) { std::memcpy(to + element * stride, run, bytes); });
}

/// The reverse.
void scatter(const Complex* from, Index stride, const Strip& strip, std::span<const Segment> to) {
  const std::size_t bytes = static_cast<std::size_t>(strip.width) * sizeof(Complex);
  for_each_run(to, strip.first, [=](Complex* run, Index element) { std::memcpy(run, from + element * stride, bytes); });
}

/// Copies `count` numbers times `scale`.
void copy_scaled(const Complex* from, double scale, Index count, Complex* to) {
  if (scale == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Complex));
    return;
  }
  const auto* const numbers = reinterpret_cast<const double*>(from);
  auto* const products = reinterpret_cast<double*>(to);
  for (Index i = 0; i < 2 * count; ++i) {
    products[i] = scale * numbers[i];
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
  std::unique_ptr<Exchange> of_row = make(plan_->groups[0], plan_->geometry.row_bytes());
  std::unique_ptr<Exchange> of_column = make(plan_->groups[1], plan_->geometry.column_bytes());
  Exchange* const row = of_row.get();
  Exchange* const column = of_column.get();
  in_order_ = wire(plan_->geometry, direction_, arrays_.spectral, std::move(of_row), std::move(of_column));
  const bool has_middle = plan_->geometry.grid.row > 1;
  const auto add = [this](Exchange* awaited, Compute compute, Exchange* started) {
    steps_.push_back({awaited, compute, started, nullptr});
  };
  if (direction_ == Direction::forward) {
    add(nullptr, &Transform::near, has_middle ? row : column);
    if (has_middle) {
      add(row, &Transform::middle, column);
    }
    add(column, &Transform::far, nullptr);
  } else {
    add(nullptr, &Transform::far, column);
    if (has_middle) {
      add(column, &Transform::middle, row);
    }
    add(has_middle ? row : column, &Transform::near, nullptr);
  }
}

// --- computing ------------------------------------------------------------------------------------

std::byte* Transform::physical_plane(Index plane) const noexcept {
  const Geometry& geometry = plan_->geometry;
  const std::size_t number_bytes = geometry.kind == Kind::real ? sizeof(double) : sizeof(Complex);
  return arrays_.physical +
         static_cast<std::size_t>(plane * geometry.rows().count() * geometry.lengths[2]) * number_bytes;
}

void Transform::along_axis_1(Complex* plane) const {
  if (plan_->geometry.columns().count() > 0) {
    plan_->lines[static_cast<std::size_t>(direction_)].along_axis_1.run(plane);
  }
}

void Transform::distribute(const Complex* whole, double scale, std::span<const Segment> blocks, Index plane) {
  for (const Segment& block : blocks) {
    copy_scaled(whole, scale, block.plane_stride, block.base + plane * block.plane_stride);
    whole += block.plane_stride;
  }
}

void Transform::collect(std::span<const Segment> blocks, Index plane, double scale, Complex* whole) {
  for (const Segment& block : blocks) {
    copy_scaled(block.base + plane * block.plane_stride, scale, block.plane_stride, whole);
    whole += block.plane_stride;
  }
}

template <class Copy>
void Transform::for_row_parts(std::span<const Segment> blocks, Index plane, Copy copy) const {
  for (std::uint32_t member = 0; member < blocks.size(); ++member) {
    const Range columns = plan_->geometry.columns(member);
    const Segment& block = blocks[member];
    Complex* part = block.base + plane * block.plane_stride;
    for (Index row = 0; row < block.count; ++row, part += columns.count()) {
      copy(row * plan_->geometry.spectral_length + columns.low,
           part,
           static_cast<std::size_t>(columns.count()) * sizeof(Complex));
    }
  }
}

/// Called between planes and batches: a task may be long, and bulk data advances only while a thread polls.
void Transform::poll_network() const {
  if (plan_->endpoint.activity().is_moving_bulk()) {
    (void)plan_->endpoint.progress();
  }
}

void Transform::near(const Wiring& wiring, const Range& planes, std::size_t worker) const {
  const Scratch& scratch = plan_->scratch[worker];
  Complex* const whole = scratch.plane.data();
  const bool is_alone = plan_->geometry.grid.row == 1;
  const bool has_rows = plan_->geometry.rows().count() > 0;
  for (Index plane = planes.low; plane < planes.high; ++plane) {
    poll_network();
    if (direction_ == Direction::forward) {
      if (has_rows) {
        plan_->rows.forward(physical_plane(plane), whole, scratch.spare.data());
      }
      if (is_alone) {
        along_axis_1(whole);
        distribute(whole, scale_, wiring.before_column, plane);
      } else {
        for_row_parts(wiring.before_row, plane, [&](Index place, Complex* part, std::size_t bytes) {
          std::memcpy(part, whole + place, bytes);
        });
      }
    } else {
      if (is_alone) {
        collect(wiring.before_column, plane, scale_, whole);
        along_axis_1(whole);
      } else {
        for_row_parts(wiring.before_row, plane, [&](Index place, const Complex* part, std::size_t bytes) {
          std::memcpy(whole + place, part, bytes);
        });
      }
      if (has_rows) {
        plan_->rows.backward(whole, physical_plane(plane), scratch.spare.data());
      }
    }
  }
}

void Transform::middle(const Wiring& wiring, const Range& planes, std::size_t worker) const {
  Complex* const whole = plan_->scratch[worker].plane.data();
  const bool is_forward = direction_ == Direction::forward;
  for (Index plane = planes.low; plane < planes.high; ++plane) {
    poll_network();
    collect(is_forward ? wiring.after_row : wiring.before_column, plane, 1, whole);
    along_axis_1(whole);
    distribute(whole, scale_, is_forward ? wiring.before_column : wiring.after_row, plane);
  }
}

void Transform::far(const Wiring& wiring, const Range& sequences, std::size_t worker) const {
  const bool is_forward = direction_ == Direction::forward;
  const Lines& lines = plan_->lines[static_cast<std::size_t>(direction_)];
  const Index stride = sequence_count();
  const std::array<Segment, 1> array{Segment{plan_->geometry.lengths[0], arrays_.spectral, stride}};
  const std::span<const Segment> blocks = wiring.after_column;
  // If blocks are planes of one array, there is nothing to gather.
  Complex* const in_place = wiring.column == nullptr ? blocks.front().base : nullptr;
  const Index width = lines.in_array.width;
  for (Index first = sequences.low; first < sequences.high; first += width) {
    poll_network();
    const Strip strip{first, std::min(width, sequences.high - first)};
    if (in_place != nullptr && StripLines::can_run(in_place)) {
      if (!is_forward) {
        gather(array, strip, stride, in_place + first);
      }
      lines.in_array.run(strip.width, in_place + first);
    } else {
      Complex* const together = plan_->scratch[worker].plane.data();
      gather(is_forward ? blocks : array, strip, width, together);
      lines.in_strip.run(strip.width, together);
      scatter(together, width, strip, is_forward ? array : blocks);
    }
  }
}

// --- in order -------------------------------------------------------------------------------------

void Transform::carry_out(std::size_t step, const std::function<void()>& pulse) {
  Step& now = steps_[step];
  if (now.awaited != nullptr) {
    now.awaited->wait();
    under_way_ = nullptr;
  }
  if (plan_->scheduler.worker_count() == 1) {
    for (const Range& part : parts_of(now.compute)) {
      (this->*now.compute)(*in_order_, part, 0);
      pulse();
    }
  } else {
    pulse_ = &pulse;
    if (!now.parts) {
      now.parts = std::make_unique<task::Graph>();
      for (const Range& part : parts_of(now.compute)) {
        now.parts->task("fft part", [this, compute = now.compute, part](task::TaskContext& context) {
          (this->*compute)(*in_order_, part, context.worker().value());
          if (context.worker().value() == 0) {  // the thread that started the exchanges
            (*pulse_)();
          }
        });
      }
    }
    plan_->scheduler.run(*now.parts);
  }
  if (now.started != nullptr) {
    now.started->start();
    under_way_ = now.started;
  }
}

std::vector<Range> Transform::parts_of(Compute compute) const {
  const bool is_far = compute == &Transform::far;
  const Index count = is_far ? sequence_count() : plan_->geometry.planes().count();
  const Index at_once = is_far ? strip_width(plan_->geometry.lengths[0]) * strips_between_pulses : 1;
  std::vector<Range> parts;
  for (Index first = 0; first < count; first += at_once) {
    parts.push_back({first, std::min(first + at_once, count)});
  }
  return parts;
}

void Transform::advance() {
  if (under_way_ != nullptr) {
    under_way_->advance();
  }
}

}  // namespace plait::fft::detail
