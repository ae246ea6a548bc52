// SPDX-License-Identifier: Apache-2.0
// A particle code at scale: the time of each phase of a step on 64 to 1024 ranks of 2000 particles, on a modelled
// network. More ranks are possible with fewer particles and without walks; 4096 take more than 25 s.
//
// All ranks are in this process and compute while the network's clock is stopped. The computing of a phase is measured
// as processor time. Walks are measured on a few ranks only. The peer of the decomposition is the default of FDPS: all
// ranks gather samples from all, and each decomposes the whole domain. The peer of the exchange of summaries is a
// gather of all by all. Peers are rings on many ranks, and are not run there. One particle runs away while particles
// are exchanged.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/base/random.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/particles/domains/decompose.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/domains/exchange.hpp"
#include "plait/particles/domains/summary_exchange.hpp"
#include "plait/particles/trees/boundary.hpp"
#include "plait/particles/trees/let.hpp"
#include "plait/particles/trees/rank_summary.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/tree_build.hpp"
#include "plait/particles/trees/walk.hpp"

#include "support/report.hpp"
#include "support/simulated_ranks.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::Bytes;
using plait::nanoseconds;
using plait::Rank;
using plait::comm::Endpoint;
using plait::comm::Request;
using std::chrono_literals::operator""ns;
namespace particles = plait::particles;
using particles::Particles;
using particles::Vector;

/// Ranks above which the peers are not run: the messages of a ring of all ranks grow with their square.
constexpr std::uint32_t peer_ranks_max = 2048;
/// So few, that summaries are exchanged through levels of blocks here.
constexpr std::uint32_t summaries_gathered_max = 64;
constexpr double theta = 0.5;
constexpr double step_of_domain = 0.02;  ///< How far particles move in a step, in edges of a domain.
constexpr std::uint32_t walks_measured = 8;
constexpr std::size_t fdps_samples = 30;

/// 100 Gbit/s as a program sees it through MPI.
constexpr plait::net::LogGP cost{.latency = 1000ns, .overhead = 300ns, .gap = 100ns, .per_byte_ns = 0.08};
constexpr nanoseconds poll_every = 250ns;  ///< How often ranks poll the network.

double processor_us() {
  return 1e6 * bench::processor_seconds(CLOCK_THREAD_CPUTIME_ID);
}

/// The cost of one phase.
struct Cost {
  double network_us = 0;      ///< Until the last rank has received all.
  double computed_us = 0;     ///< The mean of ranks.
  std::uint64_t packets = 0;  ///< Of the rank that sent most.
  std::uint64_t bytes = 0;    ///< Of the rank that sent most.
  std::uint64_t collectives = 0;
  std::uint64_t tests = 0;  ///< Pairs of summaries, of the rank that compared most.
  std::uint64_t rows = 0;   ///< Summaries, of the rank that received most.

  [[nodiscard]] double us() const { return network_us + computed_us; }
};

struct OneRank {
  OneRank(Endpoint& endpoint, const particles::DomainGrid& grid)
      : domain{grid, endpoint.self()},
        decomposition{endpoint, {}, grid},
        exchange{endpoint, {}, store},
        comms{endpoint.claim_comms(1)},
        summaries{endpoint, comms[0], grid, {.top_blocks_max = summaries_gathered_max}} {}

  Particles store;
  particles::Field<double> mass = store.add_field<double>("mass");
  particles::Field<Vector> velocity = store.add_field<Vector>("velocity");
  particles::Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  particles::Field<double> potential = store.add_field<double>("potential");
  particles::Domain domain;
  particles::Decomposition decomposition;
  particles::ParticleExchange exchange;
  particles::Tree tree;
  plait::comm::ClaimedComms comms;
  particles::SummaryExchange summaries;
  std::unique_ptr<particles::TreeSummaries> rules;
  Bytes row;
  particles::RankBoundary boundary;
  std::vector<std::uint32_t> near;
  std::uint64_t bytes = 0;
};

Vector in_sphere(plait::Random& random) {
  while (true) {
    const Vector p{2 * random.unit() - 1, 2 * random.unit() - 1, 2 * random.unit() - 1};
    if (dot(p, p) <= 1) {
      return p;
    }
  }
}

enum class Phases : std::uint8_t { all, until_summaries };

/// All phases of a step, on a number of ranks.
class Run {
 public:
  Run(std::uint32_t ranks, std::size_t particles_a_rank)
      : particles_a_rank_{particles_a_rank}, machine_{ranks, {.cost = cost}, poll_every} {
    const particles::DomainGrid grid = particles::cubic_grid(ranks);
    plait::Random random{ranks};
    const double total = static_cast<double>(particles_a_rank) * ranks;
    const double speed = step_of_domain * 2 / std::cbrt(static_cast<double>(ranks));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      OneRank& one = *ranks_.emplace_back(std::make_unique<OneRank>(machine_[rank], grid));
      one.store.add(particles_a_rank);
      for (std::size_t i = 0; i < particles_a_rank; ++i) {
        one.store.ids()[i] = rank * particles_a_rank + i;
        one.store.positions()[i] = in_sphere(random);
        one.store[one.velocity][i] = speed * in_sphere(random);
        one.store[one.mass][i] = 1 / total;
      }
    }
    ranks_.front()->store[ranks_.front()->velocity][0] = {1e6, 0, 0};  // runs away
  }

  std::map<std::string, Cost> costs;

  void run(int steps, Phases phases) {
    decompose("first decomposition");
    exchange("first exchange", particles::Travel::everywhere);
    for (int step = 0; step <= steps; ++step) {
      drift();
      // The first step is not measured: domain boundaries settle.
      decompose(step == 0 ? "" : "decompose");
      exchange(step == 0 ? "" : "exchange", particles::Travel::neighbors);
    }
    for (const char* const phase : {"decompose", "exchange"}) {
      mean(costs[phase], static_cast<std::uint64_t>(steps));
    }
    costs.erase("");
    if (has_peers()) {
      fdps_decomposition();
    }
    bring_back();
    trees();
    summaries();
    gather_summaries();
    if (phases == Phases::all) {
      boundaries();
      lets();
      walks();
    }
    largest_share();
  }

  /// Particles of the rank that has most, over the mean.
  double imbalance = 0;
  double near_ranks = 0;  ///< The mean of ranks.
  double far_rows = 0;    ///< The mean of ranks.

 private:
  [[nodiscard]] bool has_peers() const { return machine_.size() <= peer_ranks_max; }

  /// Adds the cost of the messages that `start` posts on each rank.
  template <class Start>
  void communicate(Cost& phase, const Start& start) {
    const auto packets = [this](std::uint32_t rank) { return machine_[rank].activity().packet_count(); };
    std::vector<std::uint64_t> before;
    for (std::uint32_t rank = 0; rank < machine_.size(); ++rank) {
      before.push_back(packets(rank));
    }
    phase.network_us += machine_.run(start);
    std::uint64_t most = 0;
    for (std::uint32_t rank = 0; rank < machine_.size(); ++rank) {
      most = std::max(most, packets(rank) - before[rank]);
    }
    phase.packets += most;
  }
  /// Adds the processor time of `compute_on`.
  template <class Compute>
  void compute(Cost& phase, Compute compute_on) {
    const double begin = processor_us();
    for (const auto& one : ranks_) {
      compute_on(*one);
    }
    phase.computed_us += (processor_us() - begin) / static_cast<double>(ranks_.size());
  }
  static void mean(Cost& phase, std::uint64_t count) {
    phase.network_us /= static_cast<double>(count);
    phase.computed_us /= static_cast<double>(count);
    phase.packets /= count;
    phase.bytes /= count;
    phase.collectives /= count;
  }

  void drift() {
    for (const auto& one : ranks_) {
      for (std::size_t i = 0; i < one->store.size(); ++i) {
        one->store.positions()[i] += one->store[one->velocity][i];
      }
    }
  }

  /// Brings the runaway back. With it, its rank would send its boundary to all others, as no other rank could use its
  /// summary.
  void bring_back() {
    for (const auto& one : ranks_) {
      const auto far = std::ranges::find_if(one->store.positions(), [](const Vector& p) { return p.x > 10; });
      if (far != one->store.positions().end()) {
        *far = 1.01 * one->store.positions()[far == one->store.positions().begin() ? 1 : 0];
      }
    }
  }

  void decompose(const std::string& name) {
    Cost& phase = costs[name];
    const auto before = ranks_.front()->decomposition.counts();
    compute(phase, [](OneRank& one) { one.decomposition.choose(one.store); });
    communicate(phase, [this](std::uint32_t rank, std::vector<Request>& requests) {
      requests.push_back(ranks_[rank]->decomposition.cut(ranks_[rank]->domain));
    });
    const auto after = ranks_.front()->decomposition.counts();
    phase.collectives += after.reductions - before.reductions;
    phase.bytes += after.bytes - before.bytes;
  }

  void exchange(const std::string& name, particles::Travel travel) {
    Cost& phase = costs[name];
    std::vector<std::uint64_t> before;
    for (const auto& one : ranks_) {
      before.push_back(one->exchange.counts().bytes);
    }
    compute(phase, [](OneRank& one) { one.exchange.search(one.domain); });
    communicate(phase, [this, travel](std::uint32_t rank, std::vector<Request>& requests) {
      requests.push_back(ranks_[rank]->exchange.move(travel));
    });
    compute(phase, [](OneRank& one) { one.exchange.finish(); });
    std::uint64_t most = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      most = std::max(most, ranks_[rank]->exchange.counts().bytes - before[rank]);
    }
    phase.bytes += most;
  }

  /// Gathers positions of samples on all ranks; one rank measures the three sorts that every rank would do.
  void fdps_decomposition() {
    Cost& phase = costs["decompose as FDPS"];
    std::vector<Vector> mine(fdps_samples);
    std::vector<Vector> all(fdps_samples * ranks_.size());
    communicate(phase, [&](std::uint32_t rank, std::vector<Request>& requests) {
      const plait::comm::Group group{machine_[rank]};
      requests.push_back(plait::comm::all_gather(group, std::span<const Vector>{mine}, std::span{all}));
    });
    plait::Random random{5};
    std::ranges::generate(all, [&] { return in_sphere(random); });
    const particles::DomainGrid grid = particles::cubic_grid(machine_.size());
    const double begin = processor_us();
    std::ranges::sort(all, {}, &Vector::x);
    for (std::size_t slab = 0; slab < grid.x; ++slab) {
      const std::span<Vector> column = part(all, slab, grid.x);
      std::ranges::sort(column, {}, &Vector::y);
      for (std::size_t y = 0; y < grid.y; ++y) {
        std::ranges::sort(part(column, y, grid.y), {}, &Vector::z);
      }
    }
    phase.computed_us += processor_us() - begin;
    phase.collectives = 1;
    phase.bytes = mine.size() * sizeof(Vector);
  }
  static std::span<Vector> part(std::span<Vector> all, std::size_t i, std::size_t parts) {
    const std::size_t first = all.size() * i / parts;
    return all.subspan(first, all.size() * (i + 1) / parts - first);
  }

  void trees() {
    compute(costs["make tree"], [](OneRank& one) {
      particles::TreeOptions options;
      options.charge = one.mass;
      options.theta = theta;
      options.order = particles::Order::monopole;
      build_tree(one.tree, one.store, options);
    });
  }

  void summaries() {
    Cost& phase = costs["exchange summaries"];
    compute(phase, [](OneRank& one) {
      one.rules = std::make_unique<particles::TreeSummaries>(one.tree.options());
      one.row.resize(one.rules->row_bytes());
      one.rules->write(one.tree, one.row);
    });
    communicate(phase, [this](std::uint32_t rank, std::vector<Request>& requests) {
      OneRank& one = *ranks_[rank];
      requests.push_back(one.summaries.exchange(one.row, *one.rules, particles::SummaryExchange::Choice::made));
    });
    for (const auto& one : ranks_) {
      for (const Rank rank : one->summaries.near_ranks()) {
        one->near.push_back(rank.value());
      }
      std::ranges::sort(one->near);
      const particles::SummaryCounts& counts = one->summaries.counts();
      phase.bytes = std::max(phase.bytes, counts.bytes);
      phase.tests = std::max(phase.tests, counts.tests);
      phase.rows = std::max(phase.rows, counts.rows);
      near_ranks += static_cast<double>(one->near.size()) / static_cast<double>(ranks_.size());
      far_rows += static_cast<double>(one->summaries.far_count()) / static_cast<double>(ranks_.size());
    }
  }

  /// The peer: each rank gathers the summaries of all and compares them with its own, which a few ranks measure. The
  /// exchange compares within its messages: its computing is the comparisons of the rank with most, at this speed.
  void gather_summaries() {
    Cost& phase = costs["gather all summaries"];
    Bytes all;
    for (const auto& one : ranks_) {
      all.insert(all.end(), one->row.begin(), one->row.end());
    }
    Bytes arriving(all.size());  // all receive the same
    if (has_peers()) {
      communicate(phase, [&](std::uint32_t rank, std::vector<Request>& requests) {
        const plait::comm::Group group{machine_[rank], ranks_[rank]->comms[0]};
        requests.push_back(
            plait::comm::all_gather(group, std::span<const std::byte>{ranks_[rank]->row}, std::span{arriving}));
      });
    }
    std::vector<std::uint8_t> are_near(ranks_.size());
    const std::size_t apart = std::max<std::size_t>(1, ranks_.size() / walks_measured);
    double count = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); rank += apart, ++count) {
      const OneRank& one = *ranks_[rank];
      const double begin = processor_us();
      one.rules->find_near(one.row, all, are_near);
      phase.computed_us += processor_us() - begin;
      are_near[rank] = 0;
      plait::expect(static_cast<std::size_t>(std::ranges::count(are_near, 1)) == one.near.size(),
                    "the exchange finds all ranks that are near");
    }
    phase.computed_us /= count;
    Cost& exchange = costs["exchange summaries"];
    exchange.computed_us +=
        phase.computed_us * static_cast<double>(exchange.tests) / static_cast<double>(ranks_.size());
    phase.collectives = 1;
    phase.tests = ranks_.size();
    phase.rows = ranks_.size();
    phase.bytes = all.size() - ranks_.front()->row.size();
    if (!has_peers()) {
      costs.erase("gather all summaries");
    }
  }

  void boundaries() {
    Cost& phase = costs["exchange boundaries"];
    compute(phase, [](OneRank& one) { one.boundary = particles::make_boundary(one.tree); });
    // All boundaries are in this process, so that one buffer may receive all.
    particles::RankBoundary arriving;
    communicate(phase, [&](std::uint32_t rank, std::vector<Request>& requests) {
      for (const std::uint32_t peer : ranks_[rank]->near) {
        const plait::comm::Address address{Rank{peer}, plait::Tag{0}};
        requests.push_back(machine_[rank].receive(address, std::as_writable_bytes(std::span{&arriving, 1})));
        requests.push_back(machine_[rank].send(address, std::as_bytes(std::span{&ranks_[rank]->boundary, 1})));
      }
      phase.bytes = std::max<std::uint64_t>(phase.bytes, ranks_[rank]->near.size() * sizeof arriving);
    });
  }

  void lets() {
    Cost& phase = costs["LETs"];
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> sizes;  // of those from the first to the second
    particles::LetPlan plan;
    Bytes let;
    compute(phase, [&](OneRank& one) {
      std::uint64_t bytes = 0;
      for (const std::uint32_t peer : one.near) {
        if (needs_let(one.boundary, ranks_[peer]->boundary, one.tree.options())) {
          plan.choose(one.tree, ranks_[peer]->boundary);
          plan.write(one.tree, let);
          sizes[{one.domain.self().value(), peer}] = let.size();
          bytes += let.size();
        }
      }
      phase.bytes = std::max(phase.bytes, bytes);
    });
    std::size_t longest = 0;
    for (const auto& [ranks, size] : sizes) {
      longest = std::max(longest, size);
    }
    const Bytes leaving(longest);
    Bytes arriving(longest);
    communicate(phase, [&](std::uint32_t rank, std::vector<Request>& requests) {
      for (const std::uint32_t peer : ranks_[rank]->near) {
        const plait::comm::Address address{Rank{peer}, plait::Tag{1}};
        if (const auto from = sizes.find({peer, rank}); from != sizes.end()) {
          requests.push_back(machine_[rank].receive(address, std::span{arriving}.first(from->second)));
        }
        if (const auto to = sizes.find({rank, peer}); to != sizes.end()) {
          requests.push_back(machine_[rank].send(address, std::span{leaving}.first(to->second)));
        }
      }
    });
  }

  /// Measures the walks of a few ranks, with the trees that they would receive.
  void walks() {
    Cost& phase = costs["walk and kernels"];
    particles::WalkSpace space;
    const std::size_t apart = std::max<std::size_t>(1, ranks_.size() / walks_measured);
    double count = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); rank += apart, ++count) {
      OneRank& one = *ranks_[rank];
      std::vector<Bytes> lets;
      Bytes far;
      particles::LetPlan plan;
      for (const auto& other : ranks_) {
        if (other.get() == &one) {
          continue;
        }
        if (std::ranges::binary_search(one.near, other->domain.self().value()) &&
            needs_let(other->boundary, one.boundary, one.tree.options())) {
          plan.choose(other->tree, one.boundary);
          plan.write(other->tree, lets.emplace_back());
        }
      }
      add_far(one, far);
      const double begin = processor_us();
      walk_one(one, lets, far, space);
      phase.computed_us += processor_us() - begin;
    }
    phase.computed_us /= count;
  }
  /// The summaries of ranks that send no tree.
  void add_far(const OneRank& one, Bytes& far) const {
    const auto add = [&far](particles::SummaryRow row) { far.insert(far.end(), row.begin(), row.end()); };
    for (std::size_t i = 0; i < one.summaries.near_ranks().size(); ++i) {
      if (!needs_let(ranks_[one.summaries.near_ranks()[i].value()]->boundary, one.boundary, one.tree.options())) {
        add(one.summaries.near_row(i));
      }
    }
    for (std::size_t i = 0; i < one.summaries.far_count(); ++i) {
      add(one.summaries.far_row(i));
    }
  }
  static void walk_one(OneRank& one, std::span<const Bytes> lets, const Bytes& far, particles::WalkSpace& space) {
    const particles::WalkOptions options;
    const particles::Targets targets{one.store, one.tree, {}, one.acceleration, one.potential};
    const auto act = [&](const particles::TreeView& view, particles::Origin origin) {
      walk({view, origin}, targets, one.tree.batches(), options, space);
    };
    act(one.tree.view(), particles::Origin::own_tree);
    for (const Bytes& let : lets) {
      act(particles::open_let(let, {}).value(), particles::Origin::received);
    }
    const particles::FarField field{far, *one.rules, particles::FarField::Shape::tree};
    act(field.view(), particles::Origin::received);
  }

  void largest_share() {
    std::size_t most = 0;
    for (const auto& one : ranks_) {
      most = std::max(most, one->store.size());
    }
    imbalance = static_cast<double>(most) / static_cast<double>(particles_a_rank_);
  }

  std::size_t particles_a_rank_;
  bench::SimulatedRanks machine_;
  std::vector<std::unique_ptr<OneRank>> ranks_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint32_t> counts;
  std::size_t particles_a_rank = 2000;
  Phases wanted = Phases::all;
  bench::Report report{
      "particles_scale",
      "no phase of a particle code's step grows linearly with the number of ranks; the domain "
      "decomposition grows like its cube root",
      bench::Place{.ranks = {1}},
      argc,
      argv,
      [&](CLI::App& app) {
        app.add_option("-n,--ranks", counts, "[64 216 512 1024; with --full also 8 and 27]");
        app.add_option("--particles", particles_a_rank, "particles of a rank [2000]")->check(CLI::Range(8, 1'000'000));
        app.add_flag_callback(
            "--until-summaries",
            [&wanted] { wanted = Phases::until_summaries; },
            "end each run after the exchange of summaries: for more ranks than memory has room for");
      }};
  if (counts.empty()) {
    counts = {64, 216, 512, 1024};
    if (report.is_full()) {
      counts.insert(counts.begin(), {8, 27});
    }
  }
  report.note(
      fmt::format("network: latency {} ns, overhead {} ns, gap {} ns, {} ns a byte (12.5 GB/s); ranks poll every {} "
                  "ns. computed: processor time of this machine, mean of ranks",
                  cost.latency.count(),
                  cost.overhead.count(),
                  cost.gap.count(),
                  cost.per_byte_ns,
                  poll_every.count()));
  std::map<std::string, std::map<std::uint32_t, Cost>> phases;
  for (const std::uint32_t count : counts) {
    Run run{count, particles_a_rank};
    run.run(report.is_full() ? 8 : 3, wanted);
    for (const auto& [name, phase] : run.costs) {
      phases[name][count] = phase;
    }
    report.note(
        fmt::format("{} ranks: {:.0f} near ones, {:.0f} summaries of far ranks and blocks, largest domain {:.2f} means",
                    count,
                    run.near_ranks,
                    run.far_rows,
                    run.imbalance));
  }
  for (const auto& [name, by_count] : phases) {
    for (const auto& [count, phase] : by_count) {
      bench::Row row{.name = name,
                     .params = {{"ranks", std::to_string(count)},
                                {"network us", fmt::format("{:.0f}", phase.network_us)},
                                {"computed us", fmt::format("{:.0f}", phase.computed_us)},
                                {"packets", std::to_string(phase.packets)},
                                {"KB", fmt::format("{:.1f}", static_cast<double>(phase.bytes) / 1000)},
                                {"collectives", std::to_string(phase.collectives)},
                                {"tests", std::to_string(phase.tests)},
                                {"rows", std::to_string(phase.rows)}},
                     .value = phase.us(),
                     .unit = "us"};
      if (name == "decompose" && count <= peer_ranks_max) {
        row.peer = "all samples to all ranks, as FDPS 7.1";
        row.peer_value = phases["decompose as FDPS"][count].us();
      }
      if (name == "exchange summaries" && count <= peer_ranks_max) {
        row.peer = "all summaries to all ranks";
        row.peer_value = phases["gather all summaries"][count].us();
      }
      report.add(row);
    }
    const auto& [few, small] = *by_count.begin();
    const auto& [many, large] = *by_count.rbegin();
    report.note(fmt::format("{}: grows like ranks^{:.2f} from {} to {}",
                            name,
                            std::log(large.us() / small.us()) / std::log(static_cast<double>(many) / few),
                            few,
                            many));
  }
  report.finish();
  return 0;
}
