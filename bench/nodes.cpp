// SPDX-License-Identifier: Apache-2.0
// Multicasts and collectives of the engine between hosts with several ranks each: with the nodes known and without, in
// turns. What crossed the links is counted.
#include "plait/comm/nodes.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "support/link_meter.hpp"
#include "support/raw_mpi.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::Rank;
using plait::comm::Group;

constexpr plait::Tag tag{1};
constexpr std::size_t kibi = 1024;

/// The engine with the nodes known, or as if each rank had a host of its own.
struct Side {
  std::vector<std::uint32_t> nodes;
  Group group;
  std::vector<double> us;
  bench::Crossing crossing;
};

Group group_of_all(plait::comm::Endpoint& net, std::uint32_t number) {
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < net.rank_count(); ++rank) {
    ranks.emplace_back(rank);
  }
  return {net, std::move(ranks), plait::CommId{number}};
}

Side side_of(plait::comm::Endpoint& net, std::vector<std::uint32_t> nodes, std::uint32_t number) {
  plait::comm::Nodes::set(net, nodes);
  return {.nodes = std::move(nodes), .group = group_of_all(net, number), .us = {}, .crossing = {}};
}

struct Operation {
  std::string name;
  std::function<void(const Group&)> call;
};

class Benchmark {
 public:
  Benchmark(bench::Report& report, plait::Runtime& runtime) : report_{report}, net_{runtime.messages()} {
    const std::vector<std::uint32_t> nodes = plait::comm::Nodes::of(net_);
    sides_.push_back(side_of(net_, nodes, 1001));
    sides_.push_back(side_of(net_, {}, 1002));
  }

  void run() {
    measure({"barrier", [](const Group& group) { plait::comm::barrier(group).wait(); }}, 0);
    for (const std::size_t bytes : {std::size_t{8}, 4 * kibi, 64 * kibi, 1024 * kibi}) {
      std::vector<double> mine(bytes / sizeof(double), 1);
      std::vector<double> result(mine.size());
      std::vector<double> all(mine.size() * net_.rank_count());
      measure({"multicast", [&](const Group&) { multicast(mine); }}, bytes);
      measure({"broadcast", [&](const Group& group) { plait::comm::broadcast(group, 0, std::span{mine}).wait(); }},
              bytes);
      measure({"reduce",
               [&](const Group& group) {
                 plait::comm::reduce<double>(group, 0, std::span<const double>{mine}, std::span{result}).wait();
               }},
              bytes);
      measure({"all_reduce", [&](const Group& group) { plait::comm::all_reduce(group, std::span{result}).wait(); }},
              bytes);
      measure({"all_gather",
               [&](const Group& group) {
                 plait::comm::all_gather(group, std::span<const double>{mine}, std::span{all}).wait();
               }},
              bytes);
    }
  }

 private:
  void multicast(std::vector<double>& data) {
    if (net_.self() != Rank{0}) {
      net_.receive({Rank{0}, tag}, std::as_writable_bytes(std::span{data})).wait();
      return;
    }
    std::vector<plait::comm::Destination> to;
    for (std::uint32_t rank = 1; rank < net_.rank_count(); ++rank) {
      to.push_back({.rank = Rank{rank}});
    }
    net_.multicast(std::move(to), tag, std::as_bytes(std::span{data})).wait();
  }

  void measure(const Operation& operation, std::size_t bytes) {
    const int turns = bytes <= 4 * kibi ? 60 : 30;
    for (Side& side : sides_) {
      side.us.clear();
      side.crossing = {};
    }
    for (int turn = 0; turn < turns; ++turn) {
      for (Side& side : sides_) {
        take(operation, side, turn > 0);
      }
    }
    add_rows(operation, bytes);
  }

  void take(const Operation& operation, Side& side, bool counts) {
    plait::comm::Nodes::set(net_, side.nodes);
    bench::Crossing crossing;
    links_.start();
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    operation.call(side.group);
    double us = watch.microseconds();
    MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    links_.stop(0, crossing);
    if (counts) {
      side.us.push_back(us);
      side.crossing.crossed += crossing.crossed;
    }
  }

  void add_rows(const Operation& operation, std::size_t bytes) {
    const std::map<std::string, std::string> params{{"bytes", std::to_string(bytes)},
                                                    {"ranks", std::to_string(net_.rank_count())}};
    const Side& by_node = sides_.front();
    const Side& flat = sides_.back();
    const auto of_one = [](const Side& side) {
      return side.crossing.crossed / static_cast<double>(side.us.size()) / kibi;
    };
    report_.add({.name = operation.name,
                 .params = params,
                 .value = by_node.us,
                 .unit = "us",
                 .peer = "nodes not known",
                 .peer_value = bench::median(flat.us)});
    report_.add({.name = operation.name + ": crossed",
                 .params = params,
                 .value = of_one(by_node),
                 .unit = "KiB",
                 .peer = "nodes not known",
                 .peer_value = of_one(flat)});
  }

  bench::Report& report_;
  plait::comm::Endpoint& net_;
  std::vector<Side> sides_;
  bench::LinkMeter links_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"nodes",
                       "multicasts and collectives that know which ranks share a host send less between hosts",
                       {.ranks = {4, 8}, .network = bench::Network::lab},
                       argc,
                       argv};
  plait::MpiSession session{argc, argv};
  {
    plait::Runtime runtime{MPI_COMM_WORLD};
    Benchmark{report, runtime}.run();
    plait::barrier(runtime.messages());
    report.finish();
  }
}
