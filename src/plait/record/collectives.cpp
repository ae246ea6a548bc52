// SPDX-License-Identifier: Apache-2.0
#include "plait/record/collectives.hpp"

#include <numeric>

namespace plait::record {

Traffic Traffics::broadcast(const Part& part, int root) const {
  const bool gives = is_root(root);
  const std::uint64_t size = gives || gives_to_root(root) ? bytes(part) : 0;
  return {.given = gives ? size : 0, .got = gives ? 0 : size};
}

Traffic Traffics::gather(const Part& give, const Part& get, int root) const {
  const bool is_in_place = give.data == MPI_IN_PLACE;
  return {.given = gives_to_root(root) ? bytes(is_in_place ? get : give) : 0,
          .got = is_root(root) ? communicator_.peer_count() * bytes(get) : 0};
}

Traffic Traffics::scatter(const Part& give, const Part& get, int root) const {
  const bool is_in_place = get.data == MPI_IN_PLACE;
  return {.given = is_root(root) ? communicator_.peer_count() * bytes(give) : 0,
          .got = gives_to_root(root) ? bytes(is_in_place ? give : get) : 0};
}

Traffic Traffics::all_gather(const Part& give, const Part& get) const {
  return {.given = bytes(give.data == MPI_IN_PLACE ? get : give), .got = communicator_.peer_count() * bytes(get)};
}

Traffic Traffics::all_to_all(const Part& give, const Part& get) const {
  return {.given = communicator_.peer_count() * bytes(give.data == MPI_IN_PLACE ? get : give),
          .got = communicator_.peer_count() * bytes(get)};
}

Traffic Traffics::reduce(const Part& part, int root) const {
  const std::uint64_t size = is_root(root) || gives_to_root(root) ? bytes(part) : 0;
  return {.given = gives_to_root(root) ? size : 0, .got = is_root(root) ? size : 0};
}

Traffic Traffics::reduce_for_all(const Part& part) const {
  return {.given = bytes(part), .got = bytes(part)};
}

Traffic Traffics::reduce_scatter_block(const Part& part) const {
  return {.given = communicator_.local_size * bytes(part), .got = bytes(part)};
}

std::uint64_t Traffics::sum(const std::vector<std::uint64_t>& parts) noexcept {
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
}

void moved(Call& call, const Traffic& traffic) {
  call.gives(traffic.given);
  call.gets(traffic.got);
  if (!traffic.shares.empty()) {
    call.lane().recorder.shares({.call = call.event().number, .bytes = traffic.shares});
  }
}

void begun(Call& call, const Traffic& traffic, MPI_Request request) {
  moved(call, traffic);
  call.begins(request, call.operation(OperationKind::collective));
}

void prepared(Call& call, MPI_Comm handle, const Traffic& traffic, MPI_Request request) {
  Operation operation = call.operation(OperationKind::collective);
  operation.bytes = traffic.given;
  operation.bytes_got = traffic.got;
  operation.is_persistent = true;
  operation.is_active = false;
  operation.members = call.session().communicators.share(handle);
  call.begins(request, operation);
}

}  // namespace plait::record
