// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/statistics.hpp"

#include <system_error>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "plait/base/error.hpp"

namespace plait::data::balance {
namespace {

using nlohmann::json;

json task_of(const StatisticsTask& task, Rank rank) {
  json entity{{"type", "object"},
              {"id", task.id.value()},
              {"home", task.home},
              {"migratable", task.is_migratable},
              {"index", task.index}};
  json user = json::object();
  if (task.bytes > 0 || task.position) {
    // LBAF needs the first two if there is any entry.
    user["task_footprint_bytes"] = task.bytes;
    user["task_working_bytes"] = 0.0;
    user["task_serialized_bytes"] = task.bytes;
  }
  if (task.position) {
    user["position"] = *task.position;
  }
  return {{"node", rank.value()},
          {"resource", "cpu"},
          {"time", task.seconds},
          {"entity", std::move(entity)},
          {"user_defined", std::move(user)}};
}

json messages_of(const StatisticsMessages& messages) {
  return {{"type", "SendRecv"},
          {"bytes", messages.bytes},
          {"messages", messages.count},
          {"from", {{"type", "object"}, {"id", messages.from.value()}}},
          {"to", {{"type", "object"}, {"id", messages.to.value()}}}};
}

json phase_of(const StatisticsPhase& phase, Rank rank) {
  json found{{"id", phase.id}, {"tasks", json::array()}};
  for (const StatisticsTask& task : phase.tasks) {
    found["tasks"].push_back(task_of(task, rank));
  }
  if (phase.background > 0) {
    found["tasks"].push_back(task_of(
        {.id = background_id(rank), .seconds = phase.background, .home = rank.value(), .is_migratable = false}, rank));
  }
  for (const StatisticsMessages& messages : phase.messages) {
    found["communications"].push_back(messages_of(messages));
  }
  return found;
}

}  // namespace

std::filesystem::path statistics_path(const std::filesystem::path& prefix, Rank rank) {
  return {fmt::format("{}.{}.json", prefix.string(), rank.value())};
}

ElementId background_id(Rank rank) {
  return ElementId{(std::uint64_t{1} << 53U) + rank.value()};
}

StatisticsFile::StatisticsFile(const std::filesystem::path& prefix, const StatisticsRank& rank)
    : rank_{rank}, path_{statistics_path(prefix, rank.rank)}, partial_{path_} {
  if (prefix.has_parent_path()) {
    std::error_code trouble;
    std::filesystem::create_directories(prefix.parent_path(), trouble);
  }
  file_.open(partial_.path());
  json metadata{{"type", "LBDatafile"}, {"rank", rank.rank.value()}};
  if (rank.node) {
    metadata["shared_node"] = {
        {"id", *rank.node}, {"size", rank.ranks_of_node}, {"rank", rank.rank_in_node}, {"num_nodes", rank.node_count}};
  }
  file_ << R"({"type":"LBDatafile","metadata":)" << metadata << R"(,"phases":[)";
  expect_written();
}

StatisticsFile::~StatisticsFile() {
  try {
    close();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): call close to get the error
  }
}

void StatisticsFile::write(const StatisticsPhase& phase) {
  if (last_ && phase.id <= *last_) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("phase {} of the load statistics comes after phase {}: number them upwards", phase.id, *last_)};
  }
  file_ << (last_ ? ",\n" : "\n") << phase_of(phase, rank_.rank);
  last_ = phase.id;
  file_.flush();
  expect_written();
}

void StatisticsFile::close() {
  if (!file_.is_open()) {
    return;
  }
  file_ << "]}\n";
  file_.close();
  expect_written();
  partial_.complete();
}

void StatisticsFile::expect_written() {
  if (!file_) {
    throw Error{ErrorCode::io,
                fmt::format("{} cannot be written: is the folder there, and the disk not full?", path_.string())};
  }
}

}  // namespace plait::data::balance
