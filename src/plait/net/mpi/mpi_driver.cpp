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
#include "plait/net/mpi/detail/packet_ring.hpp"
#include "plait/net/mpi/detail/packet_sends.hpp"

namespace plait::net {
namespace {

using detail::BulkTransfers;

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

/// A communicator of our own, a duplicate of another, on which failed calls return.
class OwnCommunicator {
 public:
  enum class Use { packets, bulk };

  /// Collective over `parent`, which is borrowed for the call.
  OwnCommunicator(MPI_Comm parent, Use use);
  OwnCommunicator(const OwnCommunicator&) = delete;
  OwnCommunicator& operator=(const OwnCommunicator&) = delete;
  /// Frees it, unless it was abandoned or MPI is finalised.
  ~OwnCommunicator() {
    if (communicator_ != MPI_COMM_NULL && detail::is_mpi_usable()) {
      MPI_Comm_free(&communicator_);
    }
  }

  MPI_Comm get() const noexcept { return communicator_; }
  /// Leaves it to the end of the process: freeing is collective, and a peer may have ended.
  void abandon() noexcept { communicator_ = MPI_COMM_NULL; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

OwnCommunicator::OwnCommunicator(MPI_Comm parent, Use use) {
  MPI_Info hints = MPI_INFO_NULL;
  detail::check_mpi(MPI_Info_create(&hints), "MPI_Info_create");
  if (use == Use::bulk) {
    // Not mpi_assert_allow_overtaking: the chunks of one transfer have the same tag.
    MPI_Info_set(hints, "mpi_assert_no_any_source", "true");
    MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(hints, "mpi_assert_exact_length", "true");
  }
  const int code = MPI_Comm_dup_with_info(parent, hints, &communicator_);
  MPI_Info_free(&hints);
  detail::check_mpi(code, "MPI_Comm_dup_with_info");
  detail::check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

DriverTraits traits_of(MPI_Comm communicator, const MpiOptions& options) {
  check(options);
  int rank = 0;
  int size = 0;
  detail::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  detail::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const std::size_t share = options.unexpected_bytes_max / (static_cast<std::size_t>(size) * options.packet_bytes_max);
  return {.name = describe_library(),
          .self = Rank{static_cast<std::uint32_t>(rank)},
          .rank_count = static_cast<std::uint32_t>(size),
          .packet_bytes_max = options.packet_bytes_max,
          .packets_in_flight_max =
              static_cast<std::uint32_t>(std::clamp(share, packets_in_flight_least, packets_in_flight_most)),
          .bulk_slot_count = options.bulk_slot_count,
          .bulk_in_flight_max = options.bulk_in_flight_max};
}

class MpiDriver final : public Driver {
 public:
  MpiDriver(MPI_Comm parent, const MpiOptions& options)
      : Driver{traits_of(parent, options)},
        pool_{options.packet_bytes_max, pool_spare_max},
        packets_{parent, OwnCommunicator::Use::packets},
        bulk_{parent, OwnCommunicator::Use::bulk},
        ring_{packets_.get(), pool_, options.receives_posted},
        sends_{packets_.get(), pool_, options.sends_in_flight_max},
        bulk_sends_{bulk_.get(),
                    TransferDirection::sent,
                    {options.bulk_sends_max, options.bulk_chunks_in_flight, options.bulk_chunk_bytes}},
        bulk_receives_{bulk_.get(),
                       TransferDirection::received,
                       {options.bulk_slot_count, options.bulk_chunks_in_flight, options.bulk_chunk_bytes}} {}
  MpiDriver(const MpiDriver&) = delete;
  MpiDriver& operator=(const MpiDriver&) = delete;
  ~MpiDriver() override;

  Packet acquire() override { return pool_.acquire(); }
  void recycle(Packet&& packet) noexcept override { pool_.recycle(std::move(packet)); }
  Post send(Rank to, Packet&& packet) override;
  Post send_bulk(const BulkSend& bulk) override;
  Post receive_bulk(const BulkReceive& bulk) override;
  Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override;
  bool is_idle() const noexcept override { return sends_.is_empty() && bulk_sends_.is_empty(); }
  bool is_busy(Rank to) const noexcept override { return sends_.is_busy(to); }

 private:
  detail::PacketPool pool_;
  OwnCommunicator packets_;
  OwnCommunicator bulk_;
  detail::PacketRing ring_;
  detail::PacketSends sends_;
  BulkTransfers bulk_sends_;
  BulkTransfers bulk_receives_;
  /// Whether the last poll returned a packet: then the next one tests for more than one.
  bool is_busy_ = false;
  // Ended transfers that have not been polled yet.
  std::vector<BulkDone> done_;
  std::size_t next_done_ = 0;
};

MpiDriver::~MpiDriver() {
  if (!detail::is_mpi_usable()) {
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + detail::give_up_after;
  sends_.close(deadline);
  bulk_sends_.close(deadline);
  bulk_receives_.close(deadline);
  ring_.close(deadline);
  if (std::uncaught_exceptions() > 0) {
    packets_.abandon();
    bulk_.abandon();
  }
}

Post MpiDriver::send(Rank to, Packet&& packet) {
  expect(packet.size() > 0, "a packet that is sent has at least one byte");
  expect(to.value() < rank_count(), "a rank of this communicator");
  return sends_.send(to, std::move(packet));
}

Post MpiDriver::send_bulk(const BulkSend& bulk) {
  expect(!bulk.data.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < bulk_slot_count(), "a slot that the receiver has");
  return bulk_sends_.start({.peer = bulk.to,
                            .slot = bulk.slot,
                            .data = const_cast<std::byte*>(bulk.data.data()),
                            .bytes = bulk.data.size(),
                            .cookie = bulk.cookie});
}

Post MpiDriver::receive_bulk(const BulkReceive& bulk) {
  expect(!bulk.buffer.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < bulk_slot_count(), "a slot that this rank has");
  return bulk_receives_.start({.peer = bulk.from,
                               .slot = bulk.slot,
                               .data = bulk.buffer.data(),
                               .bytes = bulk.buffer.size(),
                               .cookie = bulk.cookie});
}

Polled MpiDriver::poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) {
  Polled polled;
  // A lone packet is returned before MPI is tested for another, which would delay the answer to it.
  const std::size_t arrivals_max = is_busy_ ? arrivals.size() : std::min<std::size_t>(arrivals.size(), 1);
  while (polled.arrivals < arrivals_max && ring_.take(arrivals[polled.arrivals])) {
    ++polled.arrivals;
  }
  is_busy_ = polled.arrivals > 0;
  if (!sends_.is_empty()) {
    sends_.reap();
  }
  if (!bulk_sends_.is_empty()) {
    bulk_sends_.progress(done_);
  }
  if (!bulk_receives_.is_empty()) {
    bulk_receives_.progress(done_);
  }
  if (!done_.empty()) {
    polled.bulk = detail::take(done_, next_done_, bulk);
  }
  return polled;
}

}  // namespace

std::unique_ptr<Driver> make_mpi_driver(MPI_Comm communicator, const MpiOptions& options) {
  return std::make_unique<MpiDriver>(communicator, options);
}

}  // namespace plait::net
