// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/network.hpp"

#ifdef PLAIT_WITH_MPI

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/net/combined/combined_driver.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/exchange.hpp"
#include "plait/net/mpi/mpi_driver.hpp"
#include "plait/trace/preloaded_recorder.hpp"

#ifdef PLAIT_WITH_OFI
#include "plait/net/exchange.hpp"
#include "plait/net/ofi/ofi_driver.hpp"
#include "plait/net/rails/rails_driver.hpp"
#endif

namespace plait {
namespace {

using net::detail::check_mpi;
using DriverPointer = std::unique_ptr<net::Driver>;

/// A communicator until the end of scope.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
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
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return Rank{static_cast<std::uint32_t>(rank)};
}

std::uint32_t rank_count_of(MPI_Comm communicator) {
  int count = 0;
  check_mpi(MPI_Comm_size(communicator, &count), "MPI_Comm_size");
  return static_cast<std::uint32_t>(count);
}

/// Creates a communicator of the ranks on this host.
void find_host(MPI_Comm communicator, const std::string& host, Ranks& ranks) {
  Ranks sharing;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing.get()),
            "MPI_Comm_split_type");
  const std::vector<Bytes> hosts = net::mpi_exchange(sharing.get())(std::as_bytes(std::span{host}));
  const auto first = std::ranges::find_if(
      hosts, [&](const Bytes& name) { return std::ranges::equal(name, std::as_bytes(std::span{host})); });
  check_mpi(MPI_Comm_split(sharing.get(), static_cast<int>(first - hosts.begin()), 0, &ranks.get()), "MPI_Comm_split");
}

/// The ranks of `host`, as ranks of `communicator`.
std::vector<Rank> called_in(MPI_Comm communicator, MPI_Comm host) {
  const Rank self = rank_in(communicator);
  std::vector<Rank> called;
  for (const Bytes& bytes : net::mpi_exchange(host)(std::as_bytes(std::span{&self, 1}))) {
    std::memcpy(static_cast<void*>(&called.emplace_back()), bytes.data(), sizeof(Rank));
  }
  return called;
}

/// Null on all ranks if it failed on one; then `trouble` is the reason.
DriverPointer try_shm(MPI_Comm communicator, MPI_Comm host, const net::ShmOptions& options, std::string& trouble) {
  DriverPointer driver;
  const std::optional<Error> error = net::first_error(net::mpi_exchange(communicator), [&] {
    driver = net::make_shm_driver(rank_in(host), rank_count_of(host), net::mpi_exchange(host), options);
  });
  if (error) {
    trouble = error->what();
    return nullptr;
  }
  return driver;
}

std::size_t or_default(std::size_t bytes, std::size_t default_bytes) {
  return bytes == 0 ? default_bytes : bytes;
}

/// Within a host, Open MPI sends at most 4 KiB at once, its own header included: longer packets travel in pieces.
net::MpiOptions within_host(const NetworkOptions& options) {
  return {.packet_bytes_max = or_default(options.packet_bytes.mpi, net::MpiOptions{}.packet_bytes_max),
          .message_bytes_max = 4032};
}

/// Between hosts, data travels in messages that MPI sends eagerly (Open MPI: up to 64 KiB over TCP), as a rendezvous
/// advances only when the receiver polls. Messages of up to 64 KiB need none of plait's either: the kernel moves them
/// while both ranks compute. All packets in flight to a rank have room in `unexpected_bytes_max`. Of bulk data, many
/// are in flight, so that the link stays busy between two polls. Longer data, for which a few polls more are little, is
/// one message: then MPI does not copy it.
net::MpiOptions between_hosts(const NetworkOptions& options, std::uint32_t rank_count) {
  constexpr std::size_t eager_message = std::size_t{60} * 1024;
  constexpr std::size_t copied_max = std::size_t{64} * 1024 + 64;  // with the header of a message
  const net::MpiOptions usual;
  const std::size_t packet = or_default(options.packet_bytes.between_hosts, usual.packet_bytes_max);
  const std::size_t share = usual.unexpected_bytes_max / (2 * std::size_t{rank_count});
  return {.packet_bytes_max = packet,
          .copied_bytes_max = std::clamp(share, packet, std::max(packet, copied_max)),
          .message_bytes_max = std::max(packet, eager_message),
          .bulk_in_flight_max = options.bulk_between_hosts_max,
          .bulk_chunk_bytes = eager_message,
          .bulk_chunks_in_flight = 16,
          .bulk_undivided_min = std::size_t{1} << 20U};
}

DriverPointer make_mpi(MPI_Comm communicator, const NetworkOptions& options) {
  Ranks host;
  find_host(communicator, options.host, host);
  const bool is_one_host = rank_count_of(host.get()) == rank_count_of(communicator);
  return net::make_mpi_driver(communicator,
                              is_one_host ? within_host(options) : between_hosts(options, rank_count_of(communicator)));
}

/// Uses `near` for its ranks, and MPI for the others.
DriverPointer combine(MPI_Comm communicator,
                      DriverPointer near,
                      std::vector<Rank> called,
                      const NetworkOptions& options) {
  std::vector<net::CombinedPart> parts(2);
  for (std::uint32_t rank = 0; rank < rank_count_of(communicator); ++rank) {
    parts[1].called.emplace_back(rank);
    if (std::ranges::find(called, Rank{rank}) == called.end()) {
      parts[1].serves.emplace_back(rank);
    }
  }
  parts[0] = {std::move(near), called, called};
  const auto rank_count = static_cast<std::uint32_t>(parts[1].called.size());
  parts[1].driver = net::make_mpi_driver(communicator, between_hosts(options, rank_count));
  return net::make_combined_driver(rank_in(communicator), rank_count, std::move(parts));
}

#ifdef PLAIT_WITH_OFI
/// The addresses of this rank; one empty text where none is given. Throws: `Error` with `bad_argument` on this rank.
std::vector<std::string> addresses_in(const std::string& list) {
  std::vector<std::string> addresses;
  for (const auto& word : list | std::views::split(',')) {
    addresses.emplace_back(word.begin(), word.end());
  }
  if (addresses.empty()) {
    addresses.emplace_back();
  }
  std::vector<std::string> sorted = addresses;
  std::ranges::sort(sorted);
  if (addresses.size() > net::rails_max || std::ranges::adjacent_find(sorted) != sorted.end() ||
      (addresses.size() > 1 && sorted.front().empty())) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("PLAIT_OFI_ADDRESS is '{}': give one address or interface, or 2 to {} different ones, "
                            "separated by commas",
                            list,
                            net::rails_max)};
  }
  return addresses;
}

/// The addresses of this rank, of which all ranks have as many. Collective.
std::vector<std::string> agreed_addresses(MPI_Comm communicator, const NetworkOptions& options) {
  const net::Exchange exchange = net::mpi_exchange(communicator);
  std::vector<std::string> addresses;
  net::agree(exchange, [&] { addresses = addresses_in(options.ofi_address); });
  const std::size_t mine = addresses.size();
  std::vector<std::size_t> counts;
  for (const Bytes& bytes : exchange(std::as_bytes(std::span{&mine, 1}))) {
    std::memcpy(&counts.emplace_back(), bytes.data(), sizeof mine);
  }
  const auto other = std::ranges::find_if(counts, [&](std::size_t count) { return count != counts.front(); });
  if (other != counts.end()) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("PLAIT_OFI_ADDRESS has {} on rank 0 and {} on rank {}: each address is a rail, of which all "
                    "ranks need as many",
                    counts.front(),
                    *other,
                    other - counts.begin())};
  }
  return addresses;
}
#endif

/// Several addresses are rails: a driver for each.
DriverPointer make_ofi(MPI_Comm communicator, const NetworkOptions& options) {
#ifdef PLAIT_WITH_OFI
  std::vector<net::Rail> rails;
  for (const std::string& address : agreed_addresses(communicator, options)) {
    rails.push_back({net::make_ofi_driver(rank_in(communicator),
                                          rank_count_of(communicator),
                                          net::mpi_exchange(communicator),
                                          net::OfiOptions{.node = address}),
                     address});
  }
  return rails.size() == 1 ? std::move(rails.front().driver) : net::make_rails_driver(std::move(rails));
#else
  static_cast<void>(communicator);
  static_cast<void>(options);
  throw Error{ErrorCode::bad_argument,
              "PLAIT_NETWORK is ofi, but plait was built without libfabric (Debian: libfabric-dev); `plait doctor` "
              "lists what is available"};
#endif
}

/// Shared memory where ranks share a host.
DriverPointer make_by_host(MPI_Comm communicator, const NetworkOptions& options) {
  Ranks host;
  find_host(communicator, options.host, host);
  const std::uint32_t rank_count = rank_count_of(communicator);
  const std::uint32_t here_count = rank_count_of(host.get());
  const bool is_forced = options.network == "shm";
  if (is_forced && here_count < rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("PLAIT_NETWORK is shm, but only {} of {} ranks are on this host; set "
                            "PLAIT_NETWORK=automatic, which uses MPI for the others",
                            here_count,
                            rank_count)};
  }
  net::ShmOptions shm = options.shm;
  shm.packet_bytes_max = or_default(options.packet_bytes.shm, shm.packet_bytes_max);
  shm.called = called_in(communicator, host.get());
  std::string trouble;
  DriverPointer near = try_shm(communicator, host.get(), shm, trouble);
  if (!near) {
    if (is_forced) {
      throw Error{ErrorCode::io, trouble};
    }
    if (rank_in(communicator) == Rank{0}) {
      std::fprintf(stderr, "plait: all ranks use MPI, as shared memory is not available: %s\n", trouble.c_str());
    }
    return make_mpi(communicator, options);
  }
  return here_count == rank_count ? std::move(near) : combine(communicator, std::move(near), shm.called, options);
}

constexpr std::array networks{NetworkEntry{"automatic", make_by_host},
                              NetworkEntry{"mpi", make_mpi},
                              NetworkEntry{"shm", make_by_host},
                              NetworkEntry{"ofi", make_ofi}};

}  // namespace

std::span<const NetworkEntry> network_entries() noexcept {
  return networks;
}

DriverPointer make_network(MPI_Comm communicator, const NetworkOptions& options, std::span<const NetworkEntry> table) {
  const trace::OwnCalls own;
  if (!net::detail::is_mpi_usable()) {
    throw Error{ErrorCode::network,
                "MPI is not initialised, or already finalised; create the runtime after MPI_Init_thread, or with an "
                "MpiSession, and destroy it before MPI_Finalize"};
  }
  const auto network = std::ranges::find(table, options.network, &NetworkEntry::name);
  if (network == table.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("PLAIT_NETWORK is '{}': choose one of {}",
                            options.network,
                            fmt::join(table | std::views::transform(&NetworkEntry::name), ", "))};
  }
  return network->make(communicator, options);
}

}  // namespace plait

#endif
