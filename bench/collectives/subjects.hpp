// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/plait.hpp"

namespace bench {

/// Elements of a message or of a block of a collective: 16 bytes of data each.
class ElementType {
 public:
  enum class Kind {
    doubles,  ///< Two doubles, contiguous.
    structs,  ///< A struct of two doubles with a gap of 8 bytes between them (MPI_Type_create_struct).
    bytes,    ///< Of 1 byte; for blocks that are no multiple of 16 bytes.
  };
  explicit ElementType(Kind kind);
  ElementType(const ElementType&) = delete;
  ElementType& operator=(const ElementType&) = delete;
  ~ElementType();

  [[nodiscard]] MPI_Datatype handle() const noexcept { return handle_; }
  /// Bytes of data of one, and its stride in memory.
  [[nodiscard]] std::size_t data_bytes() const noexcept { return kind_ == Kind::bytes ? 1 : 16; }
  [[nodiscard]] std::size_t stride_bytes() const noexcept { return kind_ == Kind::structs ? 24 : data_bytes(); }
  /// "doubles", "structs" or "bytes".
  [[nodiscard]] const char* name() const noexcept;

 private:
  Kind kind_;
  MPI_Datatype handle_ = MPI_BYTE;
};

/// A call to measure. Collective over the communicator.
struct Subject {
  std::string name;  ///< "MPI_Bcast", "engine broadcast": also the name of the row.
  std::function<void()> call;
  std::string peer = {};  ///< The subject that this one is compared with.
  /// Of a non-blocking collective: the same, with something done between its beginning and its completion.
  std::function<void(const std::function<void()>& meanwhile)> with = {};
  /// Of the engine's: its barrier. A rank that has its data goes on to poll until all have, as a program does whose
  /// messages are the engine's; one in a call of MPI would leave the rest to a thread in the background.
  std::function<void()> after = {};
};

/// A collective of MPI in all forms that the MPI has.
struct Collective {
  std::string name;  ///< Without "MPI_": "Bcast".
  std::function<void()> call;
  std::function<void(MPI_Request*)> begin;    ///< MPI_Ibcast.
  std::function<void(MPI_Request*)> prepare;  ///< MPI_Bcast_init; none before MPI 4.
};

/// The memory of the calls: enough for one block of each member, twice.
class Buffers {
 public:
  Buffers(std::size_t block_bytes, int members)
      : out_(2 * block_bytes * static_cast<std::size_t>(members)), in_(out_.size()) {}
  [[nodiscard]] std::byte* out() noexcept { return out_.data(); }
  [[nodiscard]] std::byte* in() noexcept { return in_.data(); }

 private:
  plait::Bytes out_;
  plait::Bytes in_;
};

/// The collectives of MPI that move blocks of `bytes`: to all (MPI_Bcast), from each (MPI_Allgather), or to each
/// (MPI_Alltoall). Those with a reduction only for doubles, and MPI_Barrier only for `bytes` 0.
///
/// `type` and `buffers` must outlive the collectives. Expects: `bytes` is a multiple of the type's data.
[[nodiscard]] std::vector<Collective> mpi_collectives(MPI_Comm comm,
                                                      const ElementType& type,
                                                      std::size_t bytes,
                                                      Buffers& buffers);

/// The neighbourhood collectives of MPI: blocks of `bytes` to each neighbour of `ring`, of which a rank has two. As
/// above, with buffers for two members or more.
[[nodiscard]] std::vector<Collective> neighbourhoods(MPI_Comm ring,
                                                     const ElementType& type,
                                                     std::size_t bytes,
                                                     Buffers& buffers);

/// A form of each as a subject: the blocking one; begun and waited for at once; prepared here, then started and waited
/// for at once. The latter two are compared with the first. `prepared` is collective over the communicator, empty
/// before MPI 4, and frees its requests with its subjects.
[[nodiscard]] std::vector<Subject> blocking(const std::vector<Collective>& collectives);
[[nodiscard]] std::vector<Subject> non_blocking(const std::vector<Collective>& collectives);
[[nodiscard]] std::vector<Subject> prepared(const std::vector<Collective>& collectives);

/// The engine's collectives of the same blocks, each compared with that of MPI. As above.
[[nodiscard]] std::vector<Subject> engine_collectives(const plait::comm::Group& group,
                                                      std::size_t bytes,
                                                      Buffers& buffers);

/// Collectives made of MPI's messages, each compared with that of MPI. `ring`: as above.
[[nodiscard]] std::vector<Subject> message_collectives(MPI_Comm comm,
                                                       MPI_Comm ring,
                                                       std::size_t bytes,
                                                       Buffers& buffers);

}  // namespace bench
