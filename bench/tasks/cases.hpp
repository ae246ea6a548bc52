// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/stopwatch.hpp"
#include "tasks/patterns.hpp"

namespace tasks {

/// One pattern, by one means of one library.
struct Case {
  Pattern pattern = Pattern::independent;
  Way way = Way::either;
  std::string means;          ///< The part of the library; empty where it has only one.
  std::function<void()> run;  ///< From the first task to the end of the last.
};

/// Nanoseconds a task, of some consecutive runs. The first run is not timed: it wakes the threads and loads the graph.
[[nodiscard]] inline std::vector<double> turn(const Case& one) {
  constexpr int timed_max = 3;
  constexpr double seconds_max = 0.03;
  const bench::Stopwatch whole;
  one.run();
  std::vector<double> times;
  while (times.empty() || (times.size() < timed_max && whole.seconds() < seconds_max)) {
    const bench::Stopwatch watch;
    one.run();
    times.push_back(watch.seconds() * 1e9 / static_cast<double>(task_count(one.pattern)));
  }
  return times;
}

/// Throws: `std::runtime_error` when a task did not run, or ran too early.
inline void check(const Case& one, Witness& witness) {
  for (int again = 0; again < 2; ++again) {
    witness.begin(one.pattern);
    one.run();
    if (!witness.end()) {
      throw std::runtime_error{name_of(one.pattern) + " " + one.means + ": a task did not run, or ran too early"};
    }
  }
}

/// The main function of a peer's program. Prints its library and its cases, a line each; then reads a case's number
/// from stdin and prints the times of a turn, until stdin ends. A peer is a program of its own, so that it can be
/// stopped while others are measured: some libraries' idle threads keep spinning.
inline int serve(const std::string& library, const std::vector<Case>& cases, Witness& witness) {
  std::printf("%s\n%zu\n", library.c_str(), cases.size());
  for (const Case& one : cases) {
    std::printf("%d\t%d\t%s\n", static_cast<int>(one.pattern), static_cast<int>(one.way), one.means.c_str());
  }
  std::fflush(stdout);
  std::vector<bool> is_checked(cases.size());
  std::size_t index = 0;
  while (std::scanf("%zu", &index) == 1 && index < cases.size()) {
    if (!is_checked[index]) {
      check(cases[index], witness);
      is_checked[index] = true;
    }
    for (const double nanoseconds : turn(cases[index])) {
      std::printf("%.3f ", nanoseconds);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace tasks
