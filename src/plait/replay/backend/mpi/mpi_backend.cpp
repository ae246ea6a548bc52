// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/net/mpi/detail/call.hpp"
#include "plait/replay/backend/backend.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/mpi_collectives.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {
namespace {

using net::detail::check_mpi;

/// The largest tag that MPI accepts.
std::uint64_t tag_max_of(MPI_Comm communicator) {
  int* found = nullptr;
  int is_there = 0;
  check_mpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void*>(&found), &is_there), "MPI_Comm_get_attr");
  constexpr std::uint64_t promised = 32'767;
  return is_there != 0 ? static_cast<std::uint64_t>(*found) : promised;
}

/// A count and a type for so many bytes; above 2 GiB the type has blocks of 1 MiB and a rest.
class Counted {
 public:
  explicit Counted(std::size_t bytes) {
    if (bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      count_ = static_cast<int>(bytes);
      return;
    }
    constexpr std::size_t block_bytes = std::size_t{1} << 20U;
    const int lengths[] = {static_cast<int>(bytes / block_bytes), static_cast<int>(bytes % block_bytes)};
    const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes - bytes % block_bytes)};
    MPI_Datatype block = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &block), "MPI_Type_contiguous");
    const MPI_Datatype types[] = {block, MPI_BYTE};
    check_mpi(MPI_Type_create_struct(2, lengths, places, types, &type_), "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&block);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    if (type_ != MPI_BYTE) {
      MPI_Type_free(&type_);  // operations under way keep it
    }
  }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  int count_ = 1;
  MPI_Datatype type_ = MPI_BYTE;
};

/// Replays with MPI's non-blocking messages, tests and collectives, on communicators like those of the log.
///
/// Tags are those of the log if MPI accepts them; else each rank numbers those that it shares with a peer.
/// Threads: as MPI was initialised.
class MpiBackend final : public Backend {
 public:
  MpiBackend(MPI_Comm world, const RankPart& part)
      : collectives_{world, part}, requests_(part.operation_count(), MPI_REQUEST_NULL) {
    if (part.tag_max <= tag_max_of(world)) {
      return;
    }
    for (const Stream& stream : part.schedule.streams) {
      for (const Operation& operation : stream.operations) {
        if (operation.action == Action::send || operation.action == Action::receive) {
          tags_[{operation.action, operation.peer, operation.communicator}].push_back(operation.tag);
        }
      }
    }
    for (auto& [key, tags] : tags_) {
      std::ranges::sort(tags);
      tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    }
  }

  [[nodiscard]] std::string name() const override { return "mpi"; }
  [[nodiscard]] CallNames call_names() const override {
    return {"MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Test", "MPI_Iprobe"};
  }

  [[nodiscard]] std::string call_name(Collective what, Calling calling) const override {
    return MpiCollectives::call_name(what, calling);
  }

  void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) override {
    post(MPI_Isend, operation, to, data, Action::send);
  }
  void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) override {
    post(MPI_Irecv, operation, from, buffer, Action::receive);
  }

  void collective(OperationId operation, const CollectiveCall& call) override {
    collectives_.begin(operation, call, requests_[operation.value()]);
  }

  void collective_to_end(OperationId /*operation*/, const CollectiveCall& call) override { collectives_.call(call); }

  [[nodiscard]] bool test(OperationId operation) override {
    int has_ended = 0;
    check_mpi(MPI_Test(&requests_[operation.value()], &has_ended, MPI_STATUS_IGNORE), "MPI_Test");
    return has_ended != 0;
  }

  void wait(std::span<const OperationId> operations) override {
    waited_.clear();
    for (const OperationId operation : operations) {
      waited_.push_back(requests_[operation.value()]);
    }
    check_mpi(MPI_Waitall(static_cast<int>(waited_.size()), waited_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  void progress() override {
    int is_there = 0;
    check_mpi(
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, collectives_.members(0).communicator, &is_there, MPI_STATUS_IGNORE),
        "MPI_Iprobe");
  }

 private:
  template <class Call, class Data>
  void post(Call call, OperationId operation, const Envelope& envelope, Data data, Action action) {
    const MpiMembers& members = collectives_.members(envelope.communicator);
    const Counted counted{data.size()};
    const int rank = members.rank_in.at(envelope.peer.value());
    const int tag = tag_of(envelope, action);
    MPI_Request* const request = &requests_[operation.value()];
    check_mpi(call(data.data(), counted.count(), counted.type(), rank, tag, members.communicator, request),
              action == Action::send ? "MPI_Isend" : "MPI_Irecv",
              envelope.peer);
  }

  [[nodiscard]] int tag_of(const Envelope& envelope, Action action) const {
    if (tags_.empty()) {
      return static_cast<int>(envelope.tag);
    }
    const std::vector<std::uint64_t>& tags = tags_.at({action, envelope.peer.value(), envelope.communicator});
    return static_cast<int>(std::ranges::lower_bound(tags, envelope.tag) - tags.begin());
  }

  MpiCollectives collectives_;
  /// The tags by (send or receive, peer, communicator); empty if MPI accepts those of the log.
  std::map<std::tuple<Action, std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> tags_;
  std::vector<MPI_Request> requests_;  ///< Of each operation.
  std::vector<MPI_Request> waited_;
};

}  // namespace

std::shared_ptr<Backend> make_mpi_backend(MPI_Comm world, const RankPart& part) {
  return std::make_shared<MpiBackend>(world, part);
}

}  // namespace plait::replay
