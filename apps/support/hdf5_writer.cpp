// SPDX-License-Identifier: Apache-2.0
#include "support/hdf5_writer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace app {
namespace {

using plait::Hdf5Handle;

Hdf5Handle scalar() {
  return {H5Screate(H5S_SCALAR), H5Sclose};
}
Hdf5Handle list(std::size_t n) {
  const hsize_t size = n;
  return {H5Screate_simple(1, &size, nullptr), H5Sclose};
}
Hdf5Handle text_type(std::size_t length) {
  Hdf5Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
  H5Tset_size(type.id(), std::max<std::size_t>(length, 1));
  return type;
}

}  // namespace

Hdf5Handle Hdf5Writer::group(const std::string& path) const {
  const Hdf5Handle creation{H5Pcreate(H5P_LINK_CREATE), H5Pclose};
  H5Pset_create_intermediate_group(creation.id(), 1);
  Hdf5Handle group{H5Gcreate2(file_, path.c_str(), creation.id(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
  check(static_cast<bool>(group), path);
  return group;
}

Hdf5Handle Hdf5Writer::open(const std::string& path) const {
  Hdf5Handle object{H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose};
  check(static_cast<bool>(object), path);
  return object;
}

void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, double value) const {
  put(at, key, scalar(), H5T_NATIVE_DOUBLE, &value);
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, std::uint32_t value) const {
  put(at, key, scalar(), H5T_NATIVE_UINT32, &value);
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, std::uint64_t value) const {
  put(at, key, scalar(), H5T_NATIVE_UINT64, &value);
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, const std::string& text) const {
  put(at, key, scalar(), text_type(text.size()).id(), text.c_str());
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, std::span<const double> values) const {
  put(at, key, list(values.size()), H5T_NATIVE_DOUBLE, values.data());
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, std::span<const std::uint64_t> values) const {
  put(at, key, list(values.size()), H5T_NATIVE_UINT64, values.data());
}
void Hdf5Writer::attribute(const Hdf5Handle& at, const char* key, std::span<const std::string> texts) const {
  std::size_t length = 1;
  for (const std::string& text : texts) {
    length = std::max(length, text.size());
  }
  std::string packed(length * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::copy(texts[i].begin(), texts[i].end(), packed.begin() + static_cast<std::ptrdiff_t>(i * length));
  }
  put(at, key, list(texts.size()), text_type(length).id(), packed.data());
}

Hdf5Handle Hdf5Writer::dataset(const std::string& path, const Hyperslab& slab, const void* values, hid_t type) const {
  const int rank = static_cast<int>(slab.whole.size());
  const Hdf5Handle space{H5Screate_simple(rank, slab.whole.data(), nullptr), H5Sclose};
  Hdf5Handle set{H5Dcreate2(file_, path.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose};
  check(static_cast<bool>(set), path);
  if (std::find(slab.whole.begin(), slab.whole.end(), hsize_t{0}) != slab.whole.end()) {
    return set;  // has no place in the file, so there is nothing that could be written
  }
  const Hdf5Handle memory{H5Screate_simple(rank, slab.count.data(), nullptr), H5Sclose};
  if (std::find(slab.count.begin(), slab.count.end(), hsize_t{0}) == slab.count.end()) {
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, slab.first.data(), nullptr, slab.count.data(), nullptr);
  } else {
    H5Sselect_none(space.id());
    H5Sselect_none(memory.id());
  }
  check(H5Dwrite(set.id(), type, memory.id(), space.id(), transfer_, values) >= 0, path);
  return set;
}

void Hdf5Writer::put(
    const Hdf5Handle& at, const char* key, const Hdf5Handle& space, hid_t type, const void* value) const {
  const Hdf5Handle attribute{H5Acreate2(at.id(), key, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
  check(attribute && H5Awrite(attribute.id(), type, value) >= 0, fmt::format("attribute '{}'", key));
}

void Hdf5Writer::check(bool is_good, const std::string& what) const {
  if (!is_good) {
    throw plait::Error{plait::ErrorCode::io, fmt::format("{}: cannot write {}: {}", name_, what, plait::hdf5_reason())};
  }
}

}  // namespace app
