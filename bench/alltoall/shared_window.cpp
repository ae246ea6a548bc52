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
    const auto bytes = static_cast<MPI_Aint>(group.size() * settings.block_bytes_max);
    void* memory = nullptr;
    group.in_turn([&] { MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, group.comm(), &memory, &window_); });
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      MPI_Aint its_bytes = 0;
      int unit = 0;
      MPI_Win_shared_query(window_, static_cast<int>(rank), &its_bytes, &unit, &memory);
      memory_of_.push_back(static_cast<std::byte*>(memory));
    }
  }
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;
  SharedWindow(SharedWindow&&) = delete;
  SharedWindow& operator=(SharedWindow&&) = delete;
  ~SharedWindow() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  void run(std::size_t /*member*/, Work& work) override {
    std::memcpy(memory_of_[group_.self()], buffers().send.data(), buffers().send.size());
    synchronise();
    for (std::size_t step = 0; step < group_.size(); ++step) {
      const std::size_t rank = (group_.self() + step) % group_.size();
      const std::byte* const block = memory_of_[rank] + group_.self() * buffers().block_bytes;
      std::memcpy(buffers().from(rank).data(), block, buffers().block_bytes);
    }
    synchronise();
    work.run_all();
  }

 private:
  void synchronise() const {
    MPI_Win_sync(window_);
    group_.barrier();
    MPI_Win_sync(window_);
  }

  const Group& group_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> memory_of_;
};

}  // namespace

std::unique_ptr<Family> make_shared_window(const Group& group, const Settings& settings, plait::Runtime& /*runtime*/) {
  return std::make_unique<SharedWindow>(group, settings);
}

}  // namespace alltoall
