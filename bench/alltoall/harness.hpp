// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/base/spin_lock.hpp"

#include "alltoall/disturbance.hpp"
#include "alltoall/options.hpp"
#include "alltoall/overlap.hpp"
#include "alltoall/subject.hpp"
#include "alltoall/work.hpp"

namespace alltoall {

/// What was measured of one variant at one size.
struct Measured {
  std::string name;
  std::string twin;  ///< Works after the communication; empty if this one does.
  std::size_t iterations = 0;
  /// By direction; empty where the groups of that direction have one rank.
  std::array<std::vector<Turn>, directions.size()> turns;
  /// By direction: the least total of all iterations, and the least work.
  std::array<Turn, directions.size()> best{};
  std::string label;  ///< Where the figures come from, if not from this program's own calls.
};

/// All that was measured at one size. The same on all ranks.
struct SizeMeasured {
  std::size_t block_bytes = 0;
  std::vector<Measured> variants;
  std::optional<Disturbance> disturbance;  ///< By others, while these were measured.
};

/// Runs the variants in turns, over all ranks of a run. All calls are collective.
class Harness {
 public:
  /// Throws: `plait::Error` with `bad_input` when the grid does not hold the ranks.
  Harness(const Options& options, plait::Runtime& runtime);

  /// Calibrates the work for this size, then measures. Throws: `plait::Error` when a result is wrong.
  [[nodiscard]] SizeMeasured measure(std::size_t block_bytes);

  /// For each variant that cannot run here: a sentence with its name and the reason.
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// The grid and how many ranks of each group share a node, for people.
  [[nodiscard]] std::string description() const;

 private:
  using ByDirection = std::array<std::unique_ptr<Subject>, directions.size()>;
  /// A variant with its subjects for the present size.
  struct Variant {
    plait::fft::Variant of;
    ByDirection subjects;
    std::size_t iterations_a_turn = 1;
    double seconds = 0;
    bool is_over = false;
  };
  struct Lane {
    Site site;
    std::size_t on_node = 1;  ///< How many of the group share this rank's node, as MPI sees it.
    std::uint64_t work_units = 0;
  };

  static std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }
  [[nodiscard]] bool is_trivial(Direction direction) const { return lanes_[index(direction)].site.group.size() == 1; }
  [[nodiscard]] Lane make_lane(Direction direction);
  void choose_variants();
  void prepare(std::size_t block_bytes);
  [[nodiscard]] double best_blocking(Direction direction);
  [[nodiscard]] std::uint64_t calibrated(double seconds);
  void warm_up(Variant& variant);
  void take_turn(Variant& variant, Measured& measured);
  [[nodiscard]] Turn iterate(const Variant& variant, Direction direction);
  void check(const Variant& variant, Direction direction) const;
  void maximum_over_ranks(std::vector<double>& values) const;
  void wait_for_all() const;
  /// To be held around calls of MPI: what plait has to send is flushed, and its threads keep out.
  [[nodiscard]] std::unique_lock<plait::SpinLock> calls() const;

  const Options options_;
  plait::Runtime& runtime_;
  plait::comm::GroupGrid grid_;
  std::vector<Lane> lanes_;
  Work work_;
  std::vector<Variant> variants_;
  std::vector<std::string> left_out_;
  std::size_t block_bytes_ = 0;
  std::uint64_t iteration_ = 0;
};

}  // namespace alltoall
