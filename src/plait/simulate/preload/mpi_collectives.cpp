// SPDX-License-Identifier: Apache-2.0
// Collective operations of simulated ranks.
#include <memory>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/simulate/preload/mpi_call.hpp"

namespace plait::simulate {
namespace {

/// Where the elements of each member are in a buffer: `counts` and `begins` by rank, or `count` for all.
struct Blocks {
  TypedElements buffer;
  const int* counts = nullptr;
  const int* begins = nullptr;

  [[nodiscard]] TypedElements of(std::uint32_t rank) const {
    return counts != nullptr ? buffer.part(begins[rank], static_cast<std::size_t>(counts[rank]))
                             : buffer.part(static_cast<std::ptrdiff_t>(rank * buffer.count), buffer.count);
  }
};

void unpack(const TypedElements& into, const Bytes& data) {
  require(data.size() <= into.bytes(), "a member gives more elements than another one expects of it");
  into.unpack(data);
}

/// `mine`: nothing for MPI_IN_PLACE, where the elements are in the result.
Bytes pack(const TypedElements& mine, const TypedElements& in_place) {
  return (mine.address == MPI_IN_PLACE ? in_place : mine).pack();
}

SimulatedCollective::Combine combine_by(const TypedElements& like, MPI_Op operation) {
  return [like, operation](const Bytes& left, Bytes right) { return combine(left, std::move(right), like, operation); };
}

int gather(const char* function, const TypedElements& mine, const Blocks& into, int root, MPI_Comm communicator) {
  return run_call(function, [&](const MpiCall& call) {
    const Rank where = call.communicator(communicator).member(root);
    SimulatedCollective collective = call.collective(communicator);
    const TypedElements place = mine.address == MPI_IN_PLACE ? into.of(collective.rank()) : mine;
    const Parts parts = collective.gather(static_cast<std::uint32_t>(root), place.pack());
    for (std::uint32_t rank = 0; where == call.self && rank < collective.size(); ++rank) {
      unpack(into.of(rank), parts[rank]);
    }
  });
}

int all_gather(const char* function, const TypedElements& mine, const Blocks& into, MPI_Comm communicator) {
  return run_call(function, [&](const MpiCall& call) {
    SimulatedCollective collective = call.collective(communicator);
    const Payload parts = collective.all_gather(pack(mine, into.of(collective.rank())));
    for (std::uint32_t rank = 0; rank < collective.size(); ++rank) {
      unpack(into.of(rank), (*parts)[rank]);
    }
  });
}

int scatter(const char* function, const Blocks& from, const TypedElements& into, int root, MPI_Comm communicator) {
  return run_call(function, [&](const MpiCall& call) {
    const Rank where = call.communicator(communicator).member(root);
    SimulatedCollective collective = call.collective(communicator);
    Parts parts;
    for (std::uint32_t rank = 0; where == call.self && rank < collective.size(); ++rank) {
      parts.push_back(from.of(rank).pack());
    }
    const Bytes mine = collective.scatter(static_cast<std::uint32_t>(root), std::move(parts));
    if (into.address != MPI_IN_PLACE) {
      unpack(into, mine);
    }
  });
}

/// Up to so many bytes for each member, an all-to-all has few messages of many parts.
constexpr std::size_t small_bytes_max = 256;

/// What a member sends of an all-to-all.
Parts parts_of(const Blocks& from, const Blocks& into, std::uint32_t size) {
  const Blocks& given = from.buffer.address == MPI_IN_PLACE ? into : from;
  Parts parts;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    parts.push_back(given.of(rank).pack());
  }
  return parts;
}

/// Returns when the own messages are under way. `into` is kept until `request` is complete.
void start_all_to_all(
    const MpiCall& call, const Blocks& from, const Blocks& into, MPI_Comm communicator, const RequestPointer& request) {
  SimulatedCollective collective = call.collective(communicator);
  collective.exchange(
      parts_of(from, into, collective.size()),
      [into](std::uint32_t rank, const Bytes& data) { into.of(rank).unpack(data); },
      request);
}

void all_to_all_small(const MpiCall& call, const Blocks& from, const Blocks& into, MPI_Comm communicator) {
  SimulatedCollective collective = call.collective(communicator);
  const Parts parts = collective.exchange_small(parts_of(from, into, collective.size()));
  for (std::uint32_t rank = 0; rank < collective.size(); ++rank) {
    unpack(into.of(rank), parts[rank]);
  }
}

int all_to_all(const char* function, const Blocks& from, const Blocks& into, MPI_Comm communicator) {
  return run_call(function, [&](const MpiCall& call) {
    if (into.counts == nullptr && into.buffer.bytes() <= small_bytes_max) {
      all_to_all_small(call, from, into, communicator);
      return;
    }
    const auto request = std::make_shared<SimulatedRequest>();
    start_all_to_all(call, from, into, communicator, request);
    call.messages().wait(call.self, *request);
  });
}

}  // namespace
}  // namespace plait::simulate

using plait::Bytes;
using plait::simulate::Blocks;
using plait::simulate::elements_of;
using plait::simulate::MpiCall;
using plait::simulate::run_call;
using plait::simulate::SimulatedCollective;
using plait::simulate::TypedElements;

// NOLINTBEGIN(readability-identifier-naming): names of the MPI standard
extern "C" {

[[gnu::visibility("default")]] int MPI_Barrier(MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) { call.collective(communicator).barrier(); });
}

[[gnu::visibility("default")]] int MPI_Bcast(
    void* buffer, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    const bool is_root = call.communicator(communicator).member(root) == call.self;
    const TypedElements elements = elements_of(buffer, count, type);
    plait::simulate::Parts parts;
    if (is_root) {
      parts.push_back(elements.pack());
    }
    const auto data = call.collective(communicator)
                          .broadcast(static_cast<std::uint32_t>(root),
                                     std::make_shared<const plait::simulate::Parts>(std::move(parts)));
    if (!is_root) {
      plait::simulate::unpack(elements, data->front());
    }
  });
}

[[gnu::visibility("default")]] int MPI_Gather(const void* from,
                                              int count,
                                              MPI_Datatype type,
                                              void* into,
                                              int count_in,
                                              MPI_Datatype type_in,
                                              int root,
                                              MPI_Comm communicator) {
  return plait::simulate::gather(
      __func__, elements_of(from, count, type), {elements_of(into, count_in, type_in)}, root, communicator);
}

[[gnu::visibility("default")]] int MPI_Gatherv(const void* from,
                                               int count,
                                               MPI_Datatype type,
                                               void* into,
                                               const int counts[],
                                               const int begins[],
                                               MPI_Datatype type_in,
                                               int root,
                                               MPI_Comm communicator) {
  const Blocks blocks{elements_of(into, 0, type_in), counts, begins};
  return plait::simulate::gather(__func__, elements_of(from, count, type), blocks, root, communicator);
}

[[gnu::visibility("default")]] int MPI_Allgather(const void* from,
                                                 int count,
                                                 MPI_Datatype type,
                                                 void* into,
                                                 int count_in,
                                                 MPI_Datatype type_in,
                                                 MPI_Comm communicator) {
  return plait::simulate::all_gather(
      __func__, elements_of(from, count, type), {elements_of(into, count_in, type_in)}, communicator);
}

[[gnu::visibility("default")]] int MPI_Allgatherv(const void* from,
                                                  int count,
                                                  MPI_Datatype type,
                                                  void* into,
                                                  const int counts[],
                                                  const int begins[],
                                                  MPI_Datatype type_in,
                                                  MPI_Comm communicator) {
  const Blocks blocks{elements_of(into, 0, type_in), counts, begins};
  return plait::simulate::all_gather(__func__, elements_of(from, count, type), blocks, communicator);
}

[[gnu::visibility("default")]] int MPI_Scatter(const void* from,
                                               int count,
                                               MPI_Datatype type,
                                               void* into,
                                               int count_in,
                                               MPI_Datatype type_in,
                                               int root,
                                               MPI_Comm communicator) {
  return plait::simulate::scatter(
      __func__, {elements_of(from, count, type)}, elements_of(into, count_in, type_in), root, communicator);
}

[[gnu::visibility("default")]] int MPI_Scatterv(const void* from,
                                                const int counts[],
                                                const int begins[],
                                                MPI_Datatype type,
                                                void* into,
                                                int count_in,
                                                MPI_Datatype type_in,
                                                int root,
                                                MPI_Comm communicator) {
  const Blocks blocks{elements_of(from, 0, type), counts, begins};
  return plait::simulate::scatter(__func__, blocks, elements_of(into, count_in, type_in), root, communicator);
}

[[gnu::visibility("default")]] int MPI_Alltoall(const void* from,
                                                int count,
                                                MPI_Datatype type,
                                                void* into,
                                                int count_in,
                                                MPI_Datatype type_in,
                                                MPI_Comm communicator) {
  return plait::simulate::all_to_all(
      __func__, {elements_of(from, count, type)}, {elements_of(into, count_in, type_in)}, communicator);
}

[[gnu::visibility("default")]] int MPI_Alltoallv(const void* from,
                                                 const int counts[],
                                                 const int begins[],
                                                 MPI_Datatype type,
                                                 void* into,
                                                 const int counts_in[],
                                                 const int begins_in[],
                                                 MPI_Datatype type_in,
                                                 MPI_Comm communicator) {
  return plait::simulate::all_to_all(__func__,
                                     {elements_of(from, 0, type), counts, begins},
                                     {elements_of(into, 0, type_in), counts_in, begins_in},
                                     communicator);
}

[[gnu::visibility("default")]] int MPI_Ialltoallv(const void* from,
                                                  const int counts[],
                                                  const int begins[],
                                                  MPI_Datatype type,
                                                  void* into,
                                                  const int counts_in[],
                                                  const int begins_in[],
                                                  MPI_Datatype type_in,
                                                  MPI_Comm communicator,
                                                  MPI_Request* handle) {
  return run_call(__func__, [&](const MpiCall& call) {
    const auto request = std::make_shared<plait::simulate::SimulatedRequest>();
    plait::simulate::start_all_to_all(call,
                                      {elements_of(from, 0, type), counts, begins},
                                      {elements_of(into, 0, type_in), counts_in, begins_in},
                                      communicator,
                                      request);
    *handle = call.messages().keep(request);
  });
}

[[gnu::visibility("default")]] int MPI_Reduce(
    const void* from, void* into, int count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    const bool is_root = call.communicator(communicator).member(root) == call.self;
    const TypedElements result = elements_of(into, count, type);
    const Bytes data = call.collective(communicator)
                           .reduce(static_cast<std::uint32_t>(root),
                                   plait::simulate::pack(elements_of(from, count, type), result),
                                   plait::simulate::combine_by(result, operation));
    if (is_root) {
      plait::simulate::unpack(result, data);
    }
  });
}

[[gnu::visibility("default")]] int MPI_Allreduce(
    const void* from, void* into, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    const TypedElements result = elements_of(into, count, type);
    plait::simulate::unpack(result,
                            call.collective(communicator)
                                .all_reduce(plait::simulate::pack(elements_of(from, count, type), result),
                                            plait::simulate::combine_by(result, operation)));
  });
}

[[gnu::visibility("default")]] int MPI_Reduce_scatter(
    const void* from, void* into, const int counts[], MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    SimulatedCollective reduction = call.collective(communicator);
    int total = 0;
    int begin = 0;
    for (std::uint32_t rank = 0; rank < reduction.size(); ++rank) {
      begin = rank == reduction.rank() ? total : begin;
      total += counts[rank];
    }
    const TypedElements all = elements_of(from == MPI_IN_PLACE ? into : from, total, type);
    const Bytes sum = reduction.all_reduce(all.pack(), plait::simulate::combine_by(all, operation));
    const TypedElements mine = elements_of(into, counts[reduction.rank()], type);
    const std::size_t bytes = mine.bytes();
    const std::size_t first = elements_of(into, begin, type).bytes();
    mine.unpack(Bytes(sum.begin() + static_cast<std::ptrdiff_t>(first),
                      sum.begin() + static_cast<std::ptrdiff_t>(first + bytes)));
  });
}

[[gnu::visibility("default")]] int MPI_Scan(
    const void* from, void* into, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    const TypedElements result = elements_of(into, count, type);
    const SimulatedCollective::Combine by = plait::simulate::combine_by(result, operation);
    Bytes mine = plait::simulate::pack(elements_of(from, count, type), result);
    const Bytes lower = call.collective(communicator).exclusive_scan(mine, by);
    plait::simulate::unpack(result, lower.empty() ? mine : by(lower, std::move(mine)));
  });
}

[[gnu::visibility("default")]] int MPI_Exscan(
    const void* from, void* into, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    const TypedElements result = elements_of(into, count, type);
    plait::simulate::unpack(result,
                            call.collective(communicator)
                                .exclusive_scan(plait::simulate::pack(elements_of(from, count, type), result),
                                                plait::simulate::combine_by(result, operation)));
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
