// SPDX-License-Identifier: Apache-2.0
// MPI, MIB, MIN, MIT, PIB and PIN: MPI's own all-to-all, blocking, nonblocking and persistent.
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/fft/mpi/detail/exchanges.hpp"

#ifdef PLAIT_ALLTOALLV_INIT_IS_EXTENSION
#include <mpi-ext.h>
#endif

namespace plait::fft::mpi {

namespace {

/// The longest power of two, up to a cache line, that divides all lengths.
std::size_t unit_of(const detail::Places& places) {
  std::size_t bits = detail::cache_line_bytes;
  for (const std::size_t length : places.length) {
    bits |= length;
  }
  return bits & (~bits + 1);
}

/// The arguments of MPI_Alltoallv: counts and displacements of one datatype, which is as long as the lengths allow, as
/// MPI counts in int.
struct Counts {
  /// Throws: `Error` with `bad_argument` if the blocks are too long even so.
  explicit Counts(const detail::Places& places) {
    const std::size_t unit = unit_of(places);
    if (places.bytes / unit > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("blocks of {} bytes in total exceed the counts of one MPI call; use more ranks, or the variant "
                      "PLT, which sends by tasks",
                      places.bytes)};
    }
    for (std::size_t block = 0; block < places.length.size(); ++block) {
      counts.push_back(static_cast<int>(places.length[block] / unit));
      displacements.push_back(static_cast<int>(places.offset[block] / unit));
    }
    MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;
  ~Counts() { MPI_Type_free(&type); }

  std::vector<int> counts;
  std::vector<int> displacements;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Common to all: memory for both sides, and what describes it to MPI.
class Collective : public ReceivingExchange {
 public:
  Collective(MembersPointer members, const BlockBytes& bytes)
      : ReceivingExchange{std::move(members), bytes}, sent_{detail::Places{bytes.to}} {}

  [[nodiscard]] std::span<std::byte> to(std::size_t member) final { return sent_[member]; }

 protected:
  /// Calls one of MPI's functions for all-to-all, which differ in the last arguments.
  template <class AllToAll, class... Last>
  void call(AllToAll all_to_all, Last... last) const {
    all_to_all(sent_.data(),
               sent_counts_.counts.data(),
               sent_counts_.displacements.data(),
               sent_counts_.type,
               received_.data(),
               received_counts_.counts.data(),
               received_counts_.displacements.data(),
               received_counts_.type,
               members_->comm(),
               last...);
  }

 private:
  const detail::Blocks sent_;
  const Counts sent_counts_{sent_.places};
  const Counts received_counts_{received_.places};
};

class Blocking final : public Collective {
 public:
  using Collective::Collective;
  void start() override {
    const auto held = members_->calls();
    call(MPI_Alltoallv);
  }
  void wait() override {}
};

/// Starts and completes a request; the two kinds differ in `launch`.
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
  void launch() override { call(MPI_Ialltoallv, &request_); }
};

#ifdef PLAIT_ALLTOALLV_INIT

class Persistent final : public Requested {
 public:
  Persistent(MembersPointer members, const BlockBytes& bytes, When when) : Requested{std::move(members), bytes, when} {
    const auto held = members_->calls();
    call(PLAIT_ALLTOALLV_INIT, MPI_INFO_NULL, &request_);
  }
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;
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

std::unique_ptr<Exchange> make_persistent(MembersPointer members, const BlockBytes& bytes, When when) {
  return std::make_unique<Persistent>(std::move(members), bytes, when);
}

#else

std::unique_ptr<Exchange> make_persistent(MembersPointer /*members*/, const BlockBytes& /*bytes*/, When /*when*/) {
  throw Error{ErrorCode::network, "this MPI has no persistent collectives (MPI-4's MPI_Alltoallv_init)"};
}

#endif

}  // namespace plait::fft::mpi
