// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/detail/packet_sends.hpp"

#include <functional>
#include <utility>

#include "plait/net/mpi/detail/call.hpp"

namespace plait::net::detail {
namespace {

constexpr int packet_tag = 0;

}  // namespace

PacketSends::PacketSends(MPI_Comm communicator, PacketPool& pool, std::uint32_t count_max)
    : communicator_{communicator}, pool_{pool}, count_max_{count_max}, over_(count_max) {
  requests_.reserve(count_max_);
  packets_.reserve(count_max_);
  peers_.reserve(count_max_);
}

// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): what has not left here ends in reap() or close()
Post PacketSends::send(Rank to, Packet&& packet) {
  if (requests_.size() == count_max_) {
    return Post::retry;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(packet.data(),
                      static_cast<int>(packet.size()),
                      MPI_BYTE,
                      static_cast<int>(to.value()),
                      packet_tag,
                      communicator_,
                      &request),
            "MPI_Isend (packet)",
            to);
  int has_left = 0;
  const int code = MPI_Test(&request, &has_left, MPI_STATUS_IGNORE);
  if (has_left != 0 && code == MPI_SUCCESS) {
    pool_.recycle(std::move(packet));
    return Post::done;
  }
  requests_.push_back(request);
  packets_.push_back(std::move(packet));
  peers_.push_back(to);
  check_mpi(code, "MPI_Test (packet sent)", to);
  return Post::posted;
}
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

void PacketSends::reap() {
  int over_count = 0;
  check_mpi(MPI_Testsome(
                static_cast<int>(requests_.size()), requests_.data(), &over_count, over_.data(), MPI_STATUSES_IGNORE),
            "MPI_Testsome (packets sent)");
  if (over_count <= 0) {
    return;
  }
  // From the highest index, so that what fills a gap from the end is itself not over.
  const std::span<int> over{over_.data(), static_cast<std::size_t>(over_count)};
  std::ranges::sort(over, std::greater{});
  for (const int index : over) {
    const auto gap = static_cast<std::size_t>(index);
    pool_.recycle(std::move(packets_[gap]));
    requests_[gap] = requests_.back();
    packets_[gap] = std::move(packets_.back());
    peers_[gap] = peers_.back();
    requests_.pop_back();
    packets_.pop_back();
    peers_.pop_back();
  }
}

void PacketSends::close(GiveUpTime deadline) noexcept {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] != MPI_REQUEST_NULL && !ends_before(requests_[i], deadline)) {
      leave_behind(std::move(packets_[i]));
    }
  }
}

}  // namespace plait::net::detail
