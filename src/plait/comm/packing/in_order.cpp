// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/waiting_list.hpp"
#include "plait/comm/packing.hpp"

namespace plait::comm {

namespace {

/// All messages in one queue; `gathers`: those that wait for a busy link share a packet.
template <bool gathers_them>
class InOrder final : public Packing {
 public:
  bool gathers() const noexcept override { return gathers_them; }
  void add(WaitingMessage& message) override { waiting_.push(message); }
  WaitingMessage* front(std::size_t packed) const override {
    return gathers_them || packed == 0 ? waiting_.front() : nullptr;
  }
  void pop() override { waiting_.pop(); }
  bool is_empty() const noexcept override { return waiting_.is_empty(); }

 private:
  detail::WaitingList waiting_;
};

}  // namespace

std::unique_ptr<Packing> make_immediate_packing() {
  return std::make_unique<InOrder<false>>();
}

std::unique_ptr<Packing> make_aggregate_packing() {
  return std::make_unique<InOrder<true>>();
}

}  // namespace plait::comm
