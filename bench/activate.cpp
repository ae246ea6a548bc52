// SPDX-License-Identifier: Apache-2.0
// What a run of a part of a large graph costs for each active task: the tasks of some cells out of very many, on one
// worker; with another choice of cells each time, whose tasks come from memory, and with the same again.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/random.hpp"
#include "plait/plait.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t cell_count = 100'000;
constexpr std::size_t layer_count = 10;
constexpr std::size_t task_count = cell_count * layer_count;

/// Each cell has a task in each layer, after its own and its neighbours' tasks of the layer before.
class Cells {
 public:
  Cells() {
    for (std::size_t layer = 0; layer < layer_count; ++layer) {
      for (std::size_t cell = 0; cell < cell_count; ++cell) {
        plait::Task task = graph_.task("empty", [this] { ++ran_; });
        if (layer > 0) {
          const std::size_t below = (layer - 1) * cell_count;
          task.after(graph_.all()[below + cell]);
          task.after(graph_.all()[below + (cell + 1) % cell_count]);
          task.after(graph_.all()[below + (cell + cell_count - 1) % cell_count]);
        }
      }
    }
  }

  [[nodiscard]] std::vector<plait::Task> tasks_of(const std::vector<std::size_t>& cells) const {
    std::vector<plait::Task> tasks;
    tasks.reserve(cells.size() * layer_count);
    for (std::size_t layer = 0; layer < layer_count; ++layer) {
      for (const std::size_t cell : cells) {
        tasks.push_back(graph_.all()[layer * cell_count + cell]);
      }
    }
    return tasks;
  }

  [[nodiscard]] plait::Graph& graph() noexcept { return graph_; }
  /// Tasks since the last call.
  [[nodiscard]] std::uint64_t take_ran() noexcept { return std::exchange(ran_, 0); }

 private:
  plait::Graph graph_;
  std::uint64_t ran_ = 0;
};

enum class Choice { random, neighbouring, same };

std::string name_of(Choice choice) {
  constexpr std::array names{"other random cells", "other neighbouring cells", "the same random cells"};
  return names[static_cast<std::size_t>(choice)];
}

/// Cells in ascending order, as a walk through all would find them.
std::vector<std::size_t> choose(Choice choice, std::size_t count, plait::Random& random) {
  std::vector<std::size_t> cells(count);
  if (choice == Choice::neighbouring || count == cell_count) {
    std::iota(cells.begin(), cells.end(), random.below(cell_count - count + 1));
    return cells;
  }
  std::vector<bool> is_chosen(cell_count);
  for (std::size_t& cell : cells) {
    do {
      cell = random.below(cell_count);
    } while (is_chosen[cell]);
    is_chosen[cell] = true;
  }
  std::ranges::sort(cells);
  return cells;
}

class Activate {
 public:
  explicit Activate(bench::Report& report) : report_{report}, runtime_{network_.driver(plait::Rank{0}), options()} {
    run(cells_.graph().all());  // finds the order
    static_cast<void>(cells_.take_ran());
  }

  /// Whether every run has run what it should.
  [[nodiscard]] bool measure(Choice choice, double fraction) {
    const auto count = static_cast<std::size_t>(std::lround(fraction * cell_count));
    const std::size_t active = count * layer_count;
    // A sample is of several runs, so that the clock does not matter, each of other cells.
    constexpr std::size_t tasks_of_a_sample = 2000;
    const std::size_t runs = std::max<std::size_t>(1, tasks_of_a_sample / active);
    const int samples = report_.is_full() ? 101 : 25;
    const double seconds_max = report_.is_full() ? 20 : 3;
    const bench::Stopwatch whole;
    const std::vector<std::size_t> first = choose(choice, count, random_);
    std::vector<double> nanoseconds;
    for (int sample = 0; sample <= samples && (sample < 2 || whole.seconds() < seconds_max); ++sample) {
      std::vector<std::vector<plait::Task>> choices;
      choices.reserve(runs);
      for (std::size_t i = 0; i < runs; ++i) {
        choices.push_back(cells_.tasks_of(choice == Choice::same ? first : choose(choice, count, random_)));
      }
      const bench::Stopwatch watch;
      for (const std::vector<plait::Task>& tasks : choices) {
        run(tasks);
      }
      const double total = watch.seconds() * 1e9;
      if (cells_.take_ran() != active * runs) {
        return false;
      }
      if (sample > 0) {  // the first warms up
        nanoseconds.push_back(total / static_cast<double>(active * runs));
      }
    }
    report_.add({.name = name_of(choice),
                 .params = {{"fraction", fmt::format("{:g}", fraction)}, {"active", std::to_string(active)}},
                 .value = bench::spread_of(nanoseconds),
                 .unit = "ns",
                 .best = std::ranges::min(nanoseconds)});
    return true;
  }

 private:
  static plait::Options options() {
    plait::Options options = plait::Options::from_environment();
    options.worker_count = 1;
    return options;
  }
  void run(std::span<const plait::Task> tasks) { runtime_.run(cells_.graph(), tasks); }

  bench::Report& report_;
  plait::net::LoopbackNetwork network_{1};
  plait::Runtime runtime_;
  Cells cells_;
  plait::Random random_{7};
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "activate",
      "a run of a part of 1 000 000 tasks takes time for its active tasks only; aims at 60 ns for each",
      1,
      argc,
      argv};
  Activate activate{report};
  for (const Choice choice : {Choice::random, Choice::neighbouring, Choice::same}) {
    for (const double fraction : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}) {
      if (!activate.measure(choice, fraction)) {
        fmt::print(stderr, "bench_activate: a run has not run every active task once\n");
        return 1;
      }
    }
  }
  report.finish();
}
