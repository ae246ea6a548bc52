// SPDX-License-Identifier: Apache-2.0
// What an empty task costs: graphs that are run again, graphs that are built and run once, and recursion, on one and on
// two workers. Every other task library that is installed runs beside it, in a program of its own; all alternate.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "plait/plait.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"
#include "tasks/cases.hpp"
#include "tasks/peer.hpp"

namespace {

using tasks::Pattern;
using tasks::Way;
using tasks::Witness;

void fill(plait::Graph& graph, Pattern pattern, Witness& witness) {
  for (std::size_t i = 0; i < tasks::task_count(pattern); ++i) {
    plait::Task task = graph.task("empty", [&witness, i] { witness.ran(i); });
    tasks::for_each_before(pattern, i, [&](std::size_t earlier) { task.after(graph.all()[earlier]); });
  }
}

/// The recursive Fibonacci function: a task for each call, which computes the sum when its two children have ended.
class Fib {
 public:
  Fib() {
    kind_ = graph_.kind("fib");
    graph_.task(kind_, [this](plait::TaskContext& context) { call(context, tasks::fib_argument, result_); });
  }
  std::uint64_t run(plait::Runtime& runtime) {
    runtime.run(graph_);
    return result_;
  }

 private:
  struct Frame {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
  };

  void call(plait::TaskContext& context, int n, std::uint64_t& result) {
    if (n < 2) {
      result = static_cast<std::uint64_t>(n);
      return;
    }
    auto frame = std::make_unique<Frame>();
    spawn(context, n - 1, frame->left);
    spawn(context, n - 2, frame->right);
    context.then([frame = std::move(frame), &result] { result = frame->left + frame->right; });
  }
  void spawn(plait::TaskContext& context, int n, std::uint64_t& result) {
    context.spawn(kind_, [this, n, &result](plait::TaskContext& child) { call(child, n, result); });
  }

  plait::Graph graph_;
  plait::TaskKind kind_;
  std::uint64_t result_ = 0;
};

std::vector<tasks::Case> cases_of(plait::Runtime& runtime, Witness& witness) {
  std::vector<tasks::Case> cases;
  for (const Pattern pattern : {Pattern::independent, Pattern::chain, Pattern::wavefront}) {
    const auto graph = std::make_shared<plait::Graph>();
    fill(*graph, pattern, witness);
    cases.push_back({pattern, Way::rerun, "", [&runtime, graph] { runtime.run(*graph); }});
    cases.push_back({pattern, Way::built, "", [&runtime, &witness, pattern] {
                       plait::Graph built;
                       fill(built, pattern, witness);
                       runtime.run(built);
                     }});
  }
  const auto fib = std::make_shared<Fib>();
  cases.push_back({Pattern::fib, Way::rerun, "", [&, fib] { witness.result(fib->run(runtime)); }});
  return cases;
}

/// Another library: its program, its name, and the package that has it.
struct Library {
  const char* program;
  const char* name;
  const char* from;
};
constexpr Library libraries[] = {
    {"tasks_peer_tbb", "oneTBB", "libtbb-dev"},
    {"tasks_peer_openmp_gcc", "OpenMP of gcc", "g++"},
    {"tasks_peer_openmp_clang", "OpenMP of clang", "clang, libomp-dev"},
    {"tasks_peer_taskflow", "Taskflow", "<taskflow/taskflow.hpp>; Debian 12 has no package"},
    {"tasks_peer_starpu", "StarPU", "libstarpu-dev"}};

/// The libraries that are installed. The report names the missing ones.
class Peers {
 public:
  Peers(bench::Report& report, unsigned workers) {
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    for (const Library& library : libraries) {
      const std::filesystem::path program = folder / library.program;
      if (!std::filesystem::exists(program)) {
        report.note(fmt::format("not beside it: {} ({})", library.name, library.from));
        continue;
      }
      try {
        peers_.push_back(std::make_unique<tasks::Peer>(program, workers));
      } catch (const std::runtime_error& error) {
        report.note(fmt::format("not beside it: {} ({})", library.name, error.what()));
      }
    }
  }

  /// Measures one turn of each case of this pattern, unless the case has taken `seconds_max`.
  void turn(Pattern pattern, double seconds_max) {
    for (const auto& peer : peers_) {
      for (std::size_t i = 0; i < peer->cases().size(); ++i) {
        const tasks::Peer::Case& one = peer->cases()[i];
        double& seconds = seconds_[{peer.get(), i}];
        if (one.pattern == pattern && seconds < seconds_max) {
          const bench::Stopwatch watch;
          const std::string name = one.means.empty() ? peer->library() : peer->library() + ", " + one.means;
          std::ranges::copy(peer->turn(i), std::back_inserter(times_[{pattern, one.way, name}]));
          seconds += watch.seconds();
        }
      }
    }
  }

  /// The libraries that have measured this case.
  [[nodiscard]] std::vector<bench::Peer> beside(const tasks::Case& ours) const {
    std::vector<bench::Peer> all;
    for (const auto& [key, times] : times_) {
      const auto& [pattern, way, name] = key;
      if (pattern == ours.pattern && (way == ours.way || way == Way::either)) {
        all.push_back({name, bench::median(times), std::ranges::min(times)});
      }
    }
    return all;
  }

 private:
  std::vector<std::unique_ptr<tasks::Peer>> peers_;
  std::map<std::tuple<Pattern, Way, std::string>, std::vector<double>> times_;
  std::map<std::pair<const tasks::Peer*, std::size_t>, double> seconds_;
};

void measure(bench::Report& report, std::uint32_t workers) {
  plait::net::LoopbackNetwork network{1};
  plait::Options options = plait::Options::from_environment();
  options.worker_count = workers;
  plait::Runtime runtime{network.driver(plait::Rank{0}), options};
  Witness witness;
  const std::vector<tasks::Case> cases = cases_of(runtime, witness);
  Peers peers{report, workers};
  for (const Pattern pattern : tasks::patterns) {
    std::map<const tasks::Case*, std::vector<double>> ours;
    for (const tasks::Case& one : cases) {
      if (one.pattern == pattern) {
        tasks::check(one, witness);
        ours[&one];
      }
    }
    for (int turn = 0; turn < (report.is_full() ? 25 : 5); ++turn) {
      for (auto& [one, times] : ours) {
        std::ranges::copy(tasks::turn(*one), std::back_inserter(times));
      }
      peers.turn(pattern, report.is_full() ? 20 : 2);
    }
    for (const auto& [one, times] : ours) {
      report.add({.name = tasks::name_of(pattern),
                  .params = {{"workers", std::to_string(workers)}, {"mode", tasks::name_of(one->way)}},
                  .value = times,
                  .unit = "ns",
                  .best = std::ranges::min(times),
                  .peers = peers.beside(*one)});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"tasks",
                       "an empty task aims at 60 ns (chain 50, wavefront 60, fib 85) on one worker, 100/70/110 on two, "
                       "at most twice that with its graph built, and less than with any peer",
                       1,
                       argc,
                       argv};
  try {
    measure(report, 1);
    measure(report, 2);
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "bench_tasks: {}\n", error.what());
    return 1;
  }
  report.note("on one thread, OpenMP may run a task at once, without a queue");
  report.finish();
}
