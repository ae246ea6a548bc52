// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "plait/replay/detail/replica_layout.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// The collectives of joined copies of an exchange.
///
/// A communicator that is a block of the grid (a line, a plane, all ranks) grows to the whole lines or planes of the
/// larger grid. Any other exists once in each copy; where copies have no rank for each recorded one, its collectives
/// are left out.
class LargerCollectives {
 public:
  /// Borrows all. `volume`: factor on the bytes of all-to-alls.
  LargerCollectives(const Schedule& schedule, const RankGrid& grid, const ReplicaLayout& layout, double volume);

  /// Appends a recorded collective of a rank's model to a stream of the rank.
  void add(Operation operation, const Stream& recorded, std::uint32_t rank, Stream& made);

  [[nodiscard]] const std::map<std::uint32_t, std::vector<std::uint32_t>>& communicators() const noexcept {
    return communicators_;
  }
  [[nodiscard]] std::vector<std::string> notices() const;

 private:
  /// A recorded communicator.
  struct Recorded {
    std::vector<std::uint32_t> members;
    std::optional<RankBlock> block;  ///< If it grows.
    std::uint32_t ordinal = 0;       ///< Among those of the same block.
    bool grows = false;
  };
  /// What a recorded communicator is for one rank of the larger exchange.
  struct Around {
    std::uint32_t number = 0;
    std::vector<std::uint32_t> members;
  };

  void read_communicators();
  [[nodiscard]] const Around& around(std::uint32_t communicator, std::uint32_t rank);
  [[nodiscard]] std::vector<std::uint32_t> members_around(const Recorded& recorded, std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t number_of(const Recorded& recorded,
                                        std::uint32_t communicator,
                                        const std::vector<std::uint32_t>& members);
  void size(Operation& operation,
            const Stream& stream,
            const Recorded& recorded,
            const std::vector<std::uint32_t>& members,
            Stream& made) const;

  const Schedule& schedule_;
  const RankGrid& grid_;
  const ReplicaLayout& layout_;
  double volume_;
  std::map<std::uint32_t, Recorded> recorded_;
  std::map<std::tuple<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators_;
  std::map<std::uint32_t, Around> around_;  ///< Of the last rank, by recorded communicator; of 0, of any.
  std::uint32_t around_rank_ = trace::nothing;
  std::uint64_t left_out_ = 0;
  std::uint64_t in_copies_ = 0;
};

}  // namespace plait::replay::detail
