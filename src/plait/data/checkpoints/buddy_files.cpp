// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/buddy_files.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/agree.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/files/partial_file.hpp"
#include "plait/files/system_file.hpp"

namespace plait::data {
namespace {

constexpr const char* suffix = ".copy";

/// The begin of a file; the state follows.
struct Header {
  std::array<char, 8> magic{'p', 'l', 'a', 'i', 't', 'c', 'p', '1'};
  std::uint64_t generation = 0;
  std::uint32_t rank = 0;
  std::uint32_t rank_count = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Header) == 32, "no padding is written");

/// Throws: `Error` with `bad_input` when the file is no whole copy.
Header read_header(const files::SystemFile& file, const std::filesystem::path& path) {
  Header header;
  if (file.size() >= sizeof header) {
    file.read(0, std::as_writable_bytes(std::span{&header, 1}));
  }
  if (header.magic != Header{}.magic || file.size() != sizeof header + header.bytes ||
      header.rank >= header.rank_count) {
    throw Error{ErrorCode::bad_input, path.string() + " is no whole copy of a rank"};
  }
  return header;
}

BuddyMemory::Copy read_copy(const std::filesystem::path& path) {
  const files::SystemFile file{path, files::SystemFile::Mode::read};
  const Header header = read_header(file, path);
  BuddyMemory::Copy copy{header.generation, Rank{header.rank}, header.rank_count, Bytes(header.bytes)};
  file.read(sizeof header, copy.state);
  return copy;
}

void remove_all(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    std::error_code ignored;  // a file that stays is older than those that are read
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace

BuddyFiles::BuddyFiles(comm::Endpoint& endpoint, BuddyFolder folder)
    : group_{endpoint}, folder_{std::move(folder)}, files_{left_behind()}, copies_{endpoint, newest_generation()} {}

/// This rank's share of the files in its folder. Collective.
std::vector<std::filesystem::path> BuddyFiles::left_behind() const {
  std::vector<std::filesystem::path> share;
  comm::agree(group_, [&] {
    std::filesystem::create_directories(folder_.path);
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator{folder_.path}) {
      if (entry.path().extension() == suffix) {
        all.push_back(entry.path());
      } else if (entry.path().string().ends_with(files::PartialFile::path_for(suffix).string())) {
        remove_all({entry.path()});  // of a rank that was killed; all ranks of the host do that
      }
    }
    std::ranges::sort(all);
    for (std::size_t i = folder_.self; i < all.size(); i += folder_.sharers) {
      share.push_back(all[i]);
    }
  });
  return share;  // `agree` has waited until the other ranks of the host have listed the same files
}

/// The largest number of all ranks' files. Collective.
std::uint64_t BuddyFiles::newest_generation() const {
  std::array<std::uint64_t, 1> newest{0};
  for (const std::filesystem::path& path : files_) {
    try {
      newest[0] = std::max(newest[0], read_header({path, files::SystemFile::Mode::read}, path).generation);
    } catch (const Error&) {
      continue;  // `read_newest` reports it
    }
  }
  comm::all_reduce(group_, std::span{newest}, comm::Maximum{}).wait();
  return newest[0];
}

std::filesystem::path BuddyFiles::store(const BuddyMemory::Copy& copy) const {
  const Header header{.generation = copy.generation,
                      .rank = copy.rank.value(),
                      .rank_count = copy.rank_count,
                      .bytes = copy.state.size()};
  // Two ranks of a host may have the same copy.
  std::filesystem::path path =
      folder_.path / fmt::format("{}-of-{}-on-{}{}", header.generation, header.rank, group_.self(), suffix);
  files::PartialFile partial{path};
  files::throw_if_too_large(partial.path(), sizeof header + header.bytes);
  {
    files::SystemFile file{partial.path(), files::SystemFile::Mode::create};
    file.reserve(sizeof header + header.bytes);
    file.write(0, std::as_bytes(std::span{&header, 1}));
    file.write(sizeof header, copy.state);
  }
  partial.complete();
  return path;
}

WrittenCheckpoint BuddyFiles::write(const Checkpoint& checkpoint) {
  copies_.copy(checkpoint);
  std::vector<BuddyMemory::Copy> copies = std::exchange(copies_.memory().copies, {});
  std::vector<std::filesystem::path> stored;
  try {
    comm::agree(group_, [&] {
      for (const BuddyMemory::Copy& copy : copies) {
        stored.push_back(store(copy));
      }
    });
  } catch (const Error& error) {
    remove_all(stored);
    throw Error{error.code(),
                fmt::format("the copies in memory of step {} were not stored: {}", checkpoint.step, error.what()),
                error.rank()};
  }
  remove_all(std::exchange(files_, std::move(stored)));
  std::array<std::uint64_t, 2> sums{};
  for (const PackedElements& one : checkpoint.collections) {
    sums[0] += one.count();
    for (std::size_t place = 0; place < one.count(); ++place) {
      sums[1] += one.element(place).size();
    }
  }
  comm::all_reduce(group_, std::span{sums}).wait();
  return {.file = folder_.path, .elements = sums[0], .bytes = sums[1]};
}

Checkpoint BuddyFiles::read(const std::filesystem::path& file,
                            const std::string& /*program*/,
                            const ReadCheckpointOptions& /*options*/) {
  throw Error{ErrorCode::bad_argument, file.string() + ": copies in memory have no names; read the newest"};
}

std::optional<NewestCheckpoint> BuddyFiles::read_newest(const std::string& program,
                                                        const ReadCheckpointOptions& options) {
  if (options.placement) {
    throw Error{ErrorCode::bad_argument, "copies in memory have no placement: move elements afterwards"};
  }
  BuddyMemory memory;
  NewestCheckpoint newest{.checkpoint = {}, .file = folder_.path, .refused = {}};
  for (const std::filesystem::path& file : files_) {
    try {
      memory.copies.push_back(read_copy(file));
    } catch (const Error& error) {
      newest.refused.emplace_back(error.what());
    }
  }
  std::array<std::uint64_t, 1> count{memory.copies.size()};
  comm::all_reduce(group_, std::span{count}).wait();
  if (count[0] == 0) {
    return std::nullopt;
  }
  newest.checkpoint = recover(group_.endpoint(), memory);
  if (newest.checkpoint.program != program) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the copies in {} are of {}, not of {}; choose another folder",
                            folder_.path.string(),
                            newest.checkpoint.program,
                            program)};
  }
  return newest;
}

void BuddyFiles::remove() {
  comm::barrier(group_).wait();
  remove_all(std::exchange(files_, {}));
  std::error_code ignored;  // the folder stays as long as another rank has files in it
  std::filesystem::remove(folder_.path, ignored);
}

}  // namespace plait::data
