// SPDX-License-Identifier: Apache-2.0
// A transform as tasks of a graph.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "plait/fft/detail/transform.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft::detail {

namespace {

/// The number of tasks along axis 0 for each worker: few long tasks, but enough for equal shares.
constexpr Index tasks_a_worker = 4;

enum class Through : std::uint8_t { row, column };

struct Message {
  Through through;
  std::uint32_t member;
  std::uint32_t piece;
};

std::span<std::byte> bytes_of(const Segment& block, const Range& planes) {
  auto* const first = reinterpret_cast<std::byte*>(block.base + planes.low * block.plane_stride);
  return {first, static_cast<std::size_t>(planes.count() * block.plane_stride) * sizeof(Complex)};
}

}  // namespace

/// Adds one transform to one graph.
class Transform::TaskBuilder {
 public:
  TaskBuilder(Transform& transform, task::Graph& graph)
      : transform_{transform},
        graph_{graph},
        plan_{*transform.plan_},
        geometry_{plan_.geometry},
        wiring_{*transform.for_tasks_},
        pieces_{pieces_of(geometry_.in_column)} {}

  Tasks forward() {
    task::Task all_planes = graph_.join("fft planes");
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
      task::Task last = near(piece);
      tasks_.reads.push_back({box_of_planes(pieces_[piece]), last});
      if (geometry_.grid.row > 1) {
        const task::Task first = last;
        last = plane_task("fft axis 1", &Transform::middle, piece);
        last.after(first);
        for_others(Through::row, [&](std::uint32_t member) {
          send({Through::row, member, piece}, bytes_of(wiring_.before_row[member], pieces_[piece]), first);
          receive({Through::row, member, piece}, bytes_of(wiring_.after_row[member], pieces_[piece]), last);
        });
      }
      all_planes.after(last);
      add_write(box_of_spectral_planes(absolute(pieces_[piece])), last);
      for_others(Through::column, [&](std::uint32_t member) {
        send({Through::column, member, piece}, bytes_of(wiring_.before_column[member], pieces_[piece]), last);
      });
    }
    for_others(Through::column, [&](std::uint32_t member) {
      const std::vector<Range> pieces = pieces_of(member);
      for (std::uint32_t piece = 0; piece < pieces.size(); ++piece) {
        if (const auto task = receive(
                {Through::column, member, piece}, bytes_of(wiring_.after_column[member], pieces[piece]), all_planes)) {
          const Index low = geometry_.planes(member).low;
          add_write(box_of_spectral_planes({low + pieces[piece].low, low + pieces[piece].high}), *task);
        }
      }
    });
    for (const Part& part : far()) {
      task::Task task = part.task;
      task.after(all_planes);
      tasks_.writes.push_back(part);
    }
    return std::move(tasks_);
  }

  Tasks backward() {
    task::Task all_sequences = graph_.join("fft sequences");
    for (const Part& part : far()) {
      all_sequences.after(part.task);
      tasks_.reads.push_back(part);
    }
    for_others(Through::column, [&](std::uint32_t member) {
      const std::vector<Range> pieces = pieces_of(member);
      for (std::uint32_t piece = 0; piece < pieces.size(); ++piece) {
        send({Through::column, member, piece}, bytes_of(wiring_.after_column[member], pieces[piece]), all_sequences);
      }
    });
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
      const bool has_middle = geometry_.grid.row > 1;
      task::Task last = near(piece);
      const task::Task first = has_middle ? plane_task("fft axis 1", &Transform::middle, piece) : last;
      task::Task{first}.after(all_sequences);
      for_others(Through::column, [&](std::uint32_t member) {
        receive({Through::column, member, piece}, bytes_of(wiring_.before_column[member], pieces_[piece]), first);
      });
      if (has_middle) {
        last.after(first);
        for_others(Through::row, [&](std::uint32_t member) {
          send({Through::row, member, piece}, bytes_of(wiring_.after_row[member], pieces_[piece]), first);
          receive({Through::row, member, piece}, bytes_of(wiring_.before_row[member], pieces_[piece]), last);
        });
      }
      tasks_.writes.push_back({box_of_planes(pieces_[piece]), last});
    }
    return std::move(tasks_);
  }

 private:
  using PlaneWork = void (Transform::*)(const Wiring&, const Range&, std::size_t) const;

  /// The pieces of the planes at a place in the column, counted from the first plane; equal on both ranks of a message.
  [[nodiscard]] std::vector<Range> pieces_of(std::uint32_t column_place) const {
    const Index planes = geometry_.planes(column_place).count();
    const auto count = static_cast<std::uint32_t>(std::min<Index>(plan_.pieces, planes));
    std::vector<Range> pieces;
    for (std::uint32_t piece = 0; piece < count; ++piece) {
      pieces.push_back(part_of(planes, count, piece));
    }
    return pieces;
  }
  [[nodiscard]] Range absolute(const Range& planes) const {
    return {geometry_.planes().low + planes.low, geometry_.planes().low + planes.high};
  }
  [[nodiscard]] IndexBox box_of_planes(const Range& planes) const {
    IndexBox box = plan_.physical.box;
    box.low[0] = absolute(planes).low;
    box.high[0] = absolute(planes).high;
    return box;
  }
  [[nodiscard]] IndexBox box_of_spectral_planes(const Range& planes) const {
    IndexBox box = plan_.spectral.box;
    box.low[0] = planes.low;
    box.high[0] = planes.high;
    return box;
  }
  void add_write(const IndexBox& box, task::Task task) {
    if (!box.is_empty()) {
      tasks_.writes.push_back({box, task});
    }
  }

  template <class Act>
  void for_others(Through through, Act act) const {
    const bool is_row = through == Through::row;
    const std::uint32_t members = is_row ? geometry_.grid.row : geometry_.grid.column;
    const std::uint32_t self = is_row ? geometry_.in_row : geometry_.in_column;
    for (std::uint32_t step = 1; step < members; ++step) {
      act((self + step) % members);  // ranks start with different members, so that no rank receives all at once
    }
  }

  [[nodiscard]] task::Task near(std::uint32_t piece) {
    return plane_task(geometry_.grid.row > 1 ? "fft axis 2" : "fft axes 2, 1", &Transform::near, piece);
  }
  [[nodiscard]] task::Task plane_task(const char* kind, PlaneWork work, std::uint32_t piece) {
    const Transform* const transform = &transform_;
    const Range planes = pieces_[piece];
    task::Task task = graph_.task(kind, [transform, work, planes](task::TaskContext& context) {
      (transform->*work)(*transform->for_tasks_, planes, context.worker().value());
    });
    return task.object(transform_.number_);
  }

  /// The tasks along axis 0, each with its part of the spectral array.
  [[nodiscard]] std::vector<Part> far() {
    const Index sequences = transform_.sequence_count();
    const Index width = strip_width(geometry_.lengths[0]);
    const Index strips = (sequences + width - 1) / width;
    const auto count =
        static_cast<std::uint32_t>(std::min(strips, tasks_a_worker * Index{plan_.scheduler.worker_count()}));
    const Index columns = geometry_.columns().count();
    std::vector<Part> parts;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Range some = part_of(strips, count, i);
      const Range which{some.low * width, std::min(some.high * width, sequences)};
      const Transform* const transform = &transform_;
      task::Task task = graph_.task("fft axis 0", [transform, which](task::TaskContext& context) {
        transform->far(*transform->for_tasks_, which, context.worker().value());
      });
      IndexBox box = plan_.spectral.box;
      box.low[1] += which.low / columns;
      box.high[1] = plan_.spectral.box.low[1] + (which.high + columns - 1) / columns;
      parts.push_back({box, task.object(transform_.number_)});
    }
    return parts;
  }

  [[nodiscard]] comm::Address address(const Message& message) const {
    const bool is_row = message.through == Through::row;
    const std::uint64_t exchange = std::uint64_t{transform_.number_} * 2 + (is_row ? 0 : 1);
    return {is_row ? plan_.row_rank(message.member) : plan_.column_rank(message.member),
            Tag{exchange << 32U | message.piece},
            plan_.everyone.comm()};
  }

  void send(const Message& message, std::span<const std::byte> data, task::Task after) {
    if (!data.empty()) {
      graph_.send("fft send", address(message), [data] { return data; }).after(after);
    }
  }
  /// Adds no task for an empty block.
  std::optional<task::Task> receive(const Message& message, std::span<std::byte> data, task::Task before) {
    if (data.empty()) {
      return {};
    }
    const task::Task task = graph_.receive("fft receive", address(message), data);
    before.after(task);
    return task;
  }

  Transform& transform_;
  task::Graph& graph_;
  const PlanState& plan_;
  const Geometry& geometry_;
  const Wiring& wiring_;
  std::vector<Range> pieces_;
  Tasks tasks_;
};

Tasks Transform::add_to(task::Graph& graph) {
  if (!for_tasks_) {
    for_tasks_ = wire(plan_->geometry, direction_, arrays_.spectral);
  }
  TaskBuilder builder{*this, graph};
  return direction_ == Direction::forward ? builder.forward() : builder.backward();
}

}  // namespace plait::fft::detail
