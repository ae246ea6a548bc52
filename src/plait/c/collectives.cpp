// SPDX-License-Identifier: Apache-2.0
// Groups, and their collectives.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "plait/c/detail/convert.hpp"
#include "plait/c/guard.hpp"
#include "plait/c/handles.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/collectives/reduce.hpp"

namespace plait::c::detail {
namespace {

comm::Group make_group(plait_runtime& runtime, std::span<const int> ranks) {
  if (ranks.empty()) {
    return comm::Group{runtime.runtime.messages()};
  }
  std::vector<Rank> members;
  for (const int rank : ranks) {
    require(rank >= 0, "a group has a negative rank: give ranks of the runtime");
    members.push_back(Rank{static_cast<std::uint32_t>(rank)});
  }
  return comm::Group{runtime.runtime.messages(), std::move(members)};
}

std::span<std::byte> writable(void* first, std::size_t bytes) {
  return {static_cast<std::byte*>(first), bytes};
}

std::span<const std::byte> readable(const void* first, std::size_t bytes) {
  return {static_cast<const std::byte*>(first), bytes};
}

[[noreturn]] void refuse_reduction(int type, int operation) {
  throw Error{
      ErrorCode::bad_argument,
      fmt::format("no reduction has type {} and operation {}: use values of plait_type and plait_operation, and "
                  "PLAIT_SUM for complex numbers",
                  type,
                  operation)};
}

template <class T>
comm::Reduction reduction_of_numbers(int type, int operation) {
  switch (operation) {
    case PLAIT_SUM:
      return comm::elementwise<T>(comm::Sum{});
    case PLAIT_MINIMUM:
      return comm::elementwise<T>(comm::Minimum{});
    case PLAIT_MAXIMUM:
      return comm::elementwise<T>(comm::Maximum{});
  }
  refuse_reduction(type, operation);
}

comm::ReduceOptions reduction_of(int type, int operation) {
  switch (type) {
    case PLAIT_INT32:
      return {.reduction = reduction_of_numbers<std::int32_t>(type, operation)};
    case PLAIT_INT64:
      return {.reduction = reduction_of_numbers<std::int64_t>(type, operation)};
    case PLAIT_FLOAT:
      return {.reduction = reduction_of_numbers<float>(type, operation)};
    case PLAIT_DOUBLE:
      return {.reduction = reduction_of_numbers<double>(type, operation)};
    case PLAIT_FLOAT_COMPLEX:
      if (operation == PLAIT_SUM) {
        return {.reduction = comm::elementwise<std::complex<float>>(comm::Sum{})};
      }
      break;
    case PLAIT_DOUBLE_COMPLEX:
      if (operation == PLAIT_SUM) {
        return {.reduction = comm::elementwise<std::complex<double>>(comm::Sum{})};
      }
      break;
  }
  refuse_reduction(type, operation);
}

}  // namespace
}  // namespace plait::c::detail

using namespace plait::c;
using namespace plait::c::detail;

extern "C" {

int plait_group_create(plait_runtime* runtime, size_t count, const int* ranks, plait_group** group) {
  return create(group, [&] { return new plait_group{make_group(*runtime, std::span{ranks, count})}; });
}

int plait_group_free(plait_group** group) {
  return destroy(group);
}

size_t plait_group_size(const plait_group* group) {
  return group->group.size();
}

size_t plait_group_self(const plait_group* group) {
  return group->group.self();
}

int plait_barrier(plait_group* group, plait_request** request) {
  return guarded([&] { finish(plait::comm::barrier(group->group), request); });
}

int plait_broadcast(plait_group* group, size_t root, void* data, size_t bytes, plait_request** request) {
  return guarded([&] { finish(plait::comm::broadcast(group->group, root, writable(data, bytes)), request); });
}

int plait_all_gather(plait_group* group, const void* mine, size_t bytes, void* all, plait_request** request) {
  return guarded([&] {
    const std::span<std::byte> blocks = writable(all, bytes * group->group.size());
    finish(plait::comm::all_gather(group->group, readable(mine, bytes), blocks), request);
  });
}

int plait_all_to_all(plait_group* group, const void* to, void* from, size_t bytes, plait_request** request) {
  return guarded([&] {
    const std::size_t all = bytes * group->group.size();
    finish(plait::comm::all_to_all(group->group, readable(to, all), writable(from, all)), request);
  });
}

int plait_all_to_all_blocks(plait_group* group,
                            const void* to,
                            const size_t* to_bytes,
                            void* from,
                            const size_t* from_bytes,
                            plait_request** request) {
  return guarded([&] {
    plait::comm::BlocksToSend sent;
    plait::comm::BlocksToReceive received;
    const auto* next_sent = static_cast<const std::byte*>(to);
    auto* next_received = static_cast<std::byte*>(from);
    for (size_t member = 0; member < group->group.size(); ++member) {
      sent.emplace_back(next_sent, to_bytes[member]);
      received.emplace_back(next_received, from_bytes[member]);
      next_sent += to_bytes[member];
      next_received += from_bytes[member];
    }
    finish(plait::comm::all_to_all(group->group, std::move(sent), std::move(received)), request);
  });
}

int plait_reduce(plait_group* group,
                 size_t root,
                 const void* mine,
                 void* result,
                 size_t count,
                 int type,
                 int operation,
                 plait_request** request) {
  return guarded([&] {
    const plait::comm::ReduceOptions options = reduction_of(type, operation);
    const std::size_t bytes = count * options.reduction.element_bytes;
    const std::size_t result_bytes = group->group.self() == root ? bytes : 0;
    finish(plait::comm::reduce(group->group, root, readable(mine, bytes), writable(result, result_bytes), options),
           request);
  });
}

int plait_all_reduce(plait_group* group, void* data, size_t count, int type, int operation, plait_request** request) {
  return guarded([&] {
    const plait::comm::ReduceOptions options = reduction_of(type, operation);
    const std::size_t bytes = count * options.reduction.element_bytes;
    finish(plait::comm::all_reduce(group->group, writable(data, bytes), options), request);
  });
}
}
