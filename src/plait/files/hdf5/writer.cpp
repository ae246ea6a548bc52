// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::files {
namespace {

Hdf5Handle scalar_space() {
  return {H5Screate(H5S_SCALAR), H5Sclose};
}
Hdf5Handle list_space(hsize_t size) {
  return {H5Screate_simple(1, &size, nullptr), H5Sclose};
}
Hdf5Handle text_type(std::size_t length) {
  Hdf5Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
  H5Tset_size(type.id(), std::max<std::size_t>(length, 1));
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}
Hdf5Handle with_groups_above() {
  Hdf5Handle links{H5Pcreate(H5P_LINK_CREATE), H5Pclose};
  H5Pset_create_intermediate_group(links.id(), 1);
  return links;
}

}  // namespace

bool Hyperslab::is_empty() const noexcept {
  return std::ranges::find(count, hsize_t{0}) != count.end();
}

Hdf5Handle Hdf5Writer::group(const std::string& path) {
  if (mode_ == Mode::fill) {
    return open(path);
  }
  Hdf5Handle group{H5Gcreate2(file_, path.c_str(), with_groups_above().id(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
  check(static_cast<bool>(group), path);
  return group;
}

Hdf5Handle Hdf5Writer::open(const std::string& path) {
  Hdf5Handle object{H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose};
  check(static_cast<bool>(object), path);
  return object;
}

void Hdf5Writer::link(const std::string& path, const std::string& target) {
  check(mode_ == Mode::fill || H5Lcreate_soft(target.c_str(), file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0,
        path);
}

void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, double value) {
  put(at, key, scalar_space(), {&value, H5T_NATIVE_DOUBLE});
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, std::uint32_t value) {
  put(at, key, scalar_space(), {&value, H5T_NATIVE_UINT32});
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, std::uint64_t value) {
  put(at, key, scalar_space(), {&value, H5T_NATIVE_UINT64});
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, const std::string& text) {
  put(at, key, scalar_space(), {text.c_str(), text_type(text.size()).id()});
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, std::span<const double> values) {
  put(at, key, list_space(values.size()), values);
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, std::span<const std::uint64_t> values) {
  put(at, key, list_space(values.size()), values);
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const std::string& key, std::span<const std::string> texts) {
  std::size_t length = 1;
  for (const std::string& text : texts) {
    length = std::max(length, text.size());
  }
  std::string packed(length * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::ranges::copy(texts[i], packed.begin() + static_cast<std::ptrdiff_t>(i * length));
  }
  put(at, key, list_space(texts.size()), {packed.data(), text_type(length).id()});
}

Hdf5Handle Hdf5Writer::dataset(const std::string& path, const Hyperslab& slab, const Hdf5Numbers& numbers) {
  const Hdf5Handle space{H5Screate_simple(static_cast<int>(slab.whole.size()), slab.whole.data(), nullptr), H5Sclose};
  Hdf5Handle set{
      mode_ == Mode::fill
          ? H5Dopen2(file_, path.c_str(), H5P_DEFAULT)
          : H5Dcreate2(
                file_, path.c_str(), numbers.file_type, space.id(), with_groups_above().id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose};
  check(static_cast<bool>(set), path);
  if (std::ranges::find(slab.whole, hsize_t{0}) == slab.whole.end()) {  // else it has no place in the file
    write(set, slab, numbers);
  }
  return set;
}

void Hdf5Writer::scalar(const std::string& path, const Hdf5Numbers& number) {
  const Hdf5Handle set{
      H5Dcreate2(file_, path.c_str(), number.file_type, scalar_space().id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose};
  check(set && H5Dwrite(set.id(), number.type, H5S_ALL, H5S_ALL, transfer_, number.values) >= 0, path);
}

void Hdf5Writer::scalar(const std::string& path, const std::string& text) {
  scalar(path, Hdf5Numbers{text.c_str(), text_type(text.size()).id()});
}

std::uint64_t Hdf5Writer::reserve(const std::string& path,
                                  std::span<const hsize_t> extents,
                                  hid_t type,
                                  const void* fill) {
  const Hdf5Handle space{H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose};
  const Hdf5Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
  H5Pset_layout(creation.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.id(), fill != nullptr ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER);
  if (fill != nullptr) {
    H5Pset_fill_value(creation.id(), type, fill);
  }
  const Hdf5Handle set{
      H5Dcreate2(file_, path.c_str(), type, space.id(), with_groups_above().id(), creation.id(), H5P_DEFAULT),
      H5Dclose};
  const bool is_empty = H5Sget_simple_extent_npoints(space.id()) == 0;
  const haddr_t place = set && !is_empty ? H5Dget_offset(set.id()) : 0;
  check(set && place != HADDR_UNDEF, path);
  return place;
}

void Hdf5Writer::write(const Hdf5Handle& set, const Hyperslab& slab, const Hdf5Numbers& numbers) {
  const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
  const Hdf5Handle memory{H5Screate_simple(static_cast<int>(slab.count.size()), slab.count.data(), nullptr), H5Sclose};
  if (slab.is_empty()) {
    H5Sselect_none(space.id());
    H5Sselect_none(memory.id());
  } else {
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, slab.first.data(), nullptr, slab.count.data(), nullptr);
  }
  check(H5Dwrite(set.id(), numbers.type, memory.id(), space.id(), transfer_, numbers.values) >= 0, "a data set");
}

void Hdf5Writer::put(const Hdf5Handle& at, const std::string& key, const Hdf5Handle& space, const Hdf5Numbers& values) {
  if (mode_ == Mode::fill) {
    return;
  }
  const Hdf5Handle attribute{H5Acreate2(at.id(), key.c_str(), values.file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose};
  const bool is_empty = H5Sget_simple_extent_npoints(space.id()) == 0;
  check(attribute && (is_empty || H5Awrite(attribute.id(), values.type, values.values) >= 0),
        fmt::format("attribute '{}'", key));
}

void Hdf5Writer::check(bool is_good, const std::string& what) {
  if (!is_good && trouble_.empty()) {
    trouble_ = fmt::format("cannot write {}: {}; is the disk full?", what, hdf5_reason());
  }
}

void Hdf5Writer::throw_if_failed() const {
  if (!trouble_.empty()) {
    throw Error{ErrorCode::io, fmt::format("{}: {}", name_, trouble_)};
  }
}

}  // namespace plait::files
