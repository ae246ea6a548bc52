// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plait/files/hdf5/attributes.hpp"
#include "plait/files/hdf5/handle.hpp"

namespace plait::files {

/// Reads one HDF5 file on one process. Errors throw `Error` with `bad_input` that names the file and the object.
class Hdf5Reader {
 public:
  enum class Links : bool { all, hard };

  /// Shape and type of a data set.
  struct Facts {
    std::vector<hsize_t> extents;  ///< Slowest axis first; none for a single value.
    H5T_class_t kind = H5T_NO_CLASS;
    std::size_t item_bytes = 0;
    std::uint64_t count = 0;  ///< Of all values.
  };

  /// Throws: `Error` with `io` when there is no such file, `bad_input` when it is no HDF5 file or truncated.
  explicit Hdf5Reader(const std::filesystem::path& file);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Throws: `Error` with `bad_input`, the file's name and `what`.
  [[noreturn]] void fail(const std::string& what) const;

  /// Whether a group or a data set of this path exists.
  [[nodiscard]] bool exists(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> names_in(const std::string& group, Links links = Links::all) const;
  [[nodiscard]] Hdf5Handle dataset(const std::string& path) const;
  [[nodiscard]] Facts facts(const std::string& path) const;

  /// The attributes of a group or a data set that are numbers, lists of numbers or texts.
  [[nodiscard]] Attributes attributes(const std::string& path) const;

  /// Reads all of a data set, or the box at `first` of extents `count`, into contiguous memory, converted to `type`.
  void read(const std::string& path, hid_t type, void* to) const;
  void read(const std::string& path,
            const std::vector<hsize_t>& first,
            const std::vector<hsize_t>& count,
            hid_t type,
            void* to) const;
  /// Reads a data set of one text of fixed length.
  [[nodiscard]] std::string text(const std::string& path) const;

 private:
  void check(bool is_good, const std::string& path) const;

  std::string name_;
  Hdf5Handle file_;
};

}  // namespace plait::files
