// SPDX-License-Identifier: Apache-2.0
// Runs of every version of the format: versions/make_versions.py wrote them, with the tables that readers have to find.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plait/trace/reader.hpp"

namespace plait::trace::versions_test {
namespace {

using nlohmann::json;

std::vector<std::filesystem::path> stored_runs() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator{PLAIT_TRACE_VERSIONS}) {
    folders.push_back(entry.path());
  }
  return folders;
}

class Version : public testing::TestWithParam<std::filesystem::path> {
 protected:
  Version() : run_{read_run(GetParam()).value()} {
    std::ifstream file{GetParam() / "expected.json"};
    expected_ = json::parse(file);
  }

  /// The rows of one rank in an expected table; none for a table that the version lacks.
  [[nodiscard]] std::vector<json> rows(const char* table, std::uint32_t rank) const {
    std::vector<json> found;
    for (const json& row : expected_.value(table, json::array())) {
      if (row["rank"] == rank) {
        found.push_back(row);
      }
    }
    return found;
  }

  [[nodiscard]] std::int64_t time(std::uint32_t rank, nanoseconds own) const {
    return run_.clock_line(Rank{rank}).to_rank_zero(own).count();
  }

  /// Calls `check(event, row)` for each event of a table, after checking their number.
  template <class Event, class Check>
  void compare(const char* table, std::uint32_t rank, const std::vector<Recorded<Event>>& events, Check check) const {
    const std::vector<json> expected = rows(table, rank);
    ASSERT_EQ(events.size(), expected.size()) << table;
    for (std::size_t i = 0; i < events.size(); ++i) {
      check(events[i].event, expected[i]);
    }
  }

  RunTrace run_;
  json expected_;
};

TEST_P(Version, has_the_events_that_were_written) {
  for (const RankTrace& trace : run_.ranks) {
    const std::uint32_t rank = trace.rank.value();
    EXPECT_TRUE(trace.notices.empty());
    compare("tasks", rank, trace.tasks, [&](const TaskEvent& task, const json& row) {
      EXPECT_EQ(trace.name(Role::task, task.kind), row["kind"].get<std::string>());
      EXPECT_EQ(time(rank, task.ready), row["ready_ns"]);
      EXPECT_EQ(time(rank, task.end), row["end_ns"]);
      EXPECT_EQ(task.released_by, row["released_by"]);
      EXPECT_EQ(task.place, row.value("place", 0U));
    });
    compare("spans", rank, trace.spans, [&](const SpanEvent& span, const json& row) {
      EXPECT_EQ(trace.name(Role::span, span.name), row["kind"].get<std::string>());
      EXPECT_EQ(time(rank, span.start), row["start_ns"]);
    });
    compare("gaps", rank, trace.gaps, [&](const PollGapEvent& gap, const json& row) {
      EXPECT_EQ(time(rank, gap.end), row["end_ns"]);
    });
    compare("counters", rank, trace.counters, [&](const CounterEvent& counter, const json& row) {
      EXPECT_EQ(trace.name(Role::counter, counter.name), row["kind"].get<std::string>());
      EXPECT_EQ(counter.value, row["value"]);
    });
  }
}

TEST_P(Version, has_the_calls_and_messages_that_were_written) {
  for (const RankTrace& trace : run_.ranks) {
    const std::uint32_t rank = trace.rank.value();
    compare("messages", rank, trace.messages, [&](const MessageEvent& message, const json& row) {
      EXPECT_EQ(static_cast<int>(message.direction), row["direction"]);
      EXPECT_EQ(message.bytes, row["size_bytes"]);
      EXPECT_EQ(message.tag.value(), row["tag"]);
      EXPECT_EQ(time(rank, message.completed), row["completed_ns"]);
      EXPECT_EQ(message.sequence, message.tag.value() - 40);  // one message a tag: matched, whatever was stored
    });
    compare("calls", rank, trace.calls, [&](const CallEvent& call, const json& row) {
      EXPECT_EQ(trace.name(Role::function, call.function), row["function"].get<std::string>());
      EXPECT_EQ(trace.name(Role::call_site, call.site), row["site"].get<std::string>());
      EXPECT_EQ(call.bytes_given, row["bytes_given"]);
      EXPECT_EQ(call.repeats, row.value("repeats", 0U));
    });
  }
}

TEST_P(Version, has_the_lists_that_were_written) {
  for (const RankTrace& trace : run_.ranks) {
    const std::uint32_t rank = trace.rank.value();
    std::size_t later = 0;
    for (const json& row : rows("graph_tasks", rank)) {
      later += row["later"].size();
    }
    EXPECT_EQ(trace.graph_tasks.size(), rows("graph_tasks", rank).size());
    EXPECT_EQ(trace.dependencies.size(), later);
    EXPECT_EQ(trace.graph_runs.size(), rows("graph_runs", rank).size());
    for (const json& row : rows("communicators", rank)) {
      EXPECT_EQ(json(trace.communicators.at(row["communicator"])), row["members"]);
    }
    for (const json& row : rows("shares", rank)) {
      EXPECT_EQ(json(trace.shares.at(row["call"])), row["bytes"]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stored, Version, testing::ValuesIn(stored_runs()), [](const auto& run) {
  std::string name = run.param.filename().string();
  std::replace(name.begin(), name.end(), '.', '_');
  return "of_" + name;
});

}  // namespace
}  // namespace plait::trace::versions_test
