// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/net/exchange.hpp"
#include "plait/net/shm/detail/layout.hpp"
#include "plait/net/shm/detail/process.hpp"
#include "plait/net/shm/shm_driver.hpp"

namespace plait::net::detail::shm {

/// A mapped piece of memory, its own or shared with other ranks of this process, of which the last one unmaps it.
class Mapping {
 public:
  enum class Users : std::uint8_t { one, counted };

  Mapping() = default;
  Mapping(std::byte* start, std::size_t bytes, Users users) : start_{start}, bytes_{bytes}, users_{users} {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::byte* start() const noexcept { return start_; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
  Users users_ = Users::one;
};

/// What each rank knows when all have met.
struct Meeting {
  Layout layout;
  Mapping mapping;
  std::vector<ProcessId> processes;  ///< By rank.
  SingleCopy single_copy = SingleCopy::never;
};

/// Without buffers for bulk data.
[[nodiscard]] Layout layout_for(std::uint32_t rank_count, const ShmOptions& options);

/// Finds out whether all ranks can see each other, makes the segment and maps it on all. As
/// `make_shm_driver`: collective, and throws on all ranks or on none.
[[nodiscard]] Meeting meet(Rank self, std::uint32_t rank_count, const Exchange& exchange, const ShmOptions& options);

}  // namespace plait::net::detail::shm
