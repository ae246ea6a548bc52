// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/hdf5/detail/file_layout.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <zlib.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/reader.hpp"
#include "plait/files/hdf5/write_file.hpp"

namespace plait::data::hdf5::detail {
namespace {

constexpr const char* format_name = "plait checkpoint";

void put_value(files::Hdf5Writer& out, const std::string& path, const CheckpointValue& value) {
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          out.scalar(path, held);
        } else if constexpr (std::is_same_v<T, Bytes>) {
          (void)out.dataset(path, {{held.size()}, {0}, {held.size()}}, {held.data(), H5T_NATIVE_UINT8});
        } else {
          out.scalar(path, std::span<const T>{&held, 1});
        }
      },
      value);
}

CheckpointValue take_value(const files::Hdf5Reader& in, const std::string& path) {
  const files::Hdf5Reader::Facts facts = in.facts(path);
  const auto number = [&]<class T>(hid_t type, T value) {
    in.read(path, type, &value);
    return value;
  };
  switch (facts.kind) {
    case H5T_STRING:
      return in.text(path);
    case H5T_FLOAT:
      return number(H5T_NATIVE_DOUBLE, double{});
    case H5T_INTEGER:
      if (facts.item_bytes != 1) {
        return number(H5T_NATIVE_UINT64, std::uint64_t{});
      } else {
        Bytes bytes(facts.count);
        in.read(path, {0}, {facts.count}, H5T_NATIVE_UINT8, bytes.data());
        return bytes;
      }
    default:
      in.fail(fmt::format("its value {} is neither an integer, a number, a text nor bytes", path));
  }
}

/// The offset in the file of a data set of `expected` values of `type`; 0 for an empty one.
std::uint64_t place_of(const files::Hdf5Reader& in, const std::string& path, hid_t type, std::uint64_t expected) {
  const files::Hdf5Handle set = in.dataset(path);
  const files::Hdf5Handle its_type{H5Dget_type(set.id()), H5Tclose};
  if (H5Tequal(its_type.id(), type) <= 0) {
    in.fail(
        fmt::format("its data set {} has another type; was it written on a machine with another byte order?", path));
  }
  if (const std::uint64_t count = in.facts(path).count; count != expected) {
    in.fail(fmt::format("its data set {} has {} values instead of {}", path, count, expected));
  }
  const haddr_t at = expected > 0 ? H5Dget_offset(set.id()) : 0;
  if (at == HADDR_UNDEF) {
    in.fail(fmt::format("its data set {} has no place in the file", path));
  }
  return at;
}

CollectionLayout read_collection(const files::Hdf5Reader& in, const std::string& name) {
  CollectionLayout layout;
  layout.name = name;
  const files::Attributes group = in.attributes("/collections/" + name);
  group.get("type", layout.type);
  group.get("shape", layout.extents);
  layout.rank_first.resize(in.facts(layout.path("rank_first")).count);
  in.read(layout.path("rank_first"), H5T_NATIVE_UINT64, layout.rank_first.data());
  layout.bytes = in.facts(layout.path("bytes")).count;
  if (layout.rank_first.size() < 2 || layout.rank_first.front() != 0 || !std::ranges::is_sorted(layout.rank_first)) {
    in.fail(fmt::format("its collection '{}' lacks the ranks of its elements", name));
  }
  layout.ids_at = place_of(in, layout.path("id"), H5T_NATIVE_UINT64, layout.count());
  layout.offsets_at = place_of(in, layout.path("offset"), H5T_NATIVE_UINT64, layout.count() + 1);
  layout.checksums_at = place_of(in, layout.path("checksum"), H5T_NATIVE_UINT32, layout.count());
  layout.bytes_at = place_of(in, layout.path("bytes"), H5T_NATIVE_UINT8, layout.bytes);
  return layout;
}

void create_collection(files::Hdf5Writer& out, CollectionLayout& collection) {
  {
    const files::Hdf5Handle group = out.group("/collections/" + collection.name);
    out.attribute(group, "type", collection.type);
    out.attribute(group, "shape", std::span<const std::uint64_t>{collection.extents});
  }
  const hsize_t ranks = collection.rank_first.size();
  (void)out.dataset(
      collection.path("rank_first"), {{ranks}, {0}, {ranks}}, std::span<const std::uint64_t>{collection.rank_first});
  const auto reserve = [&](const char* name, hid_t type, hsize_t count) {
    return out.reserve(collection.path(name), {&count, 1}, type, nullptr);
  };
  const std::uint64_t count = collection.count();
  collection.ids_at = reserve("id", H5T_NATIVE_UINT64, count);
  collection.offsets_at = reserve("offset", H5T_NATIVE_UINT64, count + 1);
  collection.checksums_at = reserve("checksum", H5T_NATIVE_UINT32, count);
  collection.bytes_at = reserve("bytes", H5T_NATIVE_UINT8, collection.bytes);
}

}  // namespace

std::uint64_t FileLayout::file_bytes_max() const {
  constexpr std::uint64_t headers = 4096;  // more than HDF5 takes for a group or a data set
  std::uint64_t bytes = 4 * headers;
  for (const auto& [key, value] : values) {
    const auto* const held = std::get_if<Bytes>(&value);
    const auto* const text = std::get_if<std::string>(&value);
    bytes += headers + (held != nullptr ? held->size() : text != nullptr ? text->size() : 8);
  }
  for (const CollectionLayout& one : collections) {
    bytes += 6 * headers + one.bytes + 20 * one.count() + 8 * one.rank_first.size();
  }
  return bytes;
}

void create_file(const std::filesystem::path& file, FileLayout& layout) {
  files::create_hdf5(file, [&](files::Hdf5Writer& out) {
    {
      const files::Hdf5Handle root = out.open("/");
      out.attribute(root, "format", format_name);
      out.attribute(root, "format_version", format_version);
      out.attribute(root, "program", layout.program);
      out.attribute(root, "step", layout.step);
    }
    (void)out.group("/values");
    for (const auto& [key, value] : layout.values) {
      put_value(out, "/values/" + key, value);
    }
    (void)out.group("/collections");
    for (CollectionLayout& one : layout.collections) {
      create_collection(out, one);
      layout.end = std::max({layout.end, one.offsets_at + (one.count() + 1) * 8, one.bytes_at + one.bytes});
    }
  });
}

void mark_complete(const std::filesystem::path& file) {
  files::update_hdf5(file, [](files::Hdf5Writer& out) { out.attribute(out.open("/"), "complete", std::uint64_t{1}); });
}

FileLayout read_layout(const std::filesystem::path& file) {
  const files::Hdf5Silence silence;
  const files::Hdf5Reader in{file};
  const files::Attributes root = in.attributes("/");
  if (!root.contains("format") || root.get<std::string>("format") != format_name) {
    in.fail("is an HDF5 file, but no checkpoint of plait");
  }
  if (const auto version = root.get<std::uint64_t>("format_version"); version != format_version) {
    in.fail(
        fmt::format("is a checkpoint of format version {}, and this program reads version {} only: restart with "
                    "the version of plait that wrote it",
                    version,
                    format_version));
  }
  if (!root.contains("complete")) {
    in.fail("was never completed: its writing was interrupted; use an older checkpoint");
  }
  FileLayout layout;
  root.get("program", layout.program);
  root.get("step", layout.step);
  for (const std::string& key : in.names_in("/values")) {
    layout.values.emplace(key, take_value(in, "/values/" + key));
  }
  for (const std::string& name : in.names_in("/collections")) {
    layout.collections.push_back(read_collection(in, name));
  }
  return layout;
}

std::uint32_t checksum(ElementId id, std::span<const std::byte> element) {
  std::array<unsigned char, 8> key{};
  for (std::size_t byte = 0; byte < key.size(); ++byte) {
    key[byte] = static_cast<unsigned char>(id.value() >> (8 * byte));
  }
  const uLong of_id = crc32_z(0, key.data(), key.size());
  if (element.empty()) {
    return static_cast<std::uint32_t>(of_id);  // for a null pointer, zlib returns the initial value
  }
  return static_cast<std::uint32_t>(
      crc32_z(of_id, reinterpret_cast<const unsigned char*>(element.data()), element.size()));
}

}  // namespace plait::data::hdf5::detail
