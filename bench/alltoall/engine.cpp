// SPDX-License-Identifier: Apache-2.0
// PLB and PLN: plait's all-to-all; the work is done after the wait and before it. Nothing is called during the work:
// what moves then, the runtime moves in the background.
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/plait.hpp"

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

enum class Order : std::size_t { work_after, work_before };

/// Rows and columns talk below communicators of their own.
plait::CommId comm_of(Direction direction) {
  return plait::CommId{direction == Direction::row ? 1U : 2U};
}

class Engine final : public Family {
 public:
  Engine(const Group& group, plait::Runtime& runtime)
      : group_{runtime.messages(), group.world_ranks(), comm_of(group.direction())} {}

  [[nodiscard]] bool uses_runtime() const noexcept override { return true; }
  void run(std::size_t member, Work& work) override {
    plait::Request request = plait::comm::all_to_all(group_, buffers().send, buffers().receive);
    if (Order{member} == Order::work_before) {
      work.run_all();
    }
    request.wait();
    if (Order{member} == Order::work_after) {
      work.run_all();
    }
  }

 private:
  plait::comm::Group group_;
};

}  // namespace

std::unique_ptr<Family> make_engine(const Group& group, const Settings& /*settings*/, plait::Runtime& runtime) {
  return std::make_unique<Engine>(group, runtime);
}

}  // namespace alltoall
