// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/predict_tasks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"

#include "replay/task_graphs.hpp"

namespace plait::replay::predict_tasks_test {
namespace {

using std::chrono::nanoseconds;

TaskPrediction predicted(const TaskRun& run, TaskOptions options = {}) {
  options.keeps_times = true;
  return predict_tasks(run, simple_network(), options).value();
}

TEST(PredictTasks, a_chain_takes_its_length_on_any_number_of_workers) {
  TaskGraphs graphs{1};
  std::uint32_t last = graphs.task(0, microseconds{10});
  for (int i = 0; i < 9; ++i) {
    const std::uint32_t next = graphs.task(0, microseconds{10});
    graphs.order(last, next);
    last = next;
  }
  const TaskRun run = graphs.get();
  EXPECT_EQ(predicted(run).total, microseconds{100});
  EXPECT_EQ(predicted(run, {.workers = 4}).total, microseconds{100});
}

TEST(PredictTasks, a_fork_and_join_is_divided_among_the_workers) {
  TaskGraphs graphs{1};
  const std::uint32_t join = graphs.join(0);
  const std::uint32_t last = graphs.task(0, microseconds{5});
  for (int i = 0; i < 8; ++i) {
    graphs.order(graphs.task(0, microseconds{10}), join);
  }
  graphs.order(join, last);
  const TaskRun run = graphs.get();
  EXPECT_EQ(predicted(run, {.workers = 1}).total, microseconds{85});
  EXPECT_EQ(predicted(run, {.workers = 2}).total, microseconds{45});
  EXPECT_EQ(predicted(run, {.workers = 8}).total, microseconds{15});
  EXPECT_DOUBLE_EQ(predicted(run, {.workers = 1}).use(), 1);
}

TEST(PredictTasks, the_longest_path_comes_first) {
  TaskGraphs graphs{1, 2};
  std::vector<std::uint32_t> small;
  for (int i = 0; i < 4; ++i) {
    small.push_back(graphs.task(0, microseconds{10}));
  }
  const std::uint32_t head = graphs.task(0, microseconds{10});
  const std::uint32_t tail = graphs.task(0, microseconds{30});
  graphs.order(head, tail);
  const TaskPrediction prediction = predicted(graphs.get());
  EXPECT_EQ(prediction.nodes[head].start, nanoseconds{});
  EXPECT_EQ(prediction.total, microseconds{40});  // the four small ones are beside the two
}

TEST(PredictTasks, what_leads_to_a_send_comes_before_a_longer_path) {
  TaskGraphs graphs{2};
  const std::uint32_t large = graphs.task(0, microseconds{100});
  const std::uint32_t sender = graphs.task(0, microseconds{10});
  const auto [send, receive] = graphs.message(0, 1, 1);
  graphs.order(sender, send);
  const TaskPrediction prediction = predicted(graphs.get());
  EXPECT_EQ(prediction.nodes[sender].start, nanoseconds{});
  EXPECT_EQ(prediction.nodes[large].start, microseconds{10});
  EXPECT_EQ(prediction.nodes[receive].end, microseconds{20});
}

TEST(PredictTasks, a_released_task_runs_next_on_the_same_worker) {
  TaskGraphs graphs{1, 2};
  const std::array first{graphs.task(0, microseconds{10}), graphs.task(0, microseconds{12})};
  const std::array next{graphs.task(0, microseconds{10}), graphs.task(0, microseconds{10})};
  graphs.order(first[0], next[0]);
  graphs.order(first[1], next[1]);
  const TaskPrediction prediction = predicted(graphs.get());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(prediction.nodes[next[i]].worker, prediction.nodes[first[i]].worker);
    EXPECT_EQ(prediction.nodes[next[i]].start, prediction.nodes[first[i]].end);
  }
}

TEST(PredictTasks, a_task_of_a_graph_returns_to_the_worker_that_ran_it_last) {
  TaskGraphs graphs{1, 2};
  const std::array first{graphs.task(0, microseconds{10}), graphs.task(0, microseconds{10})};
  const std::uint32_t join = graphs.join(0);
  const std::array second{graphs.task(0, microseconds{10}), graphs.task(0, microseconds{10})};
  for (int i = 0; i < 2; ++i) {
    graphs.builder()[second[i]].identity = graphs.builder()[first[i]].identity;
    graphs.order(first[i], join);
    graphs.order(join, second[i]);
  }
  const TaskPrediction prediction = predicted(graphs.get());
  EXPECT_EQ(prediction.nodes[second[0]].worker, prediction.nodes[first[0]].worker);
  EXPECT_EQ(prediction.nodes[second[1]].worker, prediction.nodes[first[1]].worker);
  EXPECT_EQ(prediction.total, microseconds{20});
}

/// The total time of two tasks of 10 us on two workers, which claim these.
nanoseconds time_of_claims(bool is_first_shared, bool is_second_shared, bool is_second_above) {
  TaskGraphs graphs{1, 2};
  const std::uint32_t above = graphs.builder().resource();
  const std::uint32_t below = graphs.builder().resource(above);
  graphs.builder().claim(graphs.task(0, microseconds{10}), {below, is_first_shared});
  graphs.builder().claim(graphs.task(0, microseconds{10}), {is_second_above ? above : below, is_second_shared});
  return predicted(graphs.get()).total;
}

TEST(PredictTasks, locks_exclude_and_shares_do_not) {
  EXPECT_EQ(time_of_claims(false, false, false), microseconds{20});
  EXPECT_EQ(time_of_claims(true, false, false), microseconds{20});
  EXPECT_EQ(time_of_claims(true, true, false), microseconds{10});
  EXPECT_EQ(time_of_claims(false, false, true), microseconds{20});
  EXPECT_EQ(time_of_claims(false, true, true), microseconds{20});
  EXPECT_EQ(time_of_claims(true, true, true), microseconds{10});
}

TEST(PredictTasks, a_thief_takes_half_of_the_short_tasks_at_once) {
  TaskGraphs graphs{1, 2};
  for (int i = 0; i < 16; ++i) {
    graphs.task(0, microseconds{1});
  }
  const TaskPrediction prediction = predicted(graphs.get());
  EXPECT_EQ(prediction.total, microseconds{8});
  EXPECT_EQ(prediction.stolen, 8U);
}

TEST(PredictTasks, a_message_takes_its_way_and_none_within_a_rank) {
  TaskGraphs graphs{2};
  const std::uint32_t before = graphs.task(0, microseconds{10});
  const auto [send, receive] = graphs.message(0, 1, 1001);
  const std::uint32_t after = graphs.task(1, microseconds{10});
  graphs.order(before, send);
  graphs.order(receive, after);
  const TaskRun run = graphs.get();
  const TaskPrediction on_two = predicted(run);
  EXPECT_NEAR(static_cast<double>(on_two.total.count()), 31'000, 2);  // 10 us of latency, 1001 bytes
  EXPECT_EQ(on_two.messages, 1U);
  const TaskPrediction on_one = predicted(run, {.ranks = 1});
  EXPECT_EQ(on_one.total, microseconds{20});
  EXPECT_EQ(on_one.messages, 0U);
}

TEST(PredictTasks, a_message_that_comes_while_all_workers_are_busy_is_noticed_after_the_task) {
  TaskGraphs graphs{2};
  const auto [send, receive] = graphs.message(0, 1, 1);
  const std::uint32_t large = graphs.task(1, microseconds{100});
  const std::uint32_t after = graphs.task(1, microseconds{10});
  graphs.order(receive, after);
  const TaskPrediction prediction = predicted(graphs.get());
  EXPECT_EQ(prediction.nodes[receive].end, prediction.nodes[large].end);
  EXPECT_EQ(prediction.total, microseconds{110});
}

TEST(PredictTasks, one_rank_executes_the_program_of_several_once) {
  TaskGraphs graphs{2};
  graphs.builder()[0].took = graphs.builder()[1].took = microseconds{40};
  static_cast<void>(graphs.task(0, microseconds{10}));
  static_cast<void>(graphs.task(1, microseconds{10}));
  const TaskRun run = graphs.get();
  EXPECT_EQ(predicted(run, {}).total, microseconds{50});
  EXPECT_EQ(predicted(run, {.ranks = 1}).total, microseconds{60});
}

TEST(PredictTasks, more_ranks_than_recorded_are_refused) {
  TaskGraphs graphs{2};
  graphs.task(0, microseconds{10});
  const auto refused = predict_tasks(graphs.get(), simple_network(), {.ranks = 4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::bad_argument);
}

TEST(PredictTasks, a_spawned_task_starts_within_its_parent_on_another_worker) {
  TaskGraphs graphs{1, 2};
  const std::uint32_t parent = graphs.task(0, microseconds{30});
  const std::uint32_t child = graphs.task(0, microseconds{20});
  graphs.builder()[child].is_spawned = true;
  graphs.builder()[child].identity = RunNode::none;
  graphs.builder().spawn(parent, {child, microseconds{5}});
  const TaskRun run = graphs.get();
  EXPECT_EQ(predicted(run).nodes[child].start, microseconds{5});
  EXPECT_EQ(predicted(run, {.workers = 1}).nodes[child].start, microseconds{30});
}

TEST(PredictTasks, a_kind_that_is_faster_takes_less_and_others_do_not) {
  TaskGraphs graphs{1};
  graphs.task(0, microseconds{10}, "walk");
  graphs.task(0, microseconds{10}, "sort");
  EXPECT_EQ(predicted(graphs.get(), {.kind_factor = {0.5}}).total, microseconds{15});
}

TEST(PredictTasks, tasks_that_wait_for_each_other_are_refused) {
  TaskGraphs graphs{1};
  const std::uint32_t one = graphs.task(0, microseconds{10});
  const std::uint32_t other = graphs.task(0, microseconds{10});
  graphs.order(one, other);
  graphs.order(other, one);
  EXPECT_THROW((void)graphs.get(), Error);
}

/// A random graph of tasks of 5 to 50 us, in which later ones depend on earlier ones.
TaskRun random_run(std::uint64_t seed, std::uint32_t count) {
  Random random{seed};
  TaskGraphs graphs{1};
  std::vector<std::uint32_t> tasks;
  for (std::uint32_t i = 0; i < count; ++i) {
    tasks.push_back(graphs.task(0, microseconds{5 + static_cast<int>(random.below(46))}));
    for (std::uint64_t edges = random.below(3); i > 0 && edges > 0; --edges) {
      graphs.order(tasks[random.below(i)], tasks.back());
    }
  }
  return graphs.get();
}

/// List scheduling on one worker, written naively: of what is ready, what the last one has released if nothing is more
/// urgent, else the most urgent that came first.
std::vector<std::uint32_t> naive_order(const TaskRun& run) {
  struct Ready {
    std::uint32_t node;
    std::uint64_t since;
  };
  std::vector<std::uint32_t> waits;
  for (const RunNode& node : run.nodes) {
    waits.push_back(node.earlier);
  }
  std::vector<Ready> queue;
  std::uint32_t next = RunNode::none;
  std::uint64_t clock = 0;
  const auto weight = [&](std::uint32_t node) { return run.nodes[node].weight_ns; };
  const auto offer = [&](std::uint32_t node) {
    float most = 0;
    for (const Ready& ready : queue) {
      most = std::max(most, weight(ready.node));
    }
    if (next == RunNode::none && weight(node) >= most) {
      next = node;
      return;
    }
    if (next != RunNode::none && weight(node) > weight(next)) {
      std::swap(next, node);
    }
    queue.push_back({node, clock++});
  };
  const auto end = [&](std::uint32_t node) {
    for (const std::uint32_t later : run.later.of(node)) {
      if (--waits[later] == 0) {
        offer(later);
      }
    }
  };
  std::vector<std::uint32_t> order;
  end(0);  // the program
  while (next != RunNode::none || !queue.empty()) {
    std::uint32_t node = std::exchange(next, RunNode::none);
    if (node == RunNode::none) {
      const auto first = std::ranges::min_element(queue, [&](const Ready& a, const Ready& b) {
        return weight(a.node) != weight(b.node) ? weight(a.node) > weight(b.node) : a.since < b.since;
      });
      node = first->node;
      queue.erase(first);
    }
    order.push_back(node);
    end(node);
  }
  return order;
}

TEST(PredictTasks, one_worker_takes_random_graphs_in_the_order_of_a_naive_scheduler) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TaskRun run = random_run(seed, 200);
    const TaskPrediction prediction = predicted(run);
    std::vector<std::uint32_t> order(run.nodes.size() - 1);
    std::iota(order.begin(), order.end(), 1U);
    std::ranges::sort(order, {}, [&](std::uint32_t node) { return prediction.nodes[node].start; });
    EXPECT_EQ(order, naive_order(run)) << "seed " << seed;
  }
}

/// Expects that each task starts after what it waits for, and that no worker has two at a time.
void expect_valid(const TaskRun& run, const TaskPrediction& prediction) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_worker;
  for (std::uint32_t node = 1; node < run.nodes.size(); ++node) {
    of_worker[prediction.nodes[node].worker].push_back(node);
    for (const std::uint32_t later : run.later.of(node)) {
      EXPECT_LE(prediction.nodes[node].end, prediction.nodes[later].start);
    }
  }
  for (auto& [worker, nodes] : of_worker) {
    std::ranges::sort(nodes, {}, [&](std::uint32_t node) { return prediction.nodes[node].start; });
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      EXPECT_LE(prediction.nodes[nodes[i - 1]].end, prediction.nodes[nodes[i]].start) << "worker " << worker;
    }
  }
}

/// R. L. Graham, "Bounds on multiprocessing timing anomalies", 1969: no worker idles while a task is ready.
TEST(PredictTasks, random_graphs_on_several_workers_stay_within_the_bounds_of_list_scheduling) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TaskRun run = random_run(seed, 200);
    float path = 0;
    nanoseconds work{};
    for (const RunNode& node : run.nodes) {
      path = std::max(path, node.weight_ns);
      work += node.took;
    }
    for (const std::uint32_t workers : {2U, 3U, 8U}) {
      const TaskPrediction prediction = predicted(run, {.workers = workers});
      expect_valid(run, prediction);
      const auto total = static_cast<double>(prediction.total.count());
      const double share = static_cast<double>(work.count()) / workers;
      EXPECT_GE(total + 1, std::max(share, static_cast<double>(path)));
      EXPECT_LE(total, share + (1 - 1.0 / workers) * path + 1);
    }
  }
}

TEST(PlatformOf, the_costs_are_those_of_messages_that_little_was_in_the_way_of) {
  TaskGraphs graphs{2};
  for (int i = 0; i < 20; ++i) {
    graphs.message(0, 1, 8);
    graphs.message(0, 1, 100'000);
  }
  TaskRun run = graphs.get();
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    const bool was_alone = i < 10;
    run.messages[i].took = (run.messages[i].bytes == 8 ? microseconds{2} : microseconds{52}) * (was_alone ? 1 : 10);
  }
  const Platform platform = platform_of(run);
  EXPECT_EQ(platform.within_host.latency_ns, 2'000);
  ASSERT_EQ(platform.within_host.moving.size(), 2U);
  EXPECT_EQ(platform.within_host.moving.back(), (ByteTime{100'000, 50'000}));
}

TEST(PlatformOf, rendezvous_messages_move_at_their_best_rate_as_the_model_adds_what_they_wait_for) {
  TaskGraphs graphs{2};
  graphs.message(0, 1, 8);
  graphs.message(0, 1, 10'000);
  graphs.message(0, 1, 1'000'000);
  TaskRun run = graphs.get();
  for (RunMessage& message : run.messages) {
    message.is_eager = message.bytes == 8;
    message.took = message.bytes == 8        ? microseconds{2}
                   : message.bytes == 10'000 ? microseconds{54}
                                             : microseconds{504};
  }
  const LinkCosts costs = platform_of(run).within_host;
  EXPECT_EQ(costs.latency_ns, 2'000);
  ASSERT_EQ(costs.moving.size(), 3U);
  EXPECT_EQ(costs.moving[1], (ByteTime{10'000, 5'000})) << "and not 50 us";
  EXPECT_EQ(costs.moving[2], (ByteTime{1'000'000, 500'000}));
}

TEST(PlatformOf, a_link_that_no_message_has_used_is_named) {
  TaskGraphs graphs{2};
  graphs.message(0, 1, 8);
  TaskRun run = graphs.get();
  run.messages[0].took = microseconds{2};
  Platform platform = platform_of(run);
  EXPECT_TRUE(predict_tasks(run, platform).value().notices.empty());
  platform.ranks_per_host = 1;
  EXPECT_EQ(predict_tasks(run, platform).value().notices,
            std::vector<std::string>{
                "no message of the run went between hosts, so 1 messages take no time there; give a --platform"});
}

}  // namespace
}  // namespace plait::replay::predict_tasks_test
