// SPDX-License-Identifier: Apache-2.0
#include "plait/data/hdf5/mpi/mpi_slab_writer.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <hdf5.h>

#include "plait/base/error.hpp"
#include "plait/base/hdf5_handle.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::data::hdf5 {

#ifdef H5_HAVE_PARALLEL
namespace {

/// MPI counts with ints.
constexpr std::uint64_t round_bytes_max = std::uint64_t{256} << 20U;

hid_t type_of(std::uint32_t item_bytes) {
  return item_bytes == 8 ? H5T_NATIVE_UINT64 : item_bytes == 4 ? H5T_NATIVE_UINT32 : H5T_NATIVE_UINT8;
}

class MpiSlabWriter final : public SlabWriter {
 public:
  explicit MpiSlabWriter(MPI_Comm communicator) : communicator_{communicator} {}

  void write(const comm::Group& ranks, const std::filesystem::path& file, std::span<const Slab> slabs) override {
    // Whoever waits inside HDF5 passes on no message that another rank needs to come here.
    comm::barrier(ranks).wait();
    ranks.endpoint().drain();
    const auto lock = ranks.endpoint().hold();
    const Hdf5Silence silence;
    trouble_.clear();
    const Hdf5Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
    H5Pset_fapl_mpio(access.id(), communicator_, MPI_INFO_NULL);
    const Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
    H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
    Hdf5Handle out{H5Fopen(file.c_str(), H5F_ACC_RDWR, access.id()), H5Fclose};
    note(static_cast<bool>(out), "opened");
    if (out) {  // on all ranks or on none: opening is collective
      for (const Slab& slab : slabs) {
        write(out.id(), slab, transfer.id());
      }
      note(H5Fflush(out.id(), H5F_SCOPE_GLOBAL) >= 0, "brought to the disk");
      note(out.close(), "closed");
    }
    if (!trouble_.empty()) {
      throw Error{ErrorCode::io, fmt::format("{}: {}; is the disk full?", file.string(), trouble_)};
    }
  }
  [[nodiscard]] const char* name() const noexcept override { return "MPI-IO"; }

 private:
  /// Takes part in all rounds, whatever happens in one: others wait for this rank.
  void write(hid_t file, const Slab& slab, hid_t transfer) {
    const Hdf5Handle set{H5Dopen2(file, slab.dataset.c_str(), H5P_DEFAULT), H5Dclose};
    note(static_cast<bool>(set), "found to have its data sets");
    if (!set) {
      return;
    }
    const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
    const std::uint64_t round_items = round_bytes_max / slab.item_bytes;
    const std::uint64_t items = slab.data.size() / slab.item_bytes;
    for (std::uint64_t done = 0; done < slab.largest_bytes / slab.item_bytes; done += round_items) {
      const hsize_t count = done < items ? std::min(round_items, items - done) : 0;
      const hsize_t begin = slab.first + done;
      const Hdf5Handle memory{H5Screate_simple(1, &count, nullptr), H5Sclose};
      if (count > 0) {
        H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
      } else {
        H5Sselect_none(space.id());
      }
      const std::byte* const from = slab.data.data() + (count > 0 ? done * slab.item_bytes : 0);
      note(H5Dwrite(set.id(), type_of(slab.item_bytes), memory.id(), space.id(), transfer, from) >= 0, "written");
    }
  }
  void note(bool is_good, const char* what) {
    if (!is_good && trouble_.empty()) {
      trouble_ = fmt::format("cannot be {}: {}", what, hdf5_reason());
    }
  }

  MPI_Comm communicator_;
  std::string trouble_;  ///< The first.
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
