// SPDX-License-Identifier: Apache-2.0
// Locks exclude tasks without ordering them. A box has four cells; a lock of the box includes all of them. A cell has
// two kinds of data, each with its lock, so that tasks on one kind do not wait for tasks on the other.
#include <array>
#include <atomic>
#include <iostream>

#include "plait/plait.hpp"

namespace {

struct Cell {
  explicit Cell(Cell* box = nullptr)
      : particles{box == nullptr ? nullptr : &box->particles}, field{box == nullptr ? nullptr : &box->field} {}

  plait::Resource particles;
  plait::Resource field;
  int mass = 100;  // of the particles
  int charge = 0;  // of the field
};

}  // namespace

int main() {
  plait::net::LoopbackNetwork network{1};
  plait::Runtime runtime{network.driver(plait::Rank{0}), plait::Options{.worker_count = 2}};

  Cell box;
  std::array<Cell, 4> cells{Cell{&box}, Cell{&box}, Cell{&box}, Cell{&box}};
  std::atomic<int> right_sums = 0;

  plait::Graph graph;
  for (int i = 0; i < 60; ++i) {
    Cell& from = cells[i % 4];
    Cell& to = cells[(i + 1 + i % 3) % 4];
    // Locks two cells: both or none, so that no order of tasks can deadlock.
    graph
        .task("move",
              [&from, &to] {
                --from.mass;
                ++to.mass;
              })
        .locks(from.particles)
        .locks(to.particles);
    // Reads all cells: concurrently with other readers, never with a "move", which it would see half done.
    graph
        .task("weigh",
              [&] {
                const int sum = cells[0].mass + cells[1].mass + cells[2].mass + cells[3].mass;
                right_sums += sum == 400 ? 1 : 0;
              })
        .shares(box.particles);
  }
  // Another kind of data: these tasks run concurrently with those above. Spawned tasks lock like tasks of the graph.
  const plait::TaskKind charge = graph.kind("charge");
  graph.task("charge all", [&cells, charge](plait::TaskContext& context) {
    for (int i = 0; i < 60; ++i) {
      Cell& cell = cells[i % 4];
      context.spawn(
          {.kind = charge, .body = [&cell](plait::TaskContext&) { ++cell.charge; }, .resources = {&cell.field}});
    }
  });
  runtime.run(graph);

  std::cout << right_sums << " of 60 readers have seen a mass of 400; the charges are";
  for (const Cell& cell : cells) {
    std::cout << ' ' << cell.charge;
  }
  std::cout << '\n';
}
