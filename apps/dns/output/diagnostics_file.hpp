// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plait/files/system_file.hpp"

#include "dns/diagnostics.hpp"
#include "dns/physics.hpp"

namespace plait::files {
class Hdf5Reader;
}

namespace dns {

/// Measurements of a run beside those of the flow.
struct RunNotes {
  double time_step = 0;
  double courant = 0;  ///< Of that step.
  double seconds = 0;  ///< Since the run began.
};

/// Measurements of a run over time, in an HDF5 file that is valid at any moment.
///
/// Each number is a data set with one value per row; each spectrum has a row of shells per row. The file has spare
/// rows, filled with NaN. A row is written in place without changes to HDF5's metadata, its time last: after a killed
/// run, the file opens and contains all rows that have a time. A full file is copied into one of twice the capacity,
/// and at the end into one without spare rows, which take its name when complete.
/// On one rank. Throws: `plait::Error` with `io` if the system fails, for example by a full disk.
class DiagnosticsFile {
 public:
  struct Header {
    std::array<std::uint64_t, 3> points{};
    double viscosity = 0;
    double k_max = 0;
    std::size_t shells = 0;
    std::vector<ScalarPhysics> scalars;
  };

  /// A new file, which replaces an existing one.
  DiagnosticsFile(std::filesystem::path file, Header header);

  /// Keeps the existing file's rows of steps before `step`; none if there is no file, or its data sets differ. Must
  /// precede the first `append`.
  void take_over(std::uint64_t step);
  void append(const Diagnostics& row, const RunNotes& notes);
  /// Removes spare rows.
  void finish();

 private:
  struct Column {
    std::string path;
    std::size_t width = 1;
    std::uint64_t offset = 0;  ///< Of its first byte in the file.
    std::vector<double> row;   ///< The next row.
  };

  /// Creates the file with room for `capacity` rows, and copies the first `rows` of the existing file.
  void make(std::uint64_t capacity, std::uint64_t rows);
  [[nodiscard]] static std::vector<double> read(const plait::files::Hdf5Reader& file,
                                                const Column& column,
                                                std::uint64_t rows);

  std::filesystem::path file_;
  Header header_;
  std::vector<Column> columns_;  ///< The first is the time.
  std::uint64_t capacity_ = 0;
  std::uint64_t rows_ = 0;
  std::optional<plait::files::SystemFile> descriptor_;
};

}  // namespace dns
