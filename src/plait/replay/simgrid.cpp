// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/simgrid.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/expand.hpp"

namespace plait::replay {
namespace {

using detail::Place;

constexpr int datatype_bytes = 6;  // MPI_BYTE, as SMPI numbers types in its traces

/// Merges the streams of each rank in an order in which the whole exchange can be carried out. Of the streams that can
/// continue, a rank takes the one whose operation is earliest in the log. A stream cannot continue while it waits for
/// an operation whose partner is not posted.
class StreamsInOne {
 public:
  StreamsInOne(const Schedule& schedule, const std::vector<detail::PairOfPlaces>& pairs)
      : schedule_{schedule},
        orders_(schedule.ranks.size()),
        next_{detail::for_streams(schedule, [](const Stream&) { return std::uint32_t{0}; })},
        partners_{detail::for_streams(
            schedule, [](const Stream& stream) { return std::vector<Place>(stream.operations.size()); })} {
    for (const detail::PairOfPlaces& pair : pairs) {
      partner(pair.send) = pair.receive;
      partner(pair.receive) = pair.send;
    }
  }

  /// The order of each rank.
  [[nodiscard]] std::vector<std::vector<Place>> run() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
        while (advance(rank)) {
          has_moved = true;
        }
      }
    }
    return std::move(orders_);
  }

 private:
  [[nodiscard]] Place& partner(const Place& place) { return partners_[place.rank][place.stream][place.operation]; }

  [[nodiscard]] bool has_begun(const Place& place) const { return next_[place.rank][place.stream] > place.operation; }

  [[nodiscard]] bool can_go_on(std::uint32_t rank, std::uint32_t stream_number) {
    const Stream& stream = schedule_.ranks[rank].streams[stream_number];
    const std::uint32_t next = next_[rank][stream_number];
    if (next == stream.operations.size()) {
      return false;
    }
    const Operation& operation = stream.operations[next];
    if (operation.action == Action::after) {
      return std::ranges::all_of(
          std::span{stream.others}.subspan(operation.first, operation.count),
          [&](const StreamPoint& point) { return has_begun({rank, point.stream, point.operation}); });
    }
    return operation.action != Action::wait ||
           std::ranges::all_of(std::span{stream.waited}.subspan(operation.first, operation.count),
                               [&](std::uint32_t waited) { return has_begun(partner({rank, stream_number, waited})); });
  }

  bool advance(std::uint32_t rank) {
    const auto& streams = schedule_.ranks[rank].streams;
    std::optional<std::uint32_t> chosen;
    nanoseconds earliest{};
    for (std::uint32_t stream = 0; stream < streams.size(); ++stream) {
      if (can_go_on(rank, stream)) {
        const nanoseconds at = streams[stream].operations[next_[rank][stream]].at;
        if (!chosen || at < earliest) {
          chosen = stream;
          earliest = at;
        }
      }
    }
    if (chosen) {
      orders_[rank].push_back({rank, *chosen, next_[rank][*chosen]++});
    }
    return chosen.has_value();
  }

  const Schedule& schedule_;
  std::vector<std::vector<Place>> orders_;
  std::vector<std::vector<std::uint32_t>> next_;  ///< By rank and stream.
  std::vector<std::vector<std::vector<Place>>> partners_;
};

std::string trace_of(const RankSchedule& schedule, std::size_t rank, const std::vector<Place>& order) {
  std::string text = fmt::format("{} init\n", rank);
  auto out = std::back_inserter(text);
  std::set<std::pair<std::size_t, std::size_t>> open;
  for (const Place& place : order) {
    const Stream& stream = schedule.streams[place.stream];
    const Operation& operation = stream.operations[place.operation];
    switch (operation.action) {
      case Action::poll:
      case Action::collective:
      case Action::after:
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
        open.emplace(place.stream, place.operation);
        break;
      case Action::wait:
        if (operation.count == open.size()) {
          fmt::format_to(out, "{} waitall {}\n", rank, open.size());
          open.clear();
          break;
        }
        for (const std::uint32_t waited : std::span{stream.waited}.subspan(operation.first, operation.count)) {
          const Operation& begun = stream.operations[waited];
          const bool is_send = begun.action == Action::send;
          fmt::format_to(
              out, "{} wait {} {} {}\n", rank, is_send ? rank : begun.peer, is_send ? begun.peer : rank, begun.tag);
          open.erase({place.stream, waited});
        }
        break;
    }
  }
  fmt::format_to(out, "{} finalize\n", rank);
  return text;
}

std::string platform_xml(const Platform& platform, std::uint32_t hosts) {
  const auto bandwidth = [](const LinkCosts& costs) { return 1e9 / std::max(costs.gap_per_byte_ns, 1e-6); };
  // A route has two links of the cluster, each with half of the latency.
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
    throw Error{ErrorCode::io, fmt::format("{} cannot be written; check the space on the disk", file.string())};
  }
}

}  // namespace

std::vector<std::string> write_simgrid(const Schedule& schedule,
                                       const Platform& platform,
                                       const std::filesystem::path& folder) {
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  if (trouble) {
    throw Error{ErrorCode::io, fmt::format("the folder {} cannot be created: {}", folder.string(), trouble.message())};
  }
  Schedule messages = without_collectives(schedule);
  const std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(messages);
  detail::number_messages(messages, pairs);
  const std::vector<std::vector<Place>> orders = StreamsInOne{messages, pairs}.run();
  std::size_t with_several_streams = 0;
  std::string traces;
  std::string hosts;
  for (std::size_t rank = 0; rank < messages.ranks.size(); ++rank) {
    const std::string name = fmt::format("rank-{:04}.ti", rank);
    write(folder / name, trace_of(messages.ranks[rank], rank, orders[rank]));
    traces += name + "\n";
    hosts += fmt::format("host-{}\n", rank / platform.ranks_per_host);
    with_several_streams += messages.ranks[rank].streams.size() > 1 ? 1 : 0;
  }
  write(folder / "trace.txt", traces);
  write(folder / "hosts.txt", hosts);
  write(folder / "platform.xml",
        platform_xml(platform, platform.hosts_for(static_cast<std::uint32_t>(messages.ranks.size()))));
  if (with_several_streams > 0) {
    return {fmt::format(
        "{} ranks have several threads, which SimGrid's traces do not support: their operations are merged into one "
        "sequence",
        with_several_streams)};
  }
  return {};
}

}  // namespace plait::replay
