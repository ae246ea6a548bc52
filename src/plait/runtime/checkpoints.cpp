// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/checkpoints.hpp"

#include <utility>

#include "plait/base/error.hpp"

#ifdef PLAIT_WITH_HDF5
#include "plait/data/hdf5/checkpoint_files.hpp"
#ifdef PLAIT_WITH_MPI
#include "plait/data/hdf5/mpi/mpi_slab_writer.hpp"
#endif
#endif

namespace plait {

#ifdef PLAIT_WITH_HDF5

namespace {

std::unique_ptr<data::CheckpointStore> make_with(Runtime& runtime,
                                                 const CheckpointOptions& options,
                                                 std::unique_ptr<data::hdf5::SlabWriter> writer) {
  const data::hdf5::CheckpointFolder folder{options.folder, options.name, options.keep};
  return std::make_unique<data::hdf5::CheckpointFiles>(
      runtime.messages(), folder, writer ? std::move(writer) : data::hdf5::make_direct_slab_writer());
}

}  // namespace

std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime, const CheckpointOptions& options) {
  return make_with(runtime, options, nullptr);
}

#ifdef PLAIT_WITH_MPI
std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime,
                                                        const CheckpointOptions& options,
                                                        MPI_Comm communicator) {
  return make_with(runtime, options, data::hdf5::make_mpi_slab_writer(communicator));
}
#endif

#else

std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime&, const CheckpointOptions&) {
  throw Error{ErrorCode::bad_argument,
              "plait was built without HDF5, so it writes and reads no checkpoints: install HDF5 and zlib (Debian: "
              "libhdf5-openmpi-dev zlib1g-dev) and build it again"};
}

#ifdef PLAIT_WITH_MPI
std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime, const CheckpointOptions& options, MPI_Comm) {
  return make_checkpoints(runtime, options);
}
#endif

#endif

}  // namespace plait
