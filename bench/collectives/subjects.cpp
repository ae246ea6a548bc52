// SPDX-License-Identifier: Apache-2.0
#include "collectives/subjects.hpp"

#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace bench {
namespace {

using Counts = std::vector<int>;

MPI_Datatype make_struct() {
  const std::array<int, 2> lengths{1, 1};
  const std::array<MPI_Aint, 2> places{0, 16};
  const std::array<MPI_Datatype, 2> types{MPI_DOUBLE, MPI_DOUBLE};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &made);
  return made;
}

MPI_Datatype make_pair_of_doubles() {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &made);
  return made;
}

/// What the functions with a count for each member take: equal blocks.
struct Blocks {
  Counts counts;
  Counts places;       ///< In elements.
  Counts byte_places;  ///< In bytes.
  std::vector<MPI_Datatype> types;
};

Blocks equal_blocks(int members, int count, const ElementType& type) {
  const auto n = static_cast<std::size_t>(members);
  Blocks blocks{.counts = Counts(n, count), .places = Counts(n), .byte_places = Counts(n), .types = {}};
  std::exclusive_scan(blocks.counts.begin(), blocks.counts.end(), blocks.places.begin(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    blocks.byte_places[i] = blocks.places[i] * static_cast<int>(type.stride_bytes());
  }
  blocks.types.assign(n, type.handle());
  return blocks;
}

std::vector<Subject> movers(MPI_Comm comm, MPI_Datatype type, int count, std::byte* out, std::byte* in) {
  return {
      {"MPI_Bcast", [=] { MPI_Bcast(out, count, type, 0, comm); }},
      {"MPI_Gather", [=] { MPI_Gather(out, count, type, in, count, type, 0, comm); }},
      {"MPI_Scatter", [=] { MPI_Scatter(out, count, type, in, count, type, 0, comm); }},
      {"MPI_Allgather", [=] { MPI_Allgather(out, count, type, in, count, type, comm); }},
      {"MPI_Alltoall", [=] { MPI_Alltoall(out, count, type, in, count, type, comm); }},
  };
}

std::vector<Subject> vectors(
    MPI_Comm comm, MPI_Datatype type, std::shared_ptr<const Blocks> blocks, std::byte* out, std::byte* in) {
  const int* const counts = blocks->counts.data();
  const int* const places = blocks->places.data();
  return {
      {"MPI_Gatherv", [=] { MPI_Gatherv(out, blocks->counts[0], type, in, counts, places, type, 0, comm); }},
      {"MPI_Scatterv", [=] { MPI_Scatterv(out, counts, places, type, in, blocks->counts[0], type, 0, comm); }},
      {"MPI_Allgatherv", [=] { MPI_Allgatherv(out, blocks->counts[0], type, in, counts, places, type, comm); }},
      {"MPI_Alltoallv", [=] { MPI_Alltoallv(out, counts, places, type, in, counts, places, type, comm); }},
      {"MPI_Alltoallw",
       [=] {
         const int* const at = blocks->byte_places.data();
         const MPI_Datatype* const types = blocks->types.data();
         MPI_Alltoallw(out, counts, at, types, in, counts, at, types, comm);
       }},
  };
}

std::vector<Subject> reductions(
    MPI_Comm comm, int count, std::shared_ptr<const Blocks> blocks, std::byte* out, std::byte* in) {
  return {
      {"MPI_Reduce", [=] { MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, 0, comm); }},
      {"MPI_Allreduce", [=] { MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, comm); }},
      {"MPI_Reduce_scatter", [=] { MPI_Reduce_scatter(out, in, blocks->counts.data(), MPI_DOUBLE, MPI_SUM, comm); }},
      {"MPI_Reduce_scatter_block", [=] { MPI_Reduce_scatter_block(out, in, count, MPI_DOUBLE, MPI_SUM, comm); }},
      {"MPI_Scan", [=] { MPI_Scan(out, in, count, MPI_DOUBLE, MPI_SUM, comm); }},
      {"MPI_Exscan", [=] { MPI_Exscan(out, in, count, MPI_DOUBLE, MPI_SUM, comm); }},
  };
}

void append(std::vector<Subject>& subjects, std::vector<Subject> more) {
  std::ranges::move(more, std::back_inserter(subjects));
}

}  // namespace

ElementType::ElementType(Kind kind) : kind_{kind} {
  if (kind_ != Kind::bytes) {
    handle_ = kind_ == Kind::structs ? make_struct() : make_pair_of_doubles();
    MPI_Type_commit(&handle_);
  }
}

ElementType::~ElementType() {
  if (kind_ != Kind::bytes) {
    MPI_Type_free(&handle_);
  }
}

const char* ElementType::name() const noexcept {
  switch (kind_) {
    case Kind::doubles:
      return "doubles";
    case Kind::structs:
      return "structs";
    case Kind::bytes:
      break;
  }
  return "bytes";
}

std::vector<Subject> mpi_collectives(MPI_Comm comm, const ElementType& type, std::size_t bytes, Buffers& buffers) {
  if (bytes == 0) {
    return {{"MPI_Barrier", [comm] { MPI_Barrier(comm); }}};
  }
  int members = 0;
  MPI_Comm_size(comm, &members);
  const auto count = static_cast<int>(bytes / type.data_bytes());
  std::vector<Subject> subjects = movers(comm, type.handle(), count, buffers.out(), buffers.in());
  const auto blocks = std::make_shared<const Blocks>(equal_blocks(members, count, type));
  append(subjects, vectors(comm, type.handle(), blocks, buffers.out(), buffers.in()));
  if (bytes % sizeof(double) == 0 && type.stride_bytes() == type.data_bytes()) {
    const auto doubles = static_cast<int>(bytes / sizeof(double));
    const auto parts = std::make_shared<const Blocks>(equal_blocks(members, doubles, type));
    append(subjects, reductions(comm, doubles, parts, buffers.out(), buffers.in()));
  }
  return subjects;
}

std::vector<Subject> engine_collectives(const plait::comm::Group& group, std::size_t bytes, Buffers& buffers) {
  using namespace plait::comm;
  if (bytes == 0) {
    return {{"engine barrier", [group] { barrier(group).wait(); }, "MPI_Barrier"}};
  }
  const std::size_t all_bytes = bytes * group.size();
  const std::span out{buffers.out(), bytes};
  const std::span in{buffers.in(), bytes};
  const std::span outs{buffers.out(), all_bytes};
  const std::span ins{buffers.in(), all_bytes};
  std::vector<Subject> subjects{
      {"engine broadcast", [=] { broadcast(group, 0, out).wait(); }, "MPI_Bcast"},
      {"engine all_gather", [=] { all_gather(group, std::span<const std::byte>{out}, ins).wait(); }, "MPI_Allgather"},
      {"engine all_to_all", [=] { all_to_all(group, std::span<const std::byte>{outs}, ins).wait(); }, "MPI_Alltoall"},
  };
  if (bytes % sizeof(double) == 0) {
    const ReduceOptions sum{.reduction = elementwise<double>(Sum{})};
    subjects.push_back({"engine reduce", [=] { reduce(group, 0, out, in, sum).wait(); }, "MPI_Reduce"});
    subjects.push_back({"engine all_reduce", [=] { all_reduce(group, in, sum).wait(); }, "MPI_Allreduce"});
  }
  return subjects;
}

}  // namespace bench
