// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/hdf5/mpi/mpi_slab_writer.hpp"

#include <algorithm>

#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/files/hdf5/mpi/mpi_ranks.hpp"

namespace plait::data::hdf5 {

#ifdef H5_HAVE_PARALLEL
namespace {

/// MPI counts are of type int.
constexpr std::uint64_t round_bytes_max = std::uint64_t{256} << 20U;

hid_t type_of(std::uint32_t item_bytes) {
  return item_bytes == 8 ? H5T_NATIVE_UINT64 : item_bytes == 4 ? H5T_NATIVE_UINT32 : H5T_NATIVE_UINT8;
}

/// All ranks make the same number of rounds, as HDF5 waits for all of them in each.
void write_slab(files::Hdf5Writer& out, const Slab& slab) {
  const files::Hdf5Handle set = out.open(slab.dataset);
  const std::uint64_t round_items = round_bytes_max / slab.item_bytes;
  const std::uint64_t items = slab.data.size() / slab.item_bytes;
  for (std::uint64_t done = 0; done < slab.largest_bytes / slab.item_bytes; done += round_items) {
    const hsize_t count = done < items ? std::min(round_items, items - done) : 0;
    const std::byte* const from = slab.data.data() + (count > 0 ? done * slab.item_bytes : 0);
    out.write(set, {{}, {slab.first + done}, {count}}, {from, type_of(slab.item_bytes)});
  }
}

class MpiSlabWriter final : public SlabWriter {
 public:
  explicit MpiSlabWriter(MPI_Comm communicator) : writers_{communicator} {}

  void write(const comm::Group& ranks, const std::filesystem::path& file, std::span<const Slab> slabs) override {
    // A rank inside HDF5 makes no progress on messages that others may need to get here.
    comm::barrier(ranks).wait();
    ranks.endpoint().drain();
    const auto lock = ranks.endpoint().hold();
    files::update_hdf5(file, writers_, [&](files::Hdf5Writer& out) {
      for (const Slab& slab : slabs) {
        write_slab(out, slab);
      }
      out.flush();
    });
  }

 private:
  files::MpiRanks writers_;
};

}  // namespace

std::unique_ptr<SlabWriter> make_mpi_slab_writer(MPI_Comm communicator) {
  return std::make_unique<MpiSlabWriter>(communicator);
}

#else

std::unique_ptr<SlabWriter> make_mpi_slab_writer(MPI_Comm) {
  return nullptr;
}

#endif

}  // namespace plait::data::hdf5
