// SPDX-License-Identifier: Apache-2.0
// What the runtime takes for a task that does nothing, beside OpenMP tasks, alternating in one run.
#include <chrono>
#include <vector>

#include "plait/plait.hpp"

#include "support/report.hpp"

namespace {

constexpr std::size_t task_count = 20'000;

template <class Work>
double nanoseconds_a_task(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / task_count;
}

void openmp_tasks([[maybe_unused]] int threads) {
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
#pragma omp single
  for (std::size_t i = 0; i < task_count; ++i) {
#pragma omp task
    asm volatile("" ::: "memory");
  }
#endif
}

void measure(bench::Report& report, std::uint32_t workers, int repetitions) {
  plait::net::LoopbackNetwork network{1};
  plait::Runtime runtime{network.driver(plait::Rank{0}), {.worker_count = workers}};
  plait::Graph independent;
  plait::Graph chain;
  plait::Graph spawner;
  for (std::size_t i = 0; i < task_count; ++i) {
    independent.task("empty", [] {});
    plait::Task link = chain.task("empty", [] {});
    if (i > 0) {
      link.after(chain.all()[i - 1]);
    }
  }
  const plait::TaskKind kind = spawner.kind("empty");
  spawner.task("spawn", [kind](plait::TaskContext& context) {
    for (std::size_t i = 0; i < task_count; ++i) {
      context.spawn({.kind = kind, .body = [](plait::TaskContext&) {}});
    }
  });
  struct Case {
    const char* name;
    plait::Graph* graph;
    std::vector<double> times;
  };
  std::vector<Case> cases{{"independent", &independent, {}}, {"chain", &chain, {}}, {"spawned", &spawner, {}}};
  std::vector<double> peer;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    for (Case& one : cases) {
      const double time = nanoseconds_a_task([&] { runtime.run(*one.graph); });
      if (repetition > 0) {  // the first warms up
        one.times.push_back(time);
      }
    }
    peer.push_back(nanoseconds_a_task([&] { openmp_tasks(static_cast<int>(workers)); }));
  }
  for (const Case& one : cases) {
    bench::Row row{one.name, {{"workers", std::to_string(workers)}}, bench::spread_of(one.times), "ns", "", {}, "", {}};
#ifdef _OPENMP
    row.peer = "OpenMP task (libgomp)";
    row.peer_value = bench::spread_of(peer).median;
#endif
    report.add(std::move(row));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"task_overhead", "an empty task costs below 300 ns on one worker", 1, argc, argv};
  const int repetitions = report.is_full() ? 101 : 25;
  measure(report, 1, repetitions);
  measure(report, 2, repetitions);
  report.finish();
}
