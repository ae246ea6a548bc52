// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/files/hdf5/handle.hpp"

namespace plait::files {

/// A box of a data set; each list has one entry for each axis, slowest first.
struct Hyperslab {
  std::vector<hsize_t> whole;  ///< Extents of the data set.
  std::vector<hsize_t> first;
  std::vector<hsize_t> count;

  [[nodiscard]] bool is_empty() const noexcept;
};

/// Numbers of a data set, with their types in memory and in the file.
struct Hdf5Numbers {
  const void* values = nullptr;
  hid_t type = H5I_INVALID_HID;
  hid_t file_type = H5I_INVALID_HID;

  Hdf5Numbers(const void* from, hid_t both) : values{from}, type{both}, file_type{both} {}
  Hdf5Numbers(const void* from, hid_t in_memory, hid_t in_file) : values{from}, type{in_memory}, file_type{in_file} {}
  Hdf5Numbers(std::span<const double> all) : Hdf5Numbers{all.data(), H5T_NATIVE_DOUBLE} {}         // NOLINT
  Hdf5Numbers(std::span<const float> all) : Hdf5Numbers{all.data(), H5T_NATIVE_FLOAT} {}           // NOLINT
  Hdf5Numbers(std::span<const std::uint64_t> all) : Hdf5Numbers{all.data(), H5T_NATIVE_UINT64} {}  // NOLINT
};

/// Creates groups, attributes and data sets of an open file.
///
/// After an error, later calls still run, as other ranks may wait for them inside HDF5; `throw_if_failed` reports the
/// first error. Where ranks write in turn, the first creates everything and the others add their slabs.
class Hdf5Writer {
 public:
  enum class Mode : std::uint8_t {
    create,
    fill,  ///< Everything exists: fills data sets, opens groups, ignores attributes and links.
  };

  /// Borrows `file` and `transfer`, a data transfer property list; `name` is for errors.
  Hdf5Writer(hid_t file, std::string name, hid_t transfer = H5P_DEFAULT, Mode mode = Mode::create)
      : file_{file}, name_{std::move(name)}, transfer_{transfer}, mode_{mode} {}

  /// Creates a group and missing groups above it.
  Hdf5Handle group(const std::string& path);
  /// Opens a group or a data set.
  [[nodiscard]] Hdf5Handle open(const std::string& path);
  /// Creates a soft link.
  void link(const std::string& path, const std::string& target);

  void attribute(const Hdf5Handle& at, const std::string& key, double value);
  void attribute(const Hdf5Handle& at, const std::string& key, std::uint32_t value);
  void attribute(const Hdf5Handle& at, const std::string& key, std::uint64_t value);
  void attribute(const Hdf5Handle& at, const std::string& key, const std::string& text);
  void attribute(const Hdf5Handle& at, const std::string& key, const char* text) {
    attribute(at, key, std::string{text});
  }
  void attribute(const Hdf5Handle& at, const std::string& key, std::span<const double> values);
  void attribute(const Hdf5Handle& at, const std::string& key, std::span<const std::uint64_t> values);
  void attribute(const Hdf5Handle& at, const std::string& key, std::span<const std::string> texts);

  /// Creates a data set and writes this rank's box of it.
  Hdf5Handle dataset(const std::string& path, const Hyperslab& slab, const Hdf5Numbers& numbers);
  /// Creates a data set of one value or text.
  void scalar(const std::string& path, const Hdf5Numbers& number);
  void scalar(const std::string& path, const std::string& text);
  /// Creates a contiguous data set and allocates it. Returns the offset of its first byte in the file, 0 for an empty
  /// one. `fill` is a value of `type` for all elements; null leaves them unset.
  std::uint64_t reserve(const std::string& path, std::span<const hsize_t> extents, hid_t type, const void* fill);
  /// Writes a box of an existing data set.
  void write(const Hdf5Handle& set, const Hyperslab& slab, const Hdf5Numbers& numbers);

  /// Flushes the file. Collective where several ranks have it open.
  void flush() { check(H5Fflush(file_, H5F_SCOPE_GLOBAL) >= 0, "to the disk"); }

  /// Stores the error that `what` cannot be written, unless `is_good`.
  void check(bool is_good, const std::string& what);
  /// Whether a call has failed.
  [[nodiscard]] bool has_failed() const noexcept { return !trouble_.empty(); }
  /// Throws: `Error` with `io`, the file, the object and HDF5's reason, when a call has failed.
  void throw_if_failed() const;

 private:
  void put(const Hdf5Handle& at, const std::string& key, const Hdf5Handle& space, const Hdf5Numbers& values);

  hid_t file_;
  std::string name_;
  hid_t transfer_;
  Mode mode_;
  std::string trouble_;  ///< The first.
};

}  // namespace plait::files
