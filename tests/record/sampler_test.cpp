// SPDX-License-Identifier: Apache-2.0
#include "plait/record/sampler.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::record::sampler_test {
namespace {

std::atomic<bool> is_enough = false;
std::atomic<std::uint64_t> sink = 0;

/// Computes until the test has what it wants.
[[gnu::noinline]] void compute() {
  std::uint64_t value = 1;
  while (!is_enough.load(std::memory_order_relaxed)) {
    for (int i = 0; i < 1000; ++i) {
      value = value * 2862933555777941757ULL + 3037000493ULL;
    }
    sink.store(value, std::memory_order_relaxed);
  }
}

[[gnu::noinline]] void call_compute() {
  compute();
  sink.fetch_add(1, std::memory_order_relaxed);  // after the call: no tail call
}

class Samplers : public testing::TestWithParam<decltype(SamplerOptions::open)> {
 protected:
  void SetUp() override {
    is_enough = false;
    if (GetParam()(::gettid(), std::chrono::milliseconds{10}) == nullptr) {
      // perf is often forbidden in containers; then the tests with timers still run.
      GTEST_SKIP() << "samples are not permitted here: error " << errno;
    }
  }
  [[nodiscard]] static SamplerOptions options() {
    return {.interval = std::chrono::milliseconds{1}, .open = GetParam()};
  }
};

TEST_P(Samplers, find_the_function_that_computes_and_its_caller) {
  const auto function = std::bit_cast<std::uintptr_t>(&compute);
  const auto caller = std::bit_cast<std::uintptr_t>(&call_compute);
  std::atomic<int> of_function = 0;
  std::atomic<int> of_caller = 0;
  Sampler sampler{[&](const ThreadSample& sample) {
                    if (sample.path[0] != function) {
                      return;
                    }
                    ++of_function;
                    of_caller +=
                        sample.path.size() > 1 && sample.path[1] > caller && sample.path[1] < caller + 64 ? 1 : 0;
                    is_enough = of_function >= 20;
                  },
                  options()};
  call_compute();
  EXPECT_TRUE(sampler.stop());
  EXPECT_GE(of_function, 20);
  EXPECT_GE(of_caller, 20);
}

TEST_P(Samplers, find_threads_that_begin_later) {
  const pid_t own = ::gettid();
  std::atomic<int> of_others = 0;
  Sampler sampler{[&](const ThreadSample& sample) {
                    of_others += sample.thread != own ? 1 : 0;
                    is_enough = of_others >= 5;
                  },
                  options()};
  std::thread{compute}.join();
  EXPECT_TRUE(sampler.stop());
  EXPECT_GE(of_others, 5);
}

TEST_P(Samplers, sample_a_program_whose_name_begins_as_those_of_the_recorders_threads) {
  ASSERT_EQ(::gettid(), ::getpid()) << "the name of the program is that of its first thread";
  std::array<char, 16> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  ::pthread_setname_np(::pthread_self(), "plait-program");
  std::atomic<int> count = 0;
  Sampler sampler{[&](const ThreadSample& sample) {
                    count += sample.thread == ::getpid() ? 1 : 0;
                    is_enough = count >= 5;
                  },
                  options()};
  compute();
  EXPECT_TRUE(sampler.stop());
  ::pthread_setname_np(::pthread_self(), name.data());
  EXPECT_GE(count, 5);
}

TEST_P(Samplers, give_times_of_the_monotonic_clock_that_rise) {
  const SteadyClock clock;
  const nanoseconds start = clock.now();
  nanoseconds last = start;
  bool is_rising = true;
  int count = 0;
  const pid_t own = ::gettid();
  Sampler sampler{[&](const ThreadSample& sample) {
                    if (sample.thread == own) {
                      is_rising = is_rising && sample.time >= last;
                      last = sample.time;
                      is_enough = ++count >= 10;
                    }
                  },
                  options()};
  compute();
  EXPECT_TRUE(sampler.stop());
  EXPECT_TRUE(is_rising);
  EXPECT_LE(last, clock.now());
}

TEST_P(Samplers, leave_a_forked_child_alone) {
  Sampler sampler{[&](const ThreadSample&) {}, options()};
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(sampler.stop() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Samplers, testing::Values(perf_samples, timer_samples), [](const auto& tested) {
  return tested.index == 0 ? "perf" : "timer";
});

TEST(TimerSamples, leave_the_signal_to_a_program_that_uses_it) {
  struct sigaction before{};
  struct sigaction own{};
  own.sa_handler = [](int) {};
  ::sigaction(SIGPROF, &own, &before);
  EXPECT_EQ(timer_samples(::gettid(), std::chrono::milliseconds{10}), nullptr);
  EXPECT_EQ(errno, EBUSY);
  ::sigaction(SIGPROF, &before, nullptr);
}

TEST(SamplingWanted, is_a_number_of_samples_a_second) {
  ::setenv("PLAIT_RECORD_SAMPLE", "200", 1);
  EXPECT_EQ(sampling_wanted(), std::chrono::milliseconds{5});
  for (const char* const none : {"", "0"}) {
    ::setenv("PLAIT_RECORD_SAMPLE", none, 1);
    EXPECT_EQ(sampling_wanted(), std::nullopt);
  }
  for (const char* const bad : {"-1", "1e3", "10001", "often"}) {
    ::setenv("PLAIT_RECORD_SAMPLE", bad, 1);
    EXPECT_THROW((void)sampling_wanted(), Error) << bad;
  }
  ::unsetenv("PLAIT_RECORD_SAMPLE");
}

}  // namespace
}  // namespace plait::record::sampler_test
