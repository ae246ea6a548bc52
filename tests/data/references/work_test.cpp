// SPDX-License-Identifier: Apache-2.0
#include "plait/data/references/work.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"
#include "plait/data/references/ref.hpp"
#include "plait/data/references/remote.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::data::work_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using plait::test::run_on_ranks;

class Works : public testing::TestWithParam<std::uint32_t> {
 protected:
  /// Where the run ends with an error, which the program has handled.
  void on_failing_ranks(std::uint32_t count, const std::function<void(LocalRank&)>& program) const {
    static_cast<void>(errors_on_ranks({.ranks = count}, {.worker_count = GetParam()}, program));
  }
  void on_ranks(std::uint32_t count, const std::function<void(LocalRank&)>& program) const {
    run_on_ranks({.ranks = count}, {.worker_count = GetParam()}, program);
  }
};
INSTANTIATE_TEST_SUITE_P(workers, Works, testing::Values(1, 2, 3));

/// The sentence of the error that `act` throws; empty when it throws none.
std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_P(Works, run_in_the_order_that_follows_from_references) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(0);
    std::vector<Ref<int>> seen;
    for (int i = 0; i < 200; ++i) {
      for (int reader = 0; reader < 3; ++reader) {
        seen.push_back(work([](const int& now) { return now; }, value.read()));
      }
      value = work([](int& now) { ++now; }, std::move(value));
    }
    EXPECT_EQ(work.take(std::move(value)), 200);
    for (int i = 0; i < 600; ++i) {
      EXPECT_EQ(work.take(std::move(seen[i])), i / 3);
    }
    work.wait();
  });
}

TEST_P(Works, have_what_they_modify_for_themselves_and_share_what_they_read) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    struct Watched {
      std::atomic<int> inside = 0;
    };
    std::atomic<int> mistakes = 0;
    Ref<Watched> value = work.ref<Watched>();
    for (int i = 0; i < 100; ++i) {
      for (int reader = 0; reader < 2; ++reader) {
        work([&](const Watched& watched) { mistakes += watched.inside.load() < 0 ? 1 : 0; }, value.read());
      }
      value = work(
          [&](Watched& watched) {
            mistakes += watched.inside.exchange(-1) != 0 ? 1 : 0;
            watched.inside = 0;
          },
          std::move(value));
    }
    work.wait();
    EXPECT_EQ(mistakes, 0);
  });
}

TEST_P(Works, return_a_reference_for_each_that_they_modify_behind_that_to_their_result) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<std::string> name = work.ref<std::string>("a");
    Ref<std::vector<int>> list = work.ref<std::vector<int>>(3, 7);
    const Ref<double> factor = work.ref<double>(2.0);
    auto [sum, new_name, new_list] = work(
        [](std::string& text, const double& by, std::vector<int>& numbers) {
          text += "b";
          numbers.push_back(1);
          return by * 5;
        },
        std::move(name),
        factor.read(),
        std::move(list));
    static_assert(std::is_same_v<decltype(sum), Ref<double>> && std::is_same_v<decltype(new_name), Ref<std::string>>);
    EXPECT_FALSE(name);
    EXPECT_EQ(*work.fetch(std::move(sum)), 10.0);
    EXPECT_EQ(*work.fetch(std::move(new_name)), "ab");
    auto fetched = work.fetch(std::move(new_list));
    fetched->push_back(2);
    list = work([](std::vector<int>& numbers) { numbers.push_back(3); }, std::move(fetched));
    EXPECT_EQ(work.take(std::move(list)), (std::vector<int>{7, 7, 7, 1, 2, 3}));
    work.wait();
  });
}

TEST_P(Works, keep_a_value_as_a_reader_has_seen_it_until_the_reader_is_gone) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(1);
    auto before = value.read();
    auto unused = value.read();
    value = work([](int& now) { now = 2; }, std::move(value));
    auto between = value.read();
    value = work([](int& now) { now = 3; }, std::move(value));
    auto shown = work.fetch(std::move(before));
    EXPECT_EQ(*shown, 1);
    unused = {};
    {
      const auto still_shown = std::move(shown);
      EXPECT_EQ(*still_shown, 1);
    }
    EXPECT_EQ(*work.fetch(std::move(between)), 2);
    EXPECT_EQ(*work.fetch(std::move(value)), 3);
    work.wait();
  });
}

struct Counter {
  int value = 0;
  void count() { ++value; }
};
int value_of(const Counter& counter) {
  return counter.value;
}

TEST_P(Works, are_anything_that_can_be_called) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<Counter> counter = work(&Counter::count, work.ref<Counter>());
    EXPECT_EQ(work.take(work(value_of, counter.read())), 1);
    work.wait();
  });
}

TEST_P(Works, wait_with_a_token_for_what_they_do_not_see) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    std::atomic<bool> is_written = false;
    Ref<int> value = work([&] {
      is_written = true;
      return 1;
    });
    const Ref<bool> seen = work([&] { return is_written.load(); }, value.token());
    work.wait_for(seen);
    EXPECT_TRUE(*work.fetch(seen.read()));
    work.wait();
  });
}

TEST_P(Works, are_done_or_not_as_a_value_says_that_is_known_later) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(0);
    for (int i = 0; i < 50; ++i) {
      const Ref<bool> is_odd = work([i] { return i % 2 == 1; });
      value = work.when(is_odd.read(), [](int& now) { ++now; }, std::move(value));
    }
    auto first =
        work.when([](const int& now) { return now == 25; }, [](const int& now) { return now * 2; }, value.read());
    auto second = work.when([](const int& now) { return now == 24; }, [](const int& now) { return now; }, value.read());
    EXPECT_EQ(work.take(std::move(first)), std::optional{50});
    EXPECT_EQ(work.take(std::move(second)), std::nullopt);
    EXPECT_EQ(work.take(std::move(value)), 25);
    work.wait();
  });
}

/// Adds the numbers of a range up by tasks that create two each.
void add_up(Work& work, int first, int last, std::atomic<int>& sum) {
  if (last - first < 10) {
    for (int i = first; i < last; ++i) {
      sum += i;
    }
    return;
  }
  const int middle = (first + last) / 2;
  work([&, first, middle] { add_up(work, first, middle, sum); });
  work([&, middle, last] { add_up(work, middle, last, sum); });
}

TEST_P(Works, may_make_more_work) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    std::atomic<int> sum = 0;
    work([&] { add_up(work, 0, 10'000, sum); });
    work.wait();
    EXPECT_EQ(sum, 10'000 * 9'999 / 2);
  });
}

TEST_P(Works, leave_the_scheduler_to_others_after_a_wait_and_go_on_then) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(1);
    for (int round = 0; round < 3; ++round) {
      value = work([](int& now) { now *= 2; }, std::move(value));
      work.wait();
      Work other{rank};
      EXPECT_EQ(other.take(other([] { return 5; })), 5);
      other.wait();
    }
    EXPECT_EQ(work.take(std::move(value)), 8);
  });
}

TEST_P(Works, execute_when_more_than_the_window_are_under_way) {
  on_ranks(1, [](LocalRank& rank) {
    Work work{rank, {.window = 8}};
    std::atomic<int> executed = 0;
    Ref<int> value = work.ref<int>(0);
    auto blocks = value.read();
    value = work([](int& now) { ++now; }, std::move(value));
    for (int i = 0; i < 100; ++i) {  // these wait for a reader, which a full window must not make them do for ever
      value = work([&](int& now) { executed = ++now; }, std::move(value));
    }
    EXPECT_EQ(executed, 0);
    blocks = {};
    for (int i = 0; i < 100; ++i) {
      work([] {});
    }
    EXPECT_GT(executed, 90);
    EXPECT_EQ(work.take(std::move(value)), 101);
    work.wait();
  });
}

TEST_P(Works, end_the_run_with_what_a_body_throws_and_let_all_go) {
  const auto alive = std::make_shared<int>(0);
  on_failing_ranks(1, [&](LocalRank& rank) {
    Work work{rank};
    Ref<std::shared_ptr<int>> value = work.ref<std::shared_ptr<int>>(alive);
    value = work([](std::shared_ptr<int>&) { throw std::runtime_error{"no more paper"}; }, std::move(value));
    value = work([kept = alive](std::shared_ptr<int>& /*now*/) {}, std::move(value));
    const std::string sentence = error_of([&] { work.wait(); });
    EXPECT_NE(sentence.find("no more paper"), std::string::npos) << sentence;
    EXPECT_NE(error_of([&] { work([] {}); }), "") << "a run that has failed takes no more";
  });
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_P(Works, refuse_to_wait_for_what_the_program_itself_holds_up) {
  on_failing_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(1);
    const auto reader = value.read();
    value = work(work.kind("double it"), [](int& now) { now *= 2; }, std::move(value));
    const std::string sentence = error_of([&] { work.wait(); });
    EXPECT_NE(sentence.find("wait for ever"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("double it"), std::string::npos) << sentence;
  });
  on_failing_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(1);
    const auto reader = value.read();
    const std::string sentence = error_of([&] { static_cast<void>(work.fetch(std::move(value))); });
    EXPECT_NE(sentence.find("fetch(int)"), std::string::npos) << sentence;
  });
  on_failing_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    Ref<int> value = work.ref<int>(1);
    auto reader = value.read();
    const std::string twice =
        error_of([&] { value = work([](int&, const int&) {}, std::move(value), std::move(reader)); });
    EXPECT_NE(twice.find("twice"), std::string::npos) << twice;
  });
  on_failing_ranks(1, [](LocalRank& rank) {
    Work work{rank};
    work([&] { static_cast<void>(work.fetch(work([] { return 1; }))); });
    const std::string inside = error_of([&] { work.wait(); });
    EXPECT_NE(inside.find("a body waits"), std::string::npos) << inside;
  });
}

TEST_P(Works, name_values_of_other_ranks_that_come_when_they_are_there) {
  on_ranks(3, [](LocalRank& rank) {
    Work work{rank};
    const auto self = rank.self().value();
    const Rank next{(self + 1) % 3};
    const Rank before{(self + 2) % 3};
    Ref<std::vector<std::string>> mine = work([self] { return std::vector<std::string>{std::to_string(self)}; });
    for (int round = 0; round < 20; ++round) {
      send_ref(work, next, Tag{7}, mine.read());
      Ref<std::vector<std::string>> came = receive_ref<std::vector<std::string>>(work, before, Tag{7});
      mine = work([self](const std::vector<std::string>& from,
                         std::vector<std::string>& to) { to = from, to.push_back(std::to_string(self)); },
                  came.read(),
                  std::move(mine));
    }
    auto all = work.take(std::move(mine));
    ASSERT_EQ(all.size(), 21U);
    for (std::size_t i = 0; i < 21; ++i) {
      EXPECT_EQ(all[20 - i], std::to_string((self + 3 - i % 3) % 3));
    }
    std::vector<double> large(200'000, self);  // of several packets
    send_ref(work, next, Tag{8}, work.ref<std::vector<double>>(large).read());
    EXPECT_EQ(work.take(receive_ref<std::vector<double>>(work, before, Tag{8})),
              std::vector<double>(200'000, before.value()));
    work.wait();
  });
}

TEST_P(Works, end_on_all_ranks_when_what_came_is_of_another_type) {
  std::array<std::string, 2> sentences;
  on_failing_ranks(2, [&](LocalRank& rank) {
    Work work{rank};
    sentences[rank.self().value()] = error_of([&] {
      if (rank.self().value() == 0) {
        send_ref(work, Rank{1}, Tag{1}, work.ref<int>(5).read());
        static_cast<void>(work.take(receive_ref<int>(work, Rank{1}, Tag{2})));  // never sent
      } else {
        static_cast<void>(work.take(receive_ref<std::string>(work, Rank{0}, Tag{1})));
      }
    });
  });
  for (const std::string& sentence : sentences) {
    EXPECT_NE(sentence.find("are no packed std::"), std::string::npos) << sentence;
  }
}

/// Random works on a few values, beside the same done at once.
TEST_P(Works, do_what_a_sequential_program_does) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    on_ranks(1, [seed](LocalRank& rank) {
      Random random{seed};
      Work work{rank, {.window = 64}};
      constexpr std::size_t value_count = 5;
      std::vector<Ref<std::uint64_t>> values;
      std::vector<std::uint64_t> model;
      std::vector<std::pair<Ref<std::uint64_t, Permission::read>, std::uint64_t>> kept;
      for (std::uint64_t i = 0; i < value_count; ++i) {
        values.push_back(work.ref<std::uint64_t>(i));
        model.push_back(i);
      }
      for (int step = 0; step < 300; ++step) {
        const std::size_t to = random.below(value_count);
        const std::size_t from = (to + 1 + random.below(value_count - 1)) % value_count;
        const auto mix = [](const std::uint64_t& a, std::uint64_t& b) { b = b * 31 + a; };
        switch (random.below(5)) {
          case 0:
            values[to] = work(mix, values[from].read(), std::move(values[to]));
            mix(model[from], model[to]);
            break;
          case 1:
            std::tie(values[from], values[to]) = work([](std::uint64_t& a, std::uint64_t& b) { std::swap(a, b); },
                                                      std::move(values[from]),
                                                      std::move(values[to]));
            std::swap(model[from], model[to]);
            break;
          case 2:
            values[to] = work.when([](const std::uint64_t& a, const std::uint64_t&) { return a % 2 == 0; },
                                   mix,
                                   values[from].read(),
                                   std::move(values[to]));
            if (model[from] % 2 == 0) {
              mix(model[from], model[to]);
            }
            break;
          case 3:
            kept.emplace_back(values[to].read(), model[to]);
            break;
          default:
            if (!kept.empty()) {
              auto [ref, expected] = std::move(kept.front());  // newer ones may wait for it
              kept.erase(kept.begin());
              EXPECT_EQ(*work.fetch(std::move(ref)), expected) << seed;
            }
        }
      }
      while (!kept.empty()) {
        EXPECT_EQ(*work.fetch(std::move(kept.front().first)), kept.front().second) << seed;
        kept.erase(kept.begin());
      }
      for (std::size_t i = 0; i < value_count; ++i) {
        EXPECT_EQ(work.take(std::move(values[i])), model[i]) << seed;
      }
      work.wait();
    });
  }
}

}  // namespace
}  // namespace plait::data::work_test
