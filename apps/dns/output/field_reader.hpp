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
  bool has_axes = true;                        ///< Whether the file has the order of its axes; else z, y, x is assumed.
  bool is_x_first = false;                     ///< Axes are x, y, z: x is slowest.
  std::vector<std::string> scalars;
};

/// Values that are no finite numbers.
struct NotNumbers {
  std::uint64_t count = 0;
  std::array<plait::fft::Index, 3> first{};  ///< Indices x, y, z of one of them.
};

/// A file that holds a velocity at points: data sets velocity/x, velocity/y and velocity/z of three axes, and
/// scalars/NAME; what `write_fields` writes, or anything else does. The root's attribute `axes` is "zyx" or "xyz";
/// values are single or double precision. Every rank opens it by itself.
class FieldReader {
 public:
  /// Throws: `plait::Error` with `bad_input` that names what is wrong: no such file, no HDF5 file, cut short, data sets
  /// that are missing, of other sizes or of another type.
  explicit FieldReader(std::filesystem::path file);

  [[nodiscard]] const FieldFacts& facts() const noexcept { return facts_; }
  /// Reads the points of `layout`, whose lengths are the file's, into its place in memory. Returns which values are
  /// not finite. Throws: `plait::Error` with `bad_input`.
  NotNumbers read(const std::string& name, const plait::fft::ArrayLayout& layout, std::span<double> to) const;

 private:
  std::filesystem::path file_;
  FieldFacts facts_;
};

}  // namespace dns
