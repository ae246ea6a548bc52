// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/network.hpp"

#ifdef PLAIT_WITH_MPI

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/combined/combined_driver.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/exchange.hpp"
#include "plait/net/mpi/mpi_driver.hpp"

#ifdef PLAIT_WITH_OFI
#include "plait/net/ofi/ofi_driver.hpp"
#endif

namespace plait {
namespace {

using DriverPointer = std::unique_ptr<net::Driver>;

void require(int code, const char* call) {
  if (code != MPI_SUCCESS) {
    throw Error{ErrorCode::network, fmt::format("{} failed while the network was made", call)};
  }
}

/// A communicator until the end of scope.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  Ranks(Ranks&&) = delete;
  Ranks& operator=(Ranks&&) = delete;
  ~Ranks() {
    if (communicator_ != MPI_COMM_NULL) {
      MPI_Comm_free(&communicator_);
    }
  }
  [[nodiscard]] MPI_Comm& get() { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

Rank rank_in(MPI_Comm communicator) {
  int rank = 0;
  require(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return Rank{static_cast<std::uint32_t>(rank)};
}

std::uint32_t rank_count_of(MPI_Comm communicator) {
  int count = 0;
  require(MPI_Comm_size(communicator, &count), "MPI_Comm_size");
  return static_cast<std::uint32_t>(count);
}

/// Divides off the ranks of this host.
void find_host(MPI_Comm communicator, const std::string& host, Ranks& ranks) {
  Ranks sharing;
  require(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing.get()),
          "MPI_Comm_split_type");
  const std::vector<Bytes> hosts = net::mpi_exchange(sharing.get())(std::as_bytes(std::span{host}));
  const auto first = std::ranges::find_if(
      hosts, [&](const Bytes& name) { return std::ranges::equal(name, std::as_bytes(std::span{host})); });
  require(MPI_Comm_split(sharing.get(), static_cast<int>(first - hosts.begin()), 0, &ranks.get()), "MPI_Comm_split");
}

/// What the ranks of `host` are called in `communicator`.
std::vector<Rank> called_in(MPI_Comm communicator, MPI_Comm host) {
  const Rank self = rank_in(communicator);
  std::vector<Rank> called;
  for (const Bytes& bytes : net::mpi_exchange(host)(std::as_bytes(std::span{&self, 1}))) {
    std::memcpy(static_cast<void*>(&called.emplace_back()), bytes.data(), sizeof(Rank));
  }
  return called;
}

/// The first sentence that a rank brings; empty when there is none.
std::string trouble_of_any(MPI_Comm communicator, const std::string& mine) {
  for (const Bytes& sentence : net::mpi_exchange(communicator)(std::as_bytes(std::span{mine}))) {
    if (!sentence.empty()) {
      return {reinterpret_cast<const char*>(sentence.data()), sentence.size()};
    }
  }
  return {};
}

/// Null on all ranks when one of them could not make it; then `trouble` says why.
DriverPointer try_shm(MPI_Comm communicator, MPI_Comm host, const net::ShmOptions& options, std::string& trouble) {
  DriverPointer driver;
  try {
    driver = std::make_unique<net::ShmDriver>(rank_in(host), rank_count_of(host), net::mpi_exchange(host), options);
  } catch (const Error& error) {
    trouble = error.what();
  }
  trouble = trouble_of_any(communicator, trouble);
  return trouble.empty() ? std::move(driver) : nullptr;
}

/// Between hosts, bulk data goes in messages so short that an MPI sends them without asking the receiver first (Open
/// MPI up to 64 KiB by TCP): what it asks is answered only when somebody looks. Many are under way, so that the link
/// has work from one look to the next.
constexpr net::MpiOptions between_hosts{.bulk_chunk_bytes = std::size_t{60} * 1024, .bulk_chunks_in_flight = 16};

DriverPointer make_mpi(MPI_Comm communicator, const NetworkOptions& options) {
  Ranks host;
  find_host(communicator, options.host, host);
  const bool is_one_host = rank_count_of(host.get()) == rank_count_of(communicator);
  return std::make_unique<net::MpiDriver>(communicator, is_one_host ? net::MpiOptions{} : between_hosts);
}

/// `near` for the ranks that it knows, and MPI for the others.
DriverPointer combine(MPI_Comm communicator, DriverPointer near, std::vector<Rank> called) {
  std::vector<net::CombinedPart> parts(2);
  for (std::uint32_t rank = 0; rank < rank_count_of(communicator); ++rank) {
    parts[1].called.emplace_back(rank);
    if (std::ranges::find(called, Rank{rank}) == called.end()) {
      parts[1].serves.emplace_back(rank);
    }
  }
  parts[0] = {std::move(near), called, called};
  parts[1].driver = std::make_unique<net::MpiDriver>(communicator, between_hosts);
  const auto rank_count = static_cast<std::uint32_t>(parts[1].called.size());
  return std::make_unique<net::CombinedDriver>(rank_in(communicator), rank_count, std::move(parts));
}

DriverPointer make_ofi(MPI_Comm communicator, const NetworkOptions& options) {
#ifdef PLAIT_WITH_OFI
  return std::make_unique<net::OfiDriver>(rank_in(communicator),
                                          rank_count_of(communicator),
                                          net::mpi_exchange(communicator),
                                          net::OfiOptions{.node = options.ofi_address});
#else
  static_cast<void>(communicator);
  static_cast<void>(options);
  throw Error{ErrorCode::bad_argument,
              "the network is to be ofi, but plait was built without libfabric (Debian: libfabric-dev); `plait doctor` "
              "tells what there is"};
#endif
}

/// Shared memory where there is any, as `automatic` and `shm` have it.
DriverPointer make_by_host(MPI_Comm communicator, const NetworkOptions& options) {
  Ranks host;
  find_host(communicator, options.host, host);
  const std::uint32_t rank_count = rank_count_of(communicator);
  const std::uint32_t here_count = rank_count_of(host.get());
  const bool is_forced = options.choice == NetworkChoice::shm;
  if (is_forced && here_count < rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the network is to be shm, but only {} of {} ranks are on this host; set "
                            "PLAIT_NETWORK=automatic, which uses MPI for the others",
                            here_count,
                            rank_count)};
  }
  net::ShmOptions shm = options.shm;
  shm.called = called_in(communicator, host.get());
  std::string trouble;
  DriverPointer near = try_shm(communicator, host.get(), shm, trouble);
  if (!near) {
    if (is_forced) {
      throw Error{ErrorCode::io, trouble};
    }
    if (rank_in(communicator) == Rank{0}) {
      std::fprintf(stderr, "plait: all ranks use MPI, for there is no shared memory: %s\n", trouble.c_str());
    }
    return make_mpi(communicator, options);
  }
  return here_count == rank_count ? std::move(near) : combine(communicator, std::move(near), shm.called);
}

}  // namespace

DriverPointer make_network(MPI_Comm communicator, const NetworkOptions& options) {
  if (!net::detail::is_mpi_usable()) {
    throw Error{ErrorCode::network,
                "MPI is not initialised, or finalised already; make the runtime after MPI_Init_thread, or keep an "
                "MpiSession, and end it before MPI_Finalize"};
  }
  switch (options.choice) {
    case NetworkChoice::mpi:
      return make_mpi(communicator, options);
    case NetworkChoice::ofi:
      return make_ofi(communicator, options);
    case NetworkChoice::automatic:
    case NetworkChoice::shm:
      return make_by_host(communicator, options);
  }
  throw Error{ErrorCode::bad_argument, "there is no such network"};
}

}  // namespace plait

#endif
