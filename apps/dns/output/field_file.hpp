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

/// Values at this rank's points, in the layout. `name` is the data set's path, such as "velocity/x".
struct PointValues {
  std::string name;
  std::span<const double> values;
};

/// The contents of one file of fields; only layout and values differ between ranks.
struct FieldStep {
  std::uint64_t step = 0;
  double time = 0;
  double viscosity = 0;
  plait::fft::ArrayLayout layout;  ///< Of the points; the box is 2 pi long along each axis.
  std::vector<PointValues> fields;
};

/// `FOLDER/dns-00000100.h5`.
[[nodiscard]] std::filesystem::path field_file(const std::filesystem::path& folder, std::uint64_t step);

/// Writes one HDF5 file, in which each rank writes its own points. Data sets have axes z, y, x, x fastest, as ParaView
/// expects. Attributes of the root: program, format, step, time, viscosity, axes = "zyx", points (of x, y, z).
///
/// The file gets its name when complete. Collective over `communicator`, which must have no communication under way.
/// Returns the file's size in bytes. Error: on all ranks; names file, part and reason, and no file remains. Cost: a
/// copy of one field.
[[nodiscard]] plait::Result<std::uint64_t> write_fields(const std::filesystem::path& file,
                                                        const FieldStep& step,
                                                        Precision precision,
                                                        MPI_Comm communicator);

}  // namespace dns
