// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/from_trace.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/replay/check.hpp"
#include "plait/trace/match_by_order.hpp"

namespace plait::replay::from_trace_test {
namespace {

using trace::CallClass;
using trace::MessageDirection;

/// Writes down what ranks did, call after call, as a recorder would.
class RecordedRun {
 public:
  explicit RecordedRun(std::uint32_t ranks) {
    run_.ranks.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      run_.ranks[rank].rank = Rank{rank};
      run_.ranks[rank].rank_count = ranks;
      run_.ranks[rank].threads.push_back({WorkerId{}, "main"});
    }
  }

  trace::CallEvent& call(std::uint32_t rank, CallClass what, const std::string& function, int start, int end) {
    trace::RankTrace& trace = run_.ranks[rank];
    auto& names = trace.names[static_cast<std::size_t>(trace::Role::function)];
    auto known = std::ranges::find_if(names, [&](const auto& entry) { return entry.second == function; });
    if (known == names.end()) {
      known = names.emplace(trace::NameId{static_cast<std::uint32_t>(names.size())}, function).first;
    }
    trace.calls.push_back({0,
                           {.what = what,
                            .function = known->first,
                            .start = nanoseconds{start},
                            .end = nanoseconds{end},
                            .number = ++numbers_[rank]}});
    return trace.calls.back().event;
  }

  /// A message that the last call posted.
  trace::MessageEvent& message(
      std::uint32_t rank, MessageDirection direction, std::uint32_t peer, std::uint64_t tag, int completed) {
    trace::RankTrace& trace = run_.ranks[rank];
    trace.messages.push_back({0,
                              {.direction = direction,
                               .peer = Rank{peer},
                               .sequence = numbers_[rank],
                               .tag = Tag{tag},
                               .bytes = 100,
                               .is_matched_by_order = true,
                               .is_unfinished = completed == 0,
                               .posted = trace.calls.back().event.start,
                               .completed = nanoseconds{completed}}});
    return trace.messages.back().event;
  }

  trace::CallEvent& collective(std::uint32_t rank, const std::string& function, int start, int end) {
    trace::CallEvent& event = call(rank, CallClass::collective, function, start, end);
    event.communicator = 0;
    return event;
  }

  Schedule schedule(std::optional<std::uint32_t> step = {}) {
    trace::match_by_order(run_.ranks);
    return schedule_from_run(run_, step).value();
  }

  trace::RunTrace& run() { return run_; }

 private:
  trace::RunTrace run_;
  std::map<std::uint32_t, std::uint32_t> numbers_;
};

/// "compute 5, send 1, wait 0 2": each operation in words, with what it waits for.
std::string text_of(const Stream& stream) {
  std::string text;
  for (const Operation& operation : stream.operations) {
    text += text.empty() ? "" : ", ";
    switch (operation.action) {
      case Action::compute:
        text += "compute " + std::to_string(operation.took.count());
        break;
      case Action::poll:
        text += "poll";
        break;
      case Action::send:
        text += "send " + std::to_string(operation.peer);
        break;
      case Action::receive:
        text += "receive " + std::to_string(operation.peer);
        break;
      case Action::collective:
        text += "collective " + std::to_string(static_cast<int>(operation.collective));
        break;
      case Action::after:
        text += "after";
        for (std::uint32_t i = 0; i < operation.count; ++i) {
          const StreamPoint point = stream.others[operation.first + i];
          text += " " + std::to_string(point.stream) + "/" + std::to_string(point.operation);
        }
        break;
      case Action::wait:
        text += "wait";
        for (std::uint32_t i = 0; i < operation.count; ++i) {
          text += " " + std::to_string(stream.waited[operation.first + i]);
        }
        break;
    }
  }
  return text;
}

TEST(FromTrace, makes_gaps_computing_and_waits_wait_for_what_completed_in_them) {
  RecordedRun run{2};
  run.call(0, CallClass::begins_message, "MPI_Isend", 100, 110);
  run.message(0, MessageDirection::sent, 1, 5, 410);
  run.call(0, CallClass::begins_message, "MPI_Irecv", 120, 130);
  run.message(0, MessageDirection::received, 1, 6, 310);
  run.call(0, CallClass::completes, "MPI_Waitany", 300, 310);
  run.call(0, CallClass::completes, "MPI_Wait", 400, 410);
  run.call(1, CallClass::message, "MPI_Recv", 150, 250);
  run.message(1, MessageDirection::received, 0, 5, 250);
  run.call(1, CallClass::message, "MPI_Send", 260, 270);
  run.message(1, MessageDirection::sent, 0, 6, 270);
  const Schedule schedule = run.schedule();
  EXPECT_EQ(text_of(schedule.ranks[0].streams.at(0)),
            "send 1, compute 10, receive 1, compute 170, wait 2, compute 90, wait 0");
  EXPECT_EQ(text_of(schedule.ranks[1].streams.at(0)), "compute 50, receive 0, wait 1, compute 10, send 0, wait 4");
  EXPECT_EQ(schedule.length, nanoseconds{310});
  EXPECT_TRUE(schedule.notices.empty());
}

TEST(FromTrace, posts_both_sides_of_a_sendrecv_and_waits_for_both) {
  RecordedRun run{2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, CallClass::message, "MPI_Sendrecv", 100, 200);
    run.message(rank, MessageDirection::sent, 1 - rank, 1, 200);
    run.message(rank, MessageDirection::received, 1 - rank, 1, 200);
  }
  EXPECT_EQ(text_of(run.schedule().ranks[0].streams.at(0)), "send 1, receive 1, wait 0 1");
}

TEST(FromTrace, takes_tests_that_complete_nothing_for_looks_and_polling_for_waiting) {
  RecordedRun run{2};
  run.call(0, CallClass::begins_message, "MPI_Irecv", 100, 110);
  run.message(0, MessageDirection::received, 1, 5, 90'000);
  run.call(0, CallClass::completes, "MPI_Test", 10'110, 10'120);
  run.call(0, CallClass::completes, "MPI_Test", 80'120, 80'130);
  run.call(0, CallClass::completes, "MPI_Test", 80'140, 80'150);
  run.call(0, CallClass::completes, "MPI_Test", 80'160, 90'000);
  run.call(1, CallClass::message, "MPI_Send", 100, 270);
  run.message(1, MessageDirection::sent, 0, 5, 270);
  EXPECT_EQ(text_of(run.schedule().ranks[0].streams.at(0)),
            "receive 1, compute 10000, poll, compute 70000, poll, wait 0");
}

TEST(FromTrace, takes_the_time_of_a_loop_that_works_and_polls_for_computing) {
  RecordedRun run{2};
  run.call(0, CallClass::begins_message, "MPI_Irecv", 100, 110);
  run.message(0, MessageDirection::received, 1, 5, 50'000);
  run.call(0, CallClass::completes, "MPI_Test", 200, 20'200).repeats = 199;
  run.call(0, CallClass::begins_message, "MPI_Irecv", 20'210, 20'220);
  run.call(0, CallClass::completes, "MPI_Test", 20'300, 40'300).repeats = 199;
  run.call(0, CallClass::completes, "MPI_Test", 40'310, 50'000).count = 1;
  run.call(0, CallClass::begins_or_ends, "MPI_Finalize", 50'100, 50'200);
  run.call(1, CallClass::message, "MPI_Send", 100, 270);
  run.message(1, MessageDirection::sent, 0, 5, 270);
  EXPECT_EQ(
      text_of(run.schedule().ranks[0].streams.at(0)),
      "receive 1, compute 90, poll, compute 20010, compute 80, poll, compute 20010, poll, compute 9790, poll, wait 0");
  run.run().ranks[0].recorder_costs.push_back({.poll = nanoseconds{60}});
  EXPECT_EQ(
      text_of(run.schedule().ranks[0].streams.at(0)),
      "receive 1, compute 90, poll, compute 8010, compute 80, poll, compute 8010, poll, compute 9790, poll, wait 0");
}

TEST(FromTrace, leaves_the_recorders_own_work_out_of_computing) {
  RecordedRun run{2};
  run.call(0, CallClass::begins_message, "MPI_Irecv", 1000, 1100);
  run.message(0, MessageDirection::received, 1, 5, 3000);
  run.call(0, CallClass::completes, "MPI_Wait", 2000, 3000);
  run.call(0, CallClass::message, "MPI_Send", 4000, 4500);
  run.message(0, MessageDirection::sent, 1, 6, 4500);
  run.call(0, CallClass::completes, "MPI_Wait", 4600, 4700);
  run.call(0, CallClass::begins_or_ends, "MPI_Finalize", 9000, 9100);
  run.call(1, CallClass::message, "MPI_Send", 1000, 1100);
  run.message(1, MessageDirection::sent, 0, 5, 1100);
  run.call(1, CallClass::message, "MPI_Recv", 1200, 4500);
  run.message(1, MessageDirection::received, 0, 6, 4500);
  EXPECT_EQ(text_of(run.schedule().ranks[0].streams.at(0)),
            "receive 1, compute 900, wait 0, compute 1000, send 1, wait 4, compute 100, poll, compute 4300, poll");
  run.run().ranks[0].recorder_costs.push_back({.call = nanoseconds{80},
                                               .inside = nanoseconds{20},
                                               .poll = nanoseconds{50},
                                               .message = nanoseconds{70},
                                               .request = nanoseconds{90}});
  const Schedule schedule = run.schedule();
  // After each call 60, after a request's begin and end 45, after a blocking message 70: never more than there is.
  EXPECT_EQ(text_of(schedule.ranks[0].streams.at(0)),
            "receive 1, compute 795, wait 0, compute 895, send 1, wait 4, poll, compute 4240, poll");
  ASSERT_EQ(schedule.notices.size(), 1U);
  EXPECT_EQ(schedule.notices[0], "3.2 % of the recorded time are the recorder's own work: left out of computing");
}

TEST(FromTrace, reports_the_share_of_an_engines_tasks_that_it_cannot_order) {
  RecordedRun run{1};
  run.call(0, CallClass::other, "MPI_Comm_rank", 0, 0);
  run.call(0, CallClass::begins_or_ends, "MPI_Finalize", 1000, 1000);
  trace::RankTrace& rank = run.run().ranks[0];
  rank.engines.push_back({.workers = 2, .carries_calls = true});
  rank.tasks.push_back({0, {.start = nanoseconds{100}, .end = nanoseconds{700}, .id = 1}});
  const Schedule schedule = run.schedule();
  ASSERT_EQ(schedule.notices.size(), 1U);
  EXPECT_EQ(schedule.notices[0],
            "1 tasks of plait's engine, 30 % of its workers' time, are left out: the calls of MPI are played, with the "
            "times between them");
}

TEST(FromTrace, leaves_out_what_has_one_side_only_and_says_which_message) {
  RecordedRun run{2};
  run.run().ranks[0].names[static_cast<std::size_t>(trace::Role::call_site)][trace::NameId{7}] = "ring+0x1234";
  run.call(0, CallClass::begins_message, "MPI_Irecv", 100, 110).site = trace::NameId{7};
  run.message(0, MessageDirection::received, 1, 77, 300);
  run.call(0, CallClass::completes, "MPI_Wait", 200, 300);
  run.call(1, CallClass::begins_message, "MPI_Irecv", 100, 110);
  run.message(1, MessageDirection::received, 0, 78, 0);
  const Schedule schedule = run.schedule();
  EXPECT_EQ(text_of(schedule.ranks[0].streams.at(0)), "compute 90, poll");
  ASSERT_EQ(schedule.notices.size(), 2);
  EXPECT_NE(schedule.notices[1].find("the receive from rank 1 to rank 0 with tag 77"), std::string::npos)
      << schedule.notices[1];
  EXPECT_NE(schedule.notices[1].find("MPI_Irecv called at ring+0x1234"), std::string::npos) << schedule.notices[1];
}

TEST(FromTrace, keeps_a_send_that_was_let_go_of_and_waits_for_it_at_the_end) {
  RecordedRun run{2};
  run.call(0, CallClass::begins_message, "MPI_Isend", 100, 110);
  run.message(0, MessageDirection::sent, 1, 5, 0);
  run.call(0, CallClass::begins_or_ends, "MPI_Finalize", 200, 210);
  run.call(1, CallClass::message, "MPI_Recv", 100, 110);
  run.message(1, MessageDirection::received, 0, 5, 110);
  EXPECT_EQ(text_of(run.schedule().ranks[0].streams.at(0)), "send 1, compute 90, poll, wait 0");
}

TEST(FromTrace, begins_collectives_and_waits_for_them_where_they_ended) {
  RecordedRun run{2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    trace::CallEvent& begun = run.call(rank, CallClass::begins_collective, "MPI_Ibcast", 100, 110);
    begun.communicator = 0;
    begun.peer = 1;
    begun.bytes_got = rank == 0 ? 800 : 0;
    const std::uint32_t number = begun.number;
    run.call(rank, CallClass::begun_collective, "MPI_Ibcast", 100, 250).number = number;
    run.call(rank, CallClass::completes, "MPI_Wait", 200, 250);
    run.collective(rank, "MPI_Barrier", 300, 310);
  }
  const Schedule schedule = run.schedule();
  EXPECT_EQ(text_of(schedule.ranks[0].streams.at(0)),
            "collective 2, compute 90, wait 0, compute 50, collective 1, wait 4");
  EXPECT_EQ(schedule.ranks[0].streams[0].operations[0].peer, 1);
  EXPECT_EQ(schedule.ranks[0].streams[0].operations[0].bytes_got, 800);
}

TEST(FromTrace, leaves_out_collectives_that_a_member_did_not_enter) {
  RecordedRun run{3};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    run.collective(rank, "MPI_Allreduce", 100, 110);
    if (rank != 2) {  // its file is cut off
      run.collective(rank, "MPI_Allreduce", 200, 210);
    }
  }
  const Schedule schedule = run.schedule();
  EXPECT_EQ(text_of(schedule.ranks[0].streams.at(0)), "collective 4, wait 0, compute 90, poll");
  EXPECT_EQ(text_of(schedule.ranks[2].streams.at(0)), "collective 4, wait 0");
  ASSERT_EQ(schedule.notices.size(), 1);
  EXPECT_NE(schedule.notices[0].find("of the 2 collectives on communicator 0, 1 are left out"), std::string::npos);
}

TEST(FromTrace, takes_a_vector_collectives_shares) {
  RecordedRun run{2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t number = run.collective(rank, "MPI_Alltoallv", 100, 110).number;
    run.run().ranks[rank].shares[number] = {rank * 10, 5};
  }
  const Schedule schedule = run.schedule();
  const Stream& stream = schedule.ranks[1].streams.at(0);
  EXPECT_EQ(stream.shares, (std::vector<std::uint64_t>{10, 5}));
  EXPECT_EQ(stream.operations[0].count, 2);
}

TEST(FromTrace, makes_barriers_of_calls_that_make_communicators) {
  RecordedRun run{2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    run.call(rank, CallClass::sets_up, "MPI_Comm_split", 100, 200).communicator = 0;
    run.call(rank, CallClass::file, "MPI_File_write", 250, 300);
    run.collective(rank, "MPI_Barrier", 310, 320);
  }
  EXPECT_EQ(text_of(run.schedule().ranks[0].streams.at(0)),
            "collective 1, wait 0, compute 50, poll, compute 60, collective 1, wait 5");
}

TEST(FromTrace, brings_all_times_to_the_clock_of_rank_0) {
  RecordedRun run{2};
  run.run().ranks[1].clocks.push_back({.offset = nanoseconds{1000}});
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    run.collective(rank, "MPI_Barrier", rank == 0 ? 1100 : 150, 1200);
  }
  const Schedule schedule = run.schedule();
  EXPECT_EQ(schedule.ranks[0].streams[0].operations[0].at, nanoseconds{0});
  EXPECT_EQ(schedule.ranks[1].streams[0].operations[1].at, nanoseconds{50});
}

TEST(FromTrace, sends_messages_of_runs_without_calls_at_their_times_and_waits_at_the_end_of_each_step) {
  trace::RunTrace run;
  run.ranks.resize(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    trace::RankTrace& trace = run.ranks[rank];
    trace.rank = Rank{rank};
    for (std::uint32_t step = 0; step < 2; ++step) {
      const int begin = static_cast<int>(step) * 1000;
      trace.graph_runs.push_back({.graph = 1, .step = step, .start = nanoseconds{begin}});
      trace.messages.push_back({0,
                                {.direction = rank == 0 ? MessageDirection::sent : MessageDirection::received,
                                 .peer = Rank{1 - rank},
                                 .sequence = step,
                                 .tag = Tag{3},
                                 .bytes = 64,
                                 .posted = nanoseconds{begin + 100},
                                 .completed = nanoseconds{begin + 400}}});
    }
  }
  const Schedule whole = schedule_from_run(run).value();
  EXPECT_EQ(text_of(whole.ranks[0].streams.at(0)), "send 1, wait 0, compute 700, send 1, wait 3");
  const Schedule second = schedule_from_run(run, 1).value();
  EXPECT_EQ(text_of(second.ranks[1].streams.at(0)), "receive 0, wait 0");
  EXPECT_EQ(second.ranks[1].streams[0].operations[0].step, 1);
}

/// Two workers of rank 0: the second computes what is sent; both compute with the answer of rank 1.
trace::RunTrace run_of_two_workers() {
  using trace::TaskRole;
  trace::RunTrace run;
  run.meta.workers = 2;
  run.ranks.resize(2);
  const auto task = [&](std::uint32_t rank, std::uint32_t thread, trace::TaskEvent event) {
    event.kind = trace::NameId{0};
    event.ready = event.start;
    run.ranks[rank].tasks.push_back({thread, event});
  };
  const auto message =
      [&](std::uint32_t rank, MessageDirection direction, std::uint32_t sequence, int posted, int end) {
        run.ranks[rank].messages.push_back({0,
                                            {.direction = direction,
                                             .peer = Rank{1 - rank},
                                             .communicator = 3,
                                             .sequence = sequence,
                                             .bytes = 64,
                                             .posted = nanoseconds{posted},
                                             .completed = nanoseconds{end}}});
      };
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    run.ranks[rank].rank = Rank{rank};
    run.ranks[rank].rank_count = 2;
    run.ranks[rank].threads = {{WorkerId{0}, "worker 0"}, {WorkerId{1}, "worker 1"}};
    run.ranks[rank].graph_runs = {{.graph = 1, .step = 0, .start = nanoseconds{0}, .active = 5}};
  }
  const auto time = [](int value) { return nanoseconds{value}; };
  const std::uint64_t to_one = trace::message_object(Rank{1}, 1);
  const std::uint64_t from_one = trace::message_object(Rank{1}, 2);
  task(0, 1, {.start = time(0), .end = time(40), .id = 1, .place = 1});
  task(0, 1, {.role = TaskRole::send, .object = to_one, .start = time(40), .end = time(50), .id = 2, .place = 2});
  task(0, 0, {.role = TaskRole::receive, .object = from_one, .start = time(0), .end = time(90), .id = 3, .place = 3});
  task(0, 0, {.start = time(90), .end = time(100), .id = 4, .place = 4});
  task(0, 1, {.start = time(90), .end = time(120), .id = 5, .place = 5});
  run.ranks[0].dependencies = {{1, 1, 2}, {1, 3, 4}, {1, 3, 5}, {1, 1, 4}};
  message(0, MessageDirection::sent, 1, 40, 50);
  message(0, MessageDirection::received, 2, 0, 90);
  const std::uint64_t from_zero = trace::message_object(Rank{0}, 1);
  const std::uint64_t to_zero = trace::message_object(Rank{0}, 2);
  task(1, 0, {.role = TaskRole::receive, .object = from_zero, .start = time(0), .end = time(50), .id = 1, .place = 1});
  task(1, 1, {.start = time(50), .end = time(70), .id = 2, .place = 2});
  task(1, 1, {.role = TaskRole::send, .object = to_zero, .start = time(70), .end = time(80), .id = 3, .place = 3});
  task(1, 0, {.start = time(0), .end = time(5), .id = 4, .place = 4});
  run.ranks[1].dependencies = {{1, 1, 2}, {1, 2, 3}};
  message(1, MessageDirection::received, 1, 0, 50);
  message(1, MessageDirection::sent, 2, 70, 80);
  return run;
}

TEST(FromTrace, makes_each_worker_a_stream_that_waits_for_tasks_of_the_others) {
  const Schedule schedule = schedule_from_run(run_of_two_workers()).value();
  ASSERT_EQ(schedule.ranks[0].streams.size(), 2U);
  EXPECT_EQ(text_of(schedule.ranks[0].streams[1]), "compute 40, send 1, after 0/1, compute 30, wait 1")
      << "the answer is waited for by the other, and the send at the end";
  EXPECT_EQ(text_of(schedule.ranks[0].streams[0]), "receive 1, wait 0, after 1/0, compute 10");
  EXPECT_EQ(text_of(schedule.ranks[1].streams[1]), "receive 0, wait 0, compute 20, send 0, wait 3");
  EXPECT_EQ(find_trouble(schedule), std::vector<std::string>{});
}

/// The same run with calls of MPI: a barrier before the tasks, a message out of a task of rank 0, and an all-reduce
/// after all. The message has the communicator and the number of one of the engine's.
trace::RunTrace run_of_calls_and_tasks() {
  trace::RunTrace run = run_of_two_workers();
  enum : std::uint32_t { init, barrier, send, receive, all_reduce };
  for (trace::RankTrace& trace : run.ranks) {
    trace.threads.push_back({WorkerId{0}, "main"});  // as the preloaded recorder names it
    trace.engines.push_back({.workers = 2});
    trace.communicators[3] = {0, 1};
    trace.names[static_cast<std::size_t>(trace::Role::function)] = {{trace::NameId{init}, "MPI_Init"},
                                                                    {trace::NameId{barrier}, "MPI_Barrier"},
                                                                    {trace::NameId{send}, "MPI_Send"},
                                                                    {trace::NameId{receive}, "MPI_Recv"},
                                                                    {trace::NameId{all_reduce}, "MPI_Allreduce"}};
  }
  const auto call = [&](std::uint32_t rank, std::uint32_t thread, CallClass what, std::uint32_t function, int start) {
    std::vector<trace::Recorded<trace::CallEvent>>& calls = run.ranks[rank].calls;
    calls.push_back({thread,
                     {.what = what,
                      .function = trace::NameId{function},
                      .communicator = what == CallClass::collective ? 0 : trace::nothing,
                      .start = nanoseconds{start},
                      .end = nanoseconds{start + 5},
                      .number = static_cast<std::uint32_t>(calls.size())}});
  };
  const auto message = [&](std::uint32_t rank, std::uint32_t thread, MessageDirection direction, int posted) {
    run.ranks[rank].messages.push_back({thread,
                                        {.direction = direction,
                                         .peer = Rank{1 - rank},
                                         .communicator = 3,
                                         .sequence = 1,
                                         .bytes = 8,
                                         .is_matched_by_order = true,
                                         .posted = nanoseconds{posted},
                                         .completed = nanoseconds{posted + 5}}});
  };
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    call(rank, 2, CallClass::begins_or_ends, init, -30);
    call(rank, 2, CallClass::collective, barrier, -15);
  }
  call(0, 1, CallClass::message, send, 10);
  message(0, 1, MessageDirection::sent, 10);
  call(1, 2, CallClass::message, receive, 20);
  message(1, 2, MessageDirection::received, 20);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    call(rank, 2, CallClass::collective, all_reduce, 130);
  }
  return run;
}

TEST(FromTrace, plays_calls_between_and_inside_the_tasks_of_their_thread) {
  const trace::RunTrace run = run_of_calls_and_tasks();
  EXPECT_TRUE(has_calls_and_tasks(run));
  const Schedule schedule = schedule_from_run(run).value();
  ASSERT_EQ(schedule.ranks[0].streams.size(), 2U);
  const Stream& worker = schedule.ranks[0].streams[1];
  EXPECT_EQ(text_of(worker), "compute 10, send 1, wait 1, compute 25, send 1, after 0/5, compute 30, wait 4");
  EXPECT_EQ(text_of(schedule.ranks[0].streams[0]),
            "compute 10, collective 1, wait 1, compute 10, receive 1, wait 4, after 1/3, compute 10, after 1/6, "
            "compute 10, collective 4, wait 10");
  EXPECT_EQ(text_of(schedule.ranks[1].streams[0]),
            "compute 10, collective 1, wait 1, compute 10, compute 5, receive 0, wait 5, after 1/3, compute 50, "
            "collective 4, wait 9")
      << "the thread waited between its task and the call";
  EXPECT_NE(worker.operations[4].communicator, worker.operations[1].communicator);
  EXPECT_EQ(schedule.communicators.at(worker.operations[4].communicator), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(find_trouble(schedule), std::vector<std::string>{});
  EXPECT_EQ(schedule.notices, std::vector<std::string>{});
  EXPECT_EQ(schedule.length, nanoseconds{160});
}

TEST(FromTrace, plays_calls_alone_where_an_engine_moved_their_messages) {
  trace::RunTrace run = run_of_calls_and_tasks();
  for (trace::RankTrace& trace : run.ranks) {
    trace.engines.front().carries_calls = true;
  }
  EXPECT_FALSE(has_calls_and_tasks(run));
  const Schedule schedule = schedule_from_run(run).value();
  EXPECT_EQ(text_of(schedule.ranks[0].streams.at(0)), "compute 35, send 1, wait 1");
  EXPECT_EQ(schedule.notices.size(), 2U) << "the tasks, and the messages";
}

TEST(FromTrace, says_which_steps_there_are) {
  trace::RunTrace run;
  run.ranks.resize(1);
  run.ranks[0].graph_runs = {{.step = 3}, {.step = 8}};
  const auto schedule = schedule_from_run(run, 5);
  ASSERT_FALSE(schedule);
  EXPECT_STREQ(schedule.error().what(), "the run has no step 5; it has steps 3 to 8");
  EXPECT_FALSE(schedule_from_run(run));  // neither messages nor calls
}

}  // namespace
}  // namespace plait::replay::from_trace_test
