// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <nanobind/nanobind.h>

#include "plait/comm/layout.hpp"

namespace plait::python {

/// The memory of a Python object with the buffer protocol, such as a NumPy array. The object keeps the memory, and may
/// not resize it, while the buffer exists.
///
/// Threads: those that hold the GIL, for construction and destruction; any for the rest.
class Buffer {
 public:
  enum class Access : std::uint8_t { read, write };

  /// `what` names the argument in messages.
  ///
  /// Throws: TypeError when `object` has no buffer, or its elements are Python objects; ValueError when it is
  /// read-only, or elements share memory, and `access` is `write`.
  Buffer(nanobind::handle object, Access access, const char* what);
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  ~Buffer() = default;

  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(view_->len); }
  [[nodiscard]] bool is_contiguous() const noexcept;
  /// Throws: ValueError when the elements are not contiguous in C order.
  [[nodiscard]] std::span<std::byte> contiguous() const;
  /// Its elements in C order, wherever they are in memory. Expects: it is not empty.
  [[nodiscard]] comm::Layout layout() const;

 private:
  void check_overlap() const;

  struct Release {
    void operator()(Py_buffer* view) const noexcept;
  };
  std::unique_ptr<Py_buffer, Release> view_;  // of one place: views of bytes have pointers to themselves
  std::string what_;
};

}  // namespace plait::python
