// SPDX-License-Identifier: Apache-2.0
// Random graphs, several at once on two ranks, with locks and messages, held against a plain model.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/resource.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task::runs::random_test {
namespace {

constexpr std::uint32_t rank_count = 2;
constexpr std::size_t graph_count = 4;
constexpr std::size_t cell_count = 5;
constexpr int rounds = 6;

/// What both ranks know of a graph's task `i`.
struct Plan {
  std::vector<std::size_t> earlier;
  std::vector<std::size_t> cells;  ///< That it locks, in all graphs.
  bool is_sent = false;            ///< Rank 0 sends its value to rank 1 when it has ended.
  std::uint64_t cost_us = 0;
  int spawned = 0;
};

std::vector<Plan> random_plan(std::mt19937& random) {
  std::vector<Plan> plan(1 + random() % 80);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    for (std::size_t links = i == 0 ? 0 : random() % 4; links > 0; --links) {
      plan[i].earlier.push_back(random() % i);
    }
    if (random() % 3 == 0) {
      plan[i].cells.push_back(random() % cell_count);
    }
    plan[i].is_sent = random() % 8 == 0;
    plan[i].cost_us = random() % 4;
    plan[i].spawned = random() % 10 == 0 ? 3 : 0;
  }
  return plan;
}

/// A task's value in the model: a function of those before it.
std::uint64_t mix(std::size_t i, std::span<const std::uint64_t> before) {
  std::uint64_t value = i + 1;
  for (const std::uint64_t one : before) {
    value = value * 6'364'136'223'846'793'005U + one;
  }
  return value;
}

std::vector<std::uint64_t> model(const std::vector<Plan>& plan) {
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    std::vector<std::uint64_t> before;
    for (const std::size_t one : plan[i].earlier) {
      before.push_back(values[one]);
    }
    values.push_back(mix(i, before));
  }
  return values;
}

/// What graphs of all runs lock: counted without atomics, which the locks must make right.
struct Shared {
  std::deque<Resource> cells{cell_count};
  std::array<std::uint64_t, cell_count> uses{};
};

/// A plan as a graph of one rank.
class Program {
 public:
  Program(const std::vector<Plan>& plan, Rank self, Tag first_tag, Shared& shared)
      : plan_{plan}, values_(plan.size()), received_(plan.size()) {
    const TaskKind spawned = graph_.kind("spawned");
    for (std::size_t i = 0; i < plan.size(); ++i) {
      Task task = graph_.task("node", [this, i, spawned, &shared](TaskContext& context) {
        std::vector<std::uint64_t> before;
        for (const std::size_t one : plan_[i].earlier) {
          before.push_back(values_[one]);
        }
        values_[i] = mix(i, before);
        for (const std::size_t cell : plan_[i].cells) {
          ++shared.uses[cell];
        }
        for (int n = 0; n < plan_[i].spawned; ++n) {
          context.spawn(spawned, [this] { spawned_.fetch_add(1); });
        }
      });
      task.cost(std::chrono::microseconds{plan[i].cost_us});
      for (const std::size_t one : plan[i].earlier) {
        task.after(graph_.all()[places_[one]]);
      }
      for (const std::size_t cell : plan[i].cells) {
        task.locks(shared.cells[cell]);
      }
      places_.push_back(task.node().number);
      const Tag tag{first_tag.value() + i};
      if (plan[i].is_sent && self == Rank{0}) {
        graph_
            .send("send", {.rank = Rank{1}, .tag = tag}, [this, i] { return std::as_bytes(std::span{&values_[i], 1}); })
            .after(task);
      } else if (plan[i].is_sent) {
        graph_.receive("receive", {.rank = Rank{0}, .tag = tag}, std::as_writable_bytes(std::span{&received_[i], 1}));
      }
    }
  }

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  void check(Rank self, int run_count) const {
    const std::vector<std::uint64_t> expected = model(plan_);
    int spawned = 0;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      EXPECT_EQ(values_[i], expected[i]);
      if (plan_[i].is_sent && self == Rank{1}) {
        EXPECT_EQ(received_[i], expected[i]);
      }
      spawned += plan_[i].spawned;
    }
    EXPECT_EQ(spawned_, spawned * run_count);
  }

 private:
  const std::vector<Plan>& plan_;
  Graph graph_;
  std::vector<std::size_t> places_;
  std::vector<std::uint64_t> values_;
  std::vector<std::uint64_t> received_;
  std::atomic<int> spawned_ = 0;
};

using RunHandle = Run;  // testing::Test has a private Run

class RandomRuns : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomRuns, at_once_give_what_their_graphs_give_alone) {
  std::mt19937 random{GetParam()};
  const std::uint32_t worker_count = 1 + static_cast<std::uint32_t>(random() % 3);
  std::vector<std::vector<Plan>> plans;
  for (std::size_t g = 0; g < graph_count; ++g) {
    plans.push_back(random_plan(random));
  }
  net::LoopbackNetwork network{rank_count};
  std::array<std::exception_ptr, rank_count> errors;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      threads.emplace_back([&, rank, order = random]() mutable {
        const Rank self{rank};
        SteadyClock clock;
        trace::Recorder recorder{clock};
        const auto driver = network.driver(self);
        comm::Endpoint endpoint{*driver, recorder};
        Shared shared;
        std::deque<Program> programs;
        for (std::size_t g = 0; g < graph_count; ++g) {
          programs.emplace_back(plans[g], self, Tag{1000 * g}, shared);
        }
        Scheduler scheduler{endpoint, recorder, {.worker_count = worker_count, .stall_folder = ""}};
        try {
          for (int round = 0; round < rounds; ++round) {
            std::vector<RunHandle> runs;
            for (Program& program : programs) {
              runs.push_back(scheduler.start(program.graph()));
            }
            std::ranges::shuffle(runs, order);
            for (RunHandle& run : runs) {
              run.wait();
            }
          }
          for (const Program& program : programs) {
            program.check(self, rounds);
          }
          std::array<std::uint64_t, cell_count> uses{};
          for (const std::vector<Plan>& plan : plans) {
            for (const Plan& task : plan) {
              for (const std::size_t cell : task.cells) {
                uses[cell] += rounds;
              }
            }
          }
          EXPECT_EQ(shared.uses, uses);
        } catch (...) {
          errors[rank] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRuns, testing::Range(1U, 21U));

}  // namespace
}  // namespace plait::task::runs::random_test
