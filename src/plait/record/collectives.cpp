// SPDX-License-Identifier: Apache-2.0
#include "plait/record/collectives.hpp"

#include <algorithm>
#include <memory>
#include <span>

namespace plait::record {
namespace {

Neighbours find_neighbours(const Mpi& mpi, MPI_Comm handle, const Communicator& communicator) {
  Neighbours found;
  int kind = MPI_UNDEFINED;
  mpi.topo_test(handle, &kind);
  if (kind == MPI_CART) {
    int dimensions = 0;
    mpi.cartdim_get(handle, &dimensions);
    for (int dimension = 0; dimension < dimensions; ++dimension) {
      int below = MPI_PROC_NULL;
      int above = MPI_PROC_NULL;
      mpi.cart_shift(handle, dimension, 1, &below, &above);
      found.sources.insert(found.sources.end(), {below, above});
    }
    found.destinations = found.sources;
  } else if (kind == MPI_GRAPH) {
    int count = 0;
    const auto self = static_cast<int>(communicator.self);
    mpi.graph_neighbors_count(handle, self, &count);
    found.sources.resize(static_cast<std::size_t>(count));
    mpi.graph_neighbors(handle, self, count, found.sources.data());
    found.destinations = found.sources;
  } else if (kind == MPI_DIST_GRAPH) {
    int sources = 0;
    int destinations = 0;
    int is_weighted = 0;
    mpi.dist_graph_neighbors_count(handle, &sources, &destinations, &is_weighted);
    found.sources.resize(static_cast<std::size_t>(sources));
    found.destinations.resize(static_cast<std::size_t>(destinations));
    std::vector<int> weights(static_cast<std::size_t>(sources + destinations));
    mpi.dist_graph_neighbors(handle,
                             sources,
                             found.sources.data(),
                             weights.data(),
                             destinations,
                             found.destinations.data(),
                             weights.data() + sources);
  }
  return found;
}

/// Omits records of shares that are all 0, except the last, which determines the number of shares.
void record_shares(Call& call, std::uint32_t number, std::span<const std::uint64_t> shares) {
  constexpr std::size_t in_record = 6;
  for (std::size_t first = 0; first < shares.size(); first += in_record) {
    const auto some = shares.subspan(first, std::min(in_record, shares.size() - first));
    if (first + in_record >= shares.size() ||
        std::ranges::any_of(some, [](std::uint64_t bytes) { return bytes != 0; })) {
      call.thread().recorder.shares({.call = number, .first = static_cast<std::uint32_t>(first), .bytes = some});
    }
  }
}

}  // namespace

const Neighbours& neighbours_of(Call& call, MPI_Comm handle) {
  Communicator& communicator = call.on(handle);
  if (communicator.neighbours == nullptr) {
    communicator.neighbours = std::make_unique<const Neighbours>(find_neighbours(call.mpi(), handle, communicator));
  }
  return *communicator.neighbours;
}

void moved(Call& call, const Traffic& traffic) {
  call.gives(traffic.given);
  call.gets(traffic.got);
  record_details(call, call.event(), traffic);
}

void begun(Call& call, const Traffic& traffic, MPI_Request request) {
  moved(call, traffic);
  call.begins(request, call.operation(OperationKind::collective));
}

void prepared(Call& call, MPI_Comm handle, const Traffic& traffic, MPI_Request request) {
  PostedOperation operation = call.operation(OperationKind::collective);
  operation.call.bytes_given = traffic.given;
  operation.call.bytes_got = traffic.got;
  operation.is_persistent = true;
  operation.is_active = false;
  operation.members = call.session().communicators.share(handle);
  operation.traffic = std::make_shared<const Traffic>(traffic);
  call.begins(request, operation);
}

void record_details(Call& call, const trace::CallEvent& collective, const Traffic& traffic) {
  const bool has_gaps = traffic.has_gaps_given || traffic.has_gaps_got;
  if ((traffic.shares.empty() && !has_gaps) ||
      !call.thread().keeps(collective.start, std::max(collective.start, call.event().end))) {
    return;
  }
  record_shares(call, collective.number, traffic.shares);
  if (has_gaps) {
    call.thread().recorder.collective_layout(
        {.call = collective.number, .has_gaps_given = traffic.has_gaps_given, .has_gaps_got = traffic.has_gaps_got});
  }
}

}  // namespace plait::record
