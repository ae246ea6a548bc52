// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/output/field_file.hpp"

namespace dns {

/// The contents of a file of fields.
struct FieldFacts {
  std::array<plait::fft::Index, 3> lengths{};  ///< Points along x, y, z.
  Precision precision = Precision::full;       ///< Of the least precise component of the velocity.
  bool has_axes = true;                        ///< The file names the order of its axes; else z, y, x is assumed.
  bool is_x_first = false;                     ///< Axes are x, y, z: x is slowest.
  std::vector<std::string> scalars;
};

/// Values that are not finite.
struct NotNumbers {
  std::uint64_t count = 0;
  std::array<plait::fft::Index, 3> first{};  ///< Indices x, y, z of one of them.
};

/// Reads a file with a velocity at points, written by `write_fields` or another program: data sets velocity/x,
/// velocity/y, velocity/z and scalars/NAME, each of three axes. The root's attribute `axes` is "zyx" or "xyz"; values
/// are single or double precision. Each rank opens the file independently.
class FieldReader {
 public:
  /// Throws: `plait::Error` with `bad_input` that names the problem: a missing, truncated or non-HDF5 file, or data
  /// sets that are missing or of a wrong size or type.
  explicit FieldReader(std::filesystem::path file);

  [[nodiscard]] const FieldFacts& facts() const noexcept { return facts_; }
  /// Reads this rank's points into `to`. The lengths of `layout` are the file's. Returns which values are not finite.
  /// Throws: `plait::Error` with `bad_input`.
  NotNumbers read(const std::string& name, const plait::fft::ArrayLayout& layout, std::span<double> to) const;

 private:
  std::filesystem::path file_;
  FieldFacts facts_;
};

}  // namespace dns
