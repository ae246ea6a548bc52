// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plait/comm/status.hpp"

namespace plait::comm {

class Endpoint;

namespace detail {
struct Unexpected;
}

/// A message that only its holder can receive, from `Endpoint::claim`. Destroying it drops the message.
///
/// Threads: one at a time. Must end before its endpoint.
class [[nodiscard]] ClaimedMessage {
 public:
  ClaimedMessage(Endpoint& endpoint, std::unique_ptr<detail::Unexpected> message, const Status& status);
  ClaimedMessage(ClaimedMessage&& other) noexcept;
  ClaimedMessage& operator=(ClaimedMessage&& other) noexcept;
  ClaimedMessage(const ClaimedMessage&) = delete;
  ClaimedMessage& operator=(const ClaimedMessage&) = delete;
  ~ClaimedMessage();

  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  friend class Endpoint;

  Endpoint* endpoint_;
  std::unique_ptr<detail::Unexpected> message_;
  Status status_;
};

}  // namespace plait::comm
