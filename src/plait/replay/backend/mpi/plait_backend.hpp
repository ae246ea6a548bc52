// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/replay/backend/backend.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// A replay by plait's own endpoint, its matching, protocols and collectives.
///
/// What it has no collective for is made of others and of messages: gather and scatter of messages, reduce-scatter as
/// an all-reduce, scan along the ranks, beginning with a wait. Reductions are bitwise. Threads: any; the collectives of
/// a communicator by one at a time.
class PlaitBackend final : public Backend {
 public:
  /// Borrows the endpoint for its life, `part` for the call.
  PlaitBackend(comm::Endpoint& endpoint, const Part& part);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] CallNames call_names() const override;
  [[nodiscard]] std::string call_name(Collective what, Calling calling) const override;
  void prepare(std::size_t count) override;
  void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) override;
  void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) override;
  void collective(OperationId operation, const CollectiveCall& call) override;
  [[nodiscard]] bool test(OperationId operation) override;
  void wait(std::span<const OperationId> operations) override;
  void progress() override;

 private:
  [[nodiscard]] const comm::Group& group(std::uint32_t communicator) const;
  [[nodiscard]] std::vector<comm::Request> begin(const CollectiveCall& call);
  [[nodiscard]] std::vector<comm::Request> gather(const CollectiveCall& call);
  [[nodiscard]] std::vector<comm::Request> scatter(const CollectiveCall& call);
  [[nodiscard]] std::vector<comm::Request> scan(const CollectiveCall& call);

  comm::Endpoint& endpoint_;
  std::map<std::uint32_t, comm::Group> groups_;
  std::vector<comm::Request> requests_;  ///< Of each message.
  std::mutex collectives_mutex_;
  std::map<OperationId, std::vector<comm::Request>> collectives_;  ///< Under way.
};

}  // namespace plait::replay
