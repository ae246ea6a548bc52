// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/write_file.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "plait/base/bytes.hpp"
#include "plait/files/partial_file.hpp"
#include "plait/files/system_file.hpp"

namespace plait::files {
namespace {

class OneRank final : public Hdf5Ranks {
 public:
  [[nodiscard]] std::uint32_t self() const noexcept override { return 0; }
  [[nodiscard]] std::uint32_t count() const noexcept override { return 1; }
  [[nodiscard]] net::Exchange exchange() override {
    return [](std::span<const std::byte> mine) { return std::vector<Bytes>{Bytes{mine.begin(), mine.end()}}; };
  }
  void in_turn(const std::function<void()>& turn) override { turn(); }
};

enum class Opening : std::uint8_t { create, update, fill };

/// A file to write.
struct Target {
  std::string name;
  Opening opening = Opening::create;
  bool reserves_room = true;  ///< One of the ranks that write it at the same time does.
};

/// Room that a disk must have before a file is created: what HDF5 writes when it closes a file whose data did not fit.
constexpr std::uint64_t closing_bytes = std::uint64_t{64} * 1024;

/// Lets the disk have the room of a file's data.
void give_up_data(const std::string& name) {
  std::error_code ignored;
  std::filesystem::resize_file(name, 0, ignored);
}

/// Throws: `Error` with `io` when there is no room for a file. One that cannot be created is left to HDF5.
void require_room(const std::string& name) {
  std::optional<SystemFile> file;
  try {
    file.emplace(name, SystemFile::Mode::create);
  } catch (const Error&) {
    return;
  }
  file->reserve(closing_bytes);
  give_up_data(name);
}

/// Returns why the disk has no room for what HDF5 has not written yet. HDF5 1.10 must not find out by itself: it frees
/// a file that it fails to close, but keeps the identifier, and uses both when the process ends.
std::optional<Error> find_room(const Hdf5Handle& file, const std::string& name) {
  hsize_t bytes = 0;
  if (H5Fget_filesize(file.id(), &bytes) < 0) {
    return std::nullopt;
  }
  try {
    SystemFile{name, SystemFile::Mode::write}.reserve(bytes);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// Closes what was written. A file that fails gives up its data first, so that there is room for what HDF5 writes when
/// it closes it. Throws: `Error` with `io`.
void finish(Hdf5Handle& file, Hdf5Writer& out, const Target& target) {
  const bool looks_for_room = target.reserves_room && !out.has_failed();
  const std::optional<Error> no_room = looks_for_room ? find_room(file, target.name) : std::nullopt;
  if ((no_room || out.has_failed()) && target.opening != Opening::update) {
    give_up_data(target.name);
  }
  out.check(file.close(), "the end of the file");
  if (no_room) {
    throw Error{*no_room};
  }
  out.throw_if_failed();
}

/// Opens the file, writes and closes it. `access`: empty for this process alone.
void write_contents(const Target& target, const Hdf5Handle& access, const WriteContents& write) {
  const Hdf5Silence silence;  // not around turns: HDF5 may be used by one thread at a time
  const Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
#ifdef H5_HAVE_PARALLEL
  if (access) {
    H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
  }
#endif
  const std::string& name = target.name;
  const hid_t how = access ? access.id() : H5P_DEFAULT;
  Hdf5Handle file{target.opening == Opening::create ? H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, how)
                                                    : H5Fopen(name.c_str(), H5F_ACC_RDWR, how),
                  H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot {} the file: {}; does its folder exist, and may one write there?",
                            name,
                            target.opening == Opening::create ? "create" : "open",
                            hdf5_reason())};
  }
  Hdf5Writer out{file.id(),
                 name,
                 transfer.id(),
                 target.opening == Opening::fill ? Hdf5Writer::Mode::fill : Hdf5Writer::Mode::create};
  write(out);
  finish(file, out, target);
}

}  // namespace

Result<std::uint64_t> write_hdf5(const std::filesystem::path& file, Hdf5Ranks& ranks, const WriteContents& write) {
  const net::Exchange exchange = ranks.exchange();
  const bool is_first = ranks.self() == 0;
  std::optional<PartialFile> partial;
  if (is_first) {
    partial.emplace(file);
  }
  const std::string name = PartialFile::path_for(file).string();
  std::optional<Error> trouble = net::first_error(exchange, [&] {
    if (is_first) {
      require_room(name);
    }
  });
  if (trouble) {
    return *trouble;
  }
  if (const Hdf5Handle access = ranks.parallel_access()) {
    trouble = net::first_error(exchange, [&] { write_contents({name, Opening::create, is_first}, access, write); });
  } else {
    trouble = net::first_error(exchange, [&] {
      ranks.in_turn([&] { write_contents({name, is_first ? Opening::create : Opening::fill}, {}, write); });
    });
  }
  std::uint64_t bytes = 0;
  if (!trouble) {
    trouble = net::first_error(exchange, [&] { bytes = is_first ? partial->complete() : 0; });
  }
  if (trouble) {
    return *trouble;
  }
  const Bytes size = exchange(std::as_bytes(std::span{&bytes, 1})).front();
  std::ranges::copy(size, std::as_writable_bytes(std::span{&bytes, 1}).begin());
  return bytes;
}

Result<std::uint64_t> write_hdf5(const std::filesystem::path& file, const WriteContents& write) {
  OneRank alone;
  return write_hdf5(file, alone, write);
}

void create_hdf5(const std::filesystem::path& file, const WriteContents& write) {
  require_room(file.string());
  write_contents({file.string(), Opening::create}, {}, write);
}

void update_hdf5(const std::filesystem::path& file, const WriteContents& write) {
  write_contents({file.string(), Opening::update}, {}, write);
}

void update_hdf5(const std::filesystem::path& file, Hdf5Ranks& ranks, const WriteContents& write) {
  write_contents({file.string(), Opening::update, ranks.self() == 0}, ranks.parallel_access(), write);
}

}  // namespace plait::files
