// SPDX-License-Identifier: Apache-2.0
// PLB and PLN: plait's engine moves the blocks; the work is done after the wait and before it. Nothing is called during
// the work: what moves then, the runtime moves in the background.
#include <cstring>

#include "plait/plait.hpp"

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

enum class Order : std::size_t { work_after, work_before };

/// Both directions have messages of their own.
plait::Tag tag_of(Direction direction) {
  return plait::Tag{direction == Direction::row ? 1U : 2U};
}

class Engine final : public Family {
 public:
  Engine(const Group& group, plait::Runtime& runtime)
      : group_{group}, messages_{runtime.messages()}, tag_{tag_of(group.direction())} {}

  [[nodiscard]] bool uses_runtime() const noexcept override { return true; }
  void run(std::size_t member, Work& work) override {
    start();
    if (Order{member} == Order::work_before) {
      work.run_all();
    }
    for (plait::Request& request : requests_) {
      request.wait();
    }
    if (Order{member} == Order::work_after) {
      work.run_all();
    }
  }

 private:
  /// Posts all at once, beginning with the next rank, so that not all send to the same.
  void start() {
    requests_.clear();
    const std::size_t self = group_.self();
    for (std::size_t step = 1; step < group_.size(); ++step) {
      const std::size_t rank = (self + group_.size() - step) % group_.size();
      requests_.push_back(messages_.receive({group_.world_ranks()[rank], tag_}, buffers().from(rank)));
    }
    for (std::size_t step = 1; step < group_.size(); ++step) {
      const std::size_t rank = (self + step) % group_.size();
      requests_.push_back(messages_.send({group_.world_ranks()[rank], tag_}, buffers().to(rank)));
    }
    std::memcpy(buffers().from(self).data(), buffers().to(self).data(), buffers().block_bytes);
  }

  const Group& group_;
  plait::comm::Endpoint& messages_;
  plait::Tag tag_;
  std::vector<plait::Request> requests_;
};

}  // namespace

std::unique_ptr<Family> make_engine(const Group& group, const Settings& /*settings*/, plait::Runtime& runtime) {
  return std::make_unique<Engine>(group, runtime);
}

}  // namespace alltoall
