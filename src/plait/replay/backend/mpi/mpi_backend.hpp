// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/replay/backend/backend.hpp"
#include "plait/replay/backend/mpi/mpi_collectives.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// A replay by MPI's own non-blocking messages, tests and collectives, on communicators like those of the log.
///
/// Tags are those of the log where MPI takes such large ones; else each rank numbers those that it shares with a peer.
/// Threads: as MPI was initialised.
class MpiBackend final : public Backend {
 public:
  /// Collective over `world`, which is borrowed for the call, as is `part`. Throws: `Error` with `network`.
  MpiBackend(MPI_Comm world, const Part& part);

  [[nodiscard]] std::string name() const override { return "mpi"; }
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
  [[nodiscard]] int tag_of(const Envelope& envelope, Action action) const;

  MpiCollectives collectives_;
  /// Of (sent or received, peer, communicator), the tags; empty while MPI takes them as they are.
  std::map<std::tuple<Action, std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> tags_;
  std::vector<MPI_Request> requests_;  ///< Of each operation.
  std::vector<MPI_Request> waited_;
};

}  // namespace plait::replay
