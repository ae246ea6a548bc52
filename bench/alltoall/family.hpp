// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "plait/net/mpi/window.hpp"

#include "alltoall/grid.hpp"
#include "alltoall/work.hpp"

namespace plait {
class Runtime;
}

namespace alltoall {

/// What an all-to-all moves: a block of `block_bytes` to and from each rank of the group, its own included.
struct Buffers {
  std::span<const std::byte> send;
  std::span<std::byte> receive;
  std::size_t block_bytes = 0;

  [[nodiscard]] std::span<const std::byte> to(std::size_t rank) const {
    return send.subspan(rank * block_bytes, block_bytes);
  }
  [[nodiscard]] std::span<std::byte> from(std::size_t rank) const {
    return receive.subspan(rank * block_bytes, block_bytes);
  }
};

/// What families need to know when they are made. The same on all ranks.
struct Settings {
  std::size_t block_bytes_max = 0;     ///< The largest block of the job.
  std::size_t chunk_bytes = 512;       ///< Of CoM and CoM2.
  std::size_t test_count = 16;         ///< Calls of MPI_Test in one piece of work.
  std::size_t piece_bytes_min = 8192;  ///< PLT cuts blocks into pieces, not smaller than this,
  std::size_t piece_count_max = 4;     ///< and not more than these.
};

/// Into how many pieces PLT cuts a block.
[[nodiscard]] std::size_t piece_count(const Settings& settings, std::size_t block_bytes);
/// Into how many it cuts the rank's own block, which needs no message: finer, as these fill the time in which the first
/// messages are agreed upon, and the network is looked at between tasks.
[[nodiscard]] std::size_t own_piece_count(std::size_t pieces);

/// Why a family cannot run here. All ranks of a group throw it, or none; other groups may be able to.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A window for the ranks of a group. Collective over the world. Throws: `Unavailable` where MPI cannot make one.
[[nodiscard]] std::unique_ptr<plait::net::Window> make_window(
    const Group& group, std::size_t bytes, plait::net::Window::Kind kind = plait::net::Window::Kind::fetched);
/// The ranks of a group in an order at random, another on each rank, the same in each run.
[[nodiscard]] inline std::vector<std::size_t> random_order(const Group& group) {
  return plait::net::random_order(group.size(), group.self());
}

/// Variants of the all-to-all that share their means (a window, requests, a graph), on one group of ranks.
///
/// Making one is collective over the world, all calls over the group. Threads: one.
class Family {
 public:
  Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  Family(Family&&) = delete;
  Family& operator=(Family&&) = delete;
  virtual ~Family() = default;

  /// Makes what belongs to these buffers, which stay where they are until the next call.
  virtual void prepare(const Buffers& buffers) { buffers_ = buffers; }
  /// Whether the family moves its data by plait's runtime, not by calls to MPI.
  [[nodiscard]] virtual bool uses_runtime() const noexcept { return false; }
  /// One all-to-all and all the work, by the variant that stands at `member` in the family's row of the table. When it
  /// returns, the receive buffer may be read, the send buffer written and the work is done.
  virtual void run(std::size_t member, Work& work) = 0;

 protected:
  [[nodiscard]] const Buffers& buffers() const noexcept { return buffers_; }

 private:
  Buffers buffers_;
};

/// A variant: its name, the twin that does its work after the communication (empty where the variant is blocking), and
/// what it does, for `--help`.
struct Member {
  std::string_view name;
  std::string_view twin;
  std::string_view summary;
};

using MakeFamily = std::unique_ptr<Family> (*)(const Group&, const Settings&, plait::Runtime&);

/// One row of the table of variants.
struct FamilyEntry {
  MakeFamily make;
  std::vector<Member> members;
};

// One of these stands at the end of each family's file. Throw: `Unavailable`.
std::unique_ptr<Family> make_blocking(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_nonblocking(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_persistent(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_chunked_gets(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_gets(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_shared_window(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_engine(const Group&, const Settings&, plait::Runtime&);
std::unique_ptr<Family> make_tasks(const Group&, const Settings&, plait::Runtime&);

/// All variants, in the order in which they are printed and take turns.
[[nodiscard]] const std::vector<FamilyEntry>& families();

}  // namespace alltoall
