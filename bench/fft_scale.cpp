// SPDX-License-Identifier: Apache-2.0
// The exchange of a column at scale: how much of an all-to-all of 4096-byte blocks is hidden behind work, against the
// number of nodes, on a modelled machine. Beside it what R. Fiedler measured with the all-to-all harness of the PSDNS
// turbulence code on 4096 and 8192 nodes of Blue Waters ("Overlapping All-to-All Communication and Computation using
// non-Blocking MPI and Coarray Fortran", Cray, 2013).
//
// A column has one rank of each node; the 16 ranks of a node are in 16 columns, which all exchange at once and share
// the node's network. Rows lie within a node and are left out (there they took a thousandth of the time).
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "fft_scale/column.hpp"
#include "support/report.hpp"

namespace {

using fft_scale::Exchange;
using fft_scale::Machine;
using fft_scale::Method;
using fft_scale::Order;
using plait::nanoseconds;
using std::chrono::duration;

/// One variant on so many nodes, in seconds: t_total_col and t_comp_col of the published tables.
struct Published {
  std::uint32_t nodes;
  const char* variant;
  const char* twin;  ///< Blocking; empty for those.
  double total;
  double work;
};
constexpr std::array published{
    Published{4096, "MPI", "", 6.70842, 2.12199},
    Published{4096, "CoM", "", 4.12184, 2.12414},
    Published{4096, "MIB", "", 5.95609, 2.15250},
    Published{4096, "MIN", "MIB", 3.92301, 2.56996},
    Published{4096, "CrB", "", 4.39653, 2.09289},
    Published{4096, "CrN", "CrB", 2.50166, 2.21423},
    Published{8192, "MPI", "", 23.3572, 7.47749},
    Published{8192, "CoM", "", 16.1125, 7.66926},
    Published{8192, "MIB", "", 15.8076, 7.68819},
    Published{8192, "MIN", "MIB", 8.33958, 7.93174},
    Published{8192, "CrB", "", 14.6526, 7.68633},
    Published{8192, "CrN", "CrB", 13.8591, 7.68942},
    Published{8192, "CsB", "", 14.4864, 7.68456},
    Published{8192, "CsN", "CsB", 7.71479, 0},
};

const Published& published_of(std::uint32_t nodes, const std::string& variant) {
  return *std::ranges::find_if(published,
                               [&](const Published& one) { return one.nodes == nodes && one.variant == variant; });
}

/// (T_B - T_N) / min(communication, work), both of the blocking twin.
double overlap_of(const Published& one) {
  const Published& twin = published_of(one.nodes, one.twin);
  return (twin.total - one.total) / std::min(twin.total - twin.work, twin.work);
}

/// What a block of 4096 bytes took there: MIB's communication over the messages of a rank. It is the same on both node
/// counts within 5 %, so that it is the machine's: the mean.
double seconds_a_block() {
  double sum = 0;
  for (const std::uint32_t nodes : {4096U, 8192U}) {
    const Published& blocking = published_of(nodes, "MIB");
    sum += (blocking.total - blocking.work) / (nodes - 1);
  }
  return sum / 2;
}

struct NamedMachine {
  std::string name;
  std::string what;
  Machine machine;
  std::uint32_t every_rank_max;  ///< Ranks that all have their engine; more would take long.
  std::uint32_t nodes_max;       ///< But with --full.
};

constexpr double packet_bytes = 4096 + 40;  // with the header of comm/wire.hpp

std::vector<NamedMachine> machines() {
  using std::chrono_literals::operator""us;
  using std::chrono_literals::operator""ns;
  const double block = seconds_a_block();
  const plait::net::LogGP fitted{
      .latency = 2us, .overhead = 1us, .gap = 1us, .per_byte_ns = (1e9 * block - 1000) / packet_bytes};
  const plait::net::LogGP shared{.latency = 2us, .overhead = 500ns, .gap = 200ns, .per_byte_ns = 16 / 25.0};
  return {
      {"2013",
       fmt::format("{:.3g} ms a block and rank, as MIB's communication took on both node counts; 1 us of the processor "
                   "for each message sent, and for each received",
                   1e3 * block),
       {.cost = fitted, .processor = 1us, .look = 2us},
       64,
       4096},
      {"200 Gbit/s",
       "25 GB/s a node, shared by its 16 ranks: 2.6 us a block and rank; 0.5 us of the processor for each message "
       "sent, "
       "and for each received",
       {.cost = shared, .processor = 500ns, .looks_every = 20us, .look = 1us},
       256,
       1024},
  };
}

/// What one variant takes, and what of the exchange it hides.
struct Outcome {
  const char* variant;
  double total = 0;
  double overlap = 0;
};

struct Point {
  std::uint32_t nodes = 0;
  Method method = Method::every_rank;
  double communication = 0;
  double work = 0;
  double blocking = 0;
  std::vector<Outcome> outcomes;
};

double seconds(nanoseconds time) {
  return duration<double>(time).count();
}

/// `work_part`: the work over the exchange.
Point point_of(const Machine& machine, std::uint32_t nodes, Method method, double work_part) {
  Exchange exchange{.ranks = nodes};
  Point point{.nodes = nodes, .method = method};
  point.communication = seconds(time_of(exchange, machine, method));
  exchange.work = std::chrono::duration_cast<nanoseconds>(duration<double>(point.communication * work_part));
  point.work = seconds(exchange.work);
  point.blocking = point.communication + point.work;  // what Order::after takes, to the nanosecond
  constexpr std::array variants{
      std::pair{"DIN", Order::unobserved}, std::pair{"PLN", Order::before}, std::pair{"PLT", Order::as_it_comes}};
  for (const auto& [name, order] : variants) {
    exchange.order = order;
    const double total = seconds(time_of(exchange, machine, method));
    point.outcomes.push_back({name, total, (point.blocking - total) / std::min(point.communication, point.work)});
  }
  return point;
}

const char* to_string(Method method) {
  return method == Method::symmetry ? "symmetry" : "every rank";
}

void print_head(const NamedMachine& named) {
  fmt::print("\nmachine \"{}\": {}\n", named.name, named.what);
  fmt::print("{:>6}  {:<10} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}  {:>7} {:>7} {:>7}\n",
             "nodes",
             "modelled",
             "exchange_s",
             "work_s",
             "PLB_s",
             "DIN_s",
             "PLN_s",
             "PLT_s",
             "DIN",
             "PLN",
             "PLT");
}

void print(const Point& point) {
  fmt::print("{:>6}  {:<10} {:>11.4g} {:>11.4g} {:>11.4g}",
             point.nodes,
             to_string(point.method),
             point.communication,
             point.work,
             point.blocking);
  for (const Outcome& outcome : point.outcomes) {
    fmt::print(" {:>11.4g}", outcome.total);
  }
  fmt::print(" ");
  for (const Outcome& outcome : point.outcomes) {
    fmt::print(" {:>7.2f}", outcome.overlap);
  }
  fmt::print("\n");
}

void print_published(std::uint32_t nodes) {
  for (const Published& one : published) {
    if (one.nodes == nodes) {
      fmt::print("{:>6}  published {:<4} {:>8.4g} s, work {:.4g} s{}\n",
                 nodes,
                 one.variant,
                 one.total,
                 one.work,
                 *one.twin == '\0' ? std::string{} : fmt::format(", overlap {:.2f}", overlap_of(one)));
    }
  }
}

void add(bench::Report& report, const NamedMachine& named, const Point& point) {
  for (const Outcome& outcome : point.outcomes) {
    report.add({.name = "overlap",
                .params = {{"machine", named.name},
                           {"nodes", std::to_string(point.nodes)},
                           {"alg", outcome.variant},
                           {"modelled", to_string(point.method)}},
                .value = {outcome.overlap, outcome.overlap, outcome.overlap},
                .unit = "1",
                .peer = {},
                .peer_value = {},
                .bound = "all is hidden",
                .bound_value = 1.0});
  }
}

void run(bench::Report& report, const NamedMachine& named) {
  print_head(named);
  const auto take = [&](std::uint32_t nodes, Method method, double work_part) {
    const Point point = point_of(named.machine, nodes, method, work_part);
    print(point);
    std::fflush(stdout);
    add(report, named, point);
  };
  const std::uint32_t every_rank_max = report.is_full() ? 4 * named.every_rank_max : named.every_rank_max;
  const std::uint32_t nodes_max = report.is_full() ? 8192 : named.nodes_max;
  for (std::uint32_t nodes = 16; nodes <= nodes_max; nodes *= report.is_full() ? 2 : 4) {
    if (nodes <= every_rank_max) {
      take(nodes, Method::every_rank, 1);
    }
    take(nodes, Method::symmetry, 1);
  }
  if (named.name != "2013") {
    return;
  }
  fmt::print("\nthe published runs, with as much work over the exchange as they had:\n");
  print_head(named);
  for (const std::uint32_t nodes : {4096U, 8192U}) {
    const Published& blocking = published_of(nodes, "MIB");
    take(nodes, Method::symmetry, blocking.work / (blocking.total - blocking.work));
    print_published(nodes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"fft_scale",
                       "models a column's exchange of 4096-byte blocks on 16 to 8192 nodes, beside the published runs",
                       1U,
                       argc,
                       argv};
  fmt::print(
      "Columns of one rank a node, 16 columns at once; blocks of 4096 bytes; work as long as the exchange.\n"
      "DIN: nobody looks at the network during the work; PLN: a timer does; PLT: tasks, each block is worked on\n"
      "when it has come. The last columns are overlaps: (T_PLB - T) / min(exchange, work). \"every rank\": each\n"
      "rank has its engine on the simulated network; \"symmetry\": one has, and meets its own messages again.\n");
  for (const NamedMachine& named : machines()) {
    run(report, named);
  }
  fmt::print("\n");
  if (std::any_of(argv, argv + argc, [](std::string_view argument) { return argument == "--json"; })) {
    report.finish();  // the tables are printed already
  }
}
