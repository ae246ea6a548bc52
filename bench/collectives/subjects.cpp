// SPDX-License-Identifier: Apache-2.0
#include "collectives/subjects.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "collectives/sums_by_messages.hpp"

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
  Counts places;                    ///< In elements.
  Counts byte_places;               ///< In bytes.
  std::vector<MPI_Aint> addresses;  ///< The same, as neighbourhoods take them.
  std::vector<MPI_Datatype> types;
};

Blocks equal_blocks(int members, int count, const ElementType& type) {
  const auto n = static_cast<std::size_t>(members);
  Blocks blocks{
      .counts = Counts(n, count), .places = Counts(n), .byte_places = Counts(n), .addresses = {}, .types = {}};
  std::exclusive_scan(blocks.counts.begin(), blocks.counts.end(), blocks.places.begin(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    blocks.byte_places[i] = blocks.places[i] * static_cast<int>(type.stride_bytes());
  }
  blocks.addresses.assign(blocks.byte_places.begin(), blocks.byte_places.end());
  blocks.types.assign(n, type.handle());
  return blocks;
}

/// Adds the forms of one collective, which differ in their last parameters only. `prepare` may be null. `kept`: what
/// the arguments point to.
template <class... Arguments, class Begin, class Prepare>
void add(std::vector<Collective>& collectives,
         const char* name,
         int (*call)(Arguments...),
         Begin begin,
         Prepare prepare,
         std::shared_ptr<const Blocks> kept,
         std::type_identity_t<Arguments>... arguments) {
  Collective& added = collectives.emplace_back();
  added.name = name;
  added.call = [=, keep = kept] { call(arguments...); };
  added.begin = [=, keep = kept](MPI_Request* request) { begin(arguments..., request); };
  if constexpr (!std::is_null_pointer_v<Prepare>) {
    added.prepare = [=, keep = kept](MPI_Request* request) { prepare(arguments..., MPI_INFO_NULL, request); };
  }
}

// The name and the three functions of a collective. Persistent ones are of MPI 4.
#if MPI_VERSION >= 4
#define PLAIT_BENCH_FORMS(Name, name) #Name, MPI_##Name, MPI_I##name, MPI_##Name##_init
#else
#define PLAIT_BENCH_FORMS(Name, name) #Name, MPI_##Name, MPI_I##name, nullptr
#endif

/// What the calls of one size and datatype have in common.
struct Arguments {
  MPI_Comm comm;
  MPI_Datatype type;
  int count = 0;
  std::byte* out = nullptr;
  std::byte* in = nullptr;
  std::shared_ptr<const Blocks> blocks;
};

void add_movers(std::vector<Collective>& to, const Arguments& a) {
  add(to, PLAIT_BENCH_FORMS(Bcast, bcast), {}, a.out, a.count, a.type, 0, a.comm);
  add(to, PLAIT_BENCH_FORMS(Gather, gather), {}, a.out, a.count, a.type, a.in, a.count, a.type, 0, a.comm);
  add(to, PLAIT_BENCH_FORMS(Scatter, scatter), {}, a.out, a.count, a.type, a.in, a.count, a.type, 0, a.comm);
  add(to, PLAIT_BENCH_FORMS(Allgather, allgather), {}, a.out, a.count, a.type, a.in, a.count, a.type, a.comm);
  add(to, PLAIT_BENCH_FORMS(Alltoall, alltoall), {}, a.out, a.count, a.type, a.in, a.count, a.type, a.comm);
}

void add_vectors(std::vector<Collective>& to, const Arguments& a) {
  const auto& kept = a.blocks;
  const int* const n = kept->counts.data();
  const int* const at = kept->places.data();
  const int* const bytes_at = kept->byte_places.data();
  const MPI_Datatype* const types = kept->types.data();
  add(to, PLAIT_BENCH_FORMS(Gatherv, gatherv), kept, a.out, a.count, a.type, a.in, n, at, a.type, 0, a.comm);
  add(to, PLAIT_BENCH_FORMS(Scatterv, scatterv), kept, a.out, n, at, a.type, a.in, a.count, a.type, 0, a.comm);
  add(to, PLAIT_BENCH_FORMS(Allgatherv, allgatherv), kept, a.out, a.count, a.type, a.in, n, at, a.type, a.comm);
  add(to, PLAIT_BENCH_FORMS(Alltoallv, alltoallv), kept, a.out, n, at, a.type, a.in, n, at, a.type, a.comm);
  add(to, PLAIT_BENCH_FORMS(Alltoallw, alltoallw), kept, a.out, n, bytes_at, types, a.in, n, bytes_at, types, a.comm);
}

/// Of sums of doubles.
void add_reductions(std::vector<Collective>& to, const Arguments& a) {
  const MPI_Op sum = MPI_SUM;
  const int* const n = a.blocks->counts.data();
  add(to, PLAIT_BENCH_FORMS(Reduce, reduce), {}, a.out, a.in, a.count, a.type, sum, 0, a.comm);
  add(to, PLAIT_BENCH_FORMS(Allreduce, allreduce), {}, a.out, a.in, a.count, a.type, sum, a.comm);
  add(to, PLAIT_BENCH_FORMS(Reduce_scatter, reduce_scatter), a.blocks, a.out, a.in, n, a.type, sum, a.comm);
  add(to, PLAIT_BENCH_FORMS(Reduce_scatter_block, reduce_scatter_block), {}, a.out, a.in, a.count, a.type, sum, a.comm);
  add(to, PLAIT_BENCH_FORMS(Scan, scan), {}, a.out, a.in, a.count, a.type, sum, a.comm);
  add(to, PLAIT_BENCH_FORMS(Exscan, exscan), {}, a.out, a.in, a.count, a.type, sum, a.comm);
}

void wait_for(MPI_Request& request) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

std::shared_ptr<MPI_Request> make_request(const Collective& collective) {
  auto* const request = new MPI_Request{MPI_REQUEST_NULL};
  collective.prepare(request);
  return {request, [](MPI_Request* own) {
            MPI_Request_free(own);
            delete own;
          }};
}

constexpr int block_tag = 78;

/// The root posts a message with each other rank, all at once, and does `own` meanwhile; the others do theirs.
template <class Post, class Own, class Other>
void between_root_and_others(MPI_Comm comm, const Post& post, const Own& own, const Other& other) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (rank != 0) {
    other();
    return;
  }
  std::vector<MPI_Request> requests(static_cast<std::size_t>(size - 1));
  for (int with = 1; with < size; ++with) {
    post(with, &requests[static_cast<std::size_t>(with - 1)]);
  }
  own();
  MPI_Waitall(size - 1, requests.data(), MPI_STATUSES_IGNORE);
}

void gather_by_messages(MPI_Comm comm, const std::byte* out, std::byte* in, int bytes) {
  between_root_and_others(
      comm,
      [&](int from, MPI_Request* request) {
        MPI_Irecv(in + std::ptrdiff_t{from} * bytes, bytes, MPI_BYTE, from, block_tag, comm, request);
      },
      [&] { std::copy_n(out, bytes, in); },
      [&] { MPI_Send(out, bytes, MPI_BYTE, 0, block_tag, comm); });
}

void scatter_by_messages(MPI_Comm comm, const std::byte* out, std::byte* in, int bytes) {
  between_root_and_others(
      comm,
      [&](int to, MPI_Request* request) {
        MPI_Isend(out + std::ptrdiff_t{to} * bytes, bytes, MPI_BYTE, to, block_tag, comm, request);
      },
      [&] { std::copy_n(out, bytes, in); },
      [&] { MPI_Recv(in, bytes, MPI_BYTE, 0, block_tag, comm, MPI_STATUS_IGNORE); });
}

/// A block to each of the two neighbours, and one from each.
void exchange_by_messages(MPI_Comm ring, const std::byte* out, std::byte* in, int bytes) {
  int below = 0;
  int above = 0;
  MPI_Cart_shift(ring, 0, 1, &below, &above);
  std::array<MPI_Request, 4> requests{};
  MPI_Irecv(in, bytes, MPI_BYTE, below, block_tag, ring, &requests[0]);
  MPI_Irecv(in + bytes, bytes, MPI_BYTE, above, block_tag + 1, ring, &requests[1]);
  MPI_Isend(out, bytes, MPI_BYTE, below, block_tag + 1, ring, &requests[2]);
  MPI_Isend(out + bytes, bytes, MPI_BYTE, above, block_tag, ring, &requests[3]);
  MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
}

/// Those with a sum of doubles, `count` in a block. The memory of buffers is that of doubles, as `operator new` aligns
/// it.
void add_sums(MPI_Comm comm, std::size_t count, Buffers& buffers, std::vector<Subject>& subjects) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  const auto sums = std::make_shared<SumsByMessages>(comm);
  const auto* const out = static_cast<const double*>(static_cast<const void*>(buffers.out()));
  const std::span own{out, count};
  const std::span blocks{out, count * static_cast<std::size_t>(size)};
  const std::span in{static_cast<double*>(static_cast<void*>(buffers.in())), count};
  subjects.push_back({"messages scan", [=] { sums->scan(own, in); }, "MPI_Scan"});
  subjects.push_back({"messages exscan", [=] { sums->exscan(own, in); }, "MPI_Exscan"});
  const auto scatter = [=] { sums->reduce_scatter(blocks, in); };
  subjects.push_back({"messages reduce_scatter", scatter, "MPI_Reduce_scatter"});
  subjects.push_back({"messages reduce_scatter_block", scatter, "MPI_Reduce_scatter_block"});
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

std::vector<Collective> mpi_collectives(MPI_Comm comm, const ElementType& type, std::size_t bytes, Buffers& buffers) {
  std::vector<Collective> collectives;
  if (bytes == 0) {
    add(collectives, PLAIT_BENCH_FORMS(Barrier, barrier), {}, comm);
    return collectives;
  }
  int members = 0;
  MPI_Comm_size(comm, &members);
  Arguments blocks{.comm = comm,
                   .type = type.handle(),
                   .count = static_cast<int>(bytes / type.data_bytes()),
                   .out = buffers.out(),
                   .in = buffers.in(),
                   .blocks = {}};
  blocks.blocks = std::make_shared<const Blocks>(equal_blocks(members, blocks.count, type));
  add_movers(collectives, blocks);
  add_vectors(collectives, blocks);
  if (bytes % sizeof(double) == 0 && type.stride_bytes() == type.data_bytes()) {
    Arguments doubles = blocks;
    doubles.type = MPI_DOUBLE;
    doubles.count = static_cast<int>(bytes / sizeof(double));
    doubles.blocks = std::make_shared<const Blocks>(equal_blocks(members, doubles.count, type));
    add_reductions(collectives, doubles);
  }
  return collectives;
}

std::vector<Collective> neighbourhoods(MPI_Comm ring, const ElementType& type, std::size_t bytes, Buffers& buffers) {
  constexpr int neighbours = 2;
  std::vector<Collective> to;
  const MPI_Datatype t = type.handle();
  const auto count = static_cast<int>(bytes / type.data_bytes());
  std::byte* const out = buffers.out();
  std::byte* const in = buffers.in();
  const auto kept = std::make_shared<const Blocks>(equal_blocks(neighbours, count, type));
  const int* const n = kept->counts.data();
  const int* const at = kept->places.data();
  const MPI_Aint* const bytes_at = kept->addresses.data();
  const MPI_Datatype* const types = kept->types.data();
  add(to, PLAIT_BENCH_FORMS(Neighbor_allgather, neighbor_allgather), {}, out, count, t, in, count, t, ring);
  add(to, PLAIT_BENCH_FORMS(Neighbor_allgatherv, neighbor_allgatherv), kept, out, count, t, in, n, at, t, ring);
  add(to, PLAIT_BENCH_FORMS(Neighbor_alltoall, neighbor_alltoall), {}, out, count, t, in, count, t, ring);
  add(to, PLAIT_BENCH_FORMS(Neighbor_alltoallv, neighbor_alltoallv), kept, out, n, at, t, in, n, at, t, ring);
  add(to,
      PLAIT_BENCH_FORMS(Neighbor_alltoallw, neighbor_alltoallw),
      kept,
      out,
      n,
      bytes_at,
      types,
      in,
      n,
      bytes_at,
      types,
      ring);
  return to;
}

std::vector<Subject> blocking(const std::vector<Collective>& collectives) {
  std::vector<Subject> subjects;
  for (const Collective& one : collectives) {
    subjects.push_back({"MPI_" + one.name, one.call});
  }
  return subjects;
}

std::vector<Subject> non_blocking(const std::vector<Collective>& collectives) {
  std::vector<Subject> subjects;
  for (const Collective& one : collectives) {
    const auto with = [begin = one.begin](const std::function<void()>& meanwhile) {
      MPI_Request request = MPI_REQUEST_NULL;
      begin(&request);
      meanwhile();
      wait_for(request);
    };
    subjects.push_back({"MPI_I" + lower(one.name), [with] { with([] {}); }, "MPI_" + one.name, with});
  }
  return subjects;
}

std::vector<Subject> prepared(const std::vector<Collective>& collectives) {
  std::vector<Subject> subjects;
  for (const Collective& one : collectives) {
    if (one.prepare) {
      const auto call = [request = make_request(one)] {
        MPI_Start(request.get());
        wait_for(*request);
      };
      subjects.push_back({"MPI_" + one.name + "_init", call, "MPI_" + one.name});
    }
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
  for (Subject& subject : subjects) {
    subject.after = [group] { barrier(group).wait(); };
  }
  return subjects;
}

std::vector<Subject> message_collectives(MPI_Comm comm, MPI_Comm ring, std::size_t bytes, Buffers& buffers) {
  if (bytes == 0) {
    return {};
  }
  const auto block = static_cast<int>(bytes);
  std::byte* const out = buffers.out();
  std::byte* const in = buffers.in();
  std::vector<Subject> subjects{
      {"messages gather", [=] { gather_by_messages(comm, out, in, block); }, "MPI_Gather"},
      {"messages scatter", [=] { scatter_by_messages(comm, out, in, block); }, "MPI_Scatter"},
      {"messages neighbor_alltoall", [=] { exchange_by_messages(ring, out, in, block); }, "MPI_Neighbor_alltoall"},
  };
  if (bytes % sizeof(double) == 0) {
    add_sums(comm, bytes / sizeof(double), buffers, subjects);
  }
  return subjects;
}

}  // namespace bench
