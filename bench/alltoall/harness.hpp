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

#include "plait/base/spin_lock.hpp"

#include "alltoall/disturbance.hpp"
#include "alltoall/family.hpp"
#include "alltoall/grid.hpp"
#include "alltoall/options.hpp"
#include "alltoall/overlap.hpp"
#include "alltoall/work.hpp"

namespace alltoall {

/// What was measured of one variant at one size.
struct Measured {
  Member variant;
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
  /// By direction: seconds of the best blocking all-to-all, on the slowest rank; 0 where there is none.
  std::array<double, directions.size()> blocking{};
  std::array<std::uint64_t, directions.size()> work_units{};
  std::vector<Measured> variants;
  std::optional<Disturbance> disturbance;  ///< By others, while these were measured.
};

/// Runs the variants in turns, over all ranks of a communicator. All calls are collective.
class Harness {
 public:
  Harness(MPI_Comm world, const Options& options, plait::Runtime& runtime);
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;
  Harness(Harness&&) = delete;
  Harness& operator=(Harness&&) = delete;
  ~Harness();

  /// Calibrates the work for this size, then measures. Throws: `plait::Error` when a result is wrong.
  [[nodiscard]] SizeMeasured measure(std::size_t block_bytes);

  /// For each variant that cannot run here: a sentence with its name and the reason.
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  [[nodiscard]] const Group& group(Direction direction) const { return *lanes_[index(direction)].group; }
  [[nodiscard]] GridShape shape() const noexcept { return shape_; }

 private:
  /// One family at work, in each direction that has more than one rank.
  struct Running {
    const FamilyEntry* entry = nullptr;
    std::array<std::unique_ptr<Family>, directions.size()> by_direction;
  };
  /// A variant with its place in its family.
  struct Variant {
    std::size_t running = 0;
    std::size_t member = 0;
    bool is_wanted = false;  ///< Else only measured as a twin, or not at all.
  };
  /// What belongs to a direction.
  struct Lane {
    std::unique_ptr<Group> group;
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
    std::uint64_t work_units = 0;
  };
  /// How far a variant is with the present size.
  struct Progress {
    std::size_t iterations_a_turn = 1;
    double seconds = 0;
    bool is_over = false;
  };

  static std::size_t index(Direction direction) { return static_cast<std::size_t>(direction); }
  [[nodiscard]] bool is_trivial(Direction direction) const { return lanes_[index(direction)].group->size() == 1; }
  [[nodiscard]] bool is_asked_for(const FamilyEntry& entry) const;
  [[nodiscard]] bool is_asked_for(const Member& member) const;
  void make_families();
  [[nodiscard]] std::string make(Running& running);
  void prepare(std::size_t block_bytes);
  [[nodiscard]] double best_blocking(Direction direction);
  [[nodiscard]] std::uint64_t calibrated(double seconds);
  [[nodiscard]] Progress warm_up(const Variant& variant);
  void take_turn(const Variant& variant, Progress& progress, Measured& measured);
  [[nodiscard]] Turn iterate(const Variant& variant, Direction direction);
  void check(const Variant& variant, const Lane& lane) const;
  [[nodiscard]] const Member& member_of(const Variant& variant) const {
    return running_[variant.running].entry->members[variant.member];
  }
  void maximum_over_ranks(std::vector<double>& values) const;

  MPI_Comm world_ = MPI_COMM_NULL;
  const Options options_;
  plait::Runtime& runtime_;
  /// Keeps the runtime's threads out of MPI, which this program calls itself, but while one of plait's variants runs.
  std::unique_lock<plait::SpinLock> hold_;
  GridShape shape_;
  std::array<Lane, directions.size()> lanes_;
  Work work_;
  std::vector<Running> running_;
  std::vector<Variant> variants_;
  std::vector<std::string> left_out_;
  std::size_t block_bytes_ = 0;
  std::uint64_t iteration_ = 0;
};

}  // namespace alltoall
