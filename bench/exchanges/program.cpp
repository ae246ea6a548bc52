// SPDX-License-Identifier: Apache-2.0
// A plain MPI program for `plait bench predict --programs`, which knows nothing of plait: exchanges of five families
// with computing. `FAMILY REPETITIONS`: rank 0 prints a line "FAMILY SECONDS" for each repetition, from barrier to
// barrier. It prints them all at the end: a line between two barriers would be computing in a recording, and take as
// long as a repetition of the tree.
//   pipeline   items pass from rank to rank; each rank receives, computes and sends one after the other
//   halo       neighbours of a 2-D grid of tiles of uneven sizes; inner cells are computed during the exchange
//   tree       arrays are added up along a binomial tree of messages
//   transpose  blocks of 8 to 64 KiB from all to all, begun at once, and packed before
//   workers    rank 0 gives small pieces of work to whichever rank asks
// Computing is a count of steps, not a time: it takes longer when messages need the processor.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "support/computation.hpp"
#include "support/raw_mpi.hpp"
#include "support/stopwatch.hpp"

namespace {

/// Steps of `bench::compute` that take a microsecond, the same on all ranks.
class Computation {
 public:
  Computation() {
    constexpr double seconds = 1e-3;
    steps_ = bench::computation_of(seconds) / 1000;
    MPI_Bcast(&steps_, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  }
  void compute(std::uint64_t microseconds) const { bench::compute(steps_ * microseconds); }

 private:
  std::uint64_t steps_ = 0;
};

using Buffer = std::vector<std::byte>;

void pipeline(const Computation& work) {
  constexpr int items = 40;
  static Buffer item(96 << 10);
  const bench::RawMpi raw;
  const int rank = bench::RawMpi::rank();
  for (int i = 0; i < items; ++i) {
    if (rank > 0) {
      raw.blocking_receive(rank - 1, 1, item);
    }
    work.compute(600);
    if (rank + 1 < bench::RawMpi::rank_count()) {
      raw.blocking_send(rank + 1, 1, item);
    }
  }
}

/// Cells of a tile along one direction, of 40 to 100 by its place.
int cells_of(int place) {
  return 40 + (place * 37) % 61;
}

void halo(const Computation& work) {
  constexpr int steps = 20;
  constexpr std::size_t bytes_a_cell = 512;
  std::array<int, 2> sizes{};
  MPI_Dims_create(bench::RawMpi::rank_count(), 2, sizes.data());
  const int rank = bench::RawMpi::rank();
  const std::array<int, 2> place{rank / sizes[1], rank % sizes[1]};
  const std::array<int, 2> cells{cells_of(place[0]), cells_of(place[1] + 7)};
  const bench::RawMpi raw;
  static std::map<int, std::array<Buffer, 2>> buffers;
  for (int step = 0; step < steps; ++step) {
    std::vector<MPI_Request> requests;
    for (int side = 0; side < 4; ++side) {
      std::array<int, 2> other = place;
      const int along = side / 2;
      other[along] = (other[along] + (side % 2 == 0 ? 1 : sizes[along] - 1)) % sizes[along];
      const int peer = other[0] * sizes[1] + other[1];
      if (peer == rank) {
        continue;
      }
      auto& [out, in] = buffers[side];
      out.resize(bytes_a_cell * static_cast<std::size_t>(cells[1 - along]));
      in.resize(out.size());  // neighbours share the length of their edge
      requests.push_back(raw.receive(peer, side ^ 1, in));
      requests.push_back(raw.send(peer, side, out));
    }
    work.compute(static_cast<std::uint64_t>(cells[0] * cells[1]) / 8);
    bench::RawMpi::wait_all(requests);
    work.compute(static_cast<std::uint64_t>(cells[0] + cells[1]));
  }
}

void tree(const Computation& /*work*/) {
  constexpr int rounds = 20;
  static std::vector<double> mine(4096);
  static std::vector<double> theirs(mine.size());
  const bench::RawMpi raw;
  const int rank = bench::RawMpi::rank();
  for (int round = 0; round < rounds; ++round) {
    for (int distance = 1; distance < bench::RawMpi::rank_count(); distance *= 2) {
      if (rank % (2 * distance) != 0) {
        raw.blocking_send(rank - distance, 2, std::as_bytes(std::span{mine}));
        break;
      }
      if (rank + distance < bench::RawMpi::rank_count()) {
        raw.blocking_receive(rank + distance, 2, std::as_writable_bytes(std::span{theirs}));
        for (std::size_t i = 0; i < mine.size(); ++i) {
          mine[i] += theirs[i];
        }
      }
    }
  }
}

void transpose(const Computation& work) {
  constexpr std::array<std::size_t, 4> sizes{8 << 10, 16 << 10, 32 << 10, 64 << 10};
  const bench::RawMpi raw;
  const int count = bench::RawMpi::rank_count();
  const int rank = bench::RawMpi::rank();
  static Buffer out(sizes.back() * static_cast<std::size_t>(count));
  static Buffer in(out.size());
  for (int step = 0; step < 12; ++step) {
    const std::size_t bytes = sizes[static_cast<std::size_t>(step) % sizes.size()];
    const auto block = [bytes](Buffer& all, int peer) {
      return std::span{all}.subspan(static_cast<std::size_t>(peer) * bytes, bytes);
    };
    work.compute(bytes / 512);
    std::vector<MPI_Request> requests;
    for (int distance = 1; distance < count; ++distance) {
      const int from = (rank - distance + count) % count;
      requests.push_back(raw.receive(from, 3, block(in, from)));
    }
    for (int distance = 1; distance < count; ++distance) {
      const int to = (rank + distance) % count;
      requests.push_back(raw.send(to, 3, block(out, to)));
    }
    bench::RawMpi::wait_all(requests);
  }
}

/// A piece's number is its tag; an answer to it asks for the next.
void workers(const Computation& work) {
  constexpr int pieces = 200;
  constexpr int last_tag = pieces;
  const int rank = bench::RawMpi::rank();
  const int count = bench::RawMpi::rank_count();
  std::array<std::byte, 64> piece{};
  std::array<std::byte, 256> result{};
  const bench::RawMpi raw;
  if (rank == 0) {
    int given = 0;
    for (int ended = 0; ended < count - 1;) {
      MPI_Status status;
      MPI_Recv(result.data(),
               static_cast<int>(result.size()),
               MPI_BYTE,
               MPI_ANY_SOURCE,
               MPI_ANY_TAG,
               MPI_COMM_WORLD,
               &status);
      const int tag = given < pieces ? given++ : last_tag;
      raw.blocking_send(status.MPI_SOURCE, tag, piece);
      ended += tag == last_tag ? 1 : 0;
    }
    return;
  }
  for (int tag = 0; tag != last_tag;) {
    raw.blocking_send(0, tag, result);
    MPI_Status status;
    MPI_Recv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    tag = status.MPI_TAG;
    if (tag != last_tag) {
      work.compute(static_cast<std::uint64_t>(50 + (tag * 71) % 150));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string_view, void (*)(const Computation&)> families{
      {"pipeline", pipeline}, {"halo", halo}, {"tree", tree}, {"transpose", transpose}, {"workers", workers}};
  const auto family = argc == 3 ? families.find(argv[1]) : families.end();
  if (family == families.end()) {
    std::fprintf(stderr, "usage: bench_exchanges_program pipeline|halo|tree|transpose|workers REPETITIONS\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  const int rank = bench::rank_of(2, 1 << 20);
  {
    const Computation work;
    const int repetitions = std::atoi(argv[2]);
    std::vector<double> seconds;
    seconds.reserve(static_cast<std::size_t>(std::max(repetitions, 0)));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const bench::Stopwatch watch;
      family->second(work);
      MPI_Barrier(MPI_COMM_WORLD);
      seconds.push_back(watch.seconds());
    }
    for (std::size_t i = 0; rank == 0 && i < seconds.size(); ++i) {
      std::printf("%s %.9f\n", argv[1], seconds[i]);
    }
  }
  MPI_Finalize();
  return 0;
}
