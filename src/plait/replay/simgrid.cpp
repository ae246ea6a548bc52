// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/simgrid.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/detail/pairing.hpp"
#include "plait/replay/expand.hpp"

namespace plait::replay {
namespace {

constexpr int datatype_bytes = 6;  // MPI_BYTE, as SMPI numbers types in its traces

/// An operation of one of a rank's lanes.
struct Place {
  std::size_t lane = 0;
  std::size_t operation = 0;
  nanoseconds time{};  ///< A wait's is its end: it needs what others did meanwhile.
};

std::vector<Place> in_order_of_logging(const RankSchedule& rank) {
  std::vector<Place> places;
  for (std::size_t lane = 0; lane < rank.lanes.size(); ++lane) {
    for (std::size_t i = 0; i < rank.lanes[lane].operations.size(); ++i) {
      const Operation& operation = rank.lanes[lane].operations[i];
      const nanoseconds end = operation.action == Action::wait ? operation.took : nanoseconds{};
      places.push_back({lane, i, operation.at + end});
    }
  }
  if (rank.lanes.size() > 1) {
    for (std::size_t lane = 0, first = 0; lane < rank.lanes.size(); ++lane) {  // a lane's own order stays
      const std::size_t end = first + rank.lanes[lane].operations.size();
      for (std::size_t i = first + 1; i < end; ++i) {
        places[i].time = std::max(places[i].time, places[i - 1].time);
      }
      first = end;
    }
    std::ranges::stable_sort(places, {}, &Place::time);
  }
  return places;
}

std::string trace_of(const RankSchedule& schedule, std::size_t rank) {
  std::string text = fmt::format("{} init\n", rank);
  auto out = std::back_inserter(text);
  std::set<std::pair<std::size_t, std::size_t>> open;
  for (const Place& place : in_order_of_logging(schedule)) {
    const Lane& lane = schedule.lanes[place.lane];
    const Operation& operation = lane.operations[place.operation];
    switch (operation.action) {
      case Action::look:
      case Action::collective:
        break;
      case Action::compute:
        fmt::format_to(out, "{} compute {}\n", rank, operation.took.count());
        break;
      case Action::send:
      case Action::receive:
        fmt::format_to(out,
                       "{} {} {} {} {} {}\n",
                       rank,
                       operation.action == Action::send ? "isend" : "irecv",
                       operation.peer,
                       operation.tag,
                       operation.bytes,
                       datatype_bytes);
        open.emplace(place.lane, place.operation);
        break;
      case Action::wait:
        if (operation.count == open.size()) {
          fmt::format_to(out, "{} waitall {}\n", rank, open.size());
          open.clear();
          break;
        }
        for (const std::uint32_t waited : std::span{lane.waited}.subspan(operation.first, operation.count)) {
          const Operation& begun = lane.operations[waited];
          const bool is_send = begun.action == Action::send;
          fmt::format_to(
              out, "{} wait {} {} {}\n", rank, is_send ? rank : begun.peer, is_send ? begun.peer : rank, begun.tag);
          open.erase({place.lane, waited});
        }
        break;
    }
  }
  fmt::format_to(out, "{} finalize\n", rank);
  return text;
}

std::string platform_xml(const Platform& platform, std::uint32_t hosts) {
  const auto bandwidth = [](const LinkCosts& costs) { return 1e9 / std::max(costs.gap_per_byte_ns, 1e-6); };
  // A way leads over two links of a cluster, each with half of the latency.
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n"
      "  <cluster id=\"cluster\" prefix=\"host-\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" bw=\"{:.0f}Bps\" "
      "lat=\"{:.1f}ns\"\n"
      "           loopback_bw=\"{:.0f}Bps\" loopback_lat=\"{:.1f}ns\"/>\n"
      "</platform>\n",
      hosts - 1,
      bandwidth(platform.between_hosts),
      platform.between_hosts.latency_ns / 2,
      bandwidth(platform.within_host),
      platform.within_host.latency_ns);
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out{file};
  out << text;
  out.close();
  if (!out) {
    throw Error{ErrorCode::io, fmt::format("{} cannot be written; is the disk full?", file.string())};
  }
}

}  // namespace

std::vector<std::string> write_simgrid(const Schedule& schedule,
                                       const Platform& platform,
                                       const std::filesystem::path& folder) {
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  if (trouble) {
    throw Error{ErrorCode::io, fmt::format("the folder {} cannot be made: {}", folder.string(), trouble.message())};
  }
  Schedule messages = without_collectives(schedule);
  detail::number_messages(messages, detail::pair_operations(messages));
  std::size_t with_several_lanes = 0;
  std::string traces;
  std::string hosts;
  for (std::size_t rank = 0; rank < messages.ranks.size(); ++rank) {
    const std::string name = fmt::format("rank-{:04}.ti", rank);
    write(folder / name, trace_of(messages.ranks[rank], rank));
    traces += name + "\n";
    hosts += fmt::format("host-{}\n", rank / platform.ranks_per_host);
    with_several_lanes += messages.ranks[rank].lanes.size() > 1 ? 1 : 0;
  }
  write(folder / "trace.txt", traces);
  write(folder / "hosts.txt", hosts);
  write(folder / "platform.xml",
        platform_xml(platform, platform.hosts_for(static_cast<std::uint32_t>(messages.ranks.size()))));
  if (with_several_lanes > 0) {
    return {fmt::format(
        "{} ranks have several threads, which SimGrid's traces have not: their computing is written one after "
        "the other",
        with_several_lanes)};
  }
  return {};
}

}  // namespace plait::replay
