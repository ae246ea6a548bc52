// SPDX-License-Identifier: Apache-2.0
#include "plait/record/progress.hpp"

#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace plait::record {
namespace {

/// Counts looks, and lets a test wait for them.
class Looks {
 public:
  bool look() {
    count_.fetch_add(1);
    count_.notify_all();
    return is_good;
  }
  void wait_for(int wanted) const {
    for (int seen = count_; seen < wanted; seen = count_) {
      count_.wait(seen);
    }
  }
  [[nodiscard]] int count() const { return count_; }

  std::atomic<bool> is_good = true;

 private:
  std::atomic<int> count_ = 0;
};

ProgressOptions impatient() {
  return {.period_min = std::chrono::microseconds{10},
          .period_max = std::chrono::microseconds{20},
          .linger = std::chrono::microseconds{100}};
}

TEST(Progress, looks_again_and_again_while_something_is_in_flight) {
  Pending pending;
  Looks looks;
  Progress progress{pending, [&] { return looks.look(); }, impatient()};
  pending.begin();
  looks.wait_for(3);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, does_not_look_where_nothing_is_in_flight) {
  Pending pending;
  Looks looks;
  Progress progress{pending,
                    [&] {
                      EXPECT_TRUE(pending.is_any_in_flight());
                      return looks.look();
                    },
                    impatient()};
  pending.begin();
  looks.wait_for(1);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, does_not_look_while_the_program_is_inside) {
  Pending pending;
  Looks looks;
  pending.enter();
  pending.begin();
  Progress progress{pending,
                    [&] {
                      EXPECT_FALSE(pending.is_any_inside());
                      return looks.look();
                    },
                    impatient()};
  pending.leave();
  looks.wait_for(2);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, does_not_look_after_the_end) {
  Pending pending;
  Looks looks;
  pending.begin();
  Progress progress{pending, [&] { return looks.look(); }, impatient()};
  looks.wait_for(1);
  ASSERT_TRUE(progress.stop());
  const int count = looks.count();
  std::this_thread::yield();
  EXPECT_EQ(looks.count(), count);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, ends_where_looking_is_refused) {
  Pending pending;
  Looks looks;
  looks.is_good = false;
  pending.begin();
  Progress progress{pending, [&] { return looks.look(); }, impatient()};
  looks.wait_for(1);
  EXPECT_TRUE(progress.stop());
  EXPECT_EQ(looks.count(), 1);
}

TEST(Progress, leaves_the_signals_of_the_program_alone) {
  Pending pending;
  Looks looks;
  sigset_t blocked{};
  pending.begin();
  Progress progress{pending,
                    [&] {
                      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
                      return looks.look();
                    },
                    impatient()};
  looks.wait_for(1);
  EXPECT_TRUE(progress.stop());
  EXPECT_EQ(sigismember(&blocked, SIGALRM), 1);
  sigset_t own{};
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGALRM), 0);
}

TEST(Progress, a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have) {
  Pending pending;
  Looks looks;
  Progress progress{pending, [&] { return looks.look(); }, impatient()};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit(progress.stop() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  pending.begin();
  looks.wait_for(1);
  EXPECT_TRUE(progress.stop());
}

}  // namespace
}  // namespace plait::record
