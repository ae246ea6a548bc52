// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/mpi/ranks.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "plait/data/serialize.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/exchange.hpp"
#include "plait/trace/clock_alignment.hpp"

namespace plait::replay {
namespace {

using net::detail::check_mpi;

/// The largest message; more bytes are sent in several.
constexpr std::size_t segment_bytes = std::size_t{1} << 28U;
constexpr int tag = 1;

void send_bytes(MPI_Comm ranks, int to, std::span<const std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  check_mpi(MPI_Send(&size, sizeof size, MPI_BYTE, to, tag, ranks), "MPI_Send");
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), segment_bytes))) {
    const int count = static_cast<int>(std::min(bytes.size(), segment_bytes));
    check_mpi(MPI_Send(bytes.data(), count, MPI_BYTE, to, tag, ranks), "MPI_Send");
  }
}

Bytes receive_bytes(MPI_Comm ranks, int from) {
  std::uint64_t size = 0;
  check_mpi(MPI_Recv(&size, sizeof size, MPI_BYTE, from, tag, ranks, MPI_STATUS_IGNORE), "MPI_Recv");
  Bytes bytes(size);
  for (std::span<std::byte> rest{bytes}; !rest.empty(); rest = rest.subspan(std::min(rest.size(), segment_bytes))) {
    const int count = static_cast<int>(std::min(rest.size(), segment_bytes));
    check_mpi(MPI_Recv(rest.data(), count, MPI_BYTE, from, tag, ranks, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  return bytes;
}

}  // namespace

Rank rank_in(MPI_Comm ranks) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(ranks, &rank), "MPI_Comm_rank");
  return Rank{static_cast<std::uint32_t>(rank)};
}

std::uint32_t size_of(MPI_Comm ranks) {
  int size = 0;
  check_mpi(MPI_Comm_size(ranks, &size), "MPI_Comm_size");
  return static_cast<std::uint32_t>(size);
}

RankPart hand_out(MPI_Comm ranks, const std::vector<RankPart>& parts) {
  if (rank_in(ranks) != Rank{0}) {
    return data::unpack_as<RankPart>(receive_bytes(ranks, 0));
  }
  for (int rank = 1; std::cmp_less(rank, size_of(ranks)); ++rank) {
    send_bytes(ranks, rank, data::pack(parts.at(static_cast<std::size_t>(rank))));
  }
  return parts.at(0);
}

std::string broadcast_text(MPI_Comm ranks, const std::string& text) {
  const Bytes of_rank_0 = net::mpi_exchange(ranks)(std::as_bytes(std::span{text})).front();
  return {reinterpret_cast<const char*>(of_rank_0.data()), of_rank_0.size()};
}

void throw_together(MPI_Comm ranks, const std::string& sentence, ErrorCode code) {
  net::agree(net::mpi_exchange(ranks), [&] {
    if (!sentence.empty()) {
      throw Error{code, sentence};
    }
  });
}

std::vector<Bytes> gather_bytes(MPI_Comm ranks, std::span<const std::byte> mine) {
  if (rank_in(ranks) != Rank{0}) {
    send_bytes(ranks, 0, mine);
    return {};
  }
  std::vector<Bytes> all;
  all.emplace_back(mine.begin(), mine.end());
  for (int rank = 1; std::cmp_less(rank, size_of(ranks)); ++rank) {
    all.push_back(receive_bytes(ranks, rank));
  }
  return all;
}

void record_clock(MPI_Comm ranks, trace::Recorder& recorder) {
  constexpr int exchanges = 16;
  trace::ThreadRecorder& trace = recorder.thread(WorkerId{}, "clock");
  nanoseconds::rep time = 0;
  const auto send = [&](int to) { check_mpi(MPI_Send(&time, sizeof time, MPI_BYTE, to, tag, ranks), "MPI_Send"); };
  const auto receive = [&](int from) {
    check_mpi(MPI_Recv(&time, sizeof time, MPI_BYTE, from, tag, ranks, MPI_STATUS_IGNORE), "MPI_Recv");
  };
  if (rank_in(ranks) == Rank{0}) {
    trace.clock({.time = recorder.now()});
    for (int rank = 1; std::cmp_less(rank, size_of(ranks)); ++rank) {
      for (int i = 0; i < exchanges; ++i) {
        receive(rank);
        time = recorder.now().count();
        send(rank);
      }
    }
    return;
  }
  trace::ClockEvent best{.round_trip = nanoseconds::max()};
  for (int i = 0; i < exchanges; ++i) {
    const nanoseconds before = recorder.now();
    send(0);
    receive(0);
    const trace::ClockEvent measured = trace::clock_exchange(before, nanoseconds{time}, recorder.now());
    best = measured.round_trip < best.round_trip ? measured : best;
  }
  trace.clock(best);
}

}  // namespace plait::replay
