// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/collectives/group.hpp"

#include "alltoall/disturbance.hpp"
#include "alltoall/overlap.hpp"
#include "alltoall/subject.hpp"
#include "alltoall/work.hpp"
#include "support/link_meter.hpp"

namespace alltoall {

/// The command line.
struct Options {
  std::optional<plait::comm::GroupGrid> grid;
  std::vector<std::size_t> block_bytes;
  std::vector<std::string> variants;  ///< Names; all when empty.
  WorkKind work = WorkKind::sincos;
  double work_fraction = 1;  ///< Of the blocking communication's time.
  Settings settings;
  bool has_barriers = true;    ///< Before each all-to-all, which hides skew.
  std::size_t turns = 0;       ///< In which the variants alternate.
  std::size_t iterations = 5;  ///< In one turn.
  double seconds_max = 0;      ///< For one variant at one size; 3 turns are always done.
  plait::nanoseconds poll_period = std::chrono::microseconds{200};  ///< Of the runtime's timer, while data moves.
};

/// The times of one variant at one size.
struct Measured {
  std::string name;
  std::string twin;  ///< The variant that works after the communication; empty if this one does.
  /// By direction; empty where the groups of that direction have one rank.
  std::array<std::vector<Turn>, directions.size()> turns;
  /// By direction: the least total of all iterations, and the least work.
  std::array<Turn, directions.size()> best{};
};

/// The times of all variants at one size. The same on all ranks.
struct SizeMeasured {
  std::size_t block_bytes = 0;
  std::vector<Measured> variants;
  Disturbance disturbance;  ///< By other processes, while these were measured.
};

/// Runs the variants in turns, on all ranks. All calls are collective.
class Harness {
 public:
  /// Throws: `plait::Error` with `bad_input` when the grid has another number of ranks.
  Harness(const Options& options, plait::Runtime& runtime);

  /// Calibrates the work for this size, then measures. Variants whose data did not cross the links of the lab are left
  /// out. Throws: `plait::Error` when a result is wrong.
  [[nodiscard]] SizeMeasured measure(std::size_t block_bytes);

  /// A sentence with name and reason for each variant that cannot run here.
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// Sentences about the work, the grid, and how many ranks of each group share a node.
  [[nodiscard]] std::vector<std::string> description() const;

 private:
  using ByDirection = std::array<std::unique_ptr<Subject>, directions.size()>;
  /// A variant with its subjects for the current size.
  struct Variant {
    plait::fft::Variant of;
    ByDirection subjects;
    std::size_t iterations_a_turn = 1;
    double seconds = 0;
    bool is_over = false;
    bench::Crossing crossing;  ///< Of all ranks, in its turns; nothing outside a lab.
  };
  struct Lane {
    Site site;
    std::size_t on_node = 1;  ///< How many of the group share this rank's node, as MPI sees it.
    std::size_t leaving = 0;  ///< Blocks of all ranks together that leave their node in one all-to-all.
    std::uint64_t work_units = 0;
  };

  static std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }
  /// The directions whose groups have more than one rank.
  [[nodiscard]] auto directions_used() const {
    return directions |
           std::views::filter([this](Direction direction) { return lanes_[index(direction)].site.group.size() > 1; });
  }
  [[nodiscard]] Lane make_lane(Direction direction);
  void choose_variants();
  void prepare(std::size_t block_bytes);
  [[nodiscard]] double best_blocking(Direction direction);
  [[nodiscard]] std::uint64_t calibrated(double seconds);
  void leave_out_those_beside_the_links(SizeMeasured& measured);
  void warm_up(Variant& variant);
  void take_turn(Variant& variant, Measured& measured);
  [[nodiscard]] Turn iterate(const Variant& variant, Direction direction);
  void check(const Variant& variant, Direction direction) const;
  void maximum_over_ranks(std::vector<double>& values) const;
  void wait_for_all() const;
  /// Flushes plait's messages and excludes its threads from MPI while the lock is held. For calls of MPI.
  [[nodiscard]] std::unique_lock<plait::SpinLock> calls() const;

  const Options options_;
  plait::Runtime& runtime_;
  plait::comm::GroupGrid grid_;
  bench::LinkMeter links_;
  std::vector<Lane> lanes_;
  Work work_;
  std::vector<Variant> variants_;
  std::vector<std::string> left_out_;
  std::size_t block_bytes_ = 0;
  std::uint64_t iteration_ = 0;
};

}  // namespace alltoall
