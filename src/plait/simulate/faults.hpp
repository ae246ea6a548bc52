// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/random.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/simulate/virtual_time.hpp"

namespace plait::simulate {

/// What can go wrong in a simulated run.
enum class FaultKind : std::uint8_t {
  delays,       ///< Each message is late by a random time.
  reorder,      ///< Packets overtake others of their pair of ranks, too.
  full_queues,  ///< Sends are refused at random, and few fit at a time.
  slow_rank,    ///< Tasks of a rank take twice as long from a time on.
  half_link,    ///< A link has half its rate from a time on.
  dead_rank,    ///< A rank ends at a time, without a word.
  full_disk,    ///< From a time on, few bytes can still be written below a folder.
};

inline constexpr std::array<std::string_view, 7> fault_names{
    "delays", "reorder", "full-queues", "slow-rank", "half-link", "dead-rank", "full-disk"};

/// Throws: `Error` with `bad_input` for a name that is none of `fault_names`.
[[nodiscard]] FaultKind fault_kind(std::string_view name);

struct FaultSettings {
  std::uint64_t seed = 1;
  /// What is drawn from: one kind happens; of several, each with probability 1/2, and one at least.
  std::vector<FaultKind> kinds;
  /// Faults that begin at a time begin before this one: the length of the run without faults.
  nanoseconds run_length = std::chrono::seconds{1};
  /// The folder whose disk becomes full; empty: none does.
  std::filesystem::path disk;
};

/// A folder below which writes fail from a time on, once `bytes_left` more have been written.
struct FullDisk {
  std::filesystem::path folder;
  nanoseconds since{};
  std::uint64_t bytes_left = 0;
};

/// The faults of one run, drawn from a seed.
///
/// Equal settings give equal faults. Those of a kind depend on the seed and the kind alone, so a run that fails with
/// many kinds can be repeated with fewer. Cost: none after the constructor.
class Faults {
 public:
  /// `link_count`: of the platform; 0: interfaces of ranks are the links. Throws: `Error` with `bad_argument` without
  /// kinds, or for a length of the run that is not above 0.
  Faults(const FaultSettings& settings, std::uint32_t rank_count, std::uint32_t link_count);

  /// Sets what of the faults concerns the network.
  void put_into(net::SimOptions& options) const;
  [[nodiscard]] const std::vector<SlowRank>& slow_ranks() const noexcept { return slow_ranks_; }
  [[nodiscard]] const std::optional<FullDisk>& full_disk() const noexcept { return full_disk_; }
  /// One sentence for each fault, after its name: "slow-rank: rank 3 computes at half speed from 0.12 s".
  [[nodiscard]] const std::vector<std::string>& sentences() const noexcept { return sentences_; }

 private:
  void draw(FaultKind kind, Random& random);
  void note(FaultKind kind, const std::string& sentence);
  void draw_delays(net::SimOrder order, Random& random);
  void draw_full_queues(Random& random);
  void draw_slow_rank(Random& random);
  void draw_half_link(Random& random);
  void draw_dead_rank(Random& random);
  void draw_full_disk(Random& random);
  [[nodiscard]] Rank rank_of(Random& random) const {
    return Rank{static_cast<std::uint32_t>(random.below(rank_count_))};
  }
  [[nodiscard]] nanoseconds time_of(Random& random) const;

  const FaultSettings settings_;
  const std::uint32_t rank_count_;
  const std::uint32_t link_count_;  ///< 0: interfaces of ranks are the links.
  net::SimOptions network_;         ///< The fields that `put_into` sets.
  std::vector<SlowRank> slow_ranks_;
  std::optional<FullDisk> full_disk_;
  std::vector<std::string> sentences_;
};

}  // namespace plait::simulate
