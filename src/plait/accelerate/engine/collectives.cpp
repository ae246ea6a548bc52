// SPDX-License-Identifier: Apache-2.0
// Non-blocking collectives of MPI in which each pair of ranks exchanges a message. The engine serves them where ranks
// are on several hosts and blocks are long: then most of the time can pass while the program computes. The MPI library
// serves the rest: it is faster where a program waits at once, and within a host.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

// Written by make_entries.py: the MPI library's, with what else a call of it needs.
decltype(::PMPI_Iallgather) foreign_Iallgather;
decltype(::PMPI_Iallgatherv) foreign_Iallgatherv;
decltype(::PMPI_Ialltoall) foreign_Ialltoall;
decltype(::PMPI_Ialltoallv) foreign_Ialltoallv;
decltype(::PMPI_Ialltoallw) foreign_Ialltoallw;
#if MPI_VERSION >= 4
decltype(::PMPI_Iallgather_c) foreign_Iallgather_c;
decltype(::PMPI_Iallgatherv_c) foreign_Iallgatherv_c;
decltype(::PMPI_Ialltoall_c) foreign_Ialltoall_c;
decltype(::PMPI_Ialltoallv_c) foreign_Ialltoallv_c;
decltype(::PMPI_Ialltoallw_c) foreign_Ialltoallw_c;
#endif

namespace {

/// Of all parts, which match in the order of their collectives. Numbers of new communicators have smaller tags or
/// bit 62.
constexpr std::uint64_t collective_tag = std::uint64_t{1} << 61U;

/// A block from its arguments, without its peer; nothing where they are wrong.
std::optional<TypedMessage> block_at(const void* first, MPI_Aint offset, MPI_Count count, MPI_Datatype type) {
  if (count < 0 || type == MPI_DATATYPE_NULL) {
    return {};
  }
  return TypedMessage{.buffer = static_cast<std::byte*>(const_cast<void*>(first)) + offset,
                      .count = count,
                      .type = type,
                      .internal_tag = collective_tag};
}

/// As `block_at`, with the offset in elements.
std::optional<TypedMessage> element_block(const void* first, MPI_Aint offset, MPI_Count count, MPI_Datatype type) {
  const bool has_type = type != MPI_DATATYPE_NULL;
  return block_at(first, has_type ? offset * use_session().datatypes().find(type)->extent : 0, count, type);
}

/// A collective in which each rank gives a block to each, and takes one from each.
struct Exchange {
  RoutedCommunicator* on = nullptr;
  std::vector<TypedMessage> given;  ///< By rank.
  std::vector<TypedMessage> taken;
  bool gives_copies = false;  ///< What is given lies where blocks are taken into.
  bool skips_self = false;    ///< The block from this rank is there already.
};

/// As long as a block has to be, where all ranks know its length.
constexpr std::size_t long_block_min = std::size_t{64} << 10U;

bool is_long(MPI_Count count, MPI_Datatype type) {
  return count > 0 && type != MPI_DATATYPE_NULL &&
         use_session().datatypes().find(type)->size * static_cast<std::size_t>(count) >= long_block_min;
}

/// Asks for the blocks of each rank: `give(rank)`, `take(rank)`. Nothing where the library is to serve the call, which
/// reports wrong arguments as its users know it.
template <class Give, class Take>
std::optional<Exchange> exchange_of(MPI_Comm handle, const Give& give, const Take& take) {
  Exchange all{.on = use_session().communicators().find(handle), .given = {}, .taken = {}};
  if (all.on == nullptr || !all.on->spans_hosts()) {
    return {};
  }
  for (int rank = 0; rank < all.on->size(); ++rank) {
    std::optional<TypedMessage> given = give(rank);
    std::optional<TypedMessage> taken = take(rank);
    if (!given || !taken) {
      return {};
    }
    given->peer = taken->peer = rank;
    all.given.push_back(*given);
    all.taken.push_back(*taken);
  }
  return all;
}

/// Each rank begins with itself and goes on with its neighbours, so that no rank is sent to by all at once.
void begin_parts(EngineSession& session, const Exchange& all, PendingOperation& pending) {
  RoutedCommunicator& on = *all.on;
  const int size = on.size();
  pending.kind = PendingOperation::Kind::collective;
  pending.is_active = true;
  std::vector<MessageTransfer>& parts = pending.add_rest().parts;
  parts.reserve(2 * static_cast<std::size_t>(size));  // parts do not move
  const auto send = [&](int i) {
    const TypedMessage& what = all.given[static_cast<std::size_t>((on.rank() + i) % size)];
    MessageTransfer& part = parts.emplace_back();
    if (all.gives_copies) {
      part.send_copy(session, on, what);
    } else {
      part.send(session, on, what, SendMode::standard);
    }
  };
  const int first = all.skips_self ? 1 : 0;
  for (int i = first; i < size && all.gives_copies; ++i) {
    send(i);
  }
  for (int i = first; i < size; ++i) {
    const auto from = static_cast<std::size_t>((on.rank() + size - i) % size);
    parts.emplace_back().receive(session, on, all.taken[from]);
  }
  for (int i = first; i < size && !all.gives_copies; ++i) {
    send(i);
  }
}

template <class Real>
int begin(const std::optional<Exchange>& all, MPI_Request* request, const Real& real) {
  if (!all) {
    return real();
  }
  EngineSession& session = use_session();
  return session.begin(*all->on, request, [&](PendingOperation& pending) { begin_parts(session, *all, pending); });
}

// ---- the blocks of each collective ----

/// `give` and `take` of an all-to-all. With MPI_IN_PLACE blocks are given from where others are taken into.
template <class Give, class Take>
std::optional<Exchange> exchange_all(MPI_Comm handle, const void* given, const Give& give, const Take& take) {
  if (given != MPI_IN_PLACE) {
    return exchange_of(handle, give, take);
  }
  std::optional<Exchange> all = exchange_of(handle, take, take);
  if (all) {
    all->gives_copies = true;
  }
  return all;
}

/// All ranks get what `given` is, or with MPI_IN_PLACE the block that is there already.
template <class Take>
std::optional<Exchange> gather_all(
    MPI_Comm handle, const void* given, MPI_Count count, MPI_Datatype type, const Take& take) {
  if (given != MPI_IN_PLACE) {
    return exchange_of(handle, [&](int) { return block_at(given, 0, count, type); }, take);
  }
  const RoutedCommunicator* const on = use_session().communicators().find(handle);
  std::optional<Exchange> all =
      on != nullptr ? exchange_of(handle, [&](int) { return take(on->rank()); }, take) : std::nullopt;
  if (all) {
    all->skips_self = true;
  }
  return all;
}

template <class Count>
std::optional<Exchange> alltoall_blocks(const void* given,
                                        Count given_count,
                                        MPI_Datatype given_type,
                                        void* got,
                                        Count got_count,
                                        MPI_Datatype got_type,
                                        MPI_Comm comm) {
  if (!is_long(got_count, got_type)) {
    return {};
  }
  return exchange_all(
      comm,
      given,
      [&](int rank) { return element_block(given, MPI_Aint{rank} * given_count, given_count, given_type); },
      [&](int rank) { return element_block(got, MPI_Aint{rank} * got_count, got_count, got_type); });
}

template <class Count, class Place>
std::optional<Exchange> alltoallv_blocks(const void* given,
                                         const Count* given_counts,
                                         const Place* given_places,
                                         MPI_Datatype given_type,
                                         void* got,
                                         const Count* got_counts,
                                         const Place* got_places,
                                         MPI_Datatype got_type,
                                         MPI_Comm comm) {
  return exchange_all(
      comm,
      given,
      [&](int rank) { return element_block(given, given_places[rank], given_counts[rank], given_type); },
      [&](int rank) { return element_block(got, got_places[rank], got_counts[rank], got_type); });
}

template <class Count, class Place>
std::optional<Exchange> alltoallw_blocks(const void* given,
                                         const Count* given_counts,
                                         const Place* given_places,
                                         const MPI_Datatype* given_types,
                                         void* got,
                                         const Count* got_counts,
                                         const Place* got_places,
                                         const MPI_Datatype* got_types,
                                         MPI_Comm comm) {
  return exchange_all(
      comm,
      given,
      [&](int rank) { return block_at(given, given_places[rank], given_counts[rank], given_types[rank]); },
      [&](int rank) { return block_at(got, got_places[rank], got_counts[rank], got_types[rank]); });
}

template <class Count>
std::optional<Exchange> allgather_blocks(const void* given,
                                         Count given_count,
                                         MPI_Datatype given_type,
                                         void* got,
                                         Count got_count,
                                         MPI_Datatype got_type,
                                         MPI_Comm comm) {
  if (!is_long(got_count, got_type)) {
    return {};
  }
  return gather_all(comm, given, given_count, given_type, [&](int rank) {
    return element_block(got, MPI_Aint{rank} * got_count, got_count, got_type);
  });
}

template <class Count, class Place>
std::optional<Exchange> allgatherv_blocks(const void* given,
                                          Count given_count,
                                          MPI_Datatype given_type,
                                          void* got,
                                          const Count* got_counts,
                                          const Place* got_places,
                                          MPI_Datatype got_type,
                                          MPI_Comm comm) {
  const RoutedCommunicator* const on = use_session().communicators().find(comm);
  if (on == nullptr ||
      std::none_of(got_counts, got_counts + on->size(), [&](Count n) { return is_long(n, got_type); })) {
    return {};
  }
  return gather_all(comm, given, given_count, given_type, [&](int rank) {
    return element_block(got, got_places[rank], got_counts[rank], got_type);
  });
}

/// The function of MPI whose blocks `blocks_of` finds, and which `real` serves else. Its last argument is the request.
template <auto blocks_of, auto real, class... Arguments>
int function(Arguments... arguments) {
  const std::tuple all{arguments...};
  constexpr std::size_t last = sizeof...(Arguments) - 1;
  return [&]<std::size_t... at>(std::index_sequence<at...>) {
    return begin(blocks_of(std::get<at>(all)...), std::get<last>(all), [&] { return real(arguments...); });
  }(std::make_index_sequence<last>{});
}

}  // namespace

std::vector<FunctionRoute> collective_routes() {
  return {
      route<decltype(::PMPI_Iallgather)>("PMPI_Iallgather", function<&allgather_blocks<int>, &foreign_Iallgather>),
      route<decltype(::PMPI_Iallgatherv)>("PMPI_Iallgatherv",
                                          function<&allgatherv_blocks<int, int>, &foreign_Iallgatherv>),
      route<decltype(::PMPI_Ialltoall)>("PMPI_Ialltoall", function<&alltoall_blocks<int>, &foreign_Ialltoall>),
      route<decltype(::PMPI_Ialltoallv)>("PMPI_Ialltoallv", function<&alltoallv_blocks<int, int>, &foreign_Ialltoallv>),
      route<decltype(::PMPI_Ialltoallw)>("PMPI_Ialltoallw", function<&alltoallw_blocks<int, int>, &foreign_Ialltoallw>),
#if MPI_VERSION >= 4
      route<decltype(::PMPI_Iallgather_c)>("PMPI_Iallgather_c",
                                           function<&allgather_blocks<MPI_Count>, &foreign_Iallgather_c>),
      route<decltype(::PMPI_Iallgatherv_c)>("PMPI_Iallgatherv_c",
                                            function<&allgatherv_blocks<MPI_Count, MPI_Aint>, &foreign_Iallgatherv_c>),
      route<decltype(::PMPI_Ialltoall_c)>("PMPI_Ialltoall_c",
                                          function<&alltoall_blocks<MPI_Count>, &foreign_Ialltoall_c>),
      route<decltype(::PMPI_Ialltoallv_c)>("PMPI_Ialltoallv_c",
                                           function<&alltoallv_blocks<MPI_Count, MPI_Aint>, &foreign_Ialltoallv_c>),
      route<decltype(::PMPI_Ialltoallw_c)>("PMPI_Ialltoallw_c",
                                           function<&alltoallw_blocks<MPI_Count, MPI_Aint>, &foreign_Ialltoallw_c>),
#endif
  };
}

}  // namespace plait::accelerate
