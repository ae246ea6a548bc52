// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/recorder.hpp"

#include <csignal>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

namespace plait::trace::recorder_test {
namespace {

using test::TemporaryFolder;

constexpr std::uint32_t chunk_bytes = 4096;
constexpr std::uint64_t records_in_chunk = chunk_bytes / 64 - 2;  // beside the chunk's own and the checksum

RecorderOptions options_in(const TemporaryFolder& folder) {
  return {.folder = folder.path() / "run", .rank = Rank{3}, .rank_count = 4, .chunk_bytes = chunk_bytes};
}

std::filesystem::path file_in(const TemporaryFolder& folder) {
  return folder.path() / "run" / "rank-0003.plt";
}

RankTrace read(const TemporaryFolder& folder) {
  Result<RankTrace> trace = read_rank_trace(file_in(folder));
  EXPECT_TRUE(trace);
  EXPECT_TRUE(trace.value().notices.empty()) << trace.value().notices.front();
  return std::move(trace).value();
}

TaskEvent task_number(std::uint64_t number) {
  return {.kind = NameId{0}, .start = nanoseconds{number}, .end = nanoseconds{number + 1}, .id = number + 1};
}

TEST(Recorder, that_is_off_records_nothing_but_gives_names_and_time) {
  ManualClock clock;
  clock.advance_to(nanoseconds{100});
  Recorder recorder{clock};
  EXPECT_FALSE(recorder.is_on());
  const NameId drift = recorder.name(Role::task, "drift");
  EXPECT_EQ(recorder.name(Role::task, "drift"), drift);
  EXPECT_NE(recorder.name(Role::task, "kick"), drift);
  ThreadRecorder& thread = recorder.thread(WorkerId{0}, "worker 0");
  EXPECT_EQ(&recorder.thread(WorkerId{0}, "worker 0"), &thread);
  EXPECT_FALSE(thread.is_on());
  thread.task(task_number(1));
  clock.advance_to(nanoseconds{150});
  EXPECT_EQ(recorder.now(), nanoseconds{50});
}

TEST(Recorder, gives_back_every_kind_of_event) {
  const TemporaryFolder folder;
  const SteadyClock clock;
  {
    Recorder recorder{clock, options_in(folder)};
    EXPECT_TRUE(recorder.is_on());
    ThreadRecorder& thread = recorder.thread(WorkerId{7}, "worker 7");
    thread.task({.kind = recorder.name(Role::task, "force"),
                 .role = TaskRole::receive,
                 .object = message_object(Rank{2}, 9),
                 .ready = nanoseconds{1},
                 .start = nanoseconds{2},
                 .end = nanoseconds{3},
                 .id = 4,
                 .released_by = 5,
                 .step = 6,
                 .place = 7});
    thread.message({.direction = MessageDirection::received,
                    .protocol = Protocol::rendezvous,
                    .peer = Rank{1},
                    .communicator = 2,
                    .sequence = 3,
                    .tag = Tag{0x1122334455667788},
                    .bytes = 5,
                    .posted = nanoseconds{6},
                    .handed = nanoseconds{7},
                    .arrived = nanoseconds{8},
                    .completed = nanoseconds{9}});
    thread.span({.name = recorder.name(Role::span, "step"),
                 .object = 1,
                 .start = nanoseconds{2},
                 .end = nanoseconds{3},
                 .step = 4});
    thread.poll_gap({.start = nanoseconds{1}, .end = nanoseconds{2}});
    thread.counter({.name = recorder.name(Role::counter, "bodies"), .time = nanoseconds{1}, .value = 2.5, .step = 3});
    thread.clock({.time = nanoseconds{1}, .offset = nanoseconds{-2}, .round_trip = nanoseconds{3}});
    thread.graph_run({.graph = 1, .step = 2, .start = nanoseconds{3}, .active = 4});
  }
  const RankTrace trace = read(folder);
  EXPECT_EQ(trace.rank, Rank{3});
  EXPECT_EQ(trace.rank_count, 4U);
  ASSERT_EQ(trace.tasks.size(), 1U);
  const TaskEvent& task = trace.tasks[0].event;
  EXPECT_EQ(trace.name(Role::task, task.kind), "force");
  EXPECT_EQ(task.role, TaskRole::receive);
  EXPECT_EQ(task.object, std::uint64_t{2} << 32U | 9U);
  EXPECT_EQ(task.ready, nanoseconds{1});
  EXPECT_EQ(task.start, nanoseconds{2});
  EXPECT_EQ(task.end, nanoseconds{3});
  EXPECT_EQ(task.id, 4U);
  EXPECT_EQ(task.released_by, 5U);
  EXPECT_EQ(task.step, 6U);
  EXPECT_EQ(task.place, 7U);
  const TracedThread& thread = trace.threads.at(trace.tasks[0].thread);
  EXPECT_EQ(thread.worker, WorkerId{7});
  EXPECT_EQ(thread.name, "worker 7");
  ASSERT_EQ(trace.messages.size(), 1U);
  const MessageEvent& message = trace.messages[0].event;
  EXPECT_EQ(message.direction, MessageDirection::received);
  EXPECT_EQ(message.protocol, Protocol::rendezvous);
  EXPECT_EQ(message.peer, Rank{1});
  EXPECT_EQ(message.communicator, 2U);
  EXPECT_EQ(message.sequence, 3U);
  EXPECT_EQ(message.tag, Tag{0x1122334455667788});
  EXPECT_EQ(message.bytes, 5U);
  EXPECT_EQ(message.posted, nanoseconds{6});
  EXPECT_EQ(message.handed, nanoseconds{7});
  EXPECT_EQ(message.arrived, nanoseconds{8});
  EXPECT_EQ(message.completed, nanoseconds{9});
  ASSERT_EQ(trace.spans.size(), 1U);
  EXPECT_EQ(trace.name(Role::span, trace.spans[0].event.name), "step");
  EXPECT_EQ(trace.spans[0].event.step, 4U);
  ASSERT_EQ(trace.gaps.size(), 1U);
  EXPECT_EQ(trace.gaps[0].event.end, nanoseconds{2});
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_EQ(trace.name(Role::counter, trace.counters[0].event.name), "bodies");
  EXPECT_EQ(trace.counters[0].event.value, 2.5);
  ASSERT_EQ(trace.clocks.size(), 1U);
  EXPECT_EQ(trace.clocks[0].offset, nanoseconds{-2});
  ASSERT_EQ(trace.graph_runs.size(), 1U);
  EXPECT_EQ(trace.graph_runs[0].graph, 1U);
  EXPECT_EQ(trace.graph_runs[0].step, 2U);
  EXPECT_EQ(trace.graph_runs[0].start, nanoseconds{3});
  EXPECT_EQ(trace.graph_runs[0].active, 4U);
}

TEST(Recorder, takes_tasks_of_graphs_whatever_number_comes_after_them) {
  for (const std::uint32_t count : {0U, 1U, 12U, 13U, 24U, 100U}) {
    const TemporaryFolder folder;
    const SteadyClock clock;
    std::vector<std::uint32_t> later;
    std::vector<Dependency> expected;
    for (std::uint32_t i = 0; i < count; ++i) {
      later.push_back(10 + i);
      expected.push_back({.graph = 3, .earlier = 5, .later = 10 + i});
    }
    {
      Recorder recorder{clock, options_in(folder)};
      recorder.thread(WorkerId{0}, "worker 0")
          .graph_task({.graph = 3,
                       .place = 5,
                       .role = TaskRole::join,
                       .kind = recorder.name(Role::task, "all here"),
                       .later = later});
    }
    const RankTrace trace = read(folder);
    EXPECT_EQ(trace.graph_tasks, (std::vector{GraphTask{3, 5, TaskRole::join, NameId{0}}})) << count;
    EXPECT_EQ(trace.dependencies, expected) << count;
  }
}

TEST(Recorder, gives_back_calls_and_what_belongs_to_them) {
  const TemporaryFolder folder;
  const SteadyClock clock;
  std::vector<std::uint32_t> members(13);
  std::iota(members.rbegin(), members.rend(), 0U);
  const std::vector<std::uint64_t> shares{1, 2, 3, 4, 5, 6, 7};
  const RecorderOptions options{.folder = folder.path() / "run", .rank = Rank{3}, .rank_count = 13};
  {
    Recorder recorder{clock, options};
    ThreadRecorder& thread = recorder.thread(WorkerId{0}, "main");
    thread.communicator({.communicator = 7, .members = members});
    thread.shares({.call = 5, .bytes = shares});
    thread.call({.what = CallClass::collective,
                 .function = recorder.name(Role::function, "MPI_Alltoallv"),
                 .site = recorder.name(Role::call_site, "main+0x10"),
                 .communicator = 7,
                 .start = nanoseconds{1},
                 .end = nanoseconds{2},
                 .bytes_given = 28,
                 .bytes_got = 12,
                 .peer = 4,
                 .number = 5,
                 .count = 6});
    thread.call(
        {.function = recorder.name(Role::function, "MPI_Barrier"), .start = nanoseconds{3}, .end = nanoseconds{3}});
    thread.message({.direction = MessageDirection::received,
                    .protocol = Protocol::not_known,
                    .peer = Rank{1},
                    .is_matched_by_order = true,
                    .is_unfinished = true});
  }
  const RankTrace trace = read(folder);
  EXPECT_EQ(trace.communicators.at(7), members);
  EXPECT_EQ(trace.shares.at(5), shares);
  ASSERT_EQ(trace.calls.size(), 2);
  const CallEvent& call = trace.calls.front().event;
  EXPECT_EQ(call.what, CallClass::collective);
  EXPECT_EQ(trace.name(Role::function, call.function), "MPI_Alltoallv");
  EXPECT_EQ(trace.name(Role::call_site, call.site), "main+0x10");
  EXPECT_EQ(call.communicator, 7);
  EXPECT_EQ(call.start, nanoseconds{1});
  EXPECT_EQ(call.end, nanoseconds{2});
  EXPECT_EQ(call.bytes_given, 28);
  EXPECT_EQ(call.bytes_got, 12);
  EXPECT_EQ(call.peer, 4);
  EXPECT_EQ(call.number, 5);
  EXPECT_EQ(call.count, 6);
  EXPECT_FALSE(trace.calls.back().event.site);
  EXPECT_EQ(trace.calls.back().event.peer, nothing);
  EXPECT_TRUE(trace.messages.front().event.is_matched_by_order);
  EXPECT_TRUE(trace.messages.front().event.is_unfinished);
  EXPECT_EQ(trace.messages.front().event.protocol, Protocol::not_known);
}

TEST(Recorder, lays_bytes_down_as_the_format_says) {
  const TemporaryFolder folder;
  ManualClock clock;
  clock.advance_to(nanoseconds{77});
  {
    Recorder recorder{clock, options_in(folder)};
    recorder.thread(WorkerId{}, "main").poll_gap({nanoseconds{0x0102}, nanoseconds{0x0304}});
  }
  std::ifstream in{file_in(folder), std::ios::binary};
  std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_EQ(bytes.size(), 4096U + chunk_bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), "PLAITTRC\1\0\0\0\3\0\0\0\4\0\0\0\x40\0\0\0\0\x10\0\0", 28), 0);
  EXPECT_EQ(bytes[40], 77);                                                   // the clock at time 0
  EXPECT_EQ(std::memcmp(&bytes[4096], "\1\0\xFF\xFF\0\0\0\0main\0", 13), 0);  // the chunk
  EXPECT_EQ(std::memcmp(&bytes[4096 + 64], "\6\0\xFF\xFF\0\0\0\0\2\1\0\0\0\0\0\0\4\3\0", 19), 0);
  EXPECT_EQ(std::memcmp(&bytes[4096 + 128], "\x23\0\0\0\0\0\0\0", 8), 0);  // the checksum of both
  std::array<std::uint64_t, 2> sums{};
  for (std::size_t at = 4096; at < 4096 + 128; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, &bytes[at], 8);
    sums[0] += word;
    sums[1] += sums[0];
  }
  EXPECT_EQ(std::memcmp(&bytes[4096 + 136], sums.data(), 16), 0);
  EXPECT_EQ(bytes[4096 + 192], 0);
}

TEST(Recorder, goes_on_in_another_chunk_when_one_is_full) {
  constexpr std::uint64_t count = 10 * records_in_chunk + 1;
  const TemporaryFolder folder;
  const SteadyClock clock;
  {
    Recorder recorder{clock, options_in(folder)};
    ThreadRecorder& thread = recorder.thread(WorkerId{0}, "worker 0");
    for (std::uint64_t number = 0; number < count; ++number) {
      thread.task(task_number(number));
    }
  }
  const RankTrace trace = read(folder);
  ASSERT_EQ(trace.tasks.size(), count);
  for (std::uint64_t number = 0; number < count; ++number) {
    EXPECT_EQ(trace.tasks[number].event.id, number + 1);
  }
  EXPECT_EQ(trace.threads.size(), 1U);
}

TEST(Recorder, takes_events_and_names_of_many_threads_at_once) {
  constexpr std::uint16_t thread_count = 4;
  constexpr std::uint64_t count = 3 * records_in_chunk;
  const TemporaryFolder folder;
  const SteadyClock clock;
  {
    Recorder recorder{clock, options_in(folder)};
    std::vector<std::jthread> threads;
    for (std::uint16_t worker = 0; worker < thread_count; ++worker) {
      threads.emplace_back([&recorder, worker] {
        ThreadRecorder& thread = recorder.thread(WorkerId{worker}, "worker");
        for (std::uint64_t number = 0; number < count; ++number) {
          const std::string name = "kind " + std::to_string(number % 10);
          TaskEvent event = task_number(number);
          event.kind = recorder.name(Role::task, name);
          event.object = number % 10;
          thread.task(event);
        }
      });
    }
  }
  const RankTrace trace = read(folder);
  EXPECT_EQ(trace.tasks.size(), count * thread_count);
  EXPECT_EQ(trace.names[0].size(), 10U);
  for (const auto& [thread, task] : trace.tasks) {
    EXPECT_EQ(trace.name(Role::task, task.kind), "kind " + std::to_string(task.object));
  }
}

TEST(Recorder, cuts_long_names_and_keeps_them_apart) {
  const TemporaryFolder folder;
  const SteadyClock clock;
  {
    Recorder recorder{clock, options_in(folder)};
    const std::string text(60, 'x');
    EXPECT_NE(recorder.name(Role::task, text + "1"), recorder.name(Role::task, text + "2"));
  }
  EXPECT_EQ(read(folder).name(Role::task, NameId{1}), std::string(56, 'x'));
}

TEST(Recorder, never_overwrites_a_trace) {
  const TemporaryFolder folder;
  const SteadyClock clock;
  {
    const Recorder recorder{clock, options_in(folder)};
  }
  const auto size = std::filesystem::file_size(file_in(folder));
  try {
    const Recorder recorder{clock, options_in(folder)};
    FAIL() << "the file was there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_NE(std::string{error.what()}.find("rank-0003.plt"), std::string::npos);
  }
  EXPECT_EQ(std::filesystem::file_size(file_in(folder)), size);
}

TEST(Recorder, refuses_options_that_make_no_sense) {
  const TemporaryFolder folder;
  const SteadyClock clock;
  RecorderOptions options = options_in(folder);
  options.chunk_bytes = 100;
  EXPECT_THROW((Recorder{clock, options}), Error);
  options = options_in(folder);
  options.rank = Rank{4};
  EXPECT_THROW((Recorder{clock, options}), Error);
  options = options_in(folder);
  options.folder = "/proc/none";
  EXPECT_THROW((Recorder{clock, options}), Error);
}

/// Runs `body` in a child process and returns how it ended.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Recorder, leaves_all_events_of_a_killed_process) {
  constexpr std::uint64_t count = 2 * records_in_chunk + 5;
  const TemporaryFolder folder;
  const int status = status_of_child([&] {
    const SteadyClock clock;
    Recorder recorder{clock, options_in(folder)};
    ThreadRecorder& thread = recorder.thread(WorkerId{0}, "worker 0");
    for (std::uint64_t number = 0; number < count; ++number) {
      thread.task(task_number(number));
    }
    ::raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read(folder).tasks.size(), count);
}

TEST(Recorder, stops_with_a_warning_when_the_disk_is_full) {
  const TemporaryFolder folder;
  const int status = status_of_child([&] {
    // Instead of a full disk: files of this process end after the header and two chunks.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 4096 + 2 * chunk_bytes, .rlim_max = RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::freopen((folder.path() / "stderr").c_str(), "w", stderr);
    const SteadyClock clock;
    Recorder recorder{clock, options_in(folder)};
    ThreadRecorder& thread = recorder.thread(WorkerId{0}, "worker 0");
    for (std::uint64_t number = 0; number < 5 * records_in_chunk; ++number) {
      thread.task(task_number(number));
    }
    ThreadRecorder& other = recorder.thread(WorkerId{1}, "worker 1");
    other.task(task_number(0));
    std::fflush(stderr);
    ::_exit(thread.is_on() || other.is_on() ? 1 : 0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read(folder).tasks.size(), 2 * records_in_chunk);
  std::ifstream in{folder.path() / "stderr"};
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_NE(line.find("rank-0003.plt: no space for more events"), std::string::npos) << line;
  EXPECT_FALSE(std::getline(in, line)) << "one warning is enough: " << line;
}

}  // namespace
}  // namespace plait::trace::recorder_test
