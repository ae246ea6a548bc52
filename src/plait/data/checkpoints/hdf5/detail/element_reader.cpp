// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/hdf5/detail/element_reader.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/files/system_file.hpp"

namespace plait::data::hdf5::detail {
namespace {

/// One collection in an open file.
class Reader {
 public:
  Reader(const std::filesystem::path& path, const CollectionLayout& layout)
      : name_{path.string()}, layout_{layout}, file_{path, files::SystemFile::Mode::read} {}

  [[nodiscard]] PackedElements without_elements() const {
    return {.collection = layout_.name, .type = layout_.type, .shape = shape_of(layout_.extents)};
  }

  [[nodiscard]] std::vector<ElementId> ids(std::uint64_t first, std::uint64_t count) const {
    return values<ElementId>(layout_.ids_at, first, count);
  }

  /// The begins of `count` elements in the bytes, and the end of the last.
  [[nodiscard]] std::vector<std::uint64_t> offsets(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::uint64_t> offsets = values<std::uint64_t>(layout_.offsets_at, first, count + 1);
    if (!std::ranges::is_sorted(offsets) || offsets.back() > layout_.bytes || (first == 0 && offsets.front() != 0)) {
      throw Error{
          ErrorCode::bad_input,
          fmt::format(
              "{}: the table of elements of collection '{}' is damaged; use an older checkpoint", name_, layout_.name)};
    }
    return offsets;
  }

  /// Appends `count` elements.
  void read(std::uint64_t first, std::uint64_t count, PackedElements& to) const {
    if (count == 0) {
      return;
    }
    const std::vector<ElementId> new_ids = ids(first, count);
    const std::vector<std::uint64_t> begins = offsets(first, count);
    const std::vector<std::uint32_t> checksums = values<std::uint32_t>(layout_.checksums_at, first, count);
    const std::size_t before = to.bytes.size();
    const std::size_t first_element = to.count();
    to.bytes.resize(before + begins.back() - begins.front());
    file_.read(layout_.bytes_at + begins.front(), std::span{to.bytes}.subspan(before));
    to.ids.insert(to.ids.end(), new_ids.begin(), new_ids.end());
    for (std::uint64_t i = 0; i < count; ++i) {
      to.offsets.push_back(before + begins[i + 1] - begins.front());
      if (checksum(new_ids[i], to.element(first_element + i)) != checksums[i]) {
        throw Error{ErrorCode::bad_input,
                    fmt::format("{}: element {} of collection '{}' is damaged: its bytes do not have their checksum; "
                                "use an older checkpoint",
                                name_,
                                new_ids[i].value(),
                                layout_.name)};
      }
    }
  }

 private:
  template <class T>
  [[nodiscard]] std::vector<T> values(std::uint64_t at, std::uint64_t first, std::uint64_t count) const {
    std::vector<T> values(count);
    file_.read(at + first * sizeof(T), std::as_writable_bytes(std::span{values}));
    return values;
  }

  std::string name_;
  const CollectionLayout& layout_;
  files::SystemFile file_;
};

}  // namespace

void divide(const std::filesystem::path& file, CollectionLayout& collection, std::uint32_t ranks) {
  if (collection.rank_first.size() == std::size_t{ranks} + 1) {
    return;
  }
  const std::uint64_t count = collection.count();
  const std::vector<std::uint64_t> begins = Reader{file, collection}.offsets(0, count);
  // One byte more for each element, so that empty ones are divided, too.
  const auto weight_before = [&](std::uint64_t element) { return begins[element] + element; };
  const double total = static_cast<double>(weight_before(count));
  collection.rank_first.assign(std::size_t{ranks} + 1, count);
  std::uint64_t element = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    // An element goes to the rank whose part contains its middle.
    const double limit = total * rank / ranks;
    while (element < count && static_cast<double>(weight_before(element) + weight_before(element + 1)) / 2 < limit) {
      ++element;
    }
    collection.rank_first[rank] = element;
  }
}

PackedElements read_part(const std::filesystem::path& file, const CollectionLayout& collection, Rank rank) {
  const Reader reader{file, collection};
  PackedElements elements = reader.without_elements();
  const std::uint64_t first = collection.rank_first[rank.value()];
  reader.read(first, collection.rank_first[rank.value() + 1] - first, elements);
  return elements;
}

PackedElements read_placed(const std::filesystem::path& file,
                           const CollectionLayout& collection,
                           const CheckpointPlacement& placement,
                           Rank rank) {
  const Reader reader{file, collection};
  PackedElements elements = reader.without_elements();
  const std::vector<ElementId> ids = reader.ids(0, collection.count());
  // Reads neighbours in the file at once.
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t end = first;
    while (end < ids.size() && placement(ids[end]) == rank) {
      ++end;
    }
    reader.read(first, end - first, elements);
    first = end + 1;
  }
  return elements;
}

}  // namespace plait::data::hdf5::detail
