// SPDX-License-Identifier: Apache-2.0
// OpenMP tasks beside plait, on as many threads as the first argument has; built with each compiler that has them.
#include <cstdlib>
#include <omp.h>

#include "tasks/cases.hpp"

namespace {

using tasks::Pattern;
using tasks::Way;
using tasks::Witness;

void independent(Witness& witness) {
  for (std::size_t i = 0; i < tasks::list_length; ++i) {
#pragma omp task default(none) firstprivate(i) shared(witness)
    witness.ran(i);
  }
}

void chain(Witness& witness) {
  [[maybe_unused]] char link = 0;
  for (std::size_t i = 0; i < tasks::list_length; ++i) {
#pragma omp task default(none) firstprivate(i) shared(witness) depend(inout : link)
    witness.ran(i);
  }
#pragma omp taskwait
}

void wavefront(Witness& witness) {
  // A border of cells that no task writes is left of and above the others.
  constexpr std::size_t stride = tasks::side_length + 1;
  std::vector<char> cells(stride * stride);
  [[maybe_unused]] char* const at = cells.data();
  for (std::size_t i = 0; i < tasks::task_count(Pattern::wavefront); ++i) {
    [[maybe_unused]] const std::size_t cell = (i / tasks::side_length + 1) * stride + i % tasks::side_length + 1;
#pragma omp task default(none) firstprivate(i) shared(witness) depend(in : at[cell - 1], at[cell - stride]) \
    depend(out : at[cell])
    witness.ran(i);
  }
#pragma omp taskwait
}

void counted_cell(tasks::WavefrontCounters& counters, Witness& witness, std::size_t cell) {
  witness.ran(cell);
  counters.ended(cell, [&](std::size_t next) {
    tasks::WavefrontCounters* const all = &counters;
    Witness* const same = &witness;
#pragma omp task default(none) firstprivate(all, same, next)
    counted_cell(*all, *same, next);
  });
}

std::uint64_t fib(int n) {
  if (n < 2) {
    return static_cast<std::uint64_t>(n);
  }
  std::uint64_t left = 0;
  std::uint64_t right = 0;
#pragma omp task default(none) firstprivate(n) shared(left)
  left = fib(n - 1);
#pragma omp task default(none) firstprivate(n) shared(right)
  right = fib(n - 2);
#pragma omp taskwait
  return left + right;
}

template <class Work>
void in_team(int threads, const Work& work) {
#pragma omp parallel num_threads(threads) default(none) shared(work)
#pragma omp single
  work();
}

std::string library() {
#ifdef __clang__
  return "OpenMP of clang " + std::to_string(__clang_major__);
#else
  return "OpenMP of gcc " + std::to_string(__GNUC__);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  Witness witness;
  tasks::WavefrontCounters counters;
  std::vector<tasks::Case> cases;
  const auto add = [&](Pattern pattern, const char* means, const auto& work) {
    cases.push_back({pattern, Way::either, means, [threads, work] { in_team(threads, work); }});
  };
  add(Pattern::independent, "task", [&] { independent(witness); });
  add(Pattern::chain, "depend", [&] { chain(witness); });
  add(Pattern::wavefront, "depend", [&] { wavefront(witness); });
  add(Pattern::wavefront, "task and counters", [&] {
    counters.reset();
    counted_cell(counters, witness, 0);
  });
  add(Pattern::fib, "task, taskwait", [&] { witness.result(fib(tasks::fib_argument)); });
  return tasks::serve(library(), cases, witness);
}
