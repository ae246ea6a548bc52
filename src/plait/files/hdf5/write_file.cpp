// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/write_file.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/base/bytes.hpp"
#include "plait/files/partial_file.hpp"

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

/// Opens the file, writes and closes it. `access`: empty for this process alone.
void write_contents(const std::string& name, const Hdf5Handle& access, Opening opening, const WriteContents& write) {
  const Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
#ifdef H5_HAVE_PARALLEL
  if (access) {
    H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
  }
#endif
  const hid_t how = access ? access.id() : H5P_DEFAULT;
  Hdf5Handle file{opening == Opening::create ? H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, how)
                                             : H5Fopen(name.c_str(), H5F_ACC_RDWR, how),
                  H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot {} the file: {}; does its folder exist, and may one write there?",
                            name,
                            opening == Opening::create ? "create" : "open",
                            hdf5_reason())};
  }
  Hdf5Writer out{
      file.id(), name, transfer.id(), opening == Opening::fill ? Hdf5Writer::Mode::fill : Hdf5Writer::Mode::create};
  write(out);
  out.check(file.close(), "the end of the file");
  out.throw_if_failed();
}

}  // namespace

Result<std::uint64_t> write_hdf5(const std::filesystem::path& file, Hdf5Ranks& ranks, const WriteContents& write) {
  const Hdf5Silence silence;
  const net::Exchange exchange = ranks.exchange();
  const bool is_first = ranks.self() == 0;
  std::optional<PartialFile> partial;
  if (is_first) {
    partial.emplace(file);
  }
  const std::string name = PartialFile::path_for(file).string();
  std::optional<Error> trouble;
  if (const Hdf5Handle access = ranks.parallel_access()) {
    trouble = net::first_error(exchange, [&] { write_contents(name, access, Opening::create, write); });
  } else {
    trouble = net::first_error(exchange, [&] {
      ranks.in_turn([&] { write_contents(name, {}, is_first ? Opening::create : Opening::fill, write); });
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
  const Hdf5Silence silence;
  write_contents(file.string(), {}, Opening::create, write);
}

void update_hdf5(const std::filesystem::path& file, const WriteContents& write) {
  const Hdf5Silence silence;
  write_contents(file.string(), {}, Opening::update, write);
}

void update_hdf5(const std::filesystem::path& file, Hdf5Ranks& ranks, const WriteContents& write) {
  const Hdf5Silence silence;
  write_contents(file.string(), ranks.parallel_access(), Opening::update, write);
}

}  // namespace plait::files
