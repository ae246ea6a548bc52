// SPDX-License-Identifier: Apache-2.0
#include "dns/stage.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace dns {

namespace {

using plait::fft::Part;
using plait::fft::Tasks;
using Clock = std::chrono::steady_clock;

/// Pointers to the values at `place` of three arrays.
template <class T>
std::array<T*, 3> pointers(std::array<std::vector<double>, 3>& arrays, std::size_t place) {
  return {arrays[0].data() + place, arrays[1].data() + place, arrays[2].data() + place};
}

/// The part of `box` with a range of axis 0.
Box planes(Box box, Index low, Index high) {
  box.low[0] = low;
  box.high[0] = high;
  return box;
}

/// Divides `box` into up to `count` ranges of axis 0.
std::vector<Box> cut(const Box& box, std::uint32_t count) {
  std::vector<Box> parts;
  if (box.is_empty()) {
    return parts;
  }
  for (std::uint32_t p = 0; p < count; ++p) {
    const plait::fft::Range range = plait::fft::part_of(box.extent(0), count, p);
    if (range.count() > 0) {
      parts.push_back(planes(box, box.low[0] + range.low, box.low[0] + range.high));
    }
  }
  return parts;
}

bool meet(const Box& one, const Box& other) {
  return !plait::fft::common_part(one, other).is_empty();
}

/// Orders `task` after all parts that intersect `box`.
void follow(plait::task::Task task, const std::vector<Part>& parts, const Box& box) {
  for (const Part& part : parts) {
    if (meet(part.box, box)) {
      task.after(part.task);
    }
  }
}

/// Orders `task` before all parts that intersect `box`.
void precede(plait::task::Task task, const std::vector<Part>& parts, const Box& box) {
  for (const Part& part : parts) {
    if (meet(part.box, box)) {
      task.before(part.task);
    }
  }
}

/// Divides `box` along axis 0 where parts begin or end.
std::vector<Box> cut_at(const std::vector<Part>& parts, const Box& box) {
  std::vector<Box> ranges;
  if (box.is_empty()) {
    return ranges;
  }
  std::set<Index> cuts{box.low[0], box.high[0]};
  for (const Part& part : parts) {
    if (!part.box.is_empty()) {
      cuts.insert(part.box.low[0]);
      cuts.insert(part.box.high[0]);
    }
  }
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    ranges.push_back(planes(box, *cut, *std::next(cut)));
  }
  return ranges;
}

/// Disjoint parts of `box`: those of `parts` if they are disjoint and cover it, else the whole box.
std::vector<Box> disjoint_parts(const std::vector<Part>& parts, const Box& box) {
  std::vector<Box> boxes;
  Index volume = 0;
  for (const Part& part : parts) {
    if (!part.box.is_empty() && std::ranges::find(boxes, part.box) == boxes.end()) {
      boxes.push_back(part.box);
      volume += part.box.volume();
    }
  }
  bool is_disjoint = volume == box.volume();
  for (std::size_t i = 0; is_disjoint && i < boxes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      is_disjoint = is_disjoint && !meet(boxes[i], boxes[j]);
    }
  }
  if (!is_disjoint) {
    boxes = cut(box, 1);
  }
  return boxes;
}

}  // namespace

PartWork::PartWork(plait::Runtime& runtime, const Box& box) : runtime_{runtime} {
  const std::uint32_t workers = runtime.worker_count();
  parts_ = cut(box, workers > 1 ? 4 * workers : 1);
  if (workers > 1) {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      graph_.task("pointwise", [this, p] { (*work_)(parts_[p], p); });
    }
  }
}

void PartWork::run(const Work& work) {
  work_ = &work;
  if (graph_.task_count() > 0) {
    runtime_.run(graph_);
  } else if (!parts_.empty()) {
    work(parts_[0], 0);
  }
}

Stage::Stage(plait::Runtime& runtime,
             const plait::fft::Plan& plan,
             const Modes& modes,
             const Physics& physics,
             const Scheme& scheme)
    : runtime_{runtime},
      plan_{plan},
      inverse_step_{modes.inverse_step()},
      arrays_{plan, scheme, physics.scalars.size()},
      work_{modes, physics, arrays_},
      on_modes_{runtime, plan.spectral().box},
      on_points_{runtime, plan.physical().box},
      speeds_(on_points_.count()) {
  make_executions();
  if (plan.variant() == "PLT") {
    make_graph();
  }
}

void Stage::make_executions() {
  const auto backward = [this](const Array& from, std::vector<double>& to) {
    backward_.emplace_back(plan_, std::span<const Complex>{from}, std::span<double>{to});
  };
  const auto forward = [this](const std::vector<double>& from, Array& to) {
    const double scale = 1 / static_cast<double>(plan_.point_count());
    forward_.emplace_back(plan_, std::span<const double>{from}, std::span<Complex>{to}, scale);
  };
  FlowArrays& a = arrays_;
  for (std::size_t c = 0; c < 3; ++c) {
    backward(a.input[c], a.u[c]);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    backward(a.transformed[c], a.omega[c]);
    forward(a.omega[c], a.transformed[c]);
  }
  for (std::size_t s = 0; s < a.scalars(); ++s) {
    backward(a.input[3 + s], a.flux_points[s][0]);
    for (std::size_t c = 0; c < 3; ++c) {
      forward(a.flux_points[s][c], c == 0 ? a.first_flux(s) : a.flux[s][c]);
    }
  }
}

void Stage::make_graph() {
  graph_ = std::make_unique<plait::task::Graph>();
  AllTasks backward;
  AllTasks forward;
  for (Execution& execution : backward_) {
    backward.push_back(execution.add_to(*graph_));
  }
  for (Execution& execution : forward_) {
    forward.push_back(execution.add_to(*graph_));
  }
  add_products(backward, forward);
  add_updates(backward, forward);
}

void Stage::add_products(const AllTasks& backward, const AllTasks& forward) {
  const std::vector<Box> parts = cut_at(backward[0].writes, plan_.physical().box);
  speeds_.resize(std::max(speeds_.size(), parts.size()));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Box& box = parts[p];
    plait::task::Task cross_task =
        graph_->task("u x omega", [this, p, box] { timed([&] { speeds_[p] = cross(box); }); });
    for (std::size_t v = 0; v < 6; ++v) {
      follow(cross_task, backward[v].writes, box);
    }
    for (std::size_t c = 0; c < 3; ++c) {
      precede(cross_task, forward[c].reads, box);
    }
    for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
      plait::task::Task flux_task = graph_->task("u theta", [this, s, box] { timed([&] { flux(s, box); }); });
      for (std::size_t c = 0; c < 3; ++c) {
        follow(flux_task, backward[c].writes, box);
        precede(flux_task, forward[3 + 3 * s + c].reads, box);
      }
      follow(flux_task, backward[6 + s].writes, box);
    }
  }
}

void Stage::add_updates(const AllTasks& backward, const AllTasks& forward) {
  // Results overwrite i k x v, and a scalar, which must have been read before.
  const auto order_reuse = [](const Tasks& reader, const Tasks& writer) {
    for (const Part& write : writer.writes) {
      follow(write.task, reader.reads, write.box);
    }
  };
  for (std::size_t c = 0; c < 3; ++c) {
    order_reuse(backward[3 + c], forward[c]);
  }
  const Box& all = plan_.spectral().box;
  const std::vector<Box> parts = disjoint_parts(forward[0].writes, all);
  for (const Box& box : parts) {
    plait::task::Task update =
        graph_->task("update of velocity", [this, box] { timed([&] { work_.update_velocity(box); }); });
    for (std::size_t c = 0; c < 3; ++c) {
      follow(update, forward[c].writes, box);
      follow(update, backward[c].reads, box);
    }
    for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
      plait::task::Task of_scalar =
          graph_->task("update of scalar", [this, s, box] { timed([&] { work_.update_scalar(s, box); }); });
      for (std::size_t c = 0; c < 3; ++c) {
        follow(of_scalar, forward[3 + 3 * s + c].writes, box);
      }
      follow(of_scalar, backward[6 + s].reads, box);
      update.after(of_scalar);  // it may need the velocity that was transformed
    }
  }
  for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
    if (&arrays_.first_flux(s) == &arrays_.input[3 + s]) {
      order_reuse(backward[6 + s], forward[3 + 3 * s]);
    }
  }
}

template <class Work>
void Stage::timed(Work work) noexcept {
  const auto start = Clock::now();
  work();
  pointwise_ns_.fetch_add(std::chrono::nanoseconds{Clock::now() - start}.count(), std::memory_order_relaxed);
}

std::size_t Stage::place_of(const Box& part) const noexcept {
  return static_cast<std::size_t>(plan_.physical().offset(part.low[0], part.low[1], part.low[2]));
}

Speeds Stage::cross(const Box& part) noexcept {
  const std::size_t place = place_of(part);
  return cross_in_place(pointers<const double>(arrays_.u, place),
                        pointers<double>(arrays_.omega, place),
                        static_cast<std::size_t>(part.volume()),
                        inverse_step_);
}

void Stage::flux(std::size_t scalar, const Box& part) noexcept {
  const std::size_t place = place_of(part);
  flux_in_place(pointers<const double>(arrays_.u, place),
                pointers<double>(arrays_.flux_points[scalar], place),
                static_cast<std::size_t>(part.volume()));
}

Speeds Stage::measure_speeds() {
  std::ranges::fill(speeds_, Speeds{});
  on_points_.run([this](const Box& part, std::size_t p) {
    const auto u = pointers<const double>(arrays_.u, place_of(part));
    speeds_[p] = speeds(u, static_cast<std::size_t>(part.volume()), inverse_step_);
  });
  return std::accumulate(speeds_.begin(), speeds_.end(), Speeds{}, Speeds::larger);
}

void Stage::transform(std::span<Execution> executions) {
  const auto start = Clock::now();
  std::vector<Execution*> list;
  for (Execution& execution : executions) {
    list.push_back(&execution);
  }
  plait::fft::run(list);
  times.transforms += Clock::now() - start;
}

void Stage::run_in_order() {
  transform(backward_);
  on_points_.run([this](const Box& part, std::size_t p) {
    timed([&] {
      speeds_[p] = cross(part);
      for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
        flux(s, part);
      }
    });
  });
  transform(forward_);
  update_modes();
}

void Stage::update_modes() {
  on_modes_.run([this](const Box& part, std::size_t) {
    timed([&] {
      for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
        work_.update_scalar(s, part);
      }
      work_.update_velocity(part);
    });
  });
}

void Stage::run_on_modes(void (ModeWork::*action)(const Box&) const noexcept) {
  on_modes_.run([this, action](const Box& part, std::size_t) { (work_.*action)(part); });
}

Speeds Stage::run() {
  std::ranges::fill(speeds_, Speeds{});
  if (graph_) {
    runtime_.run(*graph_);
  } else {
    run_in_order();
  }
  times.pointwise += std::chrono::nanoseconds{pointwise_ns_.exchange(0)};
  return std::accumulate(speeds_.begin(), speeds_.end(), Speeds{}, Speeds::larger);
}

void Stage::run_to_right_side() {
  transform(std::span{backward_}.first(6));
  on_points_.run([this](const Box& part, std::size_t) { static_cast<void>(cross(part)); });
  transform(std::span{forward_}.first(3));
}

void Stage::prepare(Shift next) {
  work_.stage() = {.shift = {}, .next = std::move(next)};
  update_modes();
  pointwise_ns_ = 0;  // no part of a step
}

}  // namespace dns
