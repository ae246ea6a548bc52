// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/outgoing_list.hpp"
#include "plait/comm/packing.hpp"

namespace plait::comm {

namespace {

class Immediate final : public Packing {
 public:
  bool gathers() const noexcept override { return false; }
  void add(Outgoing& message) override { waiting_.push(message); }
  Outgoing* front(std::size_t packed) const override { return packed == 0 ? waiting_.front() : nullptr; }
  void pop() override { waiting_.pop(); }
  bool is_empty() const noexcept override { return waiting_.is_empty(); }

 private:
  detail::OutgoingList waiting_;
};

}  // namespace

std::unique_ptr<Packing> make_immediate_packing() {
  return std::make_unique<Immediate>();
}

}  // namespace plait::comm
