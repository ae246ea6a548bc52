// SPDX-License-Identifier: Apache-2.0
// What a checkpoint costs: gigabytes a second that are written to the disk and read, beside HDF5 alone, which writes as
// many bytes through MPI-IO; and copies in the partner's memory, beside MPI_Sendrecv. All writers flush to the disk.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"
#include "support/turns.hpp"

namespace {

using plait::Bytes;
using plait::data::Checkpoint;
using plait::data::ElementId;

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

struct Load {
  std::size_t elements = 64;  ///< Of each rank.
  std::size_t element_bytes = mebibyte / 2;
  [[nodiscard]] std::size_t rank_bytes() const { return elements * element_bytes; }
};

Checkpoint make_checkpoint(const plait::Runtime& runtime, const Load& load) {
  Checkpoint checkpoint{.program = "bench"};
  plait::data::PackedElements& mine = checkpoint.collections.emplace_back();
  mine.collection = "elements";
  for (std::size_t i = 0; i < load.elements; ++i) {
    mine.add(ElementId{runtime.self().value() * load.elements + i},
             Bytes(load.element_bytes, static_cast<std::byte>(i)));
  }
  return checkpoint;
}

/// HDF5 as a program calls it: one data set, one collective write of each rank's part, flushed.
void write_with_hdf5(const std::filesystem::path& file, std::span<const std::byte> mine) {
#ifdef H5_HAVE_PARALLEL
  const int rank = bench::RawMpi::rank();
  const int ranks = bench::RawMpi::rank_count();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t out = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t all = mine.size() * static_cast<std::size_t>(ranks);
  const hsize_t count = mine.size();
  const hsize_t first = count * static_cast<hsize_t>(rank);
  const hid_t space = H5Screate_simple(1, &all, nullptr);
  const hid_t memory = H5Screate_simple(1, &count, nullptr);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr);
  const hid_t set = H5Dcreate2(out, "bytes", H5T_NATIVE_UINT8, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  H5Dwrite(set, H5T_NATIVE_UINT8, memory, space, transfer, mine.data());
  H5Fflush(out, H5F_SCOPE_GLOBAL);
  H5Pclose(transfer);
  H5Dclose(set);
  H5Sclose(memory);
  H5Sclose(space);
  H5Fclose(out);
  H5Pclose(access);
#else
  (void)file;
  (void)mine;
#endif
}

/// As dd with conv=fsync: rank 0 writes all bytes.
void write_plainly(const std::filesystem::path& file, std::span<const std::byte> mine) {
  const int rank = bench::RawMpi::rank();
  const int ranks = bench::RawMpi::rank_count();
  if (rank != 0) {
    return;
  }
  const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (int part = 0; part < ranks; ++part) {
    for (std::size_t at = 0; at < mine.size(); at += mebibyte) {
      (void)!::write(out, mine.data() + at, std::min(mebibyte, mine.size() - at));
    }
  }
  ::fsync(out);
  ::close(out);
}

void exchange_plainly(std::span<const std::byte> mine, Bytes& theirs) {
  const int rank = bench::RawMpi::rank();
  const int ranks = bench::RawMpi::rank_count();
  const int away = std::max(1, ranks / 2);
  theirs = Bytes(mine.size());
  MPI_Sendrecv(mine.data(),
               static_cast<int>(mine.size()),
               MPI_BYTE,
               (rank + away) % ranks,
               0,
               theirs.data(),
               static_cast<int>(theirs.size()),
               MPI_BYTE,
               (rank + ranks - away) % ranks,
               0,
               MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/// Gigabytes a second of all ranks, by the slowest rank.
double gigabytes_a_second(double bytes, const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  work();
  double seconds = watch.seconds();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return bytes / seconds * 1e-9;
}

class Bench {
 public:
  Bench(bench::Report& report, plait::Runtime& runtime, std::filesystem::path folder)
      : report_{report},
        folder_{std::move(folder)},
        load_{.elements = report.is_full() ? 512U : 64U},
        checkpoint_{make_checkpoint(runtime, load_)},
        direct_{plait::make_checkpoints(runtime, {.folder = folder_ / "direct"})},
        collective_{plait::make_checkpoints(runtime, {.folder = folder_ / "mpi"}, MPI_COMM_WORLD)},
        copies_{runtime.messages()} {
    bytes_ = static_cast<double>(load_.rank_bytes()) * runtime.rank_count();
    const std::span<const std::byte> mine{checkpoint_.collections[0].bytes};
    const auto add = [this](const char* name, const std::function<void()>& work) {
      turns_.add(name, [this, work] { return gigabytes_a_second(bytes_, work); });
    };
    add("written by each rank", [this] { write(*direct_); });
    add("written through MPI-IO", [this] { write(*collective_); });
    add("HDF5 alone", [this, mine] { write_with_hdf5(folder_ / "alone.h5", mine); });
    add("write and fsync by one rank", [this, mine] { write_plainly(folder_ / "plain", mine); });
    add("read", [this] { (void)direct_->read_newest("bench", {}); });
    add("copied to a partner", [this] { copies_.copy(checkpoint_); });
    add("MPI_Sendrecv", [this, mine] { exchange_plainly(mine, theirs_); });
  }

  void run() {
    turns_.run(report_.is_full() ? 9 : 5);
    add("written by each rank", "HDF5 alone", "write and fsync by one rank");
    add("written through MPI-IO", "HDF5 alone", "write and fsync by one rank");
    add("read", "", "");
    add("copied to a partner", "MPI_Sendrecv", "");
  }

 private:
  void write(plait::data::CheckpointStore& store) {
    ++checkpoint_.step;
    (void)store.write(checkpoint_);
  }
  void add(const std::string& name, const std::string& peer, const std::string& bound) {
    const auto value = [this](const std::string& of) {
      return of.empty() ? std::nullopt : std::optional{bench::median(turns_[of])};
    };
    const std::map<std::string, std::string> params{{"MiB a rank", std::to_string(load_.rank_bytes() / mebibyte)}};
    report_.add({name, params, turns_[name], "GB/s", peer, value(peer), bound, value(bound)});
  }

  bench::Report& report_;
  std::filesystem::path folder_;
  Load load_;
  Checkpoint checkpoint_;
  std::unique_ptr<plait::data::CheckpointStore> direct_;
  std::unique_ptr<plait::data::CheckpointStore> collective_;
  plait::data::BuddyCopies copies_;
  Bytes theirs_;
  double bytes_ = 0;
  bench::Turns turns_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "checkpoint", "what checkpoints and copies in memory take, beside HDF5 and MPI alone", 2, argc, argv};
  const plait::MpiSession session{argc, argv, true};
  plait::Runtime runtime{MPI_COMM_WORLD};
  int process = static_cast<int>(getpid());
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("plait-bench-checkpoint-{}", process);
  if (runtime.self() == plait::Rank{0}) {
    std::filesystem::create_directories(folder);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Bench{report, runtime, folder}.run();
  MPI_Barrier(MPI_COMM_WORLD);
  if (runtime.self() == plait::Rank{0}) {
    std::filesystem::remove_all(folder);
    report.finish();
  }
}
