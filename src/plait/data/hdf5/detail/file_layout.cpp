// SPDX-License-Identifier: Apache-2.0
#include "plait/data/hdf5/detail/file_layout.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <zlib.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/hdf5_handle.hpp"
#include "plait/data/detail/checkpoint_codec.hpp"

namespace plait::data::hdf5::detail {
namespace {

constexpr const char* format_name = "plait checkpoint";

/// Makes groups, attributes and data sets of one file.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file) : name_{file.string()} {
    file_ = Hdf5Handle{H5Fcreate(name_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
    if (!file_) {
      throw Error{
          ErrorCode::io,
          fmt::format("{}: cannot be made: {}; does its folder exist, and may one write there?", name_, hdf5_reason())};
    }
  }

  [[nodiscard]] Hdf5Handle group(const std::string& path) const {
    Hdf5Handle group{H5Gcreate2(file_.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
    check(static_cast<bool>(group), path);
    return group;
  }
  [[nodiscard]] Hdf5Handle root() const { return {H5Gopen2(file_.id(), "/", H5P_DEFAULT), H5Gclose}; }

  void attribute(const Hdf5Handle& at, const char* key, const std::string& text) const {
    const Hdf5Handle type = text_type(text.size());
    put(at, key, Hdf5Handle{H5Screate(H5S_SCALAR), H5Sclose}, type.id(), text.data());
  }
  void attribute(const Hdf5Handle& at, const char* key, std::uint64_t value) const {
    put(at, key, Hdf5Handle{H5Screate(H5S_SCALAR), H5Sclose}, H5T_NATIVE_UINT64, &value);
  }
  void attribute(const Hdf5Handle& at, const char* key, std::span<const std::uint64_t> values) const {
    const hsize_t count = values.size();
    put(at, key, Hdf5Handle{H5Screate_simple(1, &count, nullptr), H5Sclose}, H5T_NATIVE_UINT64, values.data());
  }

  void value(const std::string& path, const CheckpointValue& value) const {
    std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::string>) {
            const Hdf5Handle type = text_type(held.size());
            std::string padded = held;
            padded.resize(std::max<std::size_t>(held.size(), 1));
            fill(path, Hdf5Handle{H5Screate(H5S_SCALAR), H5Sclose}, type.id(), padded.data());
          } else if constexpr (std::is_same_v<T, Bytes>) {
            const hsize_t count = held.size();
            fill(path, Hdf5Handle{H5Screate_simple(1, &count, nullptr), H5Sclose}, H5T_NATIVE_UINT8, held.data());
          } else {
            const hid_t type = std::is_same_v<T, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64;
            fill(path, Hdf5Handle{H5Screate(H5S_SCALAR), H5Sclose}, type, &held);
          }
        },
        value);
  }

  void fill(const std::string& path, const Hdf5Handle& space, hid_t type, const void* values) const {
    const Hdf5Handle set{H5Dcreate2(file_.id(), path.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Dclose};
    check(set && (H5Sget_simple_extent_npoints(space.id()) == 0 ||
                  H5Dwrite(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0),
          path);
  }

  /// A data set that gets its place now and its values later. Returns where in the file; 0 for an empty one.
  [[nodiscard]] std::uint64_t reserve(const std::string& path, hid_t type, std::uint64_t count) const {
    const hsize_t extent = count;
    const Hdf5Handle space{H5Screate_simple(1, &extent, nullptr), H5Sclose};
    const Hdf5Handle how{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
    H5Pset_layout(how.id(), H5D_CONTIGUOUS);
    H5Pset_alloc_time(how.id(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(how.id(), H5D_FILL_TIME_NEVER);
    const Hdf5Handle set{H5Dcreate2(file_.id(), path.c_str(), type, space.id(), H5P_DEFAULT, how.id(), H5P_DEFAULT),
                         H5Dclose};
    check(static_cast<bool>(set), path);
    const haddr_t place = count > 0 ? H5Dget_offset(set.id()) : 0;
    check(place != HADDR_UNDEF, path);
    return place;
  }

  void close() { check(file_.close(), "its end"); }

 private:
  [[nodiscard]] static Hdf5Handle text_type(std::size_t size) {
    Hdf5Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type.id(), std::max<std::size_t>(size, 1));
    H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    return type;
  }
  void put(const Hdf5Handle& at, const char* key, const Hdf5Handle& space, hid_t type, const void* value) const {
    const Hdf5Handle attribute{H5Acreate2(at.id(), key, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
    const bool is_empty = H5Sget_simple_extent_npoints(space.id()) == 0;
    check(attribute && (is_empty || H5Awrite(attribute.id(), type, value) >= 0), key);
  }
  void check(bool is_good, const std::string& what) const {
    if (!is_good) {
      throw Error{ErrorCode::io, fmt::format("{}: cannot write {}: {}; is the disk full?", name_, what, hdf5_reason())};
    }
  }

  std::string name_;
  Hdf5Handle file_;
};

/// Reads them; what is not there or not as it should be becomes an error.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : name_{file.string()} {
    file_ = Hdf5Handle{H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    if (!file_) {
      refuse(fmt::format("is no HDF5 file, or is cut short: {}", hdf5_reason()));
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error{ErrorCode::bad_input, fmt::format("{}: {}", name_, why)};
  }

  [[nodiscard]] Hdf5Handle group(const std::string& path) const {
    Hdf5Handle group{H5Gopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Gclose};
    check(static_cast<bool>(group), path);
    return group;
  }
  [[nodiscard]] static bool has(const Hdf5Handle& at, const char* key) { return H5Aexists(at.id(), key) > 0; }

  [[nodiscard]] std::string text(const Hdf5Handle& at, const char* key) const {
    const Hdf5Handle attribute{H5Aopen(at.id(), key, H5P_DEFAULT), H5Aclose};
    const Hdf5Handle type{H5Aget_type(attribute.id()), H5Tclose};
    check(attribute && H5Tget_class(type.id()) == H5T_STRING && H5Tis_variable_str(type.id()) == 0, key);
    std::string text(H5Tget_size(type.id()), '\0');
    check(H5Aread(attribute.id(), type.id(), text.data()) >= 0, key);
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers(const Hdf5Handle& at, const char* key) const {
    const Hdf5Handle attribute{H5Aopen(at.id(), key, H5P_DEFAULT), H5Aclose};
    check(static_cast<bool>(attribute), key);
    const Hdf5Handle space{H5Aget_space(attribute.id()), H5Sclose};
    std::vector<std::uint64_t> values(
        static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.id()))));
    check(values.empty() || H5Aread(attribute.id(), H5T_NATIVE_UINT64, values.data()) >= 0, key);
    return values;
  }
  [[nodiscard]] std::uint64_t number(const Hdf5Handle& at, const char* key) const {
    const std::vector<std::uint64_t> values = numbers(at, key);
    check(values.size() == 1, key);
    return values.front();
  }

  [[nodiscard]] std::vector<std::string> names_in(const Hdf5Handle& group) const {
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
      static_cast<std::vector<std::string>*>(to)->emplace_back(name);
      return 0;
    };
    check(H5Literate(group.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &names) >= 0, "the names in a group");
    return names;
  }

  [[nodiscard]] Hdf5Handle dataset(const std::string& path) const {
    Hdf5Handle set{H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose};
    check(static_cast<bool>(set), path);
    return set;
  }
  [[nodiscard]] std::uint64_t count(const Hdf5Handle& set) const {
    const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
    return static_cast<std::uint64_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.id())));
  }
  [[nodiscard]] std::vector<std::uint64_t> list(const std::string& path) const {
    const Hdf5Handle set = dataset(path);
    std::vector<std::uint64_t> values(count(set));
    check(values.empty() || H5Dread(set.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0,
          path);
    return values;
  }
  /// Where in the file a data set of `expected` values of `type` begins.
  [[nodiscard]] std::uint64_t place(const std::string& path, hid_t type, std::uint64_t expected) const {
    const Hdf5Handle set = dataset(path);
    const Hdf5Handle its_type{H5Dget_type(set.id()), H5Tclose};
    if (H5Tequal(its_type.id(), type) <= 0) {
      refuse(
          fmt::format("its data set {} has numbers of another kind; was it written on a machine with another order "
                      "of bytes?",
                      path));
    }
    if (count(set) != expected) {
      refuse(fmt::format("its data set {} has {} values and not {}", path, count(set), expected));
    }
    const haddr_t at = expected > 0 ? H5Dget_offset(set.id()) : 0;
    check(at != HADDR_UNDEF, path);
    return at;
  }

  [[nodiscard]] CheckpointValue value(const std::string& path) const {
    const Hdf5Handle set = dataset(path);
    const Hdf5Handle type{H5Dget_type(set.id()), H5Tclose};
    const auto read = [&](hid_t as, void* to) {
      check(H5Dread(set.id(), as, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0, path);
    };
    switch (H5Tget_class(type.id())) {
      case H5T_STRING: {
        std::string text(H5Tget_size(type.id()), '\0');
        read(type.id(), text.data());
        text.resize(std::min(text.find('\0'), text.size()));
        return text;
      }
      case H5T_FLOAT: {
        double number = 0;
        read(H5T_NATIVE_DOUBLE, &number);
        return number;
      }
      case H5T_INTEGER:
        if (H5Tget_size(type.id()) == 1) {
          Bytes bytes(count(set));
          if (!bytes.empty()) {
            read(H5T_NATIVE_UINT8, bytes.data());
          }
          return bytes;
        } else {
          std::uint64_t number = 0;
          read(H5T_NATIVE_UINT64, &number);
          return number;
        }
      default:
        refuse(fmt::format("its value {} is of no kind that a checkpoint holds", path));
    }
  }

 private:
  void check(bool is_good, const std::string& what) const {
    if (!is_good) {
      refuse(fmt::format("{} cannot be read: {}", what, hdf5_reason()));
    }
  }

  std::string name_;
  Hdf5Handle file_;
};

CollectionLayout read_collection(const Reader& in, const std::string& name) {
  CollectionLayout layout;
  layout.name = name;
  const Hdf5Handle group = in.group("/collections/" + name);
  layout.type = in.text(group, "type");
  layout.extents = in.numbers(group, "shape");
  layout.rank_first = in.list(layout.path("rank_first"));
  layout.bytes = in.count(in.dataset(layout.path("bytes")));
  if (layout.rank_first.size() < 2 || layout.rank_first.front() != 0 || !std::ranges::is_sorted(layout.rank_first)) {
    in.refuse(fmt::format("its collection '{}' does not say which rank had which elements", name));
  }
  layout.ids_at = in.place(layout.path("id"), H5T_NATIVE_UINT64, layout.count());
  layout.offsets_at = in.place(layout.path("offset"), H5T_NATIVE_UINT64, layout.count() + 1);
  layout.checksums_at = in.place(layout.path("checksum"), H5T_NATIVE_UINT32, layout.count());
  layout.bytes_at = in.place(layout.path("bytes"), H5T_NATIVE_UINT8, layout.bytes);
  return layout;
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
  const Hdf5Silence silence;
  Writer out{file};
  {
    const Hdf5Handle root = out.root();
    out.attribute(root, "format", std::string{format_name});
    out.attribute(root, "format_version", format_version);
    out.attribute(root, "program", layout.program);
    out.attribute(root, "step", layout.step);
    (void)out.group("/values");
    for (const auto& [key, value] : layout.values) {
      out.value("/values/" + key, value);
    }
    (void)out.group("/collections");
  }
  for (CollectionLayout& collection : layout.collections) {
    const Hdf5Handle group = out.group("/collections/" + collection.name);
    out.attribute(group, "type", collection.type);
    out.attribute(group, "shape", std::span{collection.extents});
    const hsize_t ranks = collection.rank_first.size();
    out.fill(collection.path("rank_first"),
             Hdf5Handle{H5Screate_simple(1, &ranks, nullptr), H5Sclose},
             H5T_NATIVE_UINT64,
             collection.rank_first.data());
    const std::uint64_t count = collection.count();
    collection.ids_at = out.reserve(collection.path("id"), H5T_NATIVE_UINT64, count);
    collection.offsets_at = out.reserve(collection.path("offset"), H5T_NATIVE_UINT64, count + 1);
    collection.checksums_at = out.reserve(collection.path("checksum"), H5T_NATIVE_UINT32, count);
    collection.bytes_at = out.reserve(collection.path("bytes"), H5T_NATIVE_UINT8, collection.bytes);
    layout.end =
        std::max({layout.end, collection.offsets_at + (count + 1) * 8, collection.bytes_at + collection.bytes});
  }
  out.close();
}

void mark_complete(const std::filesystem::path& file) {
  const Hdf5Silence silence;
  Hdf5Handle out{H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose};
  const Hdf5Handle space{H5Screate(H5S_SCALAR), H5Sclose};
  Hdf5Handle mark{H5Acreate2(out.id(), "complete", H5T_NATIVE_UINT64, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
  const std::uint64_t yes = 1;
  if (!out || !mark || H5Awrite(mark.id(), H5T_NATIVE_UINT64, &yes) < 0 || !mark.close() || !out.close()) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot be completed: {}; is the disk full?", file.string(), hdf5_reason())};
  }
}

FileLayout read_layout(const std::filesystem::path& file) {
  const Hdf5Silence silence;
  const Reader in{file};
  const Hdf5Handle root = in.group("/");
  if (!Reader::has(root, "format") || in.text(root, "format") != format_name) {
    in.refuse("is an HDF5 file, but no checkpoint of plait's");
  }
  if (const std::uint64_t version = in.number(root, "format_version"); version != format_version) {
    in.refuse(
        fmt::format("is a checkpoint of format version {}, and this program reads version {} only: restart with "
                    "the version of plait that wrote it",
                    version,
                    format_version));
  }
  if (!Reader::has(root, "complete")) {
    in.refuse("was never completed: its writing was interrupted; use an older checkpoint");
  }
  FileLayout layout;
  layout.program = in.text(root, "program");
  layout.step = in.number(root, "step");
  for (const std::string& key : in.names_in(in.group("/values"))) {
    layout.values.emplace(key, in.value("/values/" + key));
  }
  for (const std::string& name : in.names_in(in.group("/collections"))) {
    layout.collections.push_back(read_collection(in, name));
  }
  return layout;
}

Bytes encode(const FileLayout& layout) {
  data::detail::Encoder out;
  out.put(layout.program).put(layout.step);
  data::detail::put_values(out, layout.values);
  out.put(std::uint64_t{layout.collections.size()});
  for (const CollectionLayout& one : layout.collections) {
    out.put(one.name).put(one.type).put(one.extents).put(one.bytes).put(one.rank_first);
    out.put(std::array{one.ids_at, one.offsets_at, one.checksums_at, one.bytes_at});
  }
  out.put(layout.end);
  return out.bytes();
}

FileLayout decode(std::span<const std::byte> bytes) {
  data::detail::Decoder in{bytes};
  FileLayout layout;
  layout.program = in.text();
  layout.step = in.number<std::uint64_t>();
  layout.values = data::detail::take_values(in);
  layout.collections.resize(in.number<std::uint64_t>());
  for (CollectionLayout& one : layout.collections) {
    one.name = in.text();
    one.type = in.text();
    one.extents = in.list<std::uint64_t>();
    one.bytes = in.number<std::uint64_t>();
    one.rank_first = in.list<std::uint64_t>();
    const auto places = in.number<std::array<std::uint64_t, 4>>();
    one.ids_at = places[0];
    one.offsets_at = places[1];
    one.checksums_at = places[2];
    one.bytes_at = places[3];
  }
  layout.end = in.number<std::uint64_t>();
  return layout;
}

std::uint32_t checksum(ElementId id, std::span<const std::byte> element) {
  std::array<unsigned char, 8> key{};
  for (std::size_t byte = 0; byte < key.size(); ++byte) {
    key[byte] = static_cast<unsigned char>(id.value() >> (8 * byte));
  }
  const uLong of_id = crc32_z(0, key.data(), key.size());
  if (element.empty()) {
    return static_cast<std::uint32_t>(of_id);  // zlib takes a null pointer as the wish for a first value
  }
  return static_cast<std::uint32_t>(
      crc32_z(of_id, reinterpret_cast<const unsigned char*>(element.data()), element.size()));
}

}  // namespace plait::data::hdf5::detail
