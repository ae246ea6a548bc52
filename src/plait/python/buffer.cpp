// SPDX-License-Identifier: Apache-2.0
#include "plait/python/buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace plait::python {

namespace nb = nanobind;

namespace {

/// As Python's str().
std::string text_of(const nb::object& object) {
  const auto text = nb::steal<nb::object>(PyObject_Str(object.ptr()));
  const char* const characters = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (characters == nullptr) {
    throw nb::python_error();
  }
  return characters;
}

/// The type of `object`, with its element type where it has one.
std::string type_of(nb::handle object) {
  std::string name = text_of(object.type().attr("__name__"));
  if (nb::hasattr(object, "dtype")) {
    name += fmt::format(" of {}", text_of(object.attr("dtype")));
  }
  return name;
}

struct Axis {
  std::size_t count;
  std::ptrdiff_t stride;  ///< In bytes.
};

/// Contiguous blocks of equal size, at the places that the axes define; the last axis varies fastest.
struct Blocks {
  std::vector<Axis> axes;
  std::size_t bytes;
};

/// Joins what is contiguous into blocks, and axes that continue each other into one.
Blocks blocks_of(const Py_buffer& view) {
  std::vector<Axis> axes;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.shape[i] != 1) {
      axes.push_back({static_cast<std::size_t>(view.shape[i]), view.strides[i]});
    }
  }
  auto bytes = static_cast<std::size_t>(view.itemsize);
  while (!axes.empty() && axes.back().stride == static_cast<std::ptrdiff_t>(bytes)) {
    bytes *= axes.back().count;
    axes.pop_back();
  }
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    if (!joined.empty() && joined.back().stride == axis.stride * static_cast<std::ptrdiff_t>(axis.count)) {
      joined.back() = {joined.back().count * axis.count, axis.stride};
    } else {
      joined.push_back(axis);
    }
  }
  return {std::move(joined), bytes};
}

/// The blocks of all axes but the first, from the address of one of its elements.
std::shared_ptr<const comm::LayoutPattern> pattern_of(const Blocks& blocks) {
  std::vector<std::ptrdiff_t> places{0};
  for (std::size_t i = 1; i < blocks.axes.size(); ++i) {
    std::vector<std::ptrdiff_t> inner;
    inner.reserve(places.size() * blocks.axes[i].count);
    for (const std::ptrdiff_t place : places) {
      for (std::size_t k = 0; k < blocks.axes[i].count; ++k) {
        inner.push_back(place + static_cast<std::ptrdiff_t>(k) * blocks.axes[i].stride);
      }
    }
    places = std::move(inner);
  }
  std::vector<comm::LayoutPattern::Block> found;
  found.reserve(places.size());
  for (const std::ptrdiff_t place : places) {
    found.push_back({place, blocks.bytes});
  }
  return std::make_shared<const comm::LayoutPattern>(found);
}

}  // namespace

Buffer::Buffer(nb::handle object, Access access, const char* what) : what_{what} {
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    throw nb::type_error(
        fmt::format("{} is a {}, and must be an array: pass numpy.asarray(...) of it", what, type_of(object)).c_str());
  }
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    const nb::python_error cause;  // takes the error away from Python
    throw nb::type_error(fmt::format("{} is a {}, whose memory cannot be sent as it is ({}): pass a view of numbers, "
                                     "such as array.view(numpy.int64)",
                                     what,
                                     type_of(object),
                                     text_of(nb::borrow<nb::object>(cause.value())))
                             .c_str());
  }
  view_.reset(view.release());
  if (view_->format != nullptr && std::string_view{view_->format}.find('O') != std::string_view::npos) {
    throw nb::type_error(fmt::format("{} is a {}: Python objects have no meaning on another rank; pass an array of "
                                     "numbers, or the bytes of pickle.dumps()",
                                     what,
                                     type_of(object))
                             .c_str());
  }
  if (access == Access::write) {
    if (view_->readonly != 0) {
      throw nb::value_error(
          fmt::format("{} is read-only, and data would be written to it: pass a writable array", what).c_str());
    }
    check_overlap();
  }
}

void Buffer::Release::operator()(Py_buffer* view) const noexcept {
  PyBuffer_Release(view);
  delete view;
}

bool Buffer::is_contiguous() const noexcept {
  return PyBuffer_IsContiguous(view_.get(), 'C') != 0;
}

std::span<std::byte> Buffer::contiguous() const {
  if (!is_contiguous()) {
    std::string shape;
    for (int i = 0; i < view_->ndim; ++i) {
      shape += fmt::format("{}{}", i > 0 ? ", " : "", view_->shape[i]);
    }
    throw nb::value_error(fmt::format("{} has the shape ({}) and is not contiguous in C order: pass "
                                      "numpy.ascontiguousarray(...) of it",
                                      what_,
                                      shape)
                              .c_str());
  }
  return {static_cast<std::byte*>(view_->buf), bytes()};
}

comm::Layout Buffer::layout() const {
  const Blocks blocks = blocks_of(*view_);
  auto* const first = static_cast<std::byte*>(view_->buf);
  if (blocks.axes.empty()) {
    return comm::Layout::strided(first, blocks.bytes, blocks.bytes, 1);
  }
  const Axis& outer = blocks.axes.front();
  if (blocks.axes.size() == 1 && outer.stride >= static_cast<std::ptrdiff_t>(blocks.bytes)) {
    return comm::Layout::strided(first, blocks.bytes, static_cast<std::size_t>(outer.stride), outer.count);
  }
  return comm::Layout::repeated(pattern_of(blocks), first, outer.stride, outer.count);
}

/// Received data that share memory would depend on the order in which segments arrive.
void Buffer::check_overlap() const {
  if (view_->len == 0) {
    return;
  }
  Blocks blocks = blocks_of(*view_);
  std::ranges::sort(blocks.axes, {}, [](const Axis& axis) { return std::abs(axis.stride); });
  auto extent = static_cast<std::ptrdiff_t>(blocks.bytes);
  for (const Axis& axis : blocks.axes) {
    const std::ptrdiff_t stride = std::abs(axis.stride);
    if (stride < extent) {
      throw nb::value_error(fmt::format("elements of {} share memory, and data would be written to it: pass a copy, "
                                        "such as numpy.array(...) of it",
                                        what_)
                                .c_str());
    }
    extent += static_cast<std::ptrdiff_t>(axis.count - 1) * stride;
  }
}

}  // namespace plait::python
