// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/base/backoff.hpp"
#include "plait/base/error.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/replay/backend/backend.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/mpi_collectives.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"
#include "plait/replay/backend/remote_memory.hpp"
#include "plait/replay/backend/slots.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {
namespace {

using net::detail::check_mpi;

/// Messages should not wait for a sleeping thread, but cores may be fewer than ranks.
constexpr WaitPolicy wait_policy{.yield = std::chrono::milliseconds{10}, .sleep_max = std::chrono::microseconds{20}};

/// The memory that a receiver provides for a sender.
struct Offer {
  std::uint64_t at = 0;
  std::uint64_t fingerprint = 0;
};

std::uint64_t host_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void require_memory(MPI_Comm world, std::uint64_t mine, std::uint64_t host_bytes_max) {
  const std::uint64_t bytes_max = host_bytes_max != 0 ? host_bytes_max : host_memory_bytes() / 2;
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  std::uint64_t all = 0;
  const int code = MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, host);
  MPI_Comm_free(&host);
  check_mpi(code, "MPI_Allreduce");
  constexpr double mb = 1e6;
  throw_together(world,
                 all <= bytes_max
                     ? ""
                     : fmt::format("one-sided replays need memory for all that is received: {:.1f} MB on one host, of "
                                   "which {:.1f} MB may be used; replay one --step, fewer bytes with --scale, or with "
                                   "--backend mpi",
                                   static_cast<double>(all) / mb,
                                   static_cast<double>(bytes_max) / mb),
                 ErrorCode::out_of_memory);
}

/// Replays by writes into the receivers' memory, where each message of the schedule has a slot of its own.
///
/// The sender writes the message and, when it is in the receiver's memory, the flag of its header. A send is complete
/// when its flag has arrived. The receiver tests the flag and copies the message out. There is no matching and no
/// rendezvous, as both sides compute the slots. At the start, ranks exchange where the slots of each peer begin.
/// Collectives are MPI's. Threads: as MPI and the memory were initialised. Memory: all that a rank receives in one
/// repetition.
class OneSidedBackend final : public Backend {
 public:
  OneSidedBackend(MPI_Comm world, const RankPart& part, const MakeMemory& make, std::uint64_t host_bytes_max)
      : self_{part.self},
        collectives_{world, part},
        sends_{part, Action::send},
        receives_{part, Action::receive},
        peers_(part.rank_count),
        operations_(part.operation_count()) {
    std::uint64_t bytes = 0;
    for (std::uint32_t rank = 0; rank < part.rank_count; ++rank) {
      peers_[rank].at_own = bytes;
      bytes += receives_.bytes(Rank{rank});
    }
    require_memory(world, bytes, host_bytes_max);
    agree(world);
    memory_ = make(world, std::max<std::uint64_t>(bytes, sizeof(SlotHead)));
    connect(world);
  }

  [[nodiscard]] std::string name() const override { return memory_->name(); }
  [[nodiscard]] CallNames call_names() const override {
    return {memory_->write_name() + " and flag", "post receive", "wait for flags", "test flag", "progress"};
  }

  [[nodiscard]] std::string call_name(Collective what, Calling calling) const override {
    if (calling == Calling::waits && !memory_->moves_inside_mpi()) {
      return MpiCollectives::call_name(what, Calling::goes_on) + " to its end";
    }
    return MpiCollectives::call_name(what, calling);
  }

  void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) override {
    UnderWay& one = operations_[operation.value()];
    one.what = Action::send;
    one.envelope = to;
    one.slot = sends_.next(operation);
    if (one.slot.bytes != data.size()) {
      throw Error{
          ErrorCode::bad_input,
          fmt::format("a message of {} bytes with tag {} is sent where the log has one of {} bytes: several streams "
                      "send with that tag; replay with --backend mpi",
                      data.size(),
                      to.tag,
                      one.slot.bytes),
          to.peer};
    }
    one.head = {one.slot.flag, data.size(), to.tag, self_.value()};
    const std::uint64_t at = peers_[to.peer.value()].at_its + one.slot.at;
    const auto head = std::as_bytes(std::span{&one.head, 1});
    constexpr std::size_t flag_bytes = sizeof one.head.flag;
    memory_->write(to.peer, at + flag_bytes, head.subspan(flag_bytes));
    memory_->write(to.peer, at + sizeof(SlotHead), data);
    memory_->complete(to.peer);
    memory_->write(to.peer, at, head.first(flag_bytes));
    memory_->push(to.peer);
    const std::lock_guard lock{peers_mutex_};
    one.number = ++peers_[to.peer.value()].written;
  }

  void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) override {
    UnderWay& one = operations_[operation.value()];
    one.what = Action::receive;
    one.envelope = from;
    one.slot = receives_.next(operation);
    one.buffer = buffer;
  }

  void collective(OperationId operation, const CollectiveCall& call) override {
    UnderWay& one = operations_[operation.value()];
    one.what = Action::collective;
    collectives_.begin(operation, call, one.request);
  }

  void collective_to_end(OperationId operation, const CollectiveCall& call) override {
    if (memory_->moves_inside_mpi()) {
      collectives_.call(call);
      return;
    }
    // In a blocking call this rank would not poll, and a rank that waits for its write to arrive here would not call.
    Backend::collective_to_end(operation, call);
  }

  [[nodiscard]] bool test(OperationId operation) override {
    UnderWay& one = operations_[operation.value()];
    if (one.what == Action::send) {
      return has_arrived(one);
    }
    if (one.what == Action::receive) {
      return take(one);
    }
    int has_ended = 0;
    check_mpi(MPI_Test(&one.request, &has_ended, MPI_STATUS_IGNORE), "MPI_Test");
    if (has_ended == 0) {
      memory_->poll();
    }
    return has_ended != 0;
  }

  void wait(std::span<const OperationId> operations) override {
    Crowding crowding;
    Backoff backoff{wait_policy, crowding};
    for (const OperationId operation : operations) {
      while (!test(operation)) {
        backoff.pause();
      }
      backoff.reset();
    }
  }

  void progress() override { memory_->poll(); }

 private:
  /// A message or a collective in flight.
  struct UnderWay {
    Action what = Action::poll;
    Envelope envelope;
    Slot slot;
    SlotHead head;                ///< Of a send; stays until it has arrived.
    std::uint64_t number = 0;     ///< Of a send, counted for its peer.
    std::span<std::byte> buffer;  ///< Of a receive.
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// The rank at the other end of messages; possibly this one.
  struct Peer {
    std::uint64_t at_its = 0;     ///< Offset of this rank's slots in the peer's memory.
    std::uint64_t at_own = 0;     ///< Offset of the peer's slots in this rank's memory.
    std::uint64_t written = 0;    ///< Sends to the peer.
    std::uint64_t completed = 0;  ///< Those of which the flags have arrived.
  };

  void agree(MPI_Comm world) {
    std::vector<Offer> mine(peers_.size());
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      mine[rank] = {peers_[rank].at_own, receives_.fingerprint(Rank{rank})};
    }
    std::vector<Offer> offered(peers_.size());
    check_mpi(MPI_Alltoall(mine.data(), sizeof(Offer), MPI_BYTE, offered.data(), sizeof(Offer), MPI_BYTE, world),
              "MPI_Alltoall");
    std::string trouble;
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      peers_[rank].at_its = offered[rank].at;
      if (offered[rank].fingerprint != sends_.fingerprint(Rank{rank})) {
        trouble = fmt::format(
            "the sends to rank {} and its receives differ in sizes, tags or order, which one-sided replays do not "
            "support: replay with --backend mpi",
            rank);
      }
    }
    throw_together(world, trouble, ErrorCode::bad_input);
  }

  /// Writes a first word to each peer, so that the replay does not include the time to connect.
  void connect(MPI_Comm world) {
    const std::uint64_t no_flag = 0;  // the value of the first flag
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      if (sends_.bytes(Rank{rank}) > 0) {
        memory_->write(Rank{rank}, peers_[rank].at_its, std::as_bytes(std::span{&no_flag, 1}));
        memory_->complete(Rank{rank});
      }
    }
    MPI_Request all = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(world, &all), "MPI_Ibarrier");
    for (int are_all_here = 0; are_all_here == 0;) {
      memory_->poll();  // progress for ranks that still write
      check_mpi(MPI_Test(&all, &are_all_here, MPI_STATUS_IGNORE), "MPI_Test");
    }
  }

  [[nodiscard]] bool has_arrived(const UnderWay& send) {
    Peer& peer = peers_[send.envelope.peer.value()];
    std::uint64_t written = 0;
    {
      const std::lock_guard lock{peers_mutex_};
      if (send.number <= peer.completed) {
        return true;
      }
      written = peer.written;
    }
    memory_->complete(send.envelope.peer);
    const std::lock_guard lock{peers_mutex_};
    peer.completed = std::max(peer.completed, written);
    return true;
  }

  [[nodiscard]] bool take(UnderWay& receive) {
    if (!is_flag_set(receive)) {
      memory_->poll();
      if (!is_flag_set(receive)) {
        return false;
      }
    }
    memory_->poll();  // makes the message visible, which is older than its flag
    const Rank source = receive.envelope.peer;
    const auto slot = memory_->local().subspan(peers_[source.value()].at_own + receive.slot.at);
    SlotHead head;
    std::memcpy(&head, slot.data(), sizeof head);
    if (head.bytes != receive.buffer.size() || head.tag != receive.envelope.tag || head.source != source.value()) {
      throw Error{ErrorCode::network,
                  fmt::format("rank {} wrote {} bytes with tag {} where rank {} should write {} bytes with tag {}",
                              head.source,
                              head.bytes,
                              head.tag,
                              source.value(),
                              receive.buffer.size(),
                              receive.envelope.tag),
                  source};
    }
    std::memcpy(receive.buffer.data(), &slot[sizeof head], head.bytes);
    return true;
  }

  [[nodiscard]] bool is_flag_set(const UnderWay& receive) const {
    const std::uint64_t at = peers_[receive.envelope.peer.value()].at_own + receive.slot.at;
    auto* const flag = reinterpret_cast<std::uint64_t*>(memory_->local().data() + at);
    return std::atomic_ref{*flag}.load(std::memory_order_acquire) ==
           receive.slot.flag;  // after the sender's complete()
  }

  Rank self_;
  MpiCollectives collectives_;
  Slots sends_;
  Slots receives_;
  std::vector<Peer> peers_;
  std::mutex peers_mutex_;  ///< Guards the counts.
  std::unique_ptr<RemoteMemory> memory_;
  std::vector<UnderWay> operations_;
};

}  // namespace

std::shared_ptr<Backend> make_one_sided_backend(MPI_Comm world,
                                                const RankPart& part,
                                                const MakeMemory& make,
                                                std::uint64_t host_bytes_max) {
  return std::make_shared<OneSidedBackend>(world, part, make, host_bytes_max);
}

}  // namespace plait::replay
