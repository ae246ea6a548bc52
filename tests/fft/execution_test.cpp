// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/execution.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include <gtest/gtest.h>

#include "plait/testing/local_rank.hpp"

#include "fft/points.hpp"

namespace plait::fft::execution_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;
using test::Complex;
using test::for_each_point;

struct Case {
  std::array<Index, 3> lengths;
  TransformGrid grid;
  Kind kind;
  const char* variant;
};

PlanOptions options_of(const Case& which) {
  return {.kind = which.kind, .grid = which.grid, .effort = Effort::estimate, .pieces = 3, .variant = which.variant};
}

Complex field(const std::array<Index, 3>& point, Kind kind) {
  return {test::noise(point, 1), kind == Kind::real ? 0 : test::noise(point, 2)};
}

/// Arrays of one rank, and the two executions between them.
class There {
 public:
  explicit There(const Plan& plan)
      : plan_{plan},
        real(plan.kind() == Kind::real ? static_cast<std::size_t>(plan.physical().size()) : 0),
        complex(plan.kind() == Kind::complex ? static_cast<std::size_t>(plan.physical().size()) : 0),
        spectral(static_cast<std::size_t>(plan.spectral().size())) {}

  [[nodiscard]] Execution forward(double scale = 1) {
    return plan_.kind() == Kind::real ? Execution{plan_, std::span<const double>{real}, std::span{spectral}, scale}
                                      : Execution{plan_, Direction::forward, complex, spectral, scale};
  }
  [[nodiscard]] Execution backward(double scale = 1) {
    return plan_.kind() == Kind::real ? Execution{plan_, std::span<const Complex>{spectral}, std::span{real}, scale}
                                      : Execution{plan_, Direction::backward, spectral, complex, scale};
  }
  void set(std::size_t place, Complex value) {
    if (plan_.kind() == Kind::real) {
      real[place] = value.real();
    } else {
      complex[place] = value;
    }
  }
  [[nodiscard]] Complex at(std::size_t place) const {
    return plan_.kind() == Kind::real ? Complex{real[place]} : complex[place];
  }

 private:
  const Plan& plan_;

 public:
  std::vector<double> real;
  std::vector<Complex> complex;
  std::vector<Complex> spectral;
};

void check(const Case& which) {
  SCOPED_TRACE(testing::Message() << which.lengths[0] << " x " << which.lengths[1] << " x " << which.lengths[2]
                                  << " on " << which.grid.row << " x " << which.grid.column << " by " << which.variant
                                  << (which.kind == Kind::real ? ", real" : ", complex"));
  const auto value = [&](const std::array<Index, 3>& point) { return field(point, which.kind); };
  const std::vector<Complex> expected = test::plain_transform(which.lengths, value, -1);
  const auto points = static_cast<double>(expected.size());
  std::mutex mutex;
  double worst = 0;
  double worst_back = 0;
  bool is_kept = true;
  run_on_ranks({.ranks = which.grid.row * which.grid.column}, [&](LocalRank& rank) {
    const Plan plan{rank.messages(), rank.scheduler(), which.lengths, options_of(which)};
    There there{plan};
    Execution forward = there.forward(2);
    Execution backward = there.backward(0.5 / points);
    for (int round = 0; round < 2; ++round) {
      for_each_point(plan.physical(), [&](const auto& point, std::size_t place) { there.set(place, value(point)); });
      std::ranges::fill(there.spectral, Complex{99, 99});
      forward.run();
      double mine = 0;
      for_each_point(plan.spectral(), [&](const auto& wave, std::size_t place) {
        const auto& lengths = which.lengths;
        const auto number = static_cast<std::size_t>((wave[0] * lengths[1] + wave[1]) * lengths[2] + wave[2]);
        mine = std::max(mine, std::abs(there.spectral[place] - 2.0 * expected[number]));
      });
      const std::vector<Complex> before = there.spectral;
      for_each_point(plan.physical(), [&](const auto&, std::size_t place) { there.set(place, 99); });
      backward.run();
      double mine_back = 0;
      for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
        mine_back = std::max(mine_back, std::abs(there.at(place) - value(point)));
      });
      const std::lock_guard lock{mutex};
      worst = std::max(worst, mine);
      worst_back = std::max(worst_back, mine_back);
      is_kept = is_kept && before == there.spectral;
    }
  });
  EXPECT_LT(worst, 1e-13 * points);
  EXPECT_LT(worst_back, 1e-14);
  EXPECT_TRUE(is_kept) << "the input of a transform was changed";
}

constexpr std::array<TransformGrid, 7> grids{{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 2}, {2, 3}}};
constexpr std::array<std::array<Index, 3>, 9> all_lengths{
    {{8, 8, 8}, {1, 1, 1}, {7, 11, 13}, {4, 6, 10}, {1, 9, 2}, {5, 1, 1}, {2, 2, 33}, {12, 20, 3}, {3, 1, 17}}};

TEST(Execution, transforms_as_the_definition_says_and_back) {
  for (const auto& lengths : all_lengths) {
    for (const TransformGrid& grid : grids) {
      for (const Kind kind : {Kind::real, Kind::complex}) {
        for (const char* variant : {"PLT", "PLB", "PLN"}) {
          check({lengths, grid, kind, variant});
        }
      }
    }
  }
}

/// A made-up exchange: each member sends its blocks one by one, and receives them in turn.
class OneByOne final : public Exchange {
 public:
  OneByOne(const comm::Group& group, const BlockBytes& bytes) : group_{group} {
    for (std::size_t member = 0; member < group.size(); ++member) {
      to_.emplace_back(bytes.to[member]);
      from_.emplace_back(bytes.from[member]);
    }
  }
  std::span<std::byte> to(std::size_t member) override { return to_[member].bytes(); }
  std::span<const std::byte> from(std::size_t member) override { return from_[member].bytes(); }
  void start() override {
    for (std::size_t member = 0; member < group_.size(); ++member) {
      if (member != group_.self()) {
        const comm::Address address{group_.rank(member), Tag{0}, group_.comm()};
        requests_.push_back(group_.endpoint().receive(address, from_[member].bytes()));
        requests_.push_back(group_.endpoint().send(address, std::span<const std::byte>{to_[member].bytes()}));
      }
    }
  }
  void wait() override {
    for (comm::Request& request : requests_) {
      request.wait();
    }
    requests_.clear();
  }

 private:
  /// A block at the beginning of a cache line.
  struct AlignedBlock {
    struct alignas(64) Line {
      std::array<std::byte, 64> bytes;
    };
    explicit AlignedBlock(std::size_t count) : size{count}, lines(count / 64 + 1) {}
    std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{lines}).first(size); }

    std::size_t size;
    std::vector<Line> lines;
  };

  comm::Group group_;
  std::vector<AlignedBlock> to_;
  std::vector<AlignedBlock> from_;
  std::vector<comm::Request> requests_;
};

TEST(Execution, exchanges_by_a_variant_of_the_program) {
  const std::array<Index, 3> lengths{8, 6, 10};
  run_on_ranks({.ranks = 6}, [&](LocalRank& rank) {
    PlanOptions options{.grid = {2, 3}, .effort = Effort::estimate, .variant = "ONE"};
    options.more.push_back({"ONE", "", "one by one", [](const comm::Group& group, const BlockBytes& bytes) {
                              return std::make_unique<OneByOne>(group, bytes);
                            }});
    const Plan plan{rank.messages(), rank.scheduler(), lengths, options};
    EXPECT_EQ(plan.variant(), "ONE");
    There field{plan};
    for_each_point(plan.physical(),
                   [&](const auto& point, std::size_t place) { field.set(place, {test::noise(point, 1), 0}); });
    field.forward().run();
    field.backward(1.0 / static_cast<double>(plan.point_count())).run();
    for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
      EXPECT_NEAR(field.at(place).real(), test::noise(point, 1), 1e-14);
    });
  });
}

/// Several transforms at once, there and back, of fields that differ; what differs most from what it was.
double several_there_and_back(comm::Endpoint& endpoint, task::Scheduler& scheduler, const Case& which, int rounds) {
  const Plan plan{endpoint, scheduler, which.lengths, options_of(which)};
  constexpr int variables = 4;
  std::vector<There> fields;
  for (int i = 0; i < variables; ++i) {
    fields.emplace_back(plan);
    for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
      fields.back().set(place, {test::noise(point, static_cast<std::uint64_t>(i)), 0});
    });
  }
  std::vector<Execution> forward;
  std::vector<Execution> backward;
  for (There& field : fields) {
    forward.push_back(field.forward());
    backward.push_back(field.backward(1.0 / static_cast<double>(plan.point_count())));
  }
  double worst = 0;
  for (int round = 0; round < rounds; ++round) {
    // All there; then two back while two that were back go there again; then the rest.
    std::vector<Execution*> all;
    for (Execution& execution : forward) {
      all.push_back(&execution);
    }
    run(all);
    run(std::vector{&backward[1], &backward[0]});
    run(std::vector{&forward[1], &backward[2], &forward[0], &backward[3]});
    run(std::vector{&backward[0], &backward[1]});
    for (int i = 0; i < variables; ++i) {
      for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
        const Complex was{test::noise(point, static_cast<std::uint64_t>(i)), 0};
        worst = std::max(worst, std::abs(fields[static_cast<std::size_t>(i)].at(place) - was));
      });
    }
  }
  return worst;
}

TEST(Execution, many_are_in_flight_at_once) {
  for (const char* variant : {"PLT", "PLN", "PLB"}) {
    for (const TransformGrid& grid : {TransformGrid{1, 3}, TransformGrid{3, 2}}) {
      for (const std::uint32_t workers : {1U, 3U}) {
        const Case which{{10, 9, 14}, grid, Kind::real, variant};
        run_on_ranks({.ranks = grid.row * grid.column}, {.worker_count = workers}, [&](LocalRank& rank) {
          EXPECT_LT(several_there_and_back(rank.messages(), rank.scheduler(), which, 3), 3e-14);
        });
      }
    }
  }
}

TEST(Execution, comes_right_whatever_the_network_delays) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Case which{{9, 10, 7}, seed % 2 == 0 ? TransformGrid{2, 2} : TransformGrid{1, 3}, Kind::complex, "PLT"};
    run_on_ranks({.ranks = which.grid.row * which.grid.column, .network = net::SimOptions{.seed = seed}},
                 {.worker_count = 2},
                 [&](LocalRank& rank) {
                   EXPECT_LT(several_there_and_back(rank.messages(), rank.scheduler(), which, 2), 3e-14);
                 });
  }
}

TEST(Execution, needs_no_alignment) {
  const std::array<Index, 3> lengths{6, 5, 9};
  run_on_ranks({.ranks = 2}, [&](LocalRank& rank) {
    const Plan plan{rank.messages(), rank.scheduler(), lengths, {.effort = Effort::estimate}};
    There field{plan};
    const auto size = static_cast<std::size_t>(plan.spectral().size());
    std::vector<double> numbers(2 * size + 1);
    const std::span spectral{reinterpret_cast<Complex*>(numbers.data() + 1), size};  // 8 bytes beside
    std::vector<double> back(field.real.size() + 1);
    Execution forward{plan, std::span<const double>{field.real}, spectral};
    Execution backward{plan,
                       std::span<const Complex>{spectral},
                       std::span{back}.subspan(1),
                       1.0 / static_cast<double>(plan.point_count())};
    for_each_point(plan.physical(),
                   [&](const auto& point, std::size_t place) { field.real[place] = test::noise(point, 1); });
    forward.run();
    backward.run();
    for (std::size_t i = 0; i < field.real.size(); ++i) {
      ASSERT_NEAR(back[i + 1], field.real[i], 1e-14);
    }
  });
}

TEST(Execution, passes_numbers_that_are_none_through_and_ends) {
  run_on_ranks({.ranks = 2}, [&](LocalRank& rank) {
    const Plan plan{rank.messages(), rank.scheduler(), {4, 4, 4}, {.effort = Effort::estimate}};
    There field{plan};
    Execution forward = field.forward();
    if (rank.self() == Rank{0}) {
      field.real[0] = std::nan("");
    }
    forward.run();
    for (const Complex value : field.spectral) {
      ASSERT_TRUE(std::isnan(value.real()));
    }
  });
}

TEST(Execution, joins_a_graph_with_what_makes_its_input_and_uses_its_output) {
  const std::array<Index, 3> lengths{8, 6, 10};
  for (const TransformGrid& grid : {TransformGrid{1, 2}, TransformGrid{2, 2}}) {
    run_on_ranks({.ranks = grid.row * grid.column}, {.worker_count = 2}, [&](LocalRank& rank) {
      const Plan plan{rank.messages(),
                      rank.scheduler(),
                      lengths,
                      {.grid = grid, .effort = Effort::estimate, .variant = "PLB"}};  // tasks all the same
      There field{plan};
      Execution forward = field.forward();
      Execution backward = field.backward(1.0 / static_cast<double>(plan.point_count()));
      task::Graph graph;
      const Tasks there = forward.add_to(graph);
      const Tasks back = backward.add_to(graph);
      for (const Part& part : there.reads) {
        graph
            .task("make",
                  [&plan, &field, box = part.box] {
                    for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
                      if (point[0] >= box.low[0] && point[0] < box.high[0]) {
                        field.real[place] = test::noise(point, 7);
                      }
                    });
                  })
            .before(part.task);
      }
      for (const Part& reader : back.reads) {
        for (const Part& writer : there.writes) {
          if (!common_part(reader.box, writer.box).is_empty()) {
            task::Task{reader.task}.after(writer.task);
          }
        }
      }
      for (const Part& writer : back.writes) {  // the same array: its input is read before
        for (const Part& reader : there.reads) {
          task::Task{writer.task}.after(reader.task);
        }
      }
      std::atomic<int> wrong = 0;
      for (const Part& part : back.writes) {
        graph
            .task("check",
                  [&plan, &field, &wrong, box = part.box] {
                    for_each_point(plan.physical(), [&](const auto& point, std::size_t place) {
                      if (point[0] >= box.low[0] && point[0] < box.high[0]) {
                        wrong += std::abs(field.real[place] - test::noise(point, 7)) > 1e-14 ? 1 : 0;
                      }
                    });
                  })
            .after(part.task);
      }
      for (int round = 0; round < 3; ++round) {
        std::ranges::fill(field.real, 99);
        rank.scheduler().run(graph);
      }
      EXPECT_EQ(wrong, 0);
    });
  }
}

TEST(Execution, says_which_size_an_array_must_have) {
  run_on_ranks({.ranks = 1}, [](LocalRank& rank) {
    const Plan plan{rank.messages(), rank.scheduler(), {4, 4, 4}, {.effort = Effort::estimate}};
    std::vector<double> real(60);
    std::vector<Complex> complex(48);
    try {
      const Execution wrong{plan, std::span<const double>{real}, std::span{complex}};
      FAIL() << "an array of the wrong size was taken";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "the physical array has 60 elements on this rank, and must have 64: 4 x 4 x 4 of 4 x 4 x 4");
    }
    EXPECT_THROW((Execution{plan, Direction::forward, complex, complex}), Error);
  });
}

}  // namespace
}  // namespace plait::fft::execution_test
