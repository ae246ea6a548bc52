// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/fft/exchange.hpp"

#include "alltoall/work.hpp"

namespace plait {
class Runtime;
}

namespace alltoall {

enum class Direction : std::uint8_t { row, column };
inline constexpr std::array directions{Direction::row, Direction::column};
[[nodiscard]] const char* to_string(Direction direction) noexcept;

/// The same on all ranks.
struct Settings {
  std::size_t test_count = 16;      ///< Calls of `Exchange::advance` during the work.
  std::size_t piece_count_max = 4;  ///< Pieces into which PLT divides a block.
};

/// All-to-alls and work by one variant, among the ranks of one group, for blocks of one size. Threads: one.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  /// The block for `member`, the own one included. The caller writes it between runs.
  [[nodiscard]] virtual std::span<std::byte> to(std::size_t member) = 0;
  /// The block from `member`. The caller reads it between runs.
  [[nodiscard]] virtual std::span<const std::byte> from(std::size_t member) = 0;
  /// Does one all-to-all and all the work: after the exchange if the variant blocks, else during it.
  virtual void run(Work& work) = 0;
};

/// The variants of `plait::fft`: those that call MPI on MPI_COMM_WORLD, those in coarray Fortran if built,
/// then plait's own. The first is MPI.
[[nodiscard]] std::vector<plait::fft::Variant> variants();

/// Where a subject runs.
struct Site {
  plait::Runtime* runtime;
  plait::comm::Group group;
  bool is_on_one_node = false;
};

/// Collective over all ranks. Throws: `plait::Error` with `network` on all ranks if the variant cannot run here.
[[nodiscard]] std::unique_ptr<Subject> make_subject(const plait::fft::Variant& variant,
                                                    const Site& site,
                                                    const Settings& settings,
                                                    std::size_t block_bytes);

}  // namespace alltoall
