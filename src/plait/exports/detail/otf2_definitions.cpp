// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/detail/otf2_definitions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace plait::exports::detail {
namespace {

// Values of OTF2's enumerations: OTF2_GeneralDefinitions.h, OTF2_Definitions.h and OTF2_Events.h of OTF2 3.0.
constexpr Otf2Enum process = 1;
constexpr Otf2Enum cpu_thread = 1;
constexpr Otf2Enum paradigm_user = 1;
constexpr Otf2Enum paradigm_mpi = 4;
constexpr Otf2Enum group_of_locations = 4;
constexpr Otf2Enum group_of_communicator = 5;
constexpr Otf2Enum absolute_point = 17;
constexpr Otf2Enum relative_last = 34;
constexpr Otf2Enum paradigm_sampling = 21;
constexpr Otf2Enum by_time = 0;
constexpr Otf2Enum real = 10;
constexpr Otf2Enum decimal = 1;
constexpr Otf2Enum asynchronous = 2;
constexpr Otf2Enum other = 0;

enum Role : Otf2Enum {
  role_function = 1,
  role_code = 4,
  role_task = 20,
  role_collective = 26,
  role_file = 27,
  role_point_to_point = 28,
  role_one_sided = 29,
};

/// In the order of OTF2_CollectiveOp.
constexpr std::array collectives{
    "BARRIER",
    "BCAST",
    "GATHER",
    "GATHERV",
    "SCATTER",
    "SCATTERV",
    "ALLGATHER",
    "ALLGATHERV",
    "ALLTOALL",
    "ALLTOALLV",
    "ALLTOALLW",
    "ALLREDUCE",
    "REDUCE",
    "REDUCE_SCATTER",
    "SCAN",
    "EXSCAN",
    "REDUCE_SCATTER_BLOCK",
};

constexpr Otf2Enum source_code_location = 20;  // OTF2_Type
constexpr std::uint64_t ticks_per_second = 1'000'000'000;
constexpr Otf2Time unknown_time = ~Otf2Time{0};

Otf2Enum role_of(const Names::Name& name) {
  using trace::CallClass;
  if (name.kind == Names::Kind::code) {
    return role_function;
  }
  if (name.kind != Names::Kind::function) {
    return name.kind == Names::Kind::task ? role_task : role_code;
  }
  switch (name.call) {
    case CallClass::begins_message:
    case CallClass::completes:
    case CallClass::message:
      return role_point_to_point;
    case CallClass::collective:
    case CallClass::begins_collective:
      return role_collective;
    case CallClass::one_sided:
      return role_one_sided;
    case CallClass::file:
      return role_file;
    default:
      return role_function;
  }
}

}  // namespace

std::optional<Otf2Enum> collective_operation(std::string_view function) {
  std::string name{function};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string_view rest{name};
  rest.remove_prefix(rest.starts_with("MPI_") ? 4 : 0);
  rest.remove_suffix(rest.ends_with("_INIT") ? 5 : 0);
  auto found = std::ranges::find(collectives, rest);
  if (found == collectives.end() && rest.starts_with("I")) {
    found = std::ranges::find(collectives, rest.substr(1));
  }
  if (found == collectives.end()) {
    return std::nullopt;
  }
  return static_cast<Otf2Enum>(found - collectives.begin());
}

Otf2Status Otf2DefinitionWriter::write(const Otf2Referred& referred, const trace::Meta& meta, std::uint32_t ranks) {
  const Otf2Time first = referred.first_event.value_or(0);
  check(otf2_.clock(out_, ticks_per_second, first, referred.last_event - first, unknown_time));
  string("");  // some readers want it to be the first
  write_locations(referred, meta, ranks);
  write_regions(referred.regions);
  write_communicators(referred, ranks);
  write_metrics(referred.metrics);
  write_sources(referred.sources);
  write_contexts(referred);
  return status_;
}

Otf2Reference Otf2DefinitionWriter::string(const std::string& text) {
  const auto [found, is_new] = strings_.try_emplace(text, static_cast<Otf2Reference>(strings_.size()));
  if (is_new) {
    check(otf2_.string(out_, found->second, text.c_str()));
  }
  return found->second;
}

void Otf2DefinitionWriter::write_locations(const Otf2Referred& referred, const trace::Meta& meta, std::uint32_t ranks) {
  constexpr Otf2Reference root = 0;
  check(otf2_.tree_node(out_, root, string("machine"), string("machine"), otf2_nothing));
  std::unordered_map<std::string, Otf2Reference> nodes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string host = rank < meta.hosts.size() ? meta.hosts[rank] : "unknown host";
    const auto [node, is_new] = nodes.try_emplace(host, static_cast<Otf2Reference>(nodes.size() + 1));
    if (is_new) {
      check(otf2_.tree_node(out_, node->second, string("node " + host), string("node"), root));
    }
    check(otf2_.location_group(out_, rank, string(fmt::format("rank {}", rank)), process, node->second, otf2_nothing));
  }
  for (std::size_t number = 0; number < referred.locations.size(); ++number) {
    const Otf2Referred::Location& location = referred.locations[number];
    check(otf2_.location(out_, number, string(location.name), cpu_thread, location.events, location.rank));
  }
}

void Otf2DefinitionWriter::write_regions(const Names& names) {
  for (Otf2Reference number = 0; number < names.size(); ++number) {
    const Names::Name& name = names[number];
    const Otf2Enum paradigm = name.kind == Names::Kind::function ? paradigm_mpi
                              : name.kind == Names::Kind::code   ? paradigm_sampling
                                                                 : paradigm_user;
    const Otf2Reference text = string(name.text);
    check(otf2_.region(out_, number, text, text, string(""), role_of(name), paradigm, 0, string(""), 0, 0));
  }
}

void Otf2DefinitionWriter::write_communicators(const Otf2Referred& referred, std::uint32_t ranks) {
  std::vector<std::uint64_t> mains(ranks);
  for (const auto& [rank, location] : referred.main_locations) {
    mains[rank] = location;
  }
  check(otf2_.group(out_, 0, string("MPI ranks"), group_of_locations, paradigm_mpi, 0, ranks, mains.data()));
  std::vector<std::uint32_t> world(ranks);
  std::iota(world.begin(), world.end(), 0U);
  write_communicator("MPI_COMM_WORLD", {otf2_world, std::move(world)}, ranks);
  for (const auto& [number, communicator] : referred.communicators) {
    write_communicator(fmt::format("communicator {}", number), communicator, ranks);
  }
}

void Otf2DefinitionWriter::write_communicator(const std::string& name,
                                              const Otf2Referred::Communicator& communicator,
                                              std::uint32_t ranks) {
  std::vector<std::uint64_t> members;
  std::ranges::copy_if(
      communicator.members, std::back_inserter(members), [&](std::uint32_t rank) { return rank < ranks; });
  const auto count = static_cast<std::uint32_t>(members.size());
  const Otf2Reference group = communicator.reference + 1;  // after that of the locations
  check(otf2_.group(
      out_, group, string("ranks of " + name), group_of_communicator, paradigm_mpi, 0, count, members.data()));
  check(otf2_.communicator(out_, communicator.reference, string(name), group, otf2_nothing, 0));
}

void Otf2DefinitionWriter::write_metrics(const Names& names) {
  for (Otf2Reference number = 0; number < names.size(); ++number) {
    const Otf2Reference text = string(names[number].text);
    const Otf2Enum mode = names[number].kind == Names::Kind::count ? relative_last : absolute_point;
    check(otf2_.metric_member(out_, number, text, string(""), other, mode, real, decimal, 0, string("#")));
    check(otf2_.metric_class(out_, number, 1, &number, asynchronous, other));
  }
}

void Otf2DefinitionWriter::write_sources(const std::vector<SourceLine>& sources) {
  if (!sources.empty()) {
    check(otf2_.attribute(out_,
                          otf2_call_site,
                          string("call site"),
                          string("where in the program the function was called"),
                          source_code_location));
  }
  for (Otf2Reference number = 0; number < sources.size(); ++number) {
    check(otf2_.source_location(out_, number, string(sources[number].file), sources[number].line));
  }
}

void Otf2DefinitionWriter::write_contexts(const Otf2Referred& referred) {
  constexpr std::int64_t nanoseconds_exponent = -9;
  if (referred.interval_ns) {
    check(otf2_.interrupt_generator(out_,
                                    otf2_interrupts,
                                    string("processor time"),
                                    by_time,
                                    decimal,
                                    nanoseconds_exponent,
                                    *referred.interval_ns));
  }
  for (Otf2Reference number = 0; number < referred.contexts.size(); ++number) {
    const PathTree::Node& node = referred.contexts[number];
    check(otf2_.calling_context(out_, number, node.function, otf2_nothing, node.caller));
  }
}

}  // namespace plait::exports::detail
