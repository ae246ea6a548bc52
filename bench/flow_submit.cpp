// SPDX-License-Identifier: Apache-2.0
// What a task of a flow costs the rank that submits it: when it concerns other ranks only, and when this rank executes
// it; and what all tasks of a factorisation cost a rank that has none of the data. Beside it, the cost of a deferred
// task on references.
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
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

  /// Measures what a whole factorisation costs a rank that has none of its data: every rank submits all tasks.
  void measure_factorisation(std::uint32_t size) {
    plait::net::LoopbackNetwork network{5};
    plait::test::LocalRank rank{network.driver(plait::Rank{4}), {.worker_count = 1}};
    const std::size_t before = resident_bytes();
    const bench::Stopwatch watch;
    plait::Flow flow{rank.messages(), rank.scheduler(), rank.trace()};
    const plait::DataGrid<double> tiles{
        flow, "A", {.rows = size, .columns = size}, 1, plait::BlockCyclic{.rows = 2, .columns = 2}};
    const double data_seconds = watch.seconds();
    const std::uint64_t count = factor(flow, tiles, size);
    const double task_seconds = watch.seconds() - data_seconds;
    const double bytes = static_cast<double>(resident_bytes()) - static_cast<double>(before);
    const std::map<std::string, std::string> params{{"tiles a side", std::to_string(size)},
                                                    {"tasks", std::to_string(count)}};
    report_.add(
        {.name = "factorisation elsewhere, creating data", .params = params, .value = data_seconds, .unit = "s"});
    report_.add({.name = "factorisation elsewhere, submitting", .params = params, .value = task_seconds, .unit = "s"});
    report_.add({.name = "factorisation elsewhere, a task",
                 .params = params,
                 .value = task_seconds * 1e9 / static_cast<double>(count),
                 .unit = "ns"});
    report_.add({.name = "factorisation elsewhere, memory", .params = params, .value = bytes * 1e-6, .unit = "MB"});
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

  /// Submits the tasks of a Cholesky factorisation of `size` tiles a side. Returns their number.
  static std::uint64_t factor(plait::Flow& flow, const plait::DataGrid<double>& tiles, std::uint32_t size) {
    const plait::FlowKind kind = flow.kind("factor");
    const auto one = [](Value /*to*/) {};
    const auto two = [](ConstValue /*left*/, Value /*to*/) {};
    const auto three = [](ConstValue /*left*/, ConstValue /*right*/, Value /*to*/) {};
    std::uint64_t count = 0;
    for (std::uint32_t k = 0; k < size; ++k) {
      flow.submit({.kind = kind}, one, rw(tiles(k, k)));
      for (std::uint32_t i = k + 1; i < size; ++i) {
        flow.submit({.kind = kind}, two, r(tiles(k, k)), rw(tiles(i, k)));
      }
      for (std::uint32_t j = k + 1; j < size; ++j) {
        flow.submit({.kind = kind}, two, r(tiles(j, k)), rw(tiles(j, j)));
        for (std::uint32_t i = j + 1; i < size; ++i) {
          flow.submit({.kind = kind}, three, r(tiles(i, k)), r(tiles(j, k)), rw(tiles(i, j)));
        }
        count += size - j;
      }
      count += size - k;
      for (std::uint32_t i = k; i < size; ++i) {
        flow.flush(tiles(i, k));
      }
    }
    return count;
  }

  static std::size_t resident_bytes() {
    std::size_t whole = 0;
    std::size_t resident = 0;
    std::ifstream{"/proc/self/statm"} >> whole >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
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
  for (const std::uint32_t size : report.is_full() ? std::vector{64U, 256U, 1024U} : std::vector{64U, 256U}) {
    bench.measure_factorisation(size);
  }
  bench.measure_pruned();
  bench.measure_here(1);
  bench.measure_here(2);
  bench.measure_deferred(1);
  bench.measure_deferred(2);
  report.finish();
}
