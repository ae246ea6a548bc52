// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/hdf5/checkpoint_files.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/agree.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/checkpoints/hdf5/detail/element_reader.hpp"
#include "plait/data/checkpoints/hdf5/detail/file_layout.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/data/serialize.hpp"
#include "plait/files/partial_file.hpp"
#include "plait/files/system_file.hpp"

namespace plait::data::hdf5 {
namespace {

using comm::agree;
using data::detail::all_gather_any;
using data::detail::broadcast_any;

constexpr const char* suffix = ".h5";

void throw_unless_name(const std::string& name, const char* what) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("'{}' cannot be the name of a {} in a checkpoint: give it one without '/'", name, what)};
  }
}

void throw_unless_sound(const Checkpoint& checkpoint) {
  for (const auto& [key, value] : checkpoint.values) {
    throw_unless_name(key, "value");
  }
  for (const PackedElements& one : checkpoint.collections) {
    throw_unless_name(one.collection, "collection");
    if (std::ranges::count(checkpoint.collections, one.collection, &PackedElements::collection) != 1) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("two collections of one checkpoint are named '{}'", one.collection)};
    }
    expect(one.offsets.size() == one.count() + 1 && one.offsets.back() == one.bytes.size(),
           "offsets are where every element of a pack begins and ends");
  }
}

/// The part that must be the same on every rank.
detail::FileLayout common_part(const Checkpoint& checkpoint) {
  detail::FileLayout layout{.program = checkpoint.program, .step = checkpoint.step, .values = checkpoint.values};
  for (const PackedElements& one : checkpoint.collections) {
    layout.collections.push_back({.name = one.collection, .type = one.type, .extents = extents_of(one.shape)});
  }
  return layout;
}

/// The elements of a collection on one rank.
struct Extent {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
/// A rank's checksum of the common part, and its extents by collection.
using RankPart = std::pair<std::uint32_t, std::vector<Extent>>;

}  // namespace

CheckpointFiles::CheckpointFiles(comm::Endpoint& endpoint, CheckpointFolder folder, std::unique_ptr<SlabWriter> writer)
    : group_{endpoint}, folder_{std::move(folder)}, writer_{std::move(writer)} {
  throw_unless_name(folder_.name, "program");
  if (folder_.keep == 0) {
    throw Error{ErrorCode::bad_argument, "CheckpointFolder::keep is 0: keep one checkpoint or more"};
  }
}

std::filesystem::path CheckpointFiles::file_of(std::uint64_t step) const {
  return folder_.folder / fmt::format("{}-{:010}{}", folder_.name, step, suffix);
}

/// The newest first.
std::vector<CheckpointFiles::Found> CheckpointFiles::find_files() const {
  std::vector<Found> found;
  std::error_code trouble;
  if (!std::filesystem::exists(folder_.folder, trouble)) {
    return found;
  }
  const std::string prefix = folder_.name + "-";
  for (const auto& entry : std::filesystem::directory_iterator{folder_.folder}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) {
      continue;
    }
    const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - std::string{suffix}.size());
    std::uint64_t step = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    if (error == std::errc{} && end == digits.data() + digits.size()) {
      found.push_back({step, entry.path()});
    }
  }
  std::ranges::sort(found, std::ranges::greater{}, &Found::step);
  return found;
}

void CheckpointFiles::throw_if_foreign(std::uint64_t step) const {
  const std::vector<Found> found = is_continuing_ ? std::vector<Found>{} : find_files();
  if (!found.empty() && found.front().step >= step) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{}: is of another run, and step {} would not be newer: restart from it, remove it, or "
                            "choose another folder",
                            found.front().file.string(),
                            step)};
  }
}

/// The layout of the file, without offsets. Collective.
detail::FileLayout CheckpointFiles::plan(const Checkpoint& checkpoint) const {
  agree(group_, [&] { throw_unless_sound(checkpoint); });
  detail::FileLayout layout = common_part(checkpoint);
  const Bytes common = pack(layout);
  RankPart mine{detail::checksum(ElementId{common.size()}, common), {}};
  for (const PackedElements& one : checkpoint.collections) {
    mine.second.push_back({one.count(), one.bytes.size()});
  }
  for (detail::CollectionLayout& one : layout.collections) {
    one.rank_first.assign(1, 0);
  }
  std::vector<RankPart> all;
  for (const Bytes& bytes : all_gather_any(group_, pack(mine))) {
    all.push_back(unpack_as<RankPart>(bytes));
    if (all.back().first != all.front().first) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("rank {} writes another checkpoint than rank 0: step, values, and the names, types and "
                              "shapes of collections must be the same on all ranks",
                              all.size() - 1)};
    }
  }
  for (const auto& [sum, extents] : all) {
    for (std::size_t at = 0; at < extents.size(); ++at) {
      detail::CollectionLayout& one = layout.collections[at];
      one.rank_first.push_back(one.rank_first.back() + extents[at].count);
      one.bytes += extents[at].bytes;
      one.rank_bytes.push_back(extents[at].bytes);
    }
  }
  return layout;
}

void CheckpointFiles::write_elements(const std::filesystem::path& file,
                                     const Checkpoint& checkpoint,
                                     const detail::FileLayout& layout) {
  struct Columns {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> checksums;
  };
  std::vector<Columns> columns;
  std::vector<Slab> slabs;
  const std::size_t self = group_.self();
  for (std::size_t at = 0; at < layout.collections.size(); ++at) {
    const detail::CollectionLayout& place = layout.collections[at];
    const PackedElements& elements = checkpoint.collections[at];
    const auto my_bytes = place.rank_bytes.begin() + static_cast<std::ptrdiff_t>(self);
    const std::uint64_t first_byte = std::accumulate(place.rank_bytes.begin(), my_bytes, std::uint64_t{0});
    Columns& column = columns.emplace_back();
    const bool is_last = self + 1 == group_.size();
    for (std::size_t i = 0; i < elements.count() + (is_last ? 1 : 0); ++i) {
      column.offsets.push_back(first_byte + elements.offsets[i]);
    }
    for (std::size_t i = 0; i < elements.count(); ++i) {
      column.checksums.push_back(detail::checksum(elements.ids[i], elements.element(i)));
    }
    std::uint64_t largest_count = 0;
    for (std::size_t rank = 0; rank + 1 < place.rank_first.size(); ++rank) {
      largest_count = std::max(largest_count, place.rank_first[rank + 1] - place.rank_first[rank]);
    }
    const std::uint64_t first = place.rank_first[self];
    const std::uint64_t largest_bytes = std::ranges::max(place.rank_bytes);
    const auto bytes_of = [](const auto& values) { return std::as_bytes(std::span{values}); };
    slabs.push_back({place.path("id"), place.ids_at, first, 8, largest_count * 8, bytes_of(elements.ids)});
    slabs.push_back(
        {place.path("offset"), place.offsets_at, first, 8, (largest_count + 1) * 8, bytes_of(column.offsets)});
    slabs.push_back(
        {place.path("checksum"), place.checksums_at, first, 4, largest_count * 4, bytes_of(column.checksums)});
    slabs.push_back({place.path("bytes"), place.bytes_at, first_byte, 1, largest_bytes, std::span{elements.bytes}});
  }
  std::erase_if(slabs, [](const Slab& slab) { return slab.largest_bytes == 0; });
  writer_->write(group_, file, slabs);
}

/// Renames the complete file, and removes those that are too old.
void CheckpointFiles::publish(const std::filesystem::path& partial, std::uint64_t step) const {
  detail::mark_complete(partial);
  files::SystemFile{partial, files::SystemFile::Mode::write}.sync();
  const std::filesystem::path file = file_of(step);
  std::filesystem::rename(partial, file);
  files::sync_folder(folder_.folder);
  std::uint32_t kept = 1;
  for (const Found& found : find_files()) {
    if (found.file == file) {
      continue;
    }
    if (found.step > step || kept == folder_.keep) {
      std::error_code ignored;  // a file too many is harmless
      std::filesystem::remove(found.file, ignored);
    } else {
      ++kept;
    }
  }
}

WrittenCheckpoint CheckpointFiles::write(const Checkpoint& checkpoint) {
  detail::FileLayout layout = plan(checkpoint);
  const std::filesystem::path file = file_of(checkpoint.step);
  const std::filesystem::path partial = files::PartialFile::path_for(file);
  try {
    Bytes placed;
    agree(group_, [&] {
      if (is_first()) {
        throw_if_foreign(checkpoint.step);
        std::filesystem::create_directories(folder_.folder);
        files::throw_if_too_large(partial, layout.file_bytes_max());
        detail::create_file(partial, layout);
        files::SystemFile{partial, files::SystemFile::Mode::write}.reserve(layout.end);
        placed = pack(layout);
      }
    });
    layout = unpack_as<detail::FileLayout>(broadcast_any(group_, placed));
    agree(group_, [&] { write_elements(partial, checkpoint, layout); });
    agree(group_, [&] {
      if (is_first()) {
        publish(partial, checkpoint.step);
      }
    });
  } catch (const Error& error) {
    if (is_first()) {
      std::error_code ignored;
      std::filesystem::remove(partial, ignored);
    }
    throw Error{error.code(),
                fmt::format("the checkpoint of step {} was not written: {}", checkpoint.step, error.what()),
                error.rank()};
  }
  is_continuing_ = true;
  WrittenCheckpoint written{.file = file};
  for (const detail::CollectionLayout& one : layout.collections) {
    written.elements += one.count();
    written.bytes += one.bytes;
  }
  return written;
}

Checkpoint CheckpointFiles::read(const std::filesystem::path& file,
                                 const std::string& program,
                                 const ReadCheckpointOptions& options) {
  Bytes encoded;
  agree(group_, [&] {
    if (is_first()) {
      detail::FileLayout layout = detail::read_layout(file);
      if (layout.program != program) {
        throw Error{
            ErrorCode::bad_input,
            fmt::format(
                "{}: is a checkpoint of the program '{}', not of '{}'", file.string(), layout.program, program)};
      }
      for (detail::CollectionLayout& one : layout.collections) {
        detail::divide(file, one, static_cast<std::uint32_t>(group_.size()));
      }
      encoded = pack(layout);
    }
  });
  auto layout = unpack_as<detail::FileLayout>(broadcast_any(group_, encoded));
  Checkpoint checkpoint{.program = layout.program, .step = layout.step, .values = std::move(layout.values)};
  agree(group_, [&] {
    const Rank self{static_cast<std::uint32_t>(group_.self())};
    for (const detail::CollectionLayout& one : layout.collections) {
      checkpoint.collections.push_back(options.placement ? detail::read_placed(file, one, options.placement, self)
                                                         : detail::read_part(file, one, self));
    }
  });
  is_continuing_ = true;
  return checkpoint;
}

std::optional<NewestCheckpoint> CheckpointFiles::read_newest(const std::string& program,
                                                             const ReadCheckpointOptions& options) {
  std::vector<std::string> names;
  agree(group_, [&] {
    if (is_first()) {
      for (const Found& found : find_files()) {
        names.push_back(found.file.string());
      }
    }
  });
  std::vector<std::string> refused;
  for (const std::string& name : unpack_as<std::vector<std::string>>(broadcast_any(group_, pack(names)))) {
    const std::filesystem::path file{name};
    try {
      return NewestCheckpoint{read(file, program, options), file, std::move(refused)};
    } catch (const Error& error) {
      // An older checkpoint does not help against a failed network.
      if (error.code() != ErrorCode::bad_input && error.code() != ErrorCode::io) {
        throw;
      }
      refused.emplace_back(error.what());
    }
  }
  if (refused.empty()) {
    return std::nullopt;
  }
  throw Error{ErrorCode::bad_input,
              fmt::format("no checkpoint in {} can be used: {}", folder_.folder.string(), fmt::join(refused, "; "))};
}

}  // namespace plait::data::hdf5
