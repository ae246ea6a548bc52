// SPDX-License-Identifier: Apache-2.0
// SHM: within a node, every rank lays its blocks into a window that all can read, and all copy theirs out of it.
#include <cstring>

#include "alltoall/family.hpp"

namespace alltoall {

namespace {

class SharedWindow final : public Family {
 public:
  SharedWindow(const Group& group, const Settings& settings) : group_{group} {
    int is_shared = group.is_on_one_node() ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_shared, 1, MPI_INT, MPI_MIN, group.comm());
    if (is_shared == 0) {
      throw Unavailable{"the ranks of the group do not share a node"};
    }
    window_ = make_window(group, group.size() * settings.block_bytes_max, plait::net::Window::Kind::shared);
  }

  void run(std::size_t /*member*/, Work& work) override {
    std::memcpy(window_->memory().data(), buffers().send.data(), buffers().send.size());
    window_->synchronise();
    for (std::size_t step = 0; step < group_.size(); ++step) {
      const std::size_t rank = (group_.self() + step) % group_.size();
      const std::byte* const block = window_->memory_of(rank) + group_.self() * buffers().block_bytes;
      std::memcpy(buffers().from(rank).data(), block, buffers().block_bytes);
    }
    window_->synchronise();
    work.run_all();
  }

 private:
  const Group& group_;
  std::unique_ptr<plait::net::Window> window_;
};

}  // namespace

std::unique_ptr<Family> make_shared_window(const Group& group, const Settings& settings, plait::Runtime& /*runtime*/) {
  return std::make_unique<SharedWindow>(group, settings);
}

}  // namespace alltoall
