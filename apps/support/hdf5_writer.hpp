// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include "plait/base/hdf5_handle.hpp"

namespace app {

/// A box of a data set, slowest axis first.
struct Hyperslab {
  std::vector<hsize_t> whole;
  std::vector<hsize_t> first;
  std::vector<hsize_t> count;
};

/// Writes attributes and data sets of one file; every failure becomes a `plait::Error` that names file and place.
class Hdf5Writer {
 public:
  /// `transfer`: a data transfer property list. Borrows all but the name, which is for errors.
  Hdf5Writer(hid_t file, std::string name, hid_t transfer) : file_{file}, name_{std::move(name)}, transfer_{transfer} {}

  /// Made with those above it where they are not there.
  [[nodiscard]] plait::Hdf5Handle group(const std::string& path) const;
  /// What is there: a group or a data set.
  [[nodiscard]] plait::Hdf5Handle open(const std::string& path) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, double value) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, std::uint32_t value) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, std::uint64_t value) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, const std::string& text) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, const char* text) const {
    attribute(at, key, std::string{text});
  }
  void attribute(const plait::Hdf5Handle& at, const char* key, std::span<const double> values) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, std::span<const std::uint64_t> values) const;
  void attribute(const plait::Hdf5Handle& at, const char* key, std::span<const std::string> texts) const;

  /// A data set of which this process writes one box.
  plait::Hdf5Handle dataset(const std::string& path, const Hyperslab& slab, std::span<const double> values) const {
    return dataset(path, slab, values.data(), H5T_NATIVE_DOUBLE);
  }
  plait::Hdf5Handle dataset(const std::string& path,
                            const Hyperslab& slab,
                            std::span<const std::uint64_t> values) const {
    return dataset(path, slab, values.data(), H5T_NATIVE_UINT64);
  }
  plait::Hdf5Handle dataset(const std::string& path, const Hyperslab& slab, std::span<const float> values) const {
    return dataset(path, slab, values.data(), H5T_NATIVE_FLOAT);
  }

 private:
  plait::Hdf5Handle dataset(const std::string& path, const Hyperslab& slab, const void* values, hid_t type) const;
  void put(const plait::Hdf5Handle& at,
           const char* key,
           const plait::Hdf5Handle& space,
           hid_t type,
           const void* value) const;
  void check(bool is_good, const std::string& what) const;

  hid_t file_;
  std::string name_;
  hid_t transfer_;
};

}  // namespace app
