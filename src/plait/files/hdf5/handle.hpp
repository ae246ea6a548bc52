// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <hdf5.h>

namespace plait::files {

/// Owns an HDF5 identifier of any kind.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close closer) noexcept : id_{id}, close_{closer} {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_{std::exchange(other.id_, -1)}, close_{other.close_} {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() { close(); }

  explicit operator bool() const noexcept { return id_ >= 0; }
  [[nodiscard]] hid_t id() const noexcept { return id_; }
  /// Closes now. Returns whether this succeeded.
  bool close() noexcept { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Keeps HDF5 from printing errors while it lives; `hdf5_reason` puts them into `Error`s.
class Hdf5Silence {
 public:
  Hdf5Silence() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Hdf5Silence(const Hdf5Silence&) = delete;
  Hdf5Silence& operator=(const Hdf5Silence&) = delete;
  ~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Returns HDF5's description of its last error.
[[nodiscard]] inline std::string hdf5_reason() {
  std::string text;
  const auto keep_innermost = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    *static_cast<std::string*>(to) = error->desc != nullptr ? error->desc : "";
    return 1;  // the walk begins where the trouble was
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

}  // namespace plait::files
