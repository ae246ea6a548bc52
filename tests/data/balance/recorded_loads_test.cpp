// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/recorded_loads.hpp"

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plait/base/error.hpp"
#include "plait/data/balance/objective.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::data::balance::recorded_loads_test {
namespace {

using nlohmann::json;
using Paths = std::vector<std::filesystem::path>;

json load(const std::filesystem::path& path) {
  std::ifstream file{path};
  return json::parse(file);
}

void store(const std::filesystem::path& path, const std::string& text) {
  std::ofstream{path} << text;
}

/// Three elements on two ranks of two nodes, two phases.
Paths write_run(const std::filesystem::path& prefix) {
  Paths paths;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    StatisticsFile file{prefix,
                        {.rank = Rank{rank}, .node = rank, .ranks_of_node = 1, .rank_in_node = 0, .node_count = 2}};
    for (std::uint64_t phase = 3; phase < 5; ++phase) {
      StatisticsPhase of{.id = phase, .background = rank == 1 ? 0.25 : 0};
      for (std::uint64_t id = rank; id < 3; id += 2) {
        of.tasks.push_back({.id = ElementId{id},
                            .seconds = static_cast<double>(phase) + 0.5 * static_cast<double>(id),
                            .home = rank,
                            .is_migratable = id != 2,
                            .bytes = 100,
                            .index = {id, 7},
                            .position = id == 0 ? std::optional{std::array<double, 3>{0.5, 1.5, 2.5}} : std::nullopt});
      }
      of.messages.push_back({.from = ElementId{rank}, .to = ElementId{1 - rank}, .bytes = 10, .count = 2});
      file.write(of);
    }
    file.close();
    paths.push_back(file.path());
  }
  return paths;
}

TEST(StatisticsFile, has_the_form_that_vt_documents) {
  const plait::test::TemporaryFolder folder;
  const Paths paths = write_run(folder.path() / "run" / "stats");
  EXPECT_EQ(paths[1].filename(), "stats.1.json");
  const json file = load(paths[1]);
  EXPECT_EQ(file.at("type"), "LBDatafile");
  EXPECT_EQ(file.at("metadata").at("rank"), 1);
  EXPECT_EQ(file.at("metadata").at("shared_node"), json({{"id", 1}, {"size", 1}, {"rank", 0}, {"num_nodes", 2}}));
  ASSERT_EQ(file.at("phases").size(), 2U);
  for (const json& phase : file.at("phases")) {
    EXPECT_TRUE(phase.at("id").is_number_unsigned());
    ASSERT_EQ(phase.at("tasks").size(), 2U);  // Element 1, and what the rank does itself.
    for (const json& task : phase.at("tasks")) {
      EXPECT_EQ(task.at("node"), 1);
      EXPECT_EQ(task.at("resource"), "cpu");
      EXPECT_TRUE(task.at("time").is_number_float());
      const json& entity = task.at("entity");
      EXPECT_EQ(entity.at("type"), "object");
      EXPECT_TRUE(entity.at("id").is_number_unsigned());
      EXPECT_TRUE(entity.at("home").is_number_unsigned());
      EXPECT_TRUE(entity.at("migratable").is_boolean());
      EXPECT_TRUE(entity.at("index").is_array());
      const json& user = task.at("user_defined");
      EXPECT_TRUE(user.empty() || user.at("task_footprint_bytes").is_number_float());
      EXPECT_TRUE(user.empty() || user.at("task_working_bytes").is_number_float());
    }
    EXPECT_EQ(phase.at("tasks")[1].at("entity").at("migratable"), false);
    const json& messages = phase.at("communications").at(0);
    EXPECT_EQ(messages.at("type"), "SendRecv");
    EXPECT_TRUE(messages.at("bytes").is_number_float());
    EXPECT_EQ(messages.at("messages"), 2);
    EXPECT_EQ(messages.at("from"), json({{"type", "object"}, {"id", 1}}));
    EXPECT_EQ(messages.at("to"), json({{"type", "object"}, {"id", 0}}));
  }
}

TEST(StatisticsFile, of_a_run_that_ended_early_has_another_name) {
  const plait::test::TemporaryFolder folder;
  StatisticsFile file{folder.path() / "s", {.rank = Rank{0}}};
  file.write({.id = 5});
  EXPECT_FALSE(std::filesystem::exists(file.path()));
  EXPECT_THROW(file.write({.id = 5}), Error);
  file.close();
  EXPECT_TRUE(std::filesystem::exists(file.path()));
  store(folder.path() / "blocker", "");
  EXPECT_THROW((StatisticsFile{folder.path() / "blocker" / "s", {.rank = Rank{0}}}), Error);
}

TEST(RecordedLoads, reads_what_was_written) {
  const plait::test::TemporaryFolder folder;
  const Paths paths = write_run(folder.path() / "stats");
  const RecordedLoads recorded{Paths{paths[1], paths[0]}};
  EXPECT_EQ(recorded.rank_count(), 2U);
  EXPECT_EQ(recorded.phases(), (std::vector<std::uint64_t>{3, 4}));
  const Problem problem = recorded.problem(4);
  ASSERT_EQ(problem.objects.size(), 3U);
  EXPECT_EQ(problem.background, (std::vector<double>{0, 0.25}));
  EXPECT_EQ(problem.node_of_rank, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(problem.objects[1].rank, Rank{1});
  EXPECT_DOUBLE_EQ(problem.objects[1].load, 4.5);
  EXPECT_DOUBLE_EQ(problem.objects[1].bytes, 100);
  EXPECT_EQ(problem.objects[0].position, (std::array<double, 3>{0.5, 1.5, 2.5}));
  EXPECT_EQ(problem.objects[1].position, (std::array<double, 3>{1, 7, 0}));  // the index, for want of a position
  EXPECT_FALSE(problem.objects[2].is_migratable);
  ASSERT_EQ(problem.edges.size(), 1U);
  EXPECT_DOUBLE_EQ(problem.edges[0].bytes, 20);
}

TEST(RecordedLoads, writes_another_placement_that_reads_back) {
  const plait::test::TemporaryFolder folder;
  const RecordedLoads recorded{write_run(folder.path() / "stats")};
  const Placement placement{Rank{1}, Rank{1}, Rank{0}};
  const RecordedLoads again{write_placement(recorded, 3, placement, folder.path() / "out" / "moved")};
  EXPECT_EQ(again.phases(), (std::vector<std::uint64_t>{3}));
  const Problem before = recorded.problem(3);
  const Problem after = again.problem(3);
  EXPECT_EQ(present_placement(after), placement);
  EXPECT_EQ(after.background, before.background);
  EXPECT_DOUBLE_EQ(score(after, placement).load_max, score(before, placement).load_max);
  EXPECT_DOUBLE_EQ(after.edges.at(0).bytes, before.edges.at(0).bytes);
}

TEST(RecordedLoads, knows_the_forms_that_vt_writes) {
  const plait::test::TemporaryFolder folder;
  const auto path = folder.path() / "data.0.json";
  store(path, R"({"metadata": {"type": "LBDatafile", "rank": 0, "phases": {"count": 5,
      "skipped": {"list": [], "range": []}, "identical_to_previous": {"list": [1], "range": [[3, 4]]}}},
    "phases": [
      {"id": 0, "tasks": [{"node": 0, "resource": "cpu", "time": 1.5, "subphases": [{"id": 0, "time": 1.5}],
         "entity": {"type": "object", "seq_id": 9, "home": 0, "migratable": true, "collection_id": 7, "index": [2]}}],
       "communications": [{"type": "Broadcast", "bytes": 1.0, "messages": 1,
         "from": {"type": "node", "id": 0}, "to": {"type": "object", "id": 9}}]},
      {"id": 2, "tasks": []}]})");
  const RecordedLoads recorded{Paths{path}};
  EXPECT_EQ(recorded.phases(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(recorded.problem(1).objects.at(0).id, ElementId{9});
  EXPECT_DOUBLE_EQ(recorded.problem(1).objects.at(0).position[0], 2);
  EXPECT_TRUE(recorded.problem(0).edges.empty());
  EXPECT_TRUE(recorded.problem(4).objects.empty());
}

TEST(RecordedLoads, says_what_is_wrong_and_in_which_file) {
  const plait::test::TemporaryFolder folder;
  const Paths paths = write_run(folder.path() / "stats");
  const std::string good = load(paths[1]).dump();
  const auto changed = [&](const std::function<void(json&)>& change) {
    json file = json::parse(good);
    change(file);
    return file.dump();
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"ends too early", good.substr(0, good.size() / 2)},
      {"no JSON; if it is compressed", "\x0b\x07\x80"},
      {"no JSON; if it is compressed", ""},
      {"no JSON from byte", good + "x"},
      {"this is a \"LBStatsfile\"", changed([](json& f) { f["type"] = "LBStatsfile"; })},
      {"there is no \"type\"", "{\"a\": 1}"},
      {"another kind", changed([](json& f) { f["type"] = 5; })},
      {"\"metadata\" has no \"rank\"", changed([](json& f) { f["metadata"].erase("rank"); })},
      {"file of rank 1 is missing", changed([](json& f) { f["metadata"]["rank"] = 2; })},
      {"both of rank 0", changed([](json& f) { f["metadata"]["rank"] = 0; })},
      {"has no \"phases\"", changed([](json& f) { f.erase("phases"); })},
      {"is no list", changed([](json& f) { f["phases"][0]["tasks"] = 1; })},
      {"phase 4 is there twice", changed([](json& f) { f["phases"][0]["id"] = 4; })},
      {"\"time\" of a task of phase 3 is -1.0", changed([](json& f) { f["phases"][0]["tasks"][0]["time"] = -1.0; })},
      {"\"time\" of a task of phase 3 is null", changed([](json& f) { f["phases"][0]["tasks"][0]["time"] = nullptr; })},
      {"\"id\" of a task", changed([](json& f) { f["phases"][0]["tasks"][0]["entity"]["id"] = -3; })},
      {"no \"seq_id\"", changed([](json& f) { f["phases"][0]["tasks"][0]["entity"].erase("id"); })},
      {"phase 3 is missing; 1 phases from 4 to 4", changed([](json& f) { f["phases"].erase(0); })},
      {"no phase is in all files", changed([](json& f) { f["phases"] = json::array(); })},
      {"object 0 of phase 3 is also in", changed([](json& f) { f["phases"][0]["tasks"][0]["entity"]["id"] = 0; })},
      {"there is none", changed([](json& f) { f["metadata"]["phases"]["identical_to_previous"]["list"] = {1}; })},
      {"which cannot be",
       changed([](json& f) { f["metadata"]["phases"]["identical_to_previous"]["range"] = {{5, 9'000'000'000}}; })},
  };
  for (const auto& [words, text] : cases) {
    store(paths[1], text);
    try {
      static_cast<void>(RecordedLoads{paths}.problem(3));
      ADD_FAILURE() << "let pass: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input) << words;
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
      EXPECT_NE(std::string{error.what()}.find("stats."), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(RecordedLoads{Paths{}}, Error);
  EXPECT_THROW((RecordedLoads{Paths{folder.path() / "nowhere.json"}}), Error);
}

}  // namespace
}  // namespace plait::data::balance::recorded_loads_test
