// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/mpi_driver.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/detail/driver_parts.hpp"
#include "plait/net/mpi/detail/bulk_transfers.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/detail/packet_ring.hpp"
#include "plait/net/mpi/detail/packet_sends.hpp"
#include "plait/net/mpi/library.hpp"
#include "plait/trace/preloaded_recorder.hpp"

namespace plait::net {
namespace {

using detail::BulkTransfers;

/// A communicator of our own, a duplicate of another, on which failed calls return.
class OwnCommunicator {
 public:
  enum class Use { packets, bulk };

  /// Collective over `parent`, which is borrowed for the call.
  OwnCommunicator(MPI_Comm parent, Use use) {
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

  OwnCommunicator(const OwnCommunicator&) = delete;
  OwnCommunicator& operator=(const OwnCommunicator&) = delete;
  /// Frees it, unless it was abandoned or MPI is finalised.
  ~OwnCommunicator() {
    const trace::OwnCalls own;
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

DriverTraits traits_of(MPI_Comm communicator, const MpiOptions& options) {
  require(detail::is_mpi_usable(),
          "mpi driver: MPI is not initialised, or finalised already; keep an MpiSession, or call MPI_Init_thread");
  int rank = 0;
  int size = 0;
  detail::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  detail::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  DriverTraits traits = options.traits("mpi", Rank{static_cast<std::uint32_t>(rank)}, static_cast<std::uint32_t>(size));
  traits.name = fmt::format("mpi ({})", mpi_library_name());
  return traits;
}

class MpiDriver final : public detail::PooledDriver {
 public:
  MpiDriver(MPI_Comm parent, const MpiOptions& options)
      : PooledDriver{traits_of(parent, options)},
        packets_{parent, OwnCommunicator::Use::packets},
        bulk_{parent, OwnCommunicator::Use::bulk},
        copied_bytes_max_{std::max(options.copied_bytes_max, options.packet_bytes_max)},
        ring_{packets_.get(), message_bytes_max(options), options.receives_posted},
        sends_{packets_.get(), pool_, message_bytes_max(options), options.sends_in_flight_max},
        bulk_sends_{bulk_.get(),
                    TransferDirection::sent,
                    {options.bulk_sends_max,
                     options.bulk_chunks_in_flight,
                     options.bulk_chunk_bytes,
                     options.bulk_undivided_min}},
        bulk_receives_{bulk_.get(),
                       TransferDirection::received,
                       {options.bulk_slot_count,
                        options.bulk_chunks_in_flight,
                        options.bulk_chunk_bytes,
                        options.bulk_undivided_min}} {}
  MpiDriver(const MpiDriver&) = delete;
  MpiDriver& operator=(const MpiDriver&) = delete;

  ~MpiDriver() override {
    const trace::OwnCalls own;
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

  Post send(Rank to, Packet&& packet) override {
    const trace::OwnCalls own;
    detail::expect_valid(*this, to, packet.size());
    return sends_.send(to, std::move(packet));
  }

  Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) override {
    const trace::OwnCalls own;
    const std::size_t bytes = head.size() + data.size();
    expect(bytes > 0 && bytes <= copied_bytes_max_, "what is copied and sent fits");
    expect(to.value() < rank_count(), "the receiver is a rank of this network");
    return sends_.send_copy(to, head, data);
  }

  Post send_bulk(const BulkSend& bulk) override {
    const trace::OwnCalls own;
    detail::expect_valid(*this, bulk);
    return bulk_sends_.start({.peer = bulk.to,
                              .slot = bulk.slot,
                              .data = const_cast<std::byte*>(bulk.data.data()),
                              .bytes = bulk.data.size(),
                              .cookie = bulk.cookie});
  }

  Post receive_bulk(const BulkReceive& bulk) override {
    const trace::OwnCalls own;
    detail::expect_valid(*this, bulk);
    return bulk_receives_.start({.peer = bulk.from,
                                 .slot = bulk.slot,
                                 .data = bulk.buffer.data(),
                                 .bytes = bulk.buffer.size(),
                                 .cookie = bulk.cookie});
  }

  Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    const trace::OwnCalls own;
    Polled polled;
    ring_.give_back();
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
    polled.bulk = take_done(bulk);
    return polled;
  }

  std::size_t copied_bytes_max(Rank /*peer*/) const noexcept override { return copied_bytes_max_; }
  bool is_full() const noexcept override { return sends_.is_full(); }
  bool is_idle() const noexcept override { return sends_.is_empty() && bulk_sends_.is_empty(); }
  bool is_busy(Rank to) const noexcept override { return sends_.is_busy(to); }

 private:
  static std::size_t message_bytes_max(const MpiOptions& options) {
    return options.message_bytes_max == 0 ? options.packet_bytes_max : options.message_bytes_max;
  }

  OwnCommunicator packets_;
  OwnCommunicator bulk_;
  std::size_t copied_bytes_max_;
  detail::PacketRing ring_;
  detail::PacketSends sends_;
  BulkTransfers bulk_sends_;
  BulkTransfers bulk_receives_;
  /// Whether the last poll returned a packet: then the next one tests for more than one.
  bool is_busy_ = false;
};

}  // namespace

std::unique_ptr<Driver> make_mpi_driver(MPI_Comm communicator, const MpiOptions& options) {
  const trace::OwnCalls own;
  return std::make_unique<MpiDriver>(communicator, options);
}

}  // namespace plait::net
