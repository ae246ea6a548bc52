// SPDX-License-Identifier: Apache-2.0
// CrB, CrN, CsB and CsN: every rank lays its blocks into one large window, then fetches its own from all in random
// order. Cr does the work in one go, Cs in slices between the gets; B after the closing synchronisation, N before.
#include <cstring>

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

enum class Order : std::size_t { work_after, work_before, slices_after, slices_between };

class Gets final : public Family {
 public:
  Gets(const Group& group, const Settings& settings)
      : group_{group},
        order_{random_order(group)},
        window_{make_window(group, group.size() * settings.block_bytes_max)} {}

  void run(std::size_t member, Work& work) override {
    const Order order{member};
    std::memcpy(window_->memory().data(), buffers().send.data(), buffers().send.size());
    window_->synchronise();
    for (std::size_t index = 0; index < order_.size(); ++index) {
      if (order == Order::slices_between) {
        work.run_part(index, order_.size());
      }
      window_->get(buffers().from(order_[index]), order_[index], group_.self() * buffers().block_bytes);
    }
    if (order == Order::work_before) {
      work.run_all();
    }
    window_->flush();
    window_->synchronise();  // from here on the window may be written again
    if (order == Order::work_after) {
      work.run_all();
    }
    if (order == Order::slices_after) {
      for (std::size_t index = 0; index < order_.size(); ++index) {
        work.run_part(index, order_.size());
      }
    }
  }

 private:
  const Group& group_;
  std::vector<std::size_t> order_;
  std::unique_ptr<plait::net::Window> window_;
};

}  // namespace

std::unique_ptr<Family> make_gets(const Group& group, const Settings& settings, plait::Runtime& /*runtime*/) {
  return std::make_unique<Gets>(group, settings);
}

}  // namespace alltoall
