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

namespace plait::files {
class Hdf5Reader;
}

namespace dns {

/// What is noted of a run beside what is measured of the flow.
struct RunNotes {
  double time_step = 0;
  double courant = 0;  ///< Of that step.
  double seconds = 0;  ///< Since the run began.
};

/// Measurements of a run over time, in an HDF5 file that is whole at any moment.
///
/// A data set for each number, one value a row, and for each spectrum, one row of shells a row. The file is made with
/// room for more rows, filled with NaN; a row is written into its places without touching HDF5's tables, its time last,
/// so that a run that is killed leaves a file that opens, with all rows that have a time. When there is no room it is
/// copied into one with twice as much, and at the end into one with none, under another name until whole.
/// On one rank. Throws: `plait::Error` with `io` when the system refuses, as by a full disk.
class DiagnosticsFile {
 public:
  struct Header {
    std::array<std::uint64_t, 3> points{};
    double viscosity = 0;
    double k_max = 0;
    std::size_t shells = 0;
    std::vector<std::string> scalars;
    std::vector<double> schmidt;  ///< Of each scalar.
  };

  /// A new file, in the place of one that may be there.
  DiagnosticsFile(std::filesystem::path file, Header header);

  /// Takes over the rows of steps before `step` that the file had. Before the first `append`; not found or of another
  /// run's shape: none are.
  void take_over(std::uint64_t step);
  void append(const Diagnostics& row, const RunNotes& notes);
  /// Gives room back that no row needs.
  void finish();

 private:
  struct Column {
    std::string path;
    std::size_t width = 1;
    std::uint64_t offset = 0;  ///< Of its first byte in the file.
    std::vector<double> row;   ///< What is to be written next.
  };

  void put(const std::string& path, double value) { put(path, std::vector<double>{value}); }
  void put(const std::string& path, const std::vector<double>& values);
  /// Creates the file with room for so many rows, and the first ones of the file that exists.
  void make(std::uint64_t capacity, std::uint64_t rows);
  [[nodiscard]] static std::vector<double> read(const plait::files::Hdf5Reader& file,
                                                const Column& column,
                                                std::uint64_t rows);

  std::filesystem::path file_;
  Header header_;
  std::vector<Column> columns_;  ///< The first is the time.
  std::uint64_t capacity_ = 0;
  std::uint64_t rows_ = 0;
  bool is_made_ = false;
  std::optional<plait::files::SystemFile> descriptor_;
};

}  // namespace dns
