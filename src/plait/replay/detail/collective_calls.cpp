// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/collective_calls.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace plait::replay::detail {
namespace {

using trace::CallClass;

using Entry = std::pair<std::string_view, Collective>;
// Longer names come before their prefixes.
constexpr std::array<Entry, 13> data_functions{
    Entry{"barrier", Collective::barrier},
    Entry{"bcast", Collective::broadcast},
    Entry{"reduce_scatter", Collective::reduce_scatter},
    Entry{"reduce", Collective::reduce},
    Entry{"allreduce", Collective::all_reduce},
    Entry{"allgather", Collective::all_gather},
    Entry{"alltoall", Collective::all_to_all},
    Entry{"gather", Collective::gather},
    Entry{"scatter", Collective::scatter},
    Entry{"scan", Collective::scan},
    Entry{"exscan", Collective::scan},
    Entry{"neighbor_allgather", Collective::all_gather},
    Entry{"neighbor_alltoall", Collective::all_to_all},
};
constexpr std::array<std::string_view, 19> making_functions{"comm_dup",
                                                            "comm_dup_with_info",
                                                            "comm_split",
                                                            "comm_split_type",
                                                            "comm_create",
                                                            "cart_create",
                                                            "cart_sub",
                                                            "graph_create",
                                                            "dist_graph_create",
                                                            "dist_graph_create_adjacent",
                                                            "win_create",
                                                            "win_allocate",
                                                            "win_allocate_shared",
                                                            "win_create_dynamic",
                                                            "win_free",
                                                            "win_fence",
                                                            "comm_idup",
                                                            "intercomm_merge",
                                                            "comm_disconnect"};

bool may_be_collective(CallClass what) {
  return what == CallClass::collective || what == CallClass::begins_collective || what == CallClass::sets_up ||
         what == CallClass::one_sided;
}

/// A call of one member on one communicator.
struct Call {
  std::uint32_t number = 0;
  std::size_t index = 0;
  Collective kind = Collective::none;
};

using CallsOfMembers = std::map<std::uint32_t, std::vector<Call>>;  // by rank

/// The calls of each communicator.
std::map<std::uint32_t, CallsOfMembers> calls_of(const trace::RunTrace& run) {
  std::map<std::uint32_t, CallsOfMembers> found;
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    const trace::RankTrace& trace = run.ranks[rank];
    std::map<std::uint32_t, Collective> known;
    for (std::size_t i = 0; i < trace.calls.size(); ++i) {
      const trace::CallEvent& call = trace.calls[i].event;
      if (!may_be_collective(call.what) || call.communicator == trace::nothing) {
        continue;
      }
      const auto [entry, is_new] = known.try_emplace(call.function.value(), Collective::none);
      if (is_new) {
        entry->second = collective_of(trace.name(trace::Role::function, call.function));
      }
      if (entry->second != Collective::none) {
        found[call.communicator][rank].push_back({call.number, i, entry->second});
      }
    }
  }
  for (auto& [communicator, members] : found) {
    for (auto& [rank, calls] : members) {
      std::ranges::stable_sort(calls, {}, &Call::number);
    }
  }
  return found;
}

}  // namespace

Collective collective_of(std::string_view function) {
  std::string name{function};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t prefix = name.find("mpi_");
  if (prefix == std::string::npos) {
    return Collective::none;
  }
  std::string_view rest{name};
  rest.remove_prefix(prefix + 4);
  if (std::ranges::find(making_functions, rest) != making_functions.end()) {
    return Collective::barrier;
  }
  for (int is_begun = 0; is_begun < 2; ++is_begun) {
    for (const auto& [text, kind] : data_functions) {
      if (rest.starts_with(text)) {
        return kind;
      }
    }
    if (!rest.starts_with('i')) {
      break;
    }
    rest.remove_prefix(1);
  }
  return Collective::none;
}

std::map<std::uint32_t, std::vector<std::uint32_t>> communicators_of(const trace::RunTrace& run) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;
  for (const trace::RankTrace& trace : run.ranks) {
    for (const auto& [number, members] : trace.communicators) {
      const bool is_whole =
          std::ranges::none_of(members, [&](std::uint32_t member) { return member >= run.ranks.size(); });
      if (number != 0 && is_whole) {
        communicators.try_emplace(number, members);
      }
    }
  }
  return communicators;
}

CollectiveCalls match_collectives(const trace::RunTrace& run,
                                  const std::map<std::uint32_t, std::vector<std::uint32_t>>& communicators,
                                  const std::function<bool(std::uint32_t, std::size_t)>& is_wanted) {
  CollectiveCalls matched;
  for (const trace::RankTrace& trace : run.ranks) {
    matched.kinds.emplace_back(trace.calls.size(), Collective::none);
  }
  std::vector<std::uint32_t> all(run.ranks.size());
  std::iota(all.begin(), all.end(), 0U);
  for (auto& [communicator, members] : calls_of(run)) {
    const auto known = communicators.find(communicator);
    if (communicator != 0 && known == communicators.end()) {
      matched.notices.push_back(
          fmt::format("the members of communicator {} are not known; its collectives are left out", communicator));
      continue;
    }
    for (const std::uint32_t member : communicator == 0 ? all : known->second) {
      members.try_emplace(member);
    }
    std::size_t common = SIZE_MAX;
    std::size_t most = 0;
    const std::vector<Call>& first = members.begin()->second;
    for (const auto& [rank, calls] : members) {
      const auto alike = std::ranges::mismatch(calls, first, {}, &Call::kind, &Call::kind).in1 - calls.begin();
      common = std::min(common, static_cast<std::size_t>(alike));
      most = std::max(most, calls.size());
    }
    for (const auto& [rank, calls] : members) {
      for (std::size_t i = 0; i < common; ++i) {
        if (is_wanted(members.begin()->first, first[i].index)) {
          matched.kinds[rank][calls[i].index] = calls[i].kind;
        }
      }
    }
    if (common < most) {
      matched.notices.push_back(fmt::format(
          "of the {} collectives on communicator {}, {} are left out: not all members entered them, or they "
          "differ (a rank's file may be incomplete)",
          most,
          communicator,
          most - common));
    }
  }
  return matched;
}

}  // namespace plait::replay::detail
