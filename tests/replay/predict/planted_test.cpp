// SPDX-License-Identifier: Apache-2.0
// A slowed kernel in a recorded run, and the run without it: what the first predicts for the second.
#include <chrono>
#include <cstdint>
#include <filesystem>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/replay/predict/predict_tasks.hpp"
#include "plait/replay/predict/task_gains.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/meta.hpp"

namespace plait::replay::planted_test {
namespace {

using std::chrono::microseconds;

/// Runs three steps of a graph on one worker, whose tasks advance the time: walks of so long, and others.
TaskRun run_with_walks_of(microseconds walk) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  const auto work = [&clock](microseconds took) { clock.advance_to(clock.now() + took); };
  {
    trace::Recorder recorder{clock, {.folder = folder.path() / "run", .rank = Rank{0}, .rank_count = 1}};
    net::LoopbackNetwork network{1};
    const std::unique_ptr<net::Driver> driver = network.driver(Rank{0});
    comm::Endpoint endpoint{*driver, recorder};
    task::Scheduler scheduler{endpoint, recorder, {.worker_count = 1}};
    task::Graph graph;
    task::Task sort = graph.task("sort", [&] { work(microseconds{70}); });
    for (int i = 0; i < 8; ++i) {
      graph.task("walk", [&] { work(walk); }).after(sort);
    }
    for (int step = 0; step < 3; ++step) {
      work(microseconds{30});
      scheduler.run(graph);
    }
    trace::write_meta(folder.path() / "run", {.program = "planted", .ranks = 1, .workers = 1});
  }
  return tasks_of_folder(folder.path() / "run").value();
}

TEST(Planted, a_slowed_kernel_predicts_the_run_in_which_it_is_not) {
  const TaskRun slow = run_with_walks_of(microseconds{80});
  const TaskRun fast = run_with_walks_of(microseconds{20});
  const std::uint32_t walk = find_kind(slow, "walk").value();
  TaskOptions options;
  options.kind_factor.resize(slow.kinds.size(), 1);
  options.kind_factor[walk] = 0.25;
  EXPECT_EQ(predict_tasks(slow, platform_of(slow), options).value().total, fast.length);
  EXPECT_EQ(fast.length, microseconds{3 * (70 + 8 * 20) + 2 * 30});
}

TEST(Planted, the_sentence_has_the_gain_that_a_run_has) {
  const TaskRun slow = run_with_walks_of(microseconds{80});
  const TaskRun half = run_with_walks_of(microseconds{40});
  const auto gains = gains_of(slow, platform_of(slow), {}, 4).value();
  EXPECT_EQ(gains.front().what, "`walk`");
  EXPECT_DOUBLE_EQ(gains.front().gain,
                   1 - static_cast<double>(half.length.count()) / static_cast<double>(slow.length.count()));
}

}  // namespace
}  // namespace plait::replay::planted_test
