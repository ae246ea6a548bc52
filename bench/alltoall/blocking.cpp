// SPDX-License-Identifier: Apache-2.0
// MPI: the blocking all-to-all, against which the work is calibrated.
#include "alltoall/family.hpp"

namespace alltoall {

namespace {

class Blocking final : public Family {
 public:
  explicit Blocking(const Group& group) : group_{group} {}

  void run(std::size_t /*member*/, Work& work) override {
    const int bytes = static_cast<int>(buffers().block_bytes);
    MPI_Alltoall(buffers().send.data(), bytes, MPI_BYTE, buffers().receive.data(), bytes, MPI_BYTE, group_.comm());
    work.run_all();
  }

 private:
  const Group& group_;
};

}  // namespace

std::unique_ptr<Family> make_blocking(const Group& group, const Settings& /*settings*/, plait::Runtime& /*runtime*/) {
  return std::make_unique<Blocking>(group);
}

}  // namespace alltoall
