// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <source_location>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm::detail {

/// The claimed communicators of an endpoint.
///
/// Each claim has a digest of its place in the program, its size and all claims before it. In debug builds the first
/// message of a claimed communicator carries the sender's digest, which the receiver compares with its own, to detect
/// ranks that claim in different orders before they deadlock. Threads: one at a time.
class CommClaims {
 public:
  /// The first of `count` new communicators. Throws: `Error` with `bad_argument` when there are no more.
  [[nodiscard]] CommId claim(std::uint32_t count, const std::source_location& where) {
    if (count > claimed_end - next_) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("{} communicators cannot be claimed: {} are left of those that are not the program's own",
                              count,
                              claimed_end - next_)};
    }
    const std::string_view file{where.file_name()};
    for (const std::uint64_t part :
         {std::hash<std::string_view>{}(file), static_cast<std::uint64_t>(where.line()) << 32U | count}) {
      digest_ = Random{digest_ ^ part}();
    }
    digest_ |= 1U;  // 0 means that there is none
    const CommId first{next_};
    if (count > 0) {
      claims_.emplace(next_, Claim{count, digest_, where});
    }
    next_ += count;
    return first;
  }

  void release(CommId first) noexcept { claims_.erase(first.value()); }

  /// The digest of the claim that has `comm` or whose collectives use it; 0 when it is not claimed.
  [[nodiscard]] std::uint64_t digest(CommId comm) const noexcept {
    const Claim* const claim = find(comm);
    return claim != nullptr ? claim->digest : 0;
  }

  /// Where `comm` was claimed, for people; expects that it is.
  [[nodiscard]] std::string where(CommId comm) const {
    const Claim* const claim = find(comm);
    expect(claim != nullptr, "the communicator is claimed");
    return fmt::format("{}:{}", claim->where.file_name(), claim->where.line());
  }

 private:
  /// Above are ids whose collectives would use plait's own.
  static constexpr std::uint32_t claimed_end = internal.value() & ~collective_bit;

  struct Claim {
    std::uint32_t count = 0;
    std::uint64_t digest = 0;
    std::source_location where;
  };

  [[nodiscard]] const Claim* find(CommId comm) const noexcept {
    const std::uint32_t id = comm.value() & ~collective_bit;
    const auto after = claims_.upper_bound(id);
    if (is_internal(comm) || after == claims_.begin()) {
      return nullptr;
    }
    const auto& [first, claim] = *std::prev(after);
    return id - first < claim.count ? &claim : nullptr;
  }

  std::uint32_t next_ = first_claimed_comm.value();
  std::uint64_t digest_ = 0;               ///< Of all claims so far.
  std::map<std::uint32_t, Claim> claims_;  ///< Not released ones, by their first communicator.
};

}  // namespace plait::comm::detail
