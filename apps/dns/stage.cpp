// SPDX-License-Identifier: Apache-2.0
#include "dns/stage.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace dns {

namespace {

using plait::fft::Part;
using plait::fft::Tasks;
using Clock = std::chrono::steady_clock;

/// `box` in up to `count` ranges of axis 0.
std::vector<Box> cut(const Box& box, std::uint32_t count) {
  std::vector<Box> parts;
  if (box.is_empty()) {
    return parts;
  }
  for (std::uint32_t p = 0; p < count; ++p) {
    const plait::fft::Range range = plait::fft::part_of(box.extent(0), count, p);
    if (range.count() > 0) {
      Box part = box;
      part.low[0] = box.low[0] + range.low;
      part.high[0] = box.low[0] + range.high;
      parts.push_back(part);
    }
  }
  return parts;
}

bool meet(const Box& one, const Box& other) {
  return !plait::fft::common_part(one, other).is_empty();
}

/// `task` after all parts that meet `box`.
void follow(plait::task::Task task, const std::vector<Part>& parts, const Box& box) {
  for (const Part& part : parts) {
    if (meet(part.box, box)) {
      task.after(part.task);
    }
  }
}

void precede(plait::task::Task task, const std::vector<Part>& parts, const Box& box) {
  for (const Part& part : parts) {
    if (meet(part.box, box)) {
      task.before(part.task);
    }
  }
}

/// Ranges of axis 0 of `box` between which no part of `parts` is divided.
std::vector<Box> planes_of(const std::vector<Part>& parts, const Box& box) {
  std::vector<Box> planes;
  if (box.is_empty()) {
    return planes;
  }
  std::set<Index> cuts{box.low[0], box.high[0]};
  for (const Part& part : parts) {
    if (!part.box.is_empty()) {
      cuts.insert(part.box.low[0]);
      cuts.insert(part.box.high[0]);
    }
  }
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    Box plane = box;
    plane.low[0] = *cut;
    plane.high[0] = *std::next(cut);
    planes.push_back(plane);
  }
  return planes;
}

/// Parts of `box` that have no point in common: those of `parts`, where these are such, else all as one.
std::vector<Box> disjoint_parts(const std::vector<Part>& parts, const Box& box) {
  std::vector<Box> boxes;
  Index volume = 0;
  for (const Part& part : parts) {
    const bool is_new = std::none_of(boxes.begin(), boxes.end(), [&](const Box& other) { return other == part.box; });
    if (is_new && !part.box.is_empty()) {
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

FlowArrays::Counts FlowArrays::counts(const Scheme& scheme, std::size_t scalars) {
  const bool has_sum = scheme.integrator == Integrator::rk4;
  const bool has_kept = scheme.dealiasing == Dealiasing::phase_shift;
  return {.modes = (3 + scalars) * (2 + (has_sum ? 1 : 0) + (has_kept ? 1 : 0)) + 3 + scalars * (has_kept ? 3 : 2),
          .points = 6 + 3 * scalars};
}

FlowArrays::FlowArrays(const plait::fft::Plan& plan, const Scheme& scheme, std::size_t scalars) {
  const std::size_t variables = 3 + scalars;
  const Array modes_here(static_cast<std::size_t>(plan.spectral().size()));
  const std::vector<double> points_here(static_cast<std::size_t>(plan.physical().size()));
  const bool has_kept = scheme.dealiasing == Dealiasing::phase_shift;
  state.u.assign(3, modes_here);
  state.scalars.assign(scalars, modes_here);
  input.assign(variables, modes_here);
  sum.assign(scheme.integrator == Integrator::rk4 ? variables : 0, modes_here);
  kept.assign(has_kept ? variables : 0, modes_here);
  transformed.fill(modes_here);
  flux.assign(scalars, {has_kept ? modes_here : Array{}, modes_here, modes_here});
  u.fill(points_here);
  omega.fill(points_here);
  flux_points.assign(scalars, {points_here, points_here, points_here});
}

ModeWork::Arrays FlowArrays::modes() {
  ModeWork::Arrays all;
  const auto variable = [this](Array& its_state, std::size_t v) {
    return VariableArrays{&its_state, sum.empty() ? nullptr : &sum[v], kept.empty() ? nullptr : &kept[v], &input[v]};
  };
  for (std::size_t c = 0; c < 3; ++c) {
    all.velocity[c] = variable(state.u[c], c);
    all.transformed[c] = &transformed[c];
  }
  for (std::size_t s = 0; s < scalars(); ++s) {
    all.scalars.push_back({variable(state.scalars[s], 3 + s), {&first_flux(s), &flux[s][1], &flux[s][2]}});
  }
  return all;
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
      work_{modes, physics, arrays_.modes()},
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
  const std::vector<Box> parts = planes_of(backward[0].writes, plan_.physical().box);
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
  // Results overwrite i k x v, and a scalar: each must have been read.
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
      update.after(of_scalar);  // which may need the velocity that was transformed
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
  auto& [u, v, w] = arrays_.u;
  auto& omega = arrays_.omega;
  return cross_in_place({u.data() + place, v.data() + place, w.data() + place},
                        {omega[0].data() + place, omega[1].data() + place, omega[2].data() + place},
                        static_cast<std::size_t>(part.volume()),
                        inverse_step_);
}

void Stage::flux(std::size_t scalar, const Box& part) noexcept {
  const std::size_t place = place_of(part);
  auto& [u, v, w] = arrays_.u;
  auto& points = arrays_.flux_points[scalar];
  flux_in_place({u.data() + place, v.data() + place, w.data() + place},
                {points[0].data() + place, points[1].data() + place, points[2].data() + place},
                static_cast<std::size_t>(part.volume()));
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
  on_modes_.run([this](const Box& part, std::size_t) {
    timed([&] {
      for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
        work_.update_scalar(s, part);
      }
      work_.update_velocity(part);
    });
  });
}

Speeds Stage::run() {
  std::fill(speeds_.begin(), speeds_.end(), Speeds{});
  if (graph_) {
    runtime_.run(*graph_);
  } else {
    run_in_order();
  }
  times.pointwise += std::chrono::nanoseconds{pointwise_ns_.exchange(0)};
  Speeds all;
  for (const Speeds& part : speeds_) {
    all.add(part);
  }
  return all;
}

void Stage::run_to_right_side() {
  transform(std::span{backward_}.first(6));
  on_points_.run([this](const Box& part, std::size_t) { static_cast<void>(cross(part)); });
  transform(std::span{forward_}.first(3));
}

void Stage::prepare() {
  const Update update = std::exchange(work_.stage().update, Update::none);
  const bool is_mean = std::exchange(work_.stage().is_mean, false);
  on_modes_.run([this](const Box& part, std::size_t) {
    for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
      work_.update_scalar(s, part);
    }
    work_.update_velocity(part);
  });
  work_.stage().update = update;
  work_.stage().is_mean = is_mean;
}

void Stage::to_points(bool is_velocity_only) {
  transform(std::span{backward_}.first(is_velocity_only ? 3 : backward_.size()));
}

void Stage::transformed_to_points() {
  transform(std::span{backward_}.subspan(3, 3));
}

void Stage::from_points() {
  arrays_.omega = arrays_.u;
  transform(forward_);
  arrays_.state.u.assign(arrays_.transformed.begin(), arrays_.transformed.end());
  for (std::size_t s = 0; s < arrays_.scalars(); ++s) {
    arrays_.state.scalars[s] = arrays_.first_flux(s);
  }
}

}  // namespace dns
