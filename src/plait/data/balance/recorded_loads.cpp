// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/recorded_loads.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "plait/base/error.hpp"
#include "plait/data/balance/objective.hpp"

namespace plait::data::balance {
namespace {

using nlohmann::json;

template <class... Values>
[[noreturn]] void refuse_statistics(fmt::format_string<Values...> sentence, Values&&... values) {
  throw Error{ErrorCode::bad_input, fmt::format(sentence, std::forward<Values>(values)...)};
}

/// Reads the parts of one file. Errors name the file and the place in it.
class Reader {
 public:
  explicit Reader(std::string file) : file_{std::move(file)} {}

  [[noreturn]] void refuse_statistics(const std::string& what) const {
    balance::refuse_statistics("{}: {}", file_, what);
  }

  const json& required(const json& object, const char* key, const std::string& where) const {
    if (!object.is_object() || !object.contains(key)) {
      refuse_statistics(
          fmt::format("{} has no \"{}\"; is it a file of load statistics (LBDatafile) of vt or plait?", where, key));
    }
    return object[key];
  }

  std::uint64_t number(const json& object, const char* key, const std::string& where) const {
    const json& value = required(object, key, where);
    if (!value.is_number_unsigned()) {
      refuse_statistics(
          fmt::format("\"{}\" of {} is {}, and must be a whole number, 0 or more", key, where, value.dump()));
    }
    return value.get<std::uint64_t>();
  }

  double amount(const json& object, const char* key, const std::string& where) const {
    const json& value = required(object, key, where);
    if (!value.is_number() || value.get<double>() < 0) {
      refuse_statistics(fmt::format("\"{}\" of {} is {}, and must be a number, 0 or more", key, where, value.dump()));
    }
    return value.get<double>();
  }

  const json& list(const json& object, const char* key, const std::string& where) const {
    const json& value = required(object, key, where);
    if (!value.is_array()) {
      refuse_statistics(fmt::format("\"{}\" of {} is no list", key, where));
    }
    return value;
  }

  /// vt gives ids of either name.
  ElementId id(const json& entity, const std::string& where) const {
    return ElementId{number(entity, entity.is_object() && entity.contains("id") ? "id" : "seq_id", where)};
  }

  StatisticsTask task(const json& object, const std::string& where) const {
    const json& entity = required(object, "entity", where);
    StatisticsTask task{.id = id(entity, where), .seconds = amount(object, "time", where)};
    task.is_migratable = !entity.contains("migratable") || entity["migratable"] == true;
    task.home = entity.contains("home") ? static_cast<std::uint32_t>(number(entity, "home", where)) : 0;
    if (entity.contains("index") && entity["index"].is_array()) {
      for (const json& place : entity["index"]) {
        task.index.push_back(place.is_number_unsigned() ? place.get<std::uint64_t>() : 0);
      }
    }
    if (object.contains("user_defined") && object["user_defined"].is_object()) {
      read_user_defined(object["user_defined"], task, where);
    }
    return task;
  }

  StatisticsPhase phase(const json& object, Rank rank) const {
    StatisticsPhase phase{.id = number(object, "id", "a phase")};
    const std::string where = fmt::format("phase {}", phase.id);
    for (const json& one : list(object, "tasks", where)) {
      const StatisticsTask read = task(one, "a task of " + where);
      if (read.id == background_id(rank)) {
        phase.background += read.seconds;
      } else {
        phase.tasks.push_back(read);
      }
    }
    if (object.contains("communications")) {
      for (const json& one : list(object, "communications", where)) {
        read_messages(one, phase, "a communication of " + where);
      }
    }
    return phase;
  }

  /// Ids of phases in {"list": [3], "range": [[5, 9]]}.
  std::vector<std::uint64_t> phase_set(const json& set, const std::string& where) const {
    std::vector<std::uint64_t> found;
    if (set.contains("list")) {
      for (const json& one : list(set, "list", where)) {
        found.push_back(one.is_number_unsigned() ? one.get<std::uint64_t>() : 0);
      }
    }
    if (set.contains("range")) {
      for (const json& range : list(set, "range", where)) {
        if (!range.is_array() || range.size() != 2) {
          refuse_statistics(where + " has a range that is not [first, last]");
        }
        constexpr std::uint64_t phases_max = 10'000'000;
        const auto [first, last] = range.get<std::pair<std::uint64_t, std::uint64_t>>();
        if (last > phases_max) {
          refuse_statistics(fmt::format("{} ends at phase {}, which cannot be", where, last));
        }
        for (std::uint64_t id = first; id <= last; ++id) {
          found.push_back(id);
        }
      }
    }
    return found;
  }

 private:
  void read_user_defined(const json& user, StatisticsTask& task, const std::string& where) const {
    for (const char* const key : {"task_serialized_bytes", "task_footprint_bytes", "task_working_bytes"}) {
      if (user.contains(key) && task.bytes == 0) {
        task.bytes = amount(user, key, where);
      }
    }
    if (user.contains("position")) {
      const json& position = user["position"];
      if (!position.is_array() || position.size() > 3 || !std::ranges::all_of(position, &json::is_number)) {
        refuse_statistics(fmt::format("the position of {} is {}, and must be three numbers", where, position.dump()));
      }
      task.position.emplace();
      std::ranges::transform(position, task.position->begin(), [](const json& x) { return x.get<double>(); });
    }
  }

  void read_messages(const json& object, StatisticsPhase& phase, const std::string& where) const {
    const json& from = required(object, "from", where);
    const json& to = required(object, "to", where);
    const auto is_object = [](const json& end) { return end.is_object() && end.value("type", "") == "object"; };
    if (required(object, "type", where) == "SendRecv" && is_object(from) && is_object(to)) {
      phase.messages.push_back({.from = id(from, where),
                                .to = id(to, where),
                                .bytes = amount(object, "bytes", where),
                                .count = object.contains("messages") ? number(object, "messages", where) : 1});
    }
  }

  std::string file_;
};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  if (!stream) {
    throw Error{ErrorCode::io, fmt::format("{} cannot be read: is it there?", file.string())};
  }
  return text;
}

json parse(const std::string& text, const Reader& reader) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') {
    reader.refuse_statistics("this is no JSON; if it is compressed, unpack it first (brotli -d)");
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    reader.refuse_statistics(error.byte > text.size() ? "the file ends too early; was the run that wrote it killed?"
                                                      : fmt::format("this is no JSON from byte {} on", error.byte));
  }
}

/// Inserts the phases that were left out as identical to the one before.
void repeat_identical(const Reader& reader, const json& metadata, std::vector<StatisticsPhase>& phases) {
  if (!metadata.contains("phases") || !metadata["phases"].contains("identical_to_previous")) {
    return;
  }
  for (const std::uint64_t id :
       reader.phase_set(metadata["phases"]["identical_to_previous"], "\"identical_to_previous\"")) {
    const auto after = std::ranges::lower_bound(phases, id, {}, &StatisticsPhase::id);
    if (after == phases.begin()) {
      reader.refuse_statistics(fmt::format("phase {} is listed as identical to the one before, and there is none", id));
    }
    if (after == phases.end() || after->id != id) {
      StatisticsPhase copy = *std::prev(after);
      copy.id = id;
      phases.insert(after, std::move(copy));
    }
  }
}

StatisticsRank rank_of(const Reader& reader, const json& metadata) {
  const std::uint64_t rank = reader.number(metadata, "rank", "\"metadata\"");
  StatisticsRank about{.rank = Rank{static_cast<std::uint32_t>(std::min<std::uint64_t>(rank, ~0U - 1))}};
  if (metadata.contains("shared_node")) {
    const json& node = metadata["shared_node"];
    const auto number = [&](const char* key) {
      return static_cast<std::uint32_t>(reader.number(node, key, "\"shared_node\""));
    };
    about.node = number("id");
    about.ranks_of_node = number("size");
    about.rank_in_node = number("rank");
    about.node_count = number("num_nodes");
  }
  return about;
}

std::array<double, 3> position_of(const StatisticsTask& task) {
  if (task.position) {
    return *task.position;
  }
  std::array<double, 3> position{};
  for (std::size_t axis = 0; axis < std::min<std::size_t>(3, task.index.size()); ++axis) {
    position[axis] = static_cast<double>(task.index[axis]);
  }
  return position;
}

}  // namespace

RecordedLoads::OfRank RecordedLoads::read(const std::filesystem::path& file) {
  const Reader reader{file.string()};
  const json whole = parse(text_of(file), reader);
  try {
    const json metadata = whole.value("metadata", json::object());
    const std::string type = whole.value("type", metadata.is_object() ? metadata.value("type", "") : "");
    if (type != "LBDatafile") {
      reader.refuse_statistics(type.empty() ? "there is no \"type\": \"LBDatafile\"; is it a file of load statistics?"
                                            : fmt::format("this is a \"{}\", and no \"LBDatafile\"", type));
    }
    OfRank found{.about = rank_of(reader, metadata), .file = file.string()};
    for (const json& phase : reader.list(whole, "phases", "the file")) {
      found.phases.push_back(reader.phase(phase, found.about.rank));
    }
    std::ranges::stable_sort(found.phases, {}, &StatisticsPhase::id);
    const auto twice = std::ranges::adjacent_find(found.phases, {}, &StatisticsPhase::id);
    if (twice != found.phases.end()) {
      reader.refuse_statistics(fmt::format("phase {} is there twice", twice->id));
    }
    repeat_identical(reader, metadata, found.phases);
    return found;
  } catch (const json::exception& error) {
    reader.refuse_statistics(
        fmt::format("a value is of another kind than load statistics have there ({})", error.what()));
  }
}

RecordedLoads::RecordedLoads(std::span<const std::filesystem::path> files) {
  if (files.empty()) {
    refuse_statistics("there are no files of load statistics: give one for each rank");
  }
  std::ranges::transform(files, std::back_inserter(ranks_), read);
  std::ranges::stable_sort(ranks_, {}, [](const OfRank& one) { return one.about.rank; });
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::uint32_t found = ranks_[rank].about.rank.value();
    const std::string& file = ranks_[rank].file;
    if (found < rank) {
      refuse_statistics("{} and {} are both of rank {}: give the files of one run", ranks_[rank - 1].file, file, found);
    }
    if (found > rank) {
      refuse_statistics(
          "the file of rank {} is missing (there is {}, of rank {}): give one for each rank", rank, file, found);
    }
  }
}

std::vector<std::uint64_t> RecordedLoads::phases() const {
  std::map<std::uint64_t, std::size_t> counts;
  for (const OfRank& rank : ranks_) {
    for (const StatisticsPhase& phase : rank.phases) {
      ++counts[phase.id];
    }
  }
  std::vector<std::uint64_t> found;
  for (const auto& [id, count] : counts) {
    if (count == ranks_.size()) {
      found.push_back(id);
    }
  }
  return found;
}

const StatisticsPhase& RecordedLoads::phase_of(Rank rank, std::uint64_t phase) const {
  const OfRank& of = ranks_[rank.value()];
  const auto found = std::ranges::lower_bound(of.phases, phase, {}, &StatisticsPhase::id);
  if (found == of.phases.end() || found->id != phase) {
    const std::vector<std::uint64_t> all = phases();
    if (all.empty()) {
      refuse_statistics("{}: phase {} is missing, and no phase is in all files", of.file, phase);
    }
    refuse_statistics("{}: phase {} is missing; {} phases from {} to {} are in all files",
                      of.file,
                      phase,
                      all.size(),
                      all.front(),
                      all.back());
  }
  return *found;
}

Problem RecordedLoads::problem(std::uint64_t phase) const {
  Problem problem;
  problem.rank_count = rank_count();
  problem.background.assign(ranks_.size(), 0.0);
  const bool has_nodes = std::ranges::all_of(
      ranks_, [&](const OfRank& of) { return of.about.node.has_value() && *of.about.node < ranks_.size(); });
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const StatisticsPhase& of_rank = phase_of(Rank{rank}, phase);
    problem.background[rank] = of_rank.background;
    if (has_nodes) {
      problem.node_of_rank.push_back(*ranks_[rank].about.node);
    }
    for (const StatisticsTask& task : of_rank.tasks) {
      problem.objects.push_back({.id = task.id,
                                 .rank = Rank{rank},
                                 .load = task.seconds,
                                 .bytes = task.bytes,
                                 .position = position_of(task),
                                 .is_migratable = task.is_migratable});
    }
  }
  std::ranges::stable_sort(problem.objects, {}, &Object::id);
  const auto twice = std::ranges::adjacent_find(problem.objects, {}, &Object::id);
  if (twice != problem.objects.end()) {
    refuse_statistics("{}: object {} of phase {} is also in {}: an object is on one rank",
                      ranks_[std::next(twice)->rank.value()].file,
                      twice->id.value(),
                      phase,
                      ranks_[twice->rank.value()].file);
  }
  std::unordered_map<ElementId, std::uint32_t> numbers;
  for (const Object& object : problem.objects) {
    numbers.emplace(object.id, numbers.size());
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const StatisticsMessages& messages : phase_of(Rank{rank}, phase).messages) {
      const auto from = numbers.find(messages.from);
      const auto to = numbers.find(messages.to);
      if (from != numbers.end() && to != numbers.end() && from != to) {
        sums[std::minmax(from->second, to->second)] += messages.bytes;
      }
    }
  }
  for (const auto& [ends, bytes] : sums) {
    problem.edges.push_back({ends.first, ends.second, bytes});
  }
  check(problem);
  return problem;
}

std::vector<std::filesystem::path> write_placement(const RecordedLoads& recorded,
                                                   std::uint64_t phase,
                                                   const Placement& placement,
                                                   const std::filesystem::path& prefix) {
  const Problem problem = recorded.problem(phase);
  expect(placement.size() == problem.objects.size(), "each object has a place");
  std::unordered_map<ElementId, Rank> rank_of;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    rank_of.emplace(problem.objects[i].id, placement[i]);
  }
  std::uint32_t ranks = recorded.rank_count();
  for (const Rank rank : placement) {
    ranks = std::max(ranks, rank.value() + 1);
  }
  std::vector<StatisticsPhase> phases(ranks);
  for (std::uint32_t rank = 0; rank < recorded.rank_count(); ++rank) {
    const StatisticsPhase& before = recorded.phase_of(Rank{rank}, phase);
    phases[rank].background = before.background;
    for (const StatisticsTask& task : before.tasks) {
      phases[rank_of.at(task.id).value()].tasks.push_back(task);
    }
    for (const StatisticsMessages& messages : before.messages) {
      const auto from = rank_of.find(messages.from);
      phases[from == rank_of.end() ? rank : from->second.value()].messages.push_back(messages);
    }
  }
  std::vector<std::filesystem::path> written;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    phases[rank].id = phase;
    StatisticsFile file{prefix,
                        rank < recorded.rank_count() ? recorded.rank(Rank{rank}) : StatisticsRank{.rank = Rank{rank}}};
    file.write(phases[rank]);
    file.close();
    written.push_back(file.path());
  }
  return written;
}

}  // namespace plait::data::balance
