// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

class Endpoint;

/// Owns consecutive communicators from `Endpoint::claim_comms`.
///
/// Their ids are never assigned again. None of their messages may be in flight to this rank when this object ends.
/// Threads: one at a time. Must end before its endpoint.
class [[nodiscard]] ClaimedComms {
 public:
  ClaimedComms() = default;
  ClaimedComms(Endpoint& endpoint, CommId first, std::uint32_t count) noexcept
      : endpoint_{&endpoint}, first_{first}, count_{count} {}
  ClaimedComms(ClaimedComms&& other) noexcept
      : endpoint_{std::exchange(other.endpoint_, nullptr)}, first_{other.first_}, count_{other.count_} {}
  ClaimedComms& operator=(ClaimedComms&& other) noexcept {
    std::swap(endpoint_, other.endpoint_);
    std::swap(first_, other.first_);
    std::swap(count_, other.count_);
    return *this;
  }
  ClaimedComms(const ClaimedComms&) = delete;
  ClaimedComms& operator=(const ClaimedComms&) = delete;
  ~ClaimedComms();

  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  /// Expects: `index` is below `size()`.
  [[nodiscard]] CommId operator[](std::uint32_t index) const {
    expect(index < count_, "as many communicators as are used were claimed");
    return CommId{first_.value() + index};
  }

 private:
  Endpoint* endpoint_ = nullptr;
  CommId first_;
  std::uint32_t count_ = 0;
};

}  // namespace plait::comm
