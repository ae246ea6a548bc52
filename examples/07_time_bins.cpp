// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// Objects in a row, each with its own time step. The graph is built once; each step runs only the tasks of active
// objects. Each rank has half of the row, and a copy of the first object of the other half.
#include <array>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#include "plait/plait.hpp"

namespace {

using Object = plait::TimeBins::Object;

// Objects 0 to 7 of either rank, counted from the middle of the row; then the copy, beside object 0.
constexpr Object own_count = 8;
constexpr Object copy = own_count;

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  const plait::Rank other{1 - runtime.self().value()};

  std::array<double, own_count + 1> values{};
  std::array<std::uint64_t, 1> updates{0};
  std::array<std::vector<Object>, own_count + 1> neighbours;
  const auto join = [&](Object left, Object right) {
    neighbours[left].push_back(right);
    neighbours[right].push_back(left);
  };
  join(0, copy);
  for (Object object = 0; object + 1 < own_count; ++object) {
    join(object, object + 1);
  }

  plait::Graph graph;
  plait::ActiveTasks tasks{own_count + 1};
  const auto as_bytes = [&values](Object object) { return std::as_writable_bytes(std::span{&values[object], 1}); };
  plait::Task send = graph.send("send", {other, plait::Tag{1}}, [=] { return as_bytes(0); });
  plait::Task receive = graph.receive("receive", {other, plait::Tag{1}}, as_bytes(copy));
  tasks.add(send, {0, copy});  // when either is active; the other rank decides on the same two
  tasks.add(receive, {0, copy});
  for (Object object = 0; object < own_count; ++object) {
    plait::Task update = graph.task("update", [&values, object] { values[object] += 1; });
    tasks.add(update.after(send).after(receive), {object});
  }

  const plait::TimeLine line{0, 1};
  plait::TimeBins bins{own_count + 1};
  plait::BoundaryBins boundary{runtime.messages(), {{.rank = other, .mine = {0}, .theirs = {copy}}}};
  std::uint64_t steps = 0;
  for (plait::Ticks now = 0; now < plait::line_ticks; now = boundary.next_time(bins, now)) {
    const std::span<const plait::Task> active = tasks.at(bins, now);
    if (steps == 0) {
      plait::check_partners(runtime.messages(), graph, active);
    }
    runtime.run(graph, active);
    ++steps;
    for (const Object object : bins.active(now)) {
      if (object != copy) {
        const bool is_fast = object == 0 && runtime.self() == plait::Rank{0};
        bins.start(object, line.bin_for(is_fast ? 1.0 / 512 : 1.0 / 8), now);
        ++updates[0];
      }
    }
    boundary.settle(bins, [&](Object object) { return std::span{neighbours[object]}; }, now);
  }

  plait::all_reduce(plait::Group{runtime.messages()}, std::span{updates}).wait();
  if (runtime.self() == plait::Rank{0}) {
    std::cout << steps << " steps with " << updates[0] << " updates; with one step for all it would be "
              << 2 * own_count * steps << '\n'
              << "steps of the row from the middle to its end:";
    for (Object object = 0; object < own_count; ++object) {
      std::cout << " 1/" << 1 / line.duration(plait::ticks_of(bins.bin_of(object)));
    }
    std::cout << "\nthe other rank's first: 1/" << 1 / line.duration(plait::ticks_of(bins.bin_of(copy))) << '\n';
  }
}
