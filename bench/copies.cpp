// SPDX-License-Identifier: Apache-2.0
// Steps of a particle code whose messages are every second particle of a cell: sparse ones, in which workers have
// little to do but wait for few messages, and dense ones, in which each message comes with much to compute. With and
// without the help of idle workers in packing and unpacking, in turns.
//
// After a study of copies in SWIFT, in which splitting them among threads made sparse steps faster and slowed full ones
// a little (Draper, Basden and the SWIFT developers, "Task based parallelism and asynchronous MPI in SWIFT"; merge
// request 1704, whose copies are of 8 MB).
#include <algorithm>
#include <array>
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "plait/base/topology.hpp"
#include "plait/plait.hpp"

#include "support/computation.hpp"
#include "support/drivers.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t kibi = 1024;
constexpr std::size_t mebi = kibi * kibi;
constexpr std::size_t particle_bytes = 128;

/// A step of a rank, which exchanges `messages` of `bytes` with its peer each way.
struct Step {
  std::string name;
  std::size_t messages = 0;
  std::size_t bytes = 0;
  double computing = 0;  ///< Of each message's tasks, in durations of one copy of the message by one core.

  [[nodiscard]] std::size_t total_bytes() const { return messages * bytes; }
};

/// Every second particle of the cells of a rank.
class Cells {
 public:
  explicit Cells(const Step& step, std::byte value) : step_{step}, memory_(2 * step.total_bytes(), value) {}

  [[nodiscard]] std::span<std::byte> cell(std::size_t index) {
    return std::span{memory_}.subspan(2 * index * step_.bytes, 2 * step_.bytes);
  }
  [[nodiscard]] plait::comm::Layout active(std::size_t index) {
    return plait::comm::Layout::strided(
        cell(index).data(), particle_bytes, 2 * particle_bytes, step_.bytes / particle_bytes);
  }
  /// Whether the active particles, and no others, have `value`.
  [[nodiscard]] bool are(std::byte value) const {
    for (std::size_t place = 0; place < memory_.size(); ++place) {
      if ((memory_[place] == value) != (place / particle_bytes % 2 == 0)) {
        return false;
      }
    }
    return true;
  }

 private:
  Step step_;
  plait::Bytes memory_;
};

/// What one way of copying has measured.
struct Samples {
  std::vector<double> milliseconds;
  std::uint64_t pieces = 0;
  std::uint64_t helped = 0;
};

/// Gigabytes that `threads` threads pack together in a second.
double pack_bandwidth(Cells& cells, const Step& step, std::uint32_t threads) {
  plait::Bytes packed(step.total_bytes());
  double best = 0;
  for (int repetition = 0; repetition < 8; ++repetition) {  // the first also has the system provide the pages
    bench::Stopwatch watch;
    double seconds = 0;
    // Run by the last to arrive, at the beginning and at the end.
    std::barrier together{static_cast<std::ptrdiff_t>(threads), [&]() noexcept {
                            seconds = watch.seconds();
                            watch = {};
                          }};
    {
      std::vector<std::jthread> all;
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        all.emplace_back([&, thread] {
          together.arrive_and_wait();
          for (std::size_t index = thread; index < step.messages; index += threads) {
            cells.active(index).gather(0, std::span{packed}.subspan(index * step.bytes, step.bytes));
          }
          together.arrive_and_wait();
        });
      }
    }
    best = std::max(best, 1e-9 * static_cast<double>(step.total_bytes()) / seconds);
  }
  return best;
}

/// Measures one step with `workers` workers. Collective.
class Measurement {
 public:
  Measurement(bench::Report& report, const Step& step, std::uint32_t workers, std::uint32_t copiers)
      : report_{report}, step_{step}, workers_{workers}, copiers_{copiers} {
    const std::uint32_t cores = plait::usable_core_count();
    bench::RawMpi::barrier();
    if (rank_ == 0) {  // alone on the machine
      one_core_ = pack_bandwidth(from_, step_, 1);
      all_cores_ = std::max(one_core_, pack_bandwidth(from_, step_, cores));
    }
    MPI_Bcast(&one_core_, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(&all_cores_, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double steps = step_.computing * static_cast<double>(step_.bytes) * 1e-9 / one_core_ *
                   static_cast<double>(bench::computation_of(1));
    MPI_Bcast(&steps, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    compute_steps_ = static_cast<std::uint64_t>(steps);
  }

  void run(int turns, int steps_of_a_turn) {
    for (int turn = 0; turn < turns; ++turn) {
      if (step_.computing == 0) {
        sample_mpi(steps_of_a_turn);
      }
      sample_plait(1, steps_of_a_turn);
      sample_plait(copiers_, steps_of_a_turn);
    }
    add_row();
  }

 private:
  void sample_mpi(int count) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(
        static_cast<int>(step_.bytes / particle_bytes), particle_bytes, 2 * particle_bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    {
      const bench::RawMpi raw{type};
      std::vector<MPI_Request> requests;
      for (int step = 0; step <= count; ++step) {
        raw.barrier();
        const bench::Stopwatch watch;
        requests.clear();
        for (std::size_t index = 0; index < step_.messages; ++index) {
          requests.push_back(raw.receive(peer_, static_cast<int>(index), to_.cell(index)));
        }
        for (std::size_t index = 0; index < step_.messages; ++index) {
          requests.push_back(raw.send(peer_, static_cast<int>(index), from_.cell(index)));
        }
        raw.wait_all(requests);
        raw.barrier();
        if (step > 0) {
          raw_.push_back(1e3 * watch.seconds());
        }
      }
    }
    MPI_Type_free(&type);
  }

  void sample_plait(std::uint32_t copiers, int count) {
    plait::Options options = plait::Options::from_environment();
    options.worker_count = workers_;
    options.messages.copiers_max = copiers;
    const std::unique_ptr<plait::Runtime> runtime = driver_.start(options);
    to_ = Cells{step_, std::byte{2}};
    plait::Graph graph;
    const plait::Rank peer{static_cast<std::uint32_t>(peer_)};
    for (std::size_t index = 0; index < step_.messages; ++index) {
      const plait::Tag tag{index};
      graph.send("send", {peer, tag}, [this, index] { return from_.active(index); });
      plait::Task receive = graph.receive("receive", {peer, tag}, to_.active(index));
      if (compute_steps_ > 0) {
        graph.task("own cell", [this] { bench::compute(compute_steps_); });
        graph.task("foreign cell", [this] { bench::compute(compute_steps_); }).after(receive);
      }
    }
    Samples& samples = samples_[copiers > 1];
    for (int step = 0; step <= count; ++step) {
      plait::barrier(runtime->messages());
      const bench::Stopwatch watch;
      runtime->run(graph);
      plait::barrier(runtime->messages());
      if (step > 0) {
        samples.milliseconds.push_back(1e3 * watch.seconds());
      }
    }
    plait::require(to_.are(std::byte{1}), "the active particles of each cell have arrived, and no others");
    samples.pieces += runtime->messages().activity().copied_pieces();
    samples.helped += runtime->messages().activity().helped_pieces();
  }

  void add_row() {
    const Samples& with = samples_.at(true);
    const Samples& without = samples_.at(false);
    const std::string what =
        fmt::format("{}, {} messages of {} KiB, {} workers", step_.name, step_.messages, step_.bytes / kibi, workers_);
    if (with.helped == 0) {
      report_.note(what + ": left out, as no idle worker took part in a copy.");
      return;
    }
    std::vector<bench::Peer> peers{peer_of("without idle workers", without.milliseconds)};
    if (!raw_.empty()) {
      peers.push_back(peer_of("raw MPI with MPI_Type_vector", raw_));
    }
    // Each byte is packed, moved and unpacked: three copies. Both ranks share the memory.
    const double bytes =
        static_cast<double>(step_.total_bytes() * static_cast<std::size_t>(bench::RawMpi::rank_count()));
    const double copying = 1e-6 * 3 * bytes / all_cores_;
    const double computing =
        2 * static_cast<double>(step_.messages) * step_.computing * 1e-6 * static_cast<double>(step_.bytes) /
        one_core_ * static_cast<double>(bench::RawMpi::rank_count()) /
        static_cast<double>(
            std::min(plait::usable_core_count(), workers_ * static_cast<std::uint32_t>(bench::RawMpi::rank_count())));
    report_.add({.name = step_.name + " step",
                 .params = {{"messages", std::to_string(step_.messages)},
                            {"KiB", std::to_string(step_.bytes / kibi)},
                            {"workers", std::to_string(workers_)},
                            {"copiers", std::to_string(copiers_)},
                            {"driver", driver_.name}},
                 .value = with.milliseconds,
                 .unit = "ms",
                 .bound = "copies and tasks by all cores",
                 .bound_value = copying + computing,
                 .best = *std::ranges::min_element(with.milliseconds),
                 .peers = peers});
    report_.note(fmt::format(
        "{}: {} of {} pieces were copied by helpers; without them {:.3g} ms [{:.3g}, {:.3g}]{}. One core packs {:.1f} "
        "GB/s, all {} pack {:.1f}.",
        what,
        with.helped,
        with.pieces,
        bench::median(without.milliseconds),
        bench::quantile(without.milliseconds, 0.25),
        bench::quantile(without.milliseconds, 0.75),
        raw_.empty() ? "" : fmt::format(", raw MPI {:.3g} ms", bench::median(raw_)),
        one_core_,
        plait::usable_core_count(),
        all_cores_));
  }

  static bench::Peer peer_of(const std::string& name, const std::vector<double>& values) {
    return {name, bench::median(values), *std::ranges::min_element(values)};
  }

  bench::Report& report_;
  Step step_;
  std::uint32_t workers_;
  std::uint32_t copiers_;
  int rank_ = bench::RawMpi::rank();
  int peer_ = bench::RawMpi::rank_count() - 1 - rank_;
  bench::Driver driver_ = bench::default_driver();
  Cells from_{step_, std::byte{1}};
  Cells to_{step_, std::byte{2}};
  double one_core_ = 0;   ///< GB/s of packing.
  double all_cores_ = 0;  ///< GB/s of packing.
  std::uint64_t compute_steps_ = 0;
  std::vector<double> raw_;
  std::map<bool, Samples> samples_;  ///< By whether idle workers help.
};

/// How many cores are worth copying with, as measured by rank 0 while the others wait; two at least, as one core needs
/// no help. Collective.
std::uint32_t measured_copiers(bench::Report& report) {
  std::uint32_t count = 0;
  if (bench::RawMpi::rank() == 0) {
    count = plait::task::measure_copy_limits(plait::usable_core_count()).core_count_max;
  }
  MPI_Bcast(&count, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
  report.note(fmt::format("Measured in this run: {} of {} cores are worth copying with.{}",
                          count,
                          plait::usable_core_count(),
                          count == 1 ? " Two copy here nevertheless, to show what that costs." : ""));
  return std::max(count, 2U);
}

std::vector<Step> steps(bool is_full) {
  // SWIFT's sparse steps exchange few cells and their computations end early; its full ones exchange all of them.
  std::vector<Step> all{{"sparse", 32, 256 * kibi}, {"sparse", 4, 4 * mebi}, {"dense", 16, 2 * mebi, 4}};
  if (is_full) {
    all.insert(all.end(),
               {{"sparse", 128, 64 * kibi},
                {"sparse", 16, mebi},
                {"sparse", 2, 8 * mebi},
                {"dense", 8, 8 * mebi, 2},
                {"dense", 64, 512 * kibi, 4}});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"copies",
                       "idle workers that help to pack and unpack make sparse steps faster, and dense ones no slower",
                       {.ranks = {2, 1}},
                       argc,
                       argv};
  const plait::MpiSession session{argc, argv, true};
  bench::rank_of(1, 2);
  const std::uint32_t copiers = measured_copiers(report);
  const auto ranks = static_cast<std::uint32_t>(bench::RawMpi::rank_count());
  std::vector<std::uint32_t> workers{2};
  if (plait::usable_core_count() / ranks > 2) {
    workers.push_back(plait::usable_core_count() / ranks);
  }
  for (const Step& step : steps(report.is_full())) {
    for (const std::uint32_t count : workers) {
      Measurement{report, step, count, copiers}.run(report.is_full() ? 9 : 3, report.is_full() ? 9 : 5);
    }
  }
  report.finish();
}
