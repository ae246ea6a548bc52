// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/checkpoints.hpp"

#include <utility>

#include "plait/data/checkpoints/hdf5/checkpoint_files.hpp"
#ifdef PLAIT_WITH_MPI
#include "plait/data/checkpoints/hdf5/mpi/mpi_slab_writer.hpp"
#endif

namespace plait {

namespace {

std::unique_ptr<data::CheckpointStore> make_with(Runtime& runtime,
                                                 const CheckpointOptions& options,
                                                 std::unique_ptr<data::hdf5::SlabWriter> writer) {
  const data::hdf5::CheckpointFolder folder{options.folder, options.name, options.keep};
  return std::make_unique<data::hdf5::CheckpointFiles>(runtime.messages(), folder, std::move(writer));
}

}  // namespace

std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime, const CheckpointOptions& options) {
  return make_with(runtime, options, data::hdf5::make_direct_slab_writer());
}

#ifdef PLAIT_WITH_MPI
std::unique_ptr<data::CheckpointStore> make_checkpoints(Runtime& runtime,
                                                        const CheckpointOptions& options,
                                                        MPI_Comm communicator) {
  return make_with(runtime, options, data::hdf5::make_mpi_slab_writer(communicator));
}
#endif

}  // namespace plait
