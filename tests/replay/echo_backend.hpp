// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/backend/backend.hpp"

namespace plait::replay {

/// A backend of one rank that sends to itself, and notes the order of what is requested. Sends end at once, receives
/// when their message was sent; a receive without one never does. Threads: any.
class EchoBackend final : public Backend {
 public:
  std::vector<std::string> log;
  std::byte damage{};  ///< Is added to the first byte of each message.

  [[nodiscard]] std::string name() const override { return "echo"; }
  [[nodiscard]] CallNames call_names() const override { return {"send", "receive", "wait", "test", "progress"}; }
  [[nodiscard]] std::string call_name(Collective /*what*/, Calling /*calling*/) const override { return "collective"; }

  void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) override {
    const std::lock_guard lock{mutex_};
    log.emplace_back("send");
    ended_[operation.value()] = 1;
    messages_[{to.communicator, to.tag}].emplace_back(data.begin(), data.end());
    match(to);
  }
  void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) override {
    const std::lock_guard lock{mutex_};
    log.emplace_back("receive");
    ended_[operation.value()] = 0;
    receives_[{from.communicator, from.tag}].emplace_back(operation, buffer);
    match(from);
  }
  void collective(OperationId operation, const CollectiveCall& /*call*/) override {
    const std::lock_guard lock{mutex_};
    log.emplace_back("collective");
    ended_[operation.value()] = 1;
  }
  [[nodiscard]] bool test(OperationId operation) override {
    const std::lock_guard lock{mutex_};
    return ended_[operation.value()] != 0;
  }
  void wait(std::span<const OperationId> operations) override {
    note("wait");
    if (!std::ranges::all_of(operations, [this](OperationId one) { return test(one); })) {
      throw Error{ErrorCode::timeout, "waits forever"};
    }
  }
  void progress() override { note("progress"); }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  void note(const char* call) {
    const std::lock_guard lock{mutex_};
    log.emplace_back(call);
  }

  void match(const Envelope& envelope) {
    auto& messages = messages_[{envelope.communicator, envelope.tag}];
    auto& receives = receives_[{envelope.communicator, envelope.tag}];
    while (!messages.empty() && !receives.empty()) {
      auto& [operation, buffer] = receives.front();
      std::ranges::copy(messages.front(), buffer.begin());
      if (!buffer.empty()) {
        buffer[0] ^= damage;
      }
      ended_[operation.value()] = 1;
      messages.pop_front();
      receives.pop_front();
    }
  }

  std::mutex mutex_;
  std::map<std::uint32_t, int> ended_;
  std::map<Key, std::deque<std::vector<std::byte>>> messages_;
  std::map<Key, std::deque<std::pair<OperationId, std::span<std::byte>>>> receives_;
};

}  // namespace plait::replay
