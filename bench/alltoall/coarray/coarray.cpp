// SPDX-License-Identifier: Apache-2.0
#include "alltoall/coarray/coarray.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/fft/mpi/members.hpp"
#include "plait/net/mpi/window.hpp"

extern "C" {
// What a main program in Fortran calls at its begin and end.
void _gfortran_caf_init(int* argc, char*** argv);  // NOLINT(bugprone-reserved-identifier)
void _gfortran_caf_finalize();                     // NOLINT(bugprone-reserved-identifier)
// exchange.f90
void alltoall_coarray_reserve(std::int64_t words);
void alltoall_coarray_exchange(int members,
                               int self,
                               const int* images,
                               const int* order,
                               std::int64_t words,
                               std::int64_t chunk,
                               const std::int64_t* sent,
                               std::int64_t* received);
}

namespace alltoall {

namespace {

using plait::Error;
using plait::ErrorCode;
using plait::fft::mpi::Members;
using MembersPointer = std::shared_ptr<const Members>;

/// Whether MPI makes windows over memory of the caller: OpenCoarrays ends the run if it does not. Collective.
bool has_windows(MPI_Comm world) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(world, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  std::int64_t memory = 0;
  MPI_Win window = MPI_WIN_NULL;
  int is_good = MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, own, &window) == MPI_SUCCESS ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &is_good, 1, MPI_INT, MPI_MIN, own);
  if (is_good == 1) {
    MPI_Win_free(&window);
  }
  MPI_Comm_free(&own);
  return is_good == 1;
}

/// The images of a run: one for each rank, in the same order.
class Images {
 public:
  /// Collective over `world`. Throws: `Error` with `network` on all ranks.
  explicit Images(MPI_Comm world) {
    if (!has_windows(world)) {
      throw Error{ErrorCode::network,
                  "this MPI makes no windows over memory of the program here, as coarrays need; with Open MPI try "
                  "OMPI_MCA_osc=ucx"};
    }
    int argc = 0;
    char** argv = nullptr;
    _gfortran_caf_init(&argc, &argv);
  }
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;
  ~Images() {
    if (std::uncaught_exceptions() == 0) {  // it waits for all images, of which one may have failed
      _gfortran_caf_finalize();
    }
  }
};

/// Starts the images with the first exchange, and keeps them as long as a variant or an exchange.
struct ImagesWhenNeeded {
  std::optional<Images> images;
};
using ImagesPointer = std::shared_ptr<ImagesWhenNeeded>;

/// Blocks are copied into a coarray, chunk by chunk, and fetched from there.
class CoarrayExchange final : public plait::fft::Exchange {
 public:
  CoarrayExchange(ImagesPointer images, MembersPointer members, const plait::comm::Group& group, std::size_t words)
      : images_{std::move(images)},
        members_{std::move(members)},
        words_{words},
        sent_(words * group.size()),
        received_(words * group.size()) {
    for (std::size_t member = 0; member < group.size(); ++member) {
      numbers_.push_back(static_cast<int>(group.rank(member).value()) + 1);
    }
    for (const std::size_t member : plait::net::random_order(group.size(), group.self())) {
      if (member != group.self()) {
        order_.push_back(static_cast<int>(member) + 1);
      }
    }
  }

  /// Collective over all ranks. `chunk_words`: at most the words of a block.
  void reserve(std::size_t chunk_words) {
    chunk_words_ = chunk_words;
    const auto held = members_->calls();
    alltoall_coarray_reserve(static_cast<std::int64_t>(chunk_words * numbers_.size()));
  }

  std::span<std::byte> to(std::size_t member) override {
    return std::as_writable_bytes(std::span{sent_}.subspan(member * words_, words_));
  }
  std::span<const std::byte> from(std::size_t member) override {
    return std::as_bytes(std::span{received_}.subspan(member * words_, words_));
  }
  void start() override {
    const auto held = members_->calls();
    alltoall_coarray_exchange(static_cast<int>(numbers_.size()),
                              static_cast<int>(members_->self()) + 1,
                              numbers_.data(),
                              order_.data(),
                              static_cast<std::int64_t>(words_),
                              static_cast<std::int64_t>(chunk_words_),
                              sent_.data(),
                              received_.data());
  }
  void wait() override {}

 private:
  ImagesPointer images_;
  MembersPointer members_;
  std::size_t words_;  ///< Of a block.
  std::size_t chunk_words_ = 0;
  std::vector<int> numbers_;  ///< Images of the members, numbered from 1.
  std::vector<int> order_;    ///< Places of the other members, from 1.
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> received_;
};

/// The words of each block. Throws: `Error` with `bad_argument` if blocks differ.
std::size_t words_of(const plait::comm::Group& group, const plait::fft::BlockBytes& bytes) {
  std::size_t words = 0;
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (member == group.self()) {
      continue;
    }
    const std::size_t here = bytes.to[member];
    if (here % sizeof(std::int64_t) != 0 || here != bytes.from[member] || (words != 0 && here / 8 != words)) {
      throw Error{ErrorCode::bad_argument, "coarray variants need blocks of one size, a multiple of 8 bytes"};
    }
    words = here / sizeof(std::int64_t);
  }
  return words;
}

}  // namespace

std::vector<plait::fft::Variant> coarray_variants(MPI_Comm world, std::size_t chunk_bytes) {
  const auto images = std::make_shared<ImagesWhenNeeded>();
  const auto communicators = std::make_shared<plait::fft::mpi::Communicators>(world);
  const auto with = [=](std::size_t chunk_bytes_max) -> plait::fft::MakeExchange {
    return [=](const plait::comm::Group& group, const plait::fft::BlockBytes& bytes) {
      const std::size_t words = words_of(group, bytes);
      const MembersPointer members = communicators->of(group);
      if (!images->images) {
        const auto held = members->calls();
        images->images.emplace(world);
      }
      auto exchange = std::make_unique<CoarrayExchange>(images, members, group, words);
      exchange->reserve(std::clamp<std::size_t>(chunk_bytes_max / sizeof(std::int64_t), 1, words));
      return exchange;
    };
  };
  return {{"CoM-F", "", "CoM in coarray Fortran", with(chunk_bytes)},
          {"CrB-F", "", "CrB in coarray Fortran, through a copy of all blocks", with(SIZE_MAX)}};
}

}  // namespace alltoall
