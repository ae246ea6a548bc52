// SPDX-License-Identifier: Apache-2.0
#include "plait/record/progress.hpp"

#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace plait::record::progress_test {
namespace {

/// Counts polls, and lets a test wait for them.
class Looks {
 public:
  bool poll() {
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

TEST(Progress, polls_again_and_again_while_something_is_in_flight) {
  Pending pending;
  Looks polls;
  Progress progress{pending, [&] { return polls.poll(); }, impatient()};
  pending.begin();
  polls.wait_for(3);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, does_not_poll_where_nothing_is_in_flight) {
  Pending pending;
  Looks polls;
  Progress progress{pending,
                    [&] {
                      EXPECT_TRUE(pending.is_any_in_flight());
                      return polls.poll();
                    },
                    impatient()};
  pending.begin();
  polls.wait_for(1);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, does_not_poll_while_the_program_is_inside) {
  Pending pending;
  Looks polls;
  pending.enter();
  pending.begin();
  Progress progress{pending,
                    [&] {
                      EXPECT_FALSE(pending.is_any_inside());
                      return polls.poll();
                    },
                    impatient()};
  pending.leave();
  polls.wait_for(2);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, does_not_poll_after_the_end) {
  Pending pending;
  Looks polls;
  pending.begin();
  Progress progress{pending, [&] { return polls.poll(); }, impatient()};
  polls.wait_for(1);
  ASSERT_TRUE(progress.stop());
  const int count = polls.count();
  std::this_thread::yield();
  EXPECT_EQ(polls.count(), count);
  EXPECT_TRUE(progress.stop());
}

TEST(Progress, ends_where_looking_is_refused) {
  Pending pending;
  Looks polls;
  polls.is_good = false;
  pending.begin();
  Progress progress{pending, [&] { return polls.poll(); }, impatient()};
  polls.wait_for(1);
  EXPECT_TRUE(progress.stop());
  EXPECT_EQ(polls.count(), 1);
}

TEST(Progress, leaves_the_signals_of_the_program_alone) {
  Pending pending;
  Looks polls;
  sigset_t blocked{};
  pending.begin();
  Progress progress{pending,
                    [&] {
                      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
                      return polls.poll();
                    },
                    impatient()};
  polls.wait_for(1);
  EXPECT_TRUE(progress.stop());
  EXPECT_EQ(sigismember(&blocked, SIGALRM), 1);
  sigset_t own{};
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGALRM), 0);
}

TEST(Progress, a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have) {
  Pending pending;
  Looks polls;
  Progress progress{pending, [&] { return polls.poll(); }, impatient()};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit(progress.stop() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  pending.begin();
  polls.wait_for(1);
  EXPECT_TRUE(progress.stop());
}

}  // namespace
}  // namespace plait::record::progress_test
