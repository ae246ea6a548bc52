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

/// The files of fields of a folder as one XDMF document, `dns.xdmf`, which ParaView and VisIt open as a series in time.
/// On one rank.
class TimeSeries {
 public:
  /// What is the same in all files.
  struct Contents {
    std::array<plait::fft::Index, 3> lengths{};
    std::vector<std::string>
        fields;  ///< Paths of data sets, as "velocity/x"; those of one group with x, y, z are a vector.
  };

  TimeSeries(std::filesystem::path folder, Contents contents);

  /// Takes in the files that are there already, of steps up to `last`; removes those after, of what was given up.
  void take_in(std::uint64_t last);
  /// Another file, of this time. Writes the document anew, under another name until it is whole.
  /// Throws: `plait::Error` with `io`.
  void add(std::uint64_t step, double time, Precision precision);

  /// The document.
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    std::uint64_t step = 0;
    double time = 0;
    Precision precision = Precision::full;
  };
  /// Throws: `plait::Error` when the file is not one of fields.
  [[nodiscard]] Entry read_entry(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  Contents contents_;
  std::vector<Entry> entries_;
};

}  // namespace dns
