// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/comm_claims.hpp"

#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"

namespace plait::comm::detail {

namespace {

/// Above are ids whose collectives would use plait's own.
constexpr std::uint32_t claimed_end = internal.value() & ~collective_bit;

}  // namespace

CommId CommClaims::claim(std::uint32_t count, const std::source_location& where) {
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

const CommClaims::Claim* CommClaims::find(CommId comm) const noexcept {
  const std::uint32_t id = comm.value() & ~collective_bit;
  const auto after = claims_.upper_bound(id);
  if (is_internal(comm) || after == claims_.begin()) {
    return nullptr;
  }
  const auto& [first, claim] = *std::prev(after);
  return id - first < claim.count ? &claim : nullptr;
}

std::uint64_t CommClaims::digest(CommId comm) const noexcept {
  const Claim* const claim = find(comm);
  return claim != nullptr ? claim->digest : 0;
}

std::string CommClaims::where(CommId comm) const {
  const Claim* const claim = find(comm);
  expect(claim != nullptr, "the communicator is claimed");
  return fmt::format("{}:{}", claim->where.file_name(), claim->where.line());
}

}  // namespace plait::comm::detail
