// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::task::detail {

/// Sends of one datum that leave as a multicast; ends itself when all is told.
class JoinedSends final : public comm::Completion {
 public:
  explicit JoinedSends(std::span<NodeMessage* const> sends)
      : sends_{sends.begin(), sends.end()}, numbers_(sends.size()) {}

  /// The numbers of the messages are noted here: this must live until they are sent.
  [[nodiscard]] std::vector<comm::Destination> destinations() {
    std::vector<comm::Destination> to;
    for (std::size_t index = 0; index < sends_.size(); ++index) {
      to.push_back({.rank = sends_[index]->address.rank, .sequence = &numbers_[index]});
    }
    return to;
  }

  void completed(const comm::Status& status) noexcept override {
    for (std::size_t index = 0; index < sends_.size(); ++index) {
      comm::Status its_status = status;
      its_status.sequence = numbers_[index];
      sends_[index]->completed(its_status);
    }
  }
  void released(const comm::Status& status) noexcept override {
    for (NodeMessage* const send : sends_) {
      send->released(status);
    }
    delete this;
  }

 private:
  std::vector<NodeMessage*> sends_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace plait::task::detail
