// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

namespace dns {

enum class Precision : std::uint8_t { single, full };

/// Values at this rank's points, in the layout; `name` is the data set's path, as "velocity/x".
struct PointValues {
  std::string name;
  std::span<const double> values;
};

/// What one file of fields has; on all ranks the same but for layout and values.
struct FieldStep {
  std::uint64_t step = 0;
  double time = 0;
  double viscosity = 0;
  plait::fft::ArrayLayout layout;  ///< Of the points; the box is 2 pi long along each axis.
  std::vector<PointValues> fields;
};

/// `FOLDER/dns-00000100.h5`.
[[nodiscard]] std::filesystem::path field_file(const std::filesystem::path& folder, std::uint64_t step);

/// Writes one HDF5 file, all ranks at once, each its own points. Data sets have axes z, y, x, as ParaView wants them:
/// x runs fastest. Attributes of the root: program, format, step, time, viscosity, axes = "zyx", points (of x, y, z).
///
/// Under another name until it is whole. Collective over `communicator`, which must be quiet. Returns the file's size
/// in bytes. Error: on all ranks, names file, part and reason; nothing is left behind. Cost: a copy of one field.
[[nodiscard]] plait::Result<std::uint64_t> write_fields(const std::filesystem::path& file,
                                                        const FieldStep& step,
                                                        Precision precision,
                                                        MPI_Comm communicator);

}  // namespace dns
