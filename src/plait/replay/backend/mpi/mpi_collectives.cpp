// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/mpi/mpi_collectives.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"

namespace plait::replay {
namespace {

using net::detail::check_mpi;

int to_count(std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("a collective sends or receives {} bytes at once, and MPI counts to 2 GiB: replay with --scale",
                    bytes)};
  }
  return static_cast<int>(bytes);
}

/// Counts and displacements of the blocks of all members.
void count_blocks(std::span<const std::uint64_t> shares, std::vector<int>& counts, std::vector<int>& places) {
  std::uint64_t all = 0;
  for (const std::uint64_t share : shares) {
    counts.push_back(to_count(share));
    places.push_back(to_count(all));
    all += share;
  }
}

/// The type and operation of a reduction.
struct Combined {
  MPI_Datatype type = MPI_BYTE;
  MPI_Op sum = MPI_BOR;
  int unit = 1;

  explicit Combined(const CollectiveCall& call) {
    const auto is_whole = [](std::uint64_t bytes) { return bytes % sizeof(double) == 0; };
    if (is_whole(call.given.size()) && is_whole(call.got.size()) && std::ranges::all_of(call.got_shares, is_whole)) {
      type = MPI_DOUBLE;
      sum = MPI_SUM;
      unit = sizeof(double);
    }
  }
  [[nodiscard]] int count(std::uint64_t bytes) const { return to_count(bytes / static_cast<std::uint64_t>(unit)); }
};

/// Calls one collective, blocking or non-blocking.
class Caller {
 public:
  Caller(const CollectiveCall& call, const MpiMembers& members, MpiCounts& kept, MPI_Request* request)
      : call_{call}, comm_{members.communicator}, kept_{kept}, request_{request} {
    count_blocks(call.shares, kept.given, kept.given_places);
    count_blocks(call.got_shares, kept.got, kept.got_places);
    size_ = size_of(comm_);
    self_ = static_cast<int>(rank_in(comm_).value());
    root_ = call.root == trace::nothing ? 0 : members.rank_in.at(call.root);
    given_ = call.given.data();
    got_ = call.got.data();
  }

  void run() {
    const std::string name = MpiCollectives::call_name(call_.what, request_ ? Calling::goes_on : Calling::waits);
    check_mpi(run_code(), name.c_str());
  }

 private:
  /// Calls the non-blocking function or the blocking one.
  template <class Begin, class Call, class... Arguments>
  int either(Begin begin, Call call, Arguments... arguments) {
    return request_ ? begin(arguments..., request_) : call(arguments...);
  }

  int run_code() {
    switch (call_.what) {
      case Collective::none:
      case Collective::barrier:
        return either(MPI_Ibarrier, MPI_Barrier, comm_);
      case Collective::broadcast:
        return broadcast();
      case Collective::reduce:
      case Collective::all_reduce:
      case Collective::scan:
      case Collective::reduce_scatter:
        return combine();
      case Collective::gather:
        return gather();
      case Collective::scatter:
        return scatter();
      case Collective::all_gather:
        return all_gather();
      case Collective::all_to_all:
        return all_to_all();
    }
    return MPI_SUCCESS;
  }

  int broadcast() {
    const bool is_root = self_ == root_;
    void* const data = is_root ? const_cast<std::byte*>(given_) : got_;
    const int count = to_count(is_root ? call_.given.size() : call_.got.size());
    return either(MPI_Ibcast, MPI_Bcast, data, count, MPI_BYTE, root_, comm_);
  }

  int combine() {
    const Combined by{call_};
    const int count = by.count(call_.given.size());
    switch (call_.what) {
      case Collective::reduce:
        return either(MPI_Ireduce, MPI_Reduce, given_, got_, count, by.type, by.sum, root_, comm_);
      case Collective::all_reduce:
        return either(MPI_Iallreduce, MPI_Allreduce, given_, got_, count, by.type, by.sum, comm_);
      case Collective::scan:
        return either(MPI_Iscan, MPI_Scan, given_, got_, count, by.type, by.sum, comm_);
      default:
        break;
    }
    if (call_.got_shares.empty()) {
      const int block = by.count(call_.got.size());
      return either(MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block, given_, got_, block, by.type, by.sum, comm_);
    }
    std::ranges::for_each(kept_.given, [&](int& bytes) { bytes /= by.unit; });
    const int* const counts = kept_.given.data();
    return either(MPI_Ireduce_scatter, MPI_Reduce_scatter, given_, got_, counts, by.type, by.sum, comm_);
  }

  int gather() {
    const int mine = to_count(call_.given.size());
    if (call_.got_shares.empty()) {
      return either(MPI_Igather, MPI_Gather, given_, mine, MPI_BYTE, got_, mine, MPI_BYTE, root_, comm_);
    }
    const int* const counts = kept_.got.data();
    const int* const places = kept_.got_places.data();
    return either(MPI_Igatherv, MPI_Gatherv, given_, mine, MPI_BYTE, got_, counts, places, MPI_BYTE, root_, comm_);
  }

  int scatter() {
    const int mine = to_count(call_.got.size());
    if (call_.shares.empty()) {
      return either(MPI_Iscatter, MPI_Scatter, given_, mine, MPI_BYTE, got_, mine, MPI_BYTE, root_, comm_);
    }
    const int* const counts = kept_.given.data();
    const int* const places = kept_.given_places.data();
    return either(MPI_Iscatterv, MPI_Scatterv, given_, counts, places, MPI_BYTE, got_, mine, MPI_BYTE, root_, comm_);
  }

  int all_gather() {
    const int mine = to_count(call_.given.size());
    if (call_.got_shares.empty()) {
      return either(MPI_Iallgather, MPI_Allgather, given_, mine, MPI_BYTE, got_, mine, MPI_BYTE, comm_);
    }
    const int* const counts = kept_.got.data();
    const int* const places = kept_.got_places.data();
    return either(MPI_Iallgatherv, MPI_Allgatherv, given_, mine, MPI_BYTE, got_, counts, places, MPI_BYTE, comm_);
  }

  int all_to_all() {
    if (call_.shares.empty()) {
      const int mine = to_count(call_.given.size() / size_);
      return either(MPI_Ialltoall, MPI_Alltoall, given_, mine, MPI_BYTE, got_, mine, MPI_BYTE, comm_);
    }
    const int* const counts = kept_.given.data();
    const int* const places = kept_.given_places.data();
    const int* const got_counts = kept_.got.data();
    const int* const got_places = kept_.got_places.data();
    return either(
        MPI_Ialltoallv, MPI_Alltoallv, given_, counts, places, MPI_BYTE, got_, got_counts, got_places, MPI_BYTE, comm_);
  }

  const CollectiveCall& call_;
  MPI_Comm comm_;
  MpiCounts& kept_;
  MPI_Request* request_;  ///< Null: blocking.
  std::size_t size_ = 0;
  int self_ = 0;
  int root_ = 0;
  const std::byte* given_ = nullptr;
  std::byte* got_ = nullptr;
};

MpiMembers make(MPI_Comm world, std::uint32_t number, const std::vector<std::uint32_t>& members, std::size_t ranks) {
  MpiMembers made;
  made.rank_in.assign(ranks, -1);
  std::vector<int> list;
  for (const std::uint32_t member : members) {
    made.rank_in.at(member) = static_cast<int>(list.size());
    list.push_back(static_cast<int>(member));
  }
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(world, &all), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(all, static_cast<int>(list.size()), list.data(), &some), "MPI_Group_incl");
  const int tag = static_cast<int>(number % 30'000);  // MPI promises tags up to 32767
  check_mpi(MPI_Comm_create_group(world, some, tag, &made.communicator), "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(made.communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return made;
}

}  // namespace

MpiCollectives::MpiCollectives(MPI_Comm world, const RankPart& part) {
  std::vector<std::uint32_t> all(part.rank_count);
  std::iota(all.begin(), all.end(), 0U);
  communicators_[0] = make(world, 0, all, part.rank_count);
  for (const auto& [number, members] : part.communicators) {
    if (number != 0) {
      communicators_[number] = make(world, number, members, part.rank_count);
    }
  }
}

MpiCollectives::~MpiCollectives() {
  for (auto& [number, members] : communicators_) {
    MPI_Comm_free(&members.communicator);
  }
}

const MpiMembers& MpiCollectives::members(std::uint32_t communicator) const {
  const auto found = communicators_.find(communicator);
  return found != communicators_.end() ? found->second : communicators_.at(0);
}

void MpiCollectives::begin(OperationId operation, const CollectiveCall& call, MPI_Request& request) {
  MpiCounts* counts = nullptr;
  {
    const std::lock_guard lock{counts_mutex_};
    counts = &counts_[operation];
    *counts = {};
  }
  Caller{call, members(call.communicator), *counts, &request}.run();
}

void MpiCollectives::call(const CollectiveCall& call) const {
  MpiCounts counts;
  Caller{call, members(call.communicator), counts, nullptr}.run();
}

std::string MpiCollectives::call_name(Collective what, Calling calling) {
  static constexpr const char* names[] = {"",
                                          "barrier",
                                          "bcast",
                                          "reduce",
                                          "allreduce",
                                          "gather",
                                          "scatter",
                                          "allgather",
                                          "alltoall",
                                          "reduce_scatter",
                                          "scan"};
  std::string name = names[static_cast<std::size_t>(what)];
  if (calling == Calling::goes_on) {
    return "MPI_I" + name;
  }
  if (!name.empty()) {
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
  }
  return "MPI_" + name;
}

}  // namespace plait::replay
