// SPDX-License-Identifier: Apache-2.0
// Random programs: whatever the ranks and workers, a flow gives what the program gives when executed in its order.
#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plait/task/flow/flow.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::task::random_test {
namespace {

using plait::test::LocalRank;
using Word = std::uint32_t;
using Words = std::span<Word>;
using ConstWords = std::span<const Word>;

/// One step of a program, as far as three data allow.
enum class Shape : std::uint8_t { update, write, two, commute, reduce, look, write_two, flush, wait, count };

struct Step {
  Shape shape;
  std::array<std::size_t, 3> data;  ///< Different ones.
  Word constant;
  Rank on;
};

struct Program {
  std::uint32_t rank_count;
  std::vector<Rank> owners;
  std::vector<std::size_t> sizes;
  std::vector<Step> steps;
};

Program random_program(unsigned seed) {
  std::mt19937 random{seed};
  Program program{.rank_count = 1 + seed % 4, .owners = {}, .sizes = {}, .steps = {}};
  const std::size_t count = 3 + random() % 6;
  for (std::size_t i = 0; i < count; ++i) {
    program.owners.emplace_back(random() % program.rank_count);
    program.sizes.push_back(1 + random() % 40);
  }
  const std::size_t steps = 50 + random() % 200;
  for (std::size_t i = 0; i < steps; ++i) {
    std::vector<std::size_t> all(count);
    for (std::size_t index = 0; index < count; ++index) {
      all[index] = index;
    }
    std::ranges::shuffle(all, random);
    auto shape = static_cast<Shape>(random() % static_cast<unsigned>(Shape::count));
    if (shape == Shape::wait && random() % 8 != 0) {
      shape = Shape::update;
    }
    const Rank on = random() % 4 == 0 ? Rank{static_cast<Word>(random() % program.rank_count)} : Rank{};
    program.steps.push_back({shape, {all[0], all[1], all[2]}, static_cast<Word>(random()), on});
  }
  return program;
}

Word sum(ConstWords words) {
  Word total = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    total += words[i] * static_cast<Word>(2 * i + 1);
  }
  return total;
}

void update(Words words, Word by) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = words[i] * 3 + by + static_cast<Word>(i);
  }
}

void write(Words words, Word value) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = value ^ static_cast<Word>(i * 77);
  }
}

void add(Words words, Word value) {
  for (Word& word : words) {
    word += value;
  }
}

using Values = std::vector<std::vector<Word>>;

/// In order, at once. `seen`: what the reading steps have seen.
Values execute(const Program& program, std::vector<Word>& seen) {
  Values values;
  for (const std::size_t size : program.sizes) {
    values.emplace_back(size, 1);
  }
  for (const Step& step : program.steps) {
    auto& a = values[step.data[0]];
    auto& b = values[step.data[1]];
    auto& c = values[step.data[2]];
    switch (step.shape) {
      case Shape::update:
        update(a, sum(b) + sum(c) + step.constant);
        break;
      case Shape::write:
        write(a, sum(b) + step.constant);
        break;
      case Shape::two:
        update(a, sum(c));
        update(b, step.constant);
        break;
      case Shape::commute:
      case Shape::reduce:
        add(a, sum(b) + step.constant);
        break;
      case Shape::look:
        seen.push_back(sum(a) + sum(b));
        break;
      case Shape::write_two:
        write(a, step.constant);
        write(b, step.constant + 1);
        break;
      default:
        break;
    }
  }
  return values;
}

void submit(Flow& flow, const Step& step, const std::vector<Data<Word>>& data, Word* look) {
  const Data<Word>& a = data[step.data[0]];
  const Data<Word>& b = data[step.data[1]];
  const Data<Word>& c = data[step.data[2]];
  const Word constant = step.constant;
  const SubmitOptions options{.priority = static_cast<int>(constant % 7), .on = step.on};
  const auto add_sum = [constant](ConstWords from, Words to) { add(to, sum(from) + constant); };
  switch (step.shape) {
    case Shape::update:
      flow.submit(
          options,
          [constant](Words to, ConstWords x, ConstWords y) { update(to, sum(x) + sum(y) + constant); },
          rw(a),
          r(b),
          r(c));
      break;
    case Shape::write:
      flow.submit(options, [constant](ConstWords x, Words to) { write(to, sum(x) + constant); }, r(b), w(a));
      break;
    case Shape::two:
      flow.submit(
          options,
          [constant](Words x, Words y, ConstWords z) {
            update(x, sum(z));
            update(y, constant);
          },
          rw(a),
          rw(b),
          r(c));
      break;
    case Shape::commute:
      flow.submit(options, add_sum, r(b), commute(a));
      break;
    case Shape::reduce:
      flow.submit(options, add_sum, r(b), reduce(a));
      break;
    case Shape::look:
      flow.submit(options, [look](ConstWords x, ConstWords y) { *look = sum(x) + sum(y); }, r(a), r(b));
      break;
    case Shape::write_two:
      flow.submit(
          options,
          [constant](Words x, Words y) {
            write(x, constant);
            write(y, constant + 1);
          },
          w(a),
          w(b));
      break;
    case Shape::flush:
      flow.flush(a);
      break;
    default:
      flow.wait();
      break;
  }
}

class Programs : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Programs, give_the_result_of_their_order) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = random_program(seed);
    std::vector<Word> expected_seen;
    const Values expected = execute(program, expected_seen);
    std::vector<Word> seen(expected_seen.size());
    Values found(expected.size());
    const FlowOptions options{.window = seed % 3 == 0 ? 5U : 1000U,
                              .receive_ahead = seed % 2 == 0 ? 1U : 50U,
                              .fanout = seed % 5 == 0 ? Fanout::single_messages : Fanout::multicast};
    plait::test::run_on_ranks({.ranks = program.rank_count},
                              {.worker_count = GetParam(), .stall_max = std::chrono::seconds{60}},
                              [&](LocalRank& rank) {
                                Flow flow{rank, options};
                                std::vector<Data<Word>> data;
                                for (std::size_t i = 0; i < program.owners.size(); ++i) {
                                  data.push_back(flow.data<Word>(program.owners[i], program.sizes[i]));
                                  data.back().reduces_with(0U, [](Word& into, Word from) { into += from; });
                                  if (program.owners[i] == rank.self()) {
                                    std::ranges::fill(data.back().local(), 1U);
                                  }
                                }
                                Word* look = seen.data();
                                for (const Step& step : program.steps) {
                                  submit(flow, step, data, look);
                                  look += step.shape == Shape::look ? 1 : 0;
                                }
                                flow.wait();
                                for (std::size_t i = 0; i < data.size(); ++i) {
                                  if (data[i].owner() == rank.self()) {
                                    const Words local = data[i].local();
                                    found[i].assign(local.begin(), local.end());
                                  }
                                }
                                EXPECT_EQ(flow.statistics().copy_bytes, 0U);
                              });
    ASSERT_EQ(found, expected);
    ASSERT_EQ(seen, expected_seen);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, Programs, testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace plait::task::random_test
