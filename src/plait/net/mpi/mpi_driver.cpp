// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/mpi_driver.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/detail/take.hpp"
#include "plait/net/mpi/detail/bulk_transfers.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/detail/communicator.hpp"
#include "plait/net/mpi/detail/packet_ring.hpp"
#include "plait/net/mpi/detail/packet_sends.hpp"

namespace plait::net {
namespace {

using detail::BulkTransfers;
using detail::OwnCommunicator;

constexpr std::uint32_t pool_spare_max = 256;
constexpr std::uint32_t slots_max = 32767;
constexpr std::size_t packets_in_flight_least = 2;
constexpr std::size_t packets_in_flight_most = 32;

void check(const MpiOptions& options) {
  const auto refuse = [](std::string_view why) {
    throw Error{ErrorCode::bad_argument, fmt::format("mpi driver: {}", why)};
  };
  if (!detail::is_mpi_usable()) {
    refuse("MPI is not initialised, or finalised already; keep an MpiSession, or call MPI_Init_thread");
  }
  if (options.packet_bytes_max < 1024 || options.packet_bytes_max > INT_MAX) {
    refuse("packets need 1024 bytes at least, and less than 2 GiB");
  }
  if (options.receives_posted == 0 || options.sends_in_flight_max == 0 || options.bulk_sends_max == 0 ||
      options.bulk_chunks_in_flight == 0) {
    refuse("no number of requests can be 0");
  }
  if (options.bulk_slot_count == 0 || options.bulk_slot_count > slots_max) {
    refuse("between 1 and 32767 bulk slots are possible");
  }
  if (options.bulk_chunk_bytes == 0 || options.bulk_chunk_bytes > INT_MAX) {
    refuse("bulk chunks need 1 byte at least, and less than 2 GiB");
  }
}

/// "mpi (Open MPI 4.1.4)"
std::string describe_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all{text.data(), static_cast<std::size_t>(length)};
  for (const std::string_view kind : {"Open MPI v", "MPICH Version:"}) {
    if (all.starts_with(kind)) {
      const std::size_t begin = all.find_first_not_of(" \t", kind.size());
      const std::size_t end = std::min(all.find_first_of(", \t\n", begin), all.size());
      return fmt::format(
          "mpi ({} {})", kind.starts_with("Open") ? "Open MPI" : "MPICH", all.substr(begin, end - begin));
    }
  }
  return fmt::format("mpi ({})", all.substr(0, all.find_first_of(",\n")));
}

}  // namespace

struct MpiDriver::State {
  State(MPI_Comm parent, const MpiOptions& opts)
      : options{opts},
        pool{options.packet_bytes_max, pool_spare_max},
        packets{parent, OwnCommunicator::Use::packets},
        bulk{parent, OwnCommunicator::Use::bulk},
        ring{packets.get(), pool, options.receives_posted},
        sends{packets.get(), pool, options.sends_in_flight_max},
        bulk_sends{bulk.get(),
                   Direction::sent,
                   {options.bulk_sends_max, options.bulk_chunks_in_flight, options.bulk_chunk_bytes}},
        bulk_receives{bulk.get(),
                      Direction::received,
                      {options.bulk_slot_count, options.bulk_chunks_in_flight, options.bulk_chunk_bytes}} {}

  MpiOptions options;
  detail::PacketPool pool;
  OwnCommunicator packets;
  OwnCommunicator bulk;
  detail::PacketRing ring;
  detail::PacketSends sends;
  BulkTransfers bulk_sends;
  BulkTransfers bulk_receives;
  std::uint32_t packets_in_flight_max = 0;
  /// Whether the last poll brought a packet: then the next one asks for more than one.
  bool is_busy = false;
  // Ended transfers that have not been polled yet.
  std::vector<BulkDone> done;
  std::size_t next_done = 0;
};

MpiDriver::MpiDriver(MPI_Comm communicator, const MpiOptions& options) {
  check(options);
  name_ = describe_library();
  int rank = 0;
  int size = 0;
  detail::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  detail::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  self_ = Rank{static_cast<std::uint32_t>(rank)};
  rank_count_ = static_cast<std::uint32_t>(size);
  state_ = std::make_unique<State>(communicator, options);
  const std::size_t share = options.unexpected_bytes_max / (std::size_t{rank_count_} * options.packet_bytes_max);
  state_->packets_in_flight_max =
      static_cast<std::uint32_t>(std::clamp(share, packets_in_flight_least, packets_in_flight_most));
}

MpiDriver::~MpiDriver() {
  if (!detail::is_mpi_usable()) {
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + detail::give_up_after;
  state_->sends.close(deadline);
  state_->bulk_sends.close(deadline);
  state_->bulk_receives.close(deadline);
  state_->ring.close(deadline);
  if (std::uncaught_exceptions() > 0) {
    state_->packets.abandon();
    state_->bulk.abandon();
  }
}

std::size_t MpiDriver::packet_bytes_max() const noexcept {
  return state_->options.packet_bytes_max;
}

std::uint32_t MpiDriver::packets_in_flight_max() const noexcept {
  return state_->packets_in_flight_max;
}

std::uint32_t MpiDriver::bulk_slot_count() const noexcept {
  return state_->options.bulk_slot_count;
}

std::size_t MpiDriver::bulk_in_flight_max(Rank /*peer*/) const noexcept {
  return state_->options.bulk_in_flight_max;
}

Packet MpiDriver::acquire() {
  return state_->pool.acquire();
}

void MpiDriver::recycle(Packet&& packet) noexcept {
  state_->pool.recycle(std::move(packet));
}

Post MpiDriver::send(Rank to, Packet&& packet) {
  expect(packet.size() > 0, "a packet that is sent has at least one byte");
  expect(to.value() < rank_count_, "a rank of this communicator");
  return state_->sends.send(to, std::move(packet));
}

Post MpiDriver::send_bulk(const BulkSend& bulk) {
  expect(!bulk.data.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < state_->options.bulk_slot_count, "a slot that the receiver has");
  return state_->bulk_sends.start({.peer = bulk.to,
                                   .slot = bulk.slot,
                                   .data = const_cast<std::byte*>(bulk.data.data()),
                                   .bytes = bulk.data.size(),
                                   .cookie = bulk.cookie});
}

Post MpiDriver::receive_bulk(const BulkReceive& bulk) {
  expect(!bulk.buffer.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < state_->options.bulk_slot_count, "a slot that this rank has");
  return state_->bulk_receives.start({.peer = bulk.from,
                                      .slot = bulk.slot,
                                      .data = bulk.buffer.data(),
                                      .bytes = bulk.buffer.size(),
                                      .cookie = bulk.cookie});
}

Polled MpiDriver::poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) {
  State& state = *state_;
  Polled polled;
  // A lone packet is handed up before MPI is asked for another, which would delay the answer to it.
  const std::size_t arrivals_max = state.is_busy ? arrivals.size() : std::min<std::size_t>(arrivals.size(), 1);
  while (polled.arrivals < arrivals_max && state.ring.take(arrivals[polled.arrivals])) {
    ++polled.arrivals;
  }
  state.is_busy = polled.arrivals > 0;
  if (!state.sends.is_empty()) {
    state.sends.reap();
  }
  if (!state.bulk_sends.is_empty()) {
    state.bulk_sends.progress(state.done);
  }
  if (!state.bulk_receives.is_empty()) {
    state.bulk_receives.progress(state.done);
  }
  if (!state.done.empty()) {
    polled.bulk = detail::take(state.done, state.next_done, bulk);
  }
  return polled;
}

bool MpiDriver::is_idle() const noexcept {
  return state_->sends.is_empty() && state_->bulk_sends.is_empty();
}

bool MpiDriver::is_busy(Rank to) const noexcept {
  return state_->sends.is_busy(to);
}

}  // namespace plait::net
