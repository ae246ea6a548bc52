// SPDX-License-Identifier: Apache-2.0
// What a task of a flow costs the rank that submits it: when it concerns other ranks only, and when this rank executes
// it. Beside it, the cost of a deferred task on references.
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/plait.hpp"
#include "plait/testing/local_rank.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using Value = std::span<double>;
using ConstValue = std::span<const double>;

constexpr std::uint32_t grid_size = 64;

class FlowSubmit {
 public:
  explicit FlowSubmit(bench::Report& report) : report_{report}, repetitions_{report.is_full() ? 51 : 15} {}

  /// Measures the third of three ranks; the others own all data. They need not exist: nothing is sent.
  void measure_pruned() {
    plait::net::LoopbackNetwork network{3};
    plait::test::LocalRank rank{network.driver(plait::Rank{2}),
                                {.worker_count = 1}};  // a runtime would wait for others
    plait::Flow flow{rank.messages(), rank.scheduler(), rank.trace()};
    const plait::DataGrid<double> tiles{
        flow, "A", {.rows = grid_size, .columns = grid_size}, 1, plait::BlockCyclic{.rows = 1, .columns = 2}};
    const plait::FlowKind gemm = flow.kind("gemm");
    add("concerns other ranks, 1 datum", 1, [&] { return update_all(flow, tiles); });
    add("concerns other ranks, 3 data", 1, [&] { return multiply_all(flow, tiles, gemm); });
  }

  void measure_here(std::uint32_t workers) {
    plait::net::LoopbackNetwork network{1};
    plait::Runtime runtime{network.driver(plait::Rank{0}), options(workers)};
    plait::Flow flow{runtime, {.read_checks = plait::ReadChecks::never}};
    const plait::DataGrid<double> tiles{flow, "A", {.rows = grid_size, .columns = grid_size}, 1, plait::BlockCyclic{}};
    for (std::uint32_t i = 0; i < grid_size * grid_size; ++i) {
      tiles.local(i / grid_size, i % grid_size)[0] = 0;
    }
    const plait::FlowKind gemm = flow.kind("gemm");
    const auto waiting = [&](auto submit) {
      return [&flow, submit] {
        const std::uint64_t count = submit();
        flow.wait();
        return count;
      };
    };
    add("executed here, 1 datum", workers, waiting([&] { return update_all(flow, tiles); }));
    add("executed here, 3 data", workers, waiting([&] { return multiply_all(flow, tiles, gemm); }));
    add("executed here, chain", workers, waiting([&] {
          for (int i = 0; i < 20'000; ++i) {
            flow.submit([](Value value) { value[0] += 1; }, rw(tiles(0, 0)));
          }
          return std::uint64_t{20'000};
        }));
    add("executed here, no datum", workers, waiting([&] {
          for (std::uint64_t i = 0; i < task_count; ++i) {
            flow.spawn([] {});
          }
          return task_count;
        }));
  }

  void measure_deferred(std::uint32_t workers) {
    plait::net::LoopbackNetwork network{1};
    plait::Runtime runtime{network.driver(plait::Rank{0}), options(workers)};
    plait::Work work{runtime};
    std::vector<plait::Ref<double>> values;
    for (std::uint32_t i = 0; i < grid_size * grid_size; ++i) {
      values.push_back(work.ref<double>(0.0));
    }
    const auto waiting = [&](auto submit) {
      return [&work, submit] {
        for (std::uint64_t i = 0; i < task_count; ++i) {
          submit(i);
        }
        work.wait();
        return task_count;
      };
    };
    const auto value = [&](std::uint64_t i) -> plait::Ref<double>& { return values[i % values.size()]; };
    add("deferred task, no value", workers, waiting([&](std::uint64_t /*i*/) { work([] {}); }));
    add("deferred task, 1 value", workers, waiting([&](std::uint64_t i) {
          value(i) = work([](double& now) { now += 1; }, std::move(value(i)));
        }));
    add("deferred task, 3 values", workers, waiting([&](std::uint64_t i) {
          value(i) = work([](const double& left, const double& right, double& to) { to += left * right; },
                          value(i + 1).read(),
                          value(i + 2).read(),
                          std::move(value(i)));
        }));
    add("deferred task, chain", workers, waiting([&](std::uint64_t /*i*/) {
          value(0) = work([](double& now) { now += 1; }, std::move(value(0)));
        }));
  }

 private:
  static constexpr std::uint64_t task_count = 20'000;

  static plait::Options options(std::uint32_t workers) {
    plait::Options options = plait::Options::from_environment();
    options.worker_count = workers;
    return options;
  }

  static std::uint64_t update_all(plait::Flow& flow, const plait::DataGrid<double>& tiles) {
    for (std::uint32_t i = 0; i < grid_size * grid_size; ++i) {
      flow.submit([](Value value) { value[0] += 1; }, rw(tiles(i / grid_size, i % grid_size)));
    }
    return grid_size * grid_size;
  }

  /// Submits the updates of a factorisation's trailing matrix, in some of its steps.
  static std::uint64_t multiply_all(plait::Flow& flow,
                                    const plait::DataGrid<double>& tiles,
                                    const plait::FlowKind& kind) {
    std::uint64_t count = 0;
    for (std::uint32_t k = 0; k < grid_size; k += 16) {
      for (std::uint32_t i = k + 1; i < grid_size; ++i) {
        for (std::uint32_t j = k + 1; j < i; ++j) {
          flow.submit(
              {.kind = kind, .priority = 1},
              [](ConstValue left, ConstValue right, Value to) { to[0] += left[0] * right[0]; },
              r(tiles(i, k)),
              r(tiles(j, k)),
              rw(tiles(i, j)));
          ++count;
        }
      }
    }
    return count;
  }

  void add(const char* name, std::uint32_t workers, const std::function<std::uint64_t()>& submit) {
    std::vector<double> times;
    for (int repetition = 0; repetition <= repetitions_; ++repetition) {
      const bench::Stopwatch watch;
      const std::uint64_t count = submit();
      if (repetition > 0) {  // the first warms up
        times.push_back(watch.seconds() * 1e9 / static_cast<double>(count));
      }
    }
    report_.add({.name = name, .params = {{"workers", std::to_string(workers)}}, .value = times, .unit = "ns"});
  }

  bench::Report& report_;
  int repetitions_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"flow_submit",
                       "a flow's tasks that concern other ranks are submitted at more than 1 million a second, below "
                       "1000 ns each",
                       1,
                       argc,
                       argv};
  FlowSubmit bench{report};
  bench.measure_pruned();
  bench.measure_here(1);
  bench.measure_here(2);
  bench.measure_deferred(1);
  bench.measure_deferred(2);
  report.finish();
}
