// SPDX-License-Identifier: Apache-2.0
#include "plait/record/profile.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record::profile_test {
namespace {

using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""s;
constexpr std::uint32_t rank_count = 100'000;

/// A profile, and what is in its file while it still counts: what a killed process leaves.
struct Profiled {
  plait::test::TemporaryFolder folder;
  SteadyClock clock;
  trace::Recorder recorder{
      clock, {.folder = folder.path(), .rank = Rank{0}, .rank_count = rank_count, .chunk_bytes = Profile::chunk_bytes}};
  Profile profile{recorder, {}};

  [[nodiscard]] trace::RankTrace read() const { return trace::read_rank_trace(folder / "rank-0000.plt").value(); }
};

trace::CallEvent call(std::uint32_t peer, nanoseconds time, std::uint64_t bytes = 100) {
  return {.what = trace::CallClass::message,
          .function = trace::NameId{3},
          .site = trace::NameId{5},
          .communicator = 0,
          .start = 1s,
          .end = 1s + time,
          .bytes_given = bytes,
          .peer = peer};
}

std::uint64_t count_of(const trace::RankTrace& trace) {
  return std::accumulate(
      trace.sums.begin(), trace.sums.end(), std::uint64_t{0}, [](std::uint64_t sum, const auto& one) {
        return sum + one.event.count;
      });
}

TEST(Profile, adds_calls_with_the_same_place_peer_and_size_class) {
  Profiled profiled;
  for (const nanoseconds time : {nanoseconds{100}, nanoseconds{300}, nanoseconds{3s}}) {
    profiled.profile.add_call(0, call(7, time));
  }
  profiled.profile.add_call(0, call(7, 1us, 1000));
  profiled.profile.add_call(0, call(8, 1us));
  const trace::RankTrace trace = profiled.read();
  ASSERT_EQ(trace.sums.size(), 3U);
  const trace::SumEvent& sum = trace.sums[0].event;
  EXPECT_EQ(sum.function, trace::NameId{3});
  EXPECT_EQ(sum.site, trace::NameId{5});
  EXPECT_EQ(sum.peer, 7U);
  EXPECT_EQ(sum.communicator, 0U);
  EXPECT_EQ(sum.what, trace::CallClass::message);
  EXPECT_EQ(sum.size_class, 7) << "64 to 127 bytes";
  EXPECT_EQ(sum.count, 3U);
  EXPECT_EQ(sum.time, 3s + 400ns);
  EXPECT_EQ(sum.time_max, 3s);
  EXPECT_EQ(sum.bytes_given, 300U);
  EXPECT_EQ(trace.sum_times.calls.at(0)[0], 1U) << "below 256 ns";
  EXPECT_EQ(trace.sum_times.calls.at(0)[1], 1U);
  EXPECT_EQ(trace.sum_times.calls.at(0)[23], 1U) << "above a second";
  EXPECT_TRUE(trace.notices.empty());
}

TEST(Profile, counts_messages_of_each_direction) {
  Profiled profiled;
  const trace::MessageEvent sent{
      .direction = trace::MessageDirection::sent, .peer = Rank{2}, .bytes = 4096, .posted = 10us, .completed = 15us};
  profiled.profile.add_message(0, sent, call(2, 1us));
  trace::MessageEvent received = sent;
  received.direction = trace::MessageDirection::received;
  profiled.profile.add_message(0, received, call(2, 1us));
  const trace::RankTrace trace = profiled.read();
  ASSERT_EQ(trace.sums.size(), 2U);
  EXPECT_EQ(trace.sums[0].event.of, trace::SumOf::sent);
  EXPECT_EQ(trace.sums[0].event.time, 5us);
  EXPECT_EQ(trace.sums[1].event.of, trace::SumOf::received);
  EXPECT_EQ(trace.sums[1].event.bytes_given, 4096U);
}

TEST(Profile, stays_in_its_memory_and_reports_what_it_folded) {
  Profiled profiled;
  for (std::uint32_t peer = 0; peer < rank_count - 1; ++peer) {
    profiled.profile.add_call(0, call(peer, 1us));
  }
  EXPECT_LE(std::filesystem::file_size(profiled.folder / "rank-0000.plt"), Profile::bytes_max);
  const trace::RankTrace trace = profiled.read();
  EXPECT_EQ(count_of(trace), rank_count - 1) << "no call is lost";
  const trace::SumEvent& last = trace.sums.back().event;
  EXPECT_EQ(last.folded, trace::Folded::without_peer);
  EXPECT_EQ(last.peer, trace::nothing);
  EXPECT_EQ(last.function, trace::NameId{3}) << "the place is kept";
  EXPECT_GT(last.count, 50'000U);
}

TEST(Profile, keeps_the_class_of_calls_when_there_is_no_space_for_places) {
  Profiled profiled;
  for (std::uint32_t site = 0; site < 20'000; ++site) {
    trace::CallEvent one = call(0, 1us);
    one.site = trace::NameId{site};
    profiled.profile.add_call(0, one);
  }
  const trace::RankTrace trace = profiled.read();
  EXPECT_EQ(count_of(trace), 20'000U);
  const trace::SumEvent& last = trace.sums.back().event;
  EXPECT_EQ(last.folded, trace::Folded::class_only);
  EXPECT_EQ(last.what, trace::CallClass::message);
  EXPECT_FALSE(last.function);
  EXPECT_EQ(last.size_class, 255);
}

TEST(Profile, counts_the_calls_of_many_threads_at_once) {
  Profiled profiled;
  std::vector<std::thread> threads;
  for (std::uint16_t worker = 0; worker < 10; ++worker) {
    threads.emplace_back([&profiled, worker] {
      for (std::uint32_t i = 0; i < 5000; ++i) {
        profiled.profile.add_call(worker, call(i % 10, 1us));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const trace::RankTrace trace = profiled.read();
  EXPECT_EQ(trace.sums.size(), 100U);
  EXPECT_EQ(count_of(trace), 50'000U);
}

}  // namespace
}  // namespace plait::record::profile_test
