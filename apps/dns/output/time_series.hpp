// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/output/field_file.hpp"

namespace dns {

/// The files of fields of a folder as one XDMF document, `dns.xdmf`, which ParaView and VisIt open as a time series.
/// On one rank.
class TimeSeries {
 public:
  /// `lengths`: points along x, y, z. `fields`: paths of the data sets of all files, such as "velocity/x"; those of one
  /// group with x, y, z are a vector.
  TimeSeries(std::filesystem::path folder,
             const std::array<plait::fft::Index, 3>& lengths,
             std::vector<std::string> fields);

  /// Adds existing files of steps up to `last`, and removes those of later steps, which the restarted run replaces.
  void take_in(std::uint64_t last);
  /// Adds a file, and replaces the document. Throws: `plait::Error` with `io`.
  void add(std::uint64_t step, double time, Precision precision);

 private:
  struct Entry {
    std::uint64_t step = 0;
    double time = 0;
    Precision precision = Precision::full;
  };
  /// Throws: `plait::Error` if it is not a file of fields.
  [[nodiscard]] Entry read_entry(const std::filesystem::path& file) const;
  [[nodiscard]] std::string text() const;

  std::filesystem::path folder_;
  std::array<plait::fft::Index, 3> lengths_;
  std::vector<std::string> fields_;
  std::vector<Entry> entries_;
};

}  // namespace dns
