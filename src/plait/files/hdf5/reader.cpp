// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/reader.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::files {
namespace {

std::string until_null(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

std::string text_of(hid_t attribute, hid_t type) {
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    std::string copy;
    if (H5Aread(attribute, type, static_cast<void*>(&text)) >= 0 && text != nullptr) {
      copy = text;
      H5free_memory(text);
    }
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  return H5Aread(attribute, type, text.data()) < 0 ? "" : until_null(text);
}

std::optional<Attributes::Value> value_of(hid_t attribute) {
  const Hdf5Handle type{H5Aget_type(attribute), H5Tclose};
  const Hdf5Handle space{H5Aget_space(attribute), H5Sclose};
  const auto n = static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.id()), 0));
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind == H5T_STRING && n == 1) {
    return text_of(attribute, type.id());
  }
  const auto numbers = [&]<class T>(hid_t memory_type, T) -> std::optional<Attributes::Value> {
    std::vector<T> all(n);
    if (n > 0 && H5Aread(attribute, memory_type, all.data()) < 0) {
      return std::nullopt;
    }
    if (n == 1) {
      return all.front();
    }
    return all;
  };
  if (kind == H5T_FLOAT) {
    return numbers(H5T_NATIVE_DOUBLE, double{});
  }
  if (kind == H5T_INTEGER) {
    return numbers(H5T_NATIVE_UINT64, std::uint64_t{});
  }
  return std::nullopt;
}

}  // namespace

Hdf5Reader::Hdf5Reader(const std::filesystem::path& file) : name_{file.string()} {
  std::error_code trouble;
  if (!std::filesystem::exists(file, trouble)) {
    throw Error{ErrorCode::io, fmt::format("{}: there is no such file", name_)};
  }
  file_ = {H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (!file_) {
    fail(fmt::format("not an HDF5 file, or cut short, or not readable: {}", hdf5_reason()));
  }
}

void Hdf5Reader::fail(const std::string& what) const {
  throw Error{ErrorCode::bad_input, fmt::format("{}: {}", name_, what)};
}

void Hdf5Reader::check(bool is_good, const std::string& path) const {
  if (!is_good) {
    fail(fmt::format("{} cannot be read: {}", path, hdf5_reason()));
  }
}

bool Hdf5Reader::exists(const std::string& path) const {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    if (H5Lexists(file_.id(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) {
      return false;
    }
  }
  return H5Lexists(file_.id(), path.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Hdf5Reader::names_in(const std::string& group, Links links) const {
  struct Found {
    Links links;
    std::vector<std::string> names;
  } found{links, {}};
  const auto keep = [](hid_t, const char* name, const H5L_info_t* link, void* to) -> herr_t {
    auto& all = *static_cast<Found*>(to);
    if (all.links == Links::all || link->type == H5L_TYPE_HARD) {
      all.names.emplace_back(name);
    }
    return 0;
  };
  const Hdf5Handle at{H5Gopen2(file_.id(), group.c_str(), H5P_DEFAULT), H5Gclose};
  check(at && H5Literate(at.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, keep, &found) >= 0, "group " + group);
  return std::move(found.names);
}

Hdf5Handle Hdf5Reader::dataset(const std::string& path) const {
  Hdf5Handle set{H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose};
  check(static_cast<bool>(set), "data set " + path);
  return set;
}

Hdf5Reader::Facts Hdf5Reader::facts(const std::string& path) const {
  const Hdf5Handle set = dataset(path);
  const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
  const Hdf5Handle type{H5Dget_type(set.id()), H5Tclose};
  Facts facts;
  facts.extents.resize(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.id()), 0)));
  H5Sget_simple_extent_dims(space.id(), facts.extents.data(), nullptr);
  facts.kind = H5Tget_class(type.id());
  facts.item_bytes = H5Tget_size(type.id());
  facts.count = static_cast<std::uint64_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.id()), 0));
  return facts;
}

Attributes Hdf5Reader::attributes(const std::string& path) const {
  const Hdf5Handle at{H5Oopen(file_.id(), path.c_str(), H5P_DEFAULT), H5Oclose};
  if (!at) {
    fail(fmt::format("has no group {}", path));
  }
  std::vector<std::string> keys;
  const auto keep = [](hid_t, const char* key, const H5A_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(key);
    return 0;
  };
  H5Aiterate2(at.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, keep, &keys);
  Attributes values{fmt::format("{}: {}", name_, path)};
  for (const std::string& key : keys) {
    const Hdf5Handle attribute{H5Aopen(at.id(), key.c_str(), H5P_DEFAULT), H5Aclose};
    if (const auto value = attribute ? value_of(attribute.id()) : std::nullopt) {
      std::visit([&](const auto& held) { values.set(key, held); }, *value);
    }
  }
  return values;
}

void Hdf5Reader::read(const std::string& path, hid_t type, void* to) const {
  const Hdf5Handle set = dataset(path);
  check(H5Dread(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0, "data set " + path);
}

void Hdf5Reader::read(const std::string& path,
                      const std::vector<hsize_t>& first,
                      const std::vector<hsize_t>& count,
                      hid_t type,
                      void* to) const {
  if (std::ranges::find(count, hsize_t{0}) != count.end()) {
    return;
  }
  const Hdf5Handle set = dataset(path);
  const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
  const Hdf5Handle memory{H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose};
  check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) >= 0 &&
            H5Dread(set.id(), type, memory.id(), space.id(), H5P_DEFAULT, to) >= 0,
        "data set " + path);
}

std::string Hdf5Reader::text(const std::string& path) const {
  const Hdf5Handle set = dataset(path);
  const Hdf5Handle type{H5Dget_type(set.id()), H5Tclose};
  std::string text(H5Tget_size(type.id()), '\0');
  check(H5Dread(set.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) >= 0, "data set " + path);
  return until_null(text);
}

}  // namespace plait::files
