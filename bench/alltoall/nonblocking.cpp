// SPDX-License-Identifier: Apache-2.0
// MIB, MIN and MIT: MPI_Ialltoall with the work after the wait, before it, and before it with tests between its slices.
#include "alltoall/family.hpp"

namespace alltoall {

namespace {

enum class Order : std::size_t { work_after, work_before, work_with_tests };

class Nonblocking final : public Family {
 public:
  Nonblocking(const Group& group, std::size_t test_count) : group_{group}, test_count_{test_count} {}

  void run(std::size_t member, Work& work) override {
    const int bytes = static_cast<int>(buffers().block_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(
        buffers().send.data(), bytes, MPI_BYTE, buffers().receive.data(), bytes, MPI_BYTE, group_.comm(), &request);
    switch (Order{member}) {
      case Order::work_after:
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        work.run_all();
        break;
      case Order::work_before:
        work.run_all();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
      case Order::work_with_tests:
        for (std::size_t slice = 0; slice < test_count_; ++slice) {
          int is_over = 0;
          MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
          work.run_part(slice, test_count_);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    }
  }

 private:
  const Group& group_;
  std::size_t test_count_;
};

}  // namespace

std::unique_ptr<Family> make_nonblocking(const Group& group, const Settings& settings, plait::Runtime& /*runtime*/) {
  return std::make_unique<Nonblocking>(group, settings.test_count);
}

}  // namespace alltoall
