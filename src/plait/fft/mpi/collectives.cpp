// SPDX-License-Identifier: Apache-2.0
// MPI, MIB, MIN, MIT, PIB and PIN: MPI's own all-to-all, blocking, nonblocking and persistent.
#include <utility>

#include "plait/base/error.hpp"
#include "plait/fft/mpi/blocks.hpp"
#include "plait/fft/mpi/exchanges.hpp"

#ifdef PLAIT_ALLTOALLV_INIT_IS_EXTENSION
#include <mpi-ext.h>
#endif

namespace plait::fft::mpi {

namespace {

/// What all of them need: memory for both sides, and how MPI is told where the blocks stand.
class Collective : public Exchange {
 public:
  Collective(MembersPointer members, const BlockBytes& bytes)
      : members_{std::move(members)},
        to_places_{bytes.to},
        from_places_{bytes.from},
        to_memory_{to_places_.bytes},
        from_memory_{from_places_.bytes},
        sent_{to_places_},
        received_{from_places_} {}

  [[nodiscard]] std::span<std::byte> to(std::size_t member) final { return to_memory_.part(to_places_, member); }
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) final {
    return from_memory_.part(from_places_, member);
  }

 protected:
  const MembersPointer members_;
  const Places to_places_;
  const Places from_places_;
  const AlignedBytes to_memory_;
  const AlignedBytes from_memory_;
  const Counts sent_;
  const Counts received_;
};

class Blocking final : public Collective {
 public:
  using Collective::Collective;
  void start() override {
    const auto held = members_->calls();
    MPI_Alltoallv(to_memory_.data(),
                  sent_.counts(),
                  sent_.displacements(),
                  sent_.type(),
                  from_memory_.data(),
                  received_.counts(),
                  received_.displacements(),
                  received_.type(),
                  members_->comm());
  }
  void wait() override {}
};

/// Begins, and ends a request; `launch` is what the two kinds differ in.
class Requested : public Collective {
 public:
  Requested(MembersPointer members, const BlockBytes& bytes, When when)
      : Collective{std::move(members), bytes}, when_{when} {}

  void start() final {
    const auto held = members_->calls();
    launch();
    if (when_ == When::at_once) {
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
  }
  void advance() final {
    if (when_ == When::in_advance) {
      const auto held = members_->calls();
      int is_over = 0;
      MPI_Test(&request_, &is_over, MPI_STATUS_IGNORE);
    }
  }
  void wait() final {
    if (when_ != When::at_once) {
      const auto held = members_->calls();
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
  }

 protected:
  virtual void launch() = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;

 private:
  const When when_;
};

class Nonblocking final : public Requested {
 public:
  using Requested::Requested;

 private:
  void launch() override {
    MPI_Ialltoallv(to_memory_.data(),
                   sent_.counts(),
                   sent_.displacements(),
                   sent_.type(),
                   from_memory_.data(),
                   received_.counts(),
                   received_.displacements(),
                   received_.type(),
                   members_->comm(),
                   &request_);
  }
};

#ifdef PLAIT_ALLTOALLV_INIT

class Persistent final : public Requested {
 public:
  Persistent(MembersPointer members, const BlockBytes& bytes, When when) : Requested{std::move(members), bytes, when} {
    const auto held = members_->calls();
    PLAIT_ALLTOALLV_INIT(to_memory_.data(),
                         sent_.counts(),
                         sent_.displacements(),
                         sent_.type(),
                         from_memory_.data(),
                         received_.counts(),
                         received_.displacements(),
                         received_.type(),
                         members_->comm(),
                         MPI_INFO_NULL,
                         &request_);
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;
  Persistent(Persistent&&) = delete;
  Persistent& operator=(Persistent&&) = delete;
  ~Persistent() override {
    const auto held = members_->last_calls();
    MPI_Request_free(&request_);
  }

 private:
  void launch() override { MPI_Start(&request_); }
};

#endif

}  // namespace

std::unique_ptr<Exchange> make_blocking(MembersPointer members, const BlockBytes& bytes) {
  return std::make_unique<Blocking>(std::move(members), bytes);
}

std::unique_ptr<Exchange> make_nonblocking(MembersPointer members, const BlockBytes& bytes, When when) {
  return std::make_unique<Nonblocking>(std::move(members), bytes, when);
}

#ifdef PLAIT_ALLTOALLV_INIT

std::string why_no_persistent() {
  return {};
}

std::unique_ptr<Exchange> make_persistent(MembersPointer members, const BlockBytes& bytes, When when) {
  return std::make_unique<Persistent>(std::move(members), bytes, when);
}

#else

std::string why_no_persistent() {
  return "this MPI has no persistent collectives (MPI-4's MPI_Alltoallv_init)";
}

std::unique_ptr<Exchange> make_persistent(MembersPointer /*members*/, const BlockBytes& /*bytes*/, When /*when*/) {
  throw Error{ErrorCode::network, why_no_persistent()};
}

#endif

}  // namespace plait::fft::mpi
