// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/replay/backend/backend.hpp"
#include "plait/replay/backend/mpi/mpi_collectives.hpp"
#include "plait/replay/backend/remote_memory.hpp"
#include "plait/replay/backend/slots.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// A replay by writes into the receivers' memory, where each message of the schedule has a slot of its own.
///
/// The sender writes the message and, when that is in the receiver's memory, the flag before it; a send has ended when
/// its flag has arrived too. The receiver looks at the flag, and copies the message out. Nothing is matched, and nobody
/// asks before a long message: both know from the schedule where it stands. What the ranks tell each other at the
/// start is where in their memory each peer's slots begin. Collectives are MPI's.
/// Threads: as MPI and the memory were initialised. Memory: all that a rank receives in one repetition.
class OneSidedBackend final : public Backend {
 public:
  /// Makes this rank's memory; collective.
  using MakeMemory = std::function<std::unique_ptr<RemoteMemory>(MPI_Comm world, std::size_t bytes)>;

  /// Collective over `world`, which is borrowed for the call, as is `part`. The ranks of a host may take
  /// `host_bytes_max` together; 0: half of the host's memory. Throws: on all ranks `Error` with `out_of_memory` when
  /// the schedule needs more, `bad_input` when two ranks do not agree about what they exchange; and what `make` throws.
  OneSidedBackend(MPI_Comm world, const Part& part, const MakeMemory& make, std::uint64_t host_bytes_max = 0);

  [[nodiscard]] std::string name() const override { return memory_->name(); }
  [[nodiscard]] CallNames call_names() const override;
  [[nodiscard]] std::string call_name(Collective what, Calling calling) const override;
  void prepare(std::size_t count) override;
  void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) override;
  void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) override;
  void collective(OperationId operation, const CollectiveCall& call) override;
  void collective_to_end(OperationId operation, const CollectiveCall& call) override;
  [[nodiscard]] bool test(OperationId operation) override;
  void wait(std::span<const OperationId> operations) override;
  void progress() override;

 private:
  /// A message or a collective under way; what is written stays here until it has arrived.
  struct UnderWay {
    Action what = Action::look;
    Envelope envelope;
    Slot slot;
    SlotHead head;                ///< Of a send.
    std::uint64_t number = 0;     ///< Of a send, among those to its peer.
    std::span<std::byte> buffer;  ///< Of a receive.
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// Another rank, or this one, at the other end of messages.
  struct Peer {
    std::uint64_t at_its = 0;     ///< Where this rank's slots begin in the peer's memory.
    std::uint64_t at_own = 0;     ///< Where the peer's begin in this rank's.
    std::uint64_t written = 0;    ///< Sends to it.
    std::uint64_t completed = 0;  ///< Of these, those that have arrived with their flags.
  };

  void agree(MPI_Comm world);
  /// Writes a first word to each peer: what connections cost at their first use is no part of a replay.
  void connect(MPI_Comm world);
  [[nodiscard]] bool has_arrived(const UnderWay& send);
  [[nodiscard]] bool take(UnderWay& receive);
  [[nodiscard]] bool is_flag_set(const UnderWay& receive) const;

  Rank self_;
  MpiCollectives collectives_;
  Slots sends_;
  Slots receives_;
  std::vector<Peer> peers_;
  std::mutex peers_mutex_;  ///< Guards the counts.
  std::unique_ptr<RemoteMemory> memory_;
  std::vector<UnderWay> operations_;
};

}  // namespace plait::replay
