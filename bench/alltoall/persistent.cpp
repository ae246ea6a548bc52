// SPDX-License-Identifier: Apache-2.0
// PIB and PIN: a persistent all-to-all, bound to its buffers once, with the work after the wait and before it.
// MPI-4 has it; Open MPI 4.1 has it as an extension.
#include "alltoall/family.hpp"

#ifdef BENCH_ALLTOALL_INIT_IS_EXTENSION
#include <mpi-ext.h>
#endif

namespace alltoall {

#ifdef BENCH_ALLTOALL_INIT

namespace {

enum class Order : std::size_t { work_after, work_before };

class Persistent final : public Family {
 public:
  explicit Persistent(const Group& group) : group_{group} {}
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;
  Persistent(Persistent&&) = delete;
  Persistent& operator=(Persistent&&) = delete;
  ~Persistent() override { release(); }

  void prepare(const Buffers& its_buffers) override {
    Family::prepare(its_buffers);
    release();
    const int bytes = static_cast<int>(its_buffers.block_bytes);
    BENCH_ALLTOALL_INIT(its_buffers.send.data(),
                        bytes,
                        MPI_BYTE,
                        its_buffers.receive.data(),
                        bytes,
                        MPI_BYTE,
                        group_.comm(),
                        MPI_INFO_NULL,
                        &request_);
  }

  void run(std::size_t member, Work& work) override {
    MPI_Start(&request_);
    if (Order{member} == Order::work_before) {
      work.run_all();
    }
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (Order{member} == Order::work_after) {
      work.run_all();
    }
  }

 private:
  void release() {
    if (request_ != MPI_REQUEST_NULL) {
      MPI_Request_free(&request_);
    }
  }

  const Group& group_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<Family> make_persistent(const Group& group, const Settings& /*settings*/, plait::Runtime& /*runtime*/) {
  return std::make_unique<Persistent>(group);
}

#else

std::unique_ptr<Family> make_persistent(const Group& /*group*/,
                                        const Settings& /*settings*/,
                                        plait::Runtime& /*runtime*/) {
  throw Unavailable{"this MPI has no persistent collectives (MPI-4's MPI_Alltoall_init)"};
}

#endif

}  // namespace alltoall
