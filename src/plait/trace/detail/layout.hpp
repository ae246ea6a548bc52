// SPDX-License-Identifier: Apache-2.0
// Made from schema.toml by tools/make_trace_code.py: edit that.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plait/trace/event.hpp"

/// The bytes of a rank's trace file, version 1, as docs/reference/trace-format.md defines them.
namespace plait::trace::detail {

static_assert(std::endian::native == std::endian::little, "fields are stored as in memory");

inline constexpr std::array<char, 8> magic = {'P', 'L', 'A', 'I', 'T', 'T', 'R', 'C'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_bytes = 4096;
inline constexpr std::size_t record_bytes = 64;
inline constexpr std::size_t chunk_bytes_min = 128;
inline constexpr std::uint16_t no_worker = 65535;
inline constexpr std::int64_t time_max_ns = 31622400000000000;
inline constexpr std::uint64_t size_max = 1125899906842624;
inline constexpr std::uint32_t rank_count_max = 4194304;
inline constexpr std::uint32_t worker_count_max = 4096;

enum class Kind : std::uint8_t {
  none = 0,
  chunk = 1,
  name = 2,
  task = 3,
  message = 4,
  span = 5,
  poll_gap = 6,
  counter = 7,
  clock = 8,
  graph_task = 9,
  graph_run = 10,
  call = 11,
  communicator = 12,
  shares = 13,
  engine = 14,
  open_region = 15,
  sample = 16,
  count = 17,
  sum = 18,
  sum_times = 19,
  window = 20,
  profile_state = 21,
  flow_task = 22,
  graph_claims = 23,
  engine_sum = 26,
  collective_layout = 29,
  task_order = 30,
  background_time = 32,
  block_checksum = 35,
  recorder_costs = 31,
};

struct Header {
  std::array<char, 8> magic = detail::magic;
  std::uint32_t version = detail::version;
  std::uint32_t rank = 0;
  std::uint32_t rank_count = 0;
  std::uint32_t record_bytes = detail::record_bytes;
  std::uint32_t chunk_bytes = 0;
  std::uint32_t reserved = 0;
  std::int64_t wall_clock_ns = 0;
  std::int64_t clock_ns = 0;
};
static_assert(sizeof(Header) == 48 && offsetof(Header, clock_ns) == 40);

/// The first record of a chunk.
struct ChunkRecord {
  std::uint16_t thread = 0;  ///< Worker index, or 65535 for a thread that is no worker.
  std::uint32_t number = 0;  ///< Number of this chunk within its thread, from 0.
  std::string_view name;     ///< The thread's name, UTF-8, padded with zeros.
};

/// Gives a number its text. It precedes the first use of the number in time, but may be in another thread's
/// chunk.
struct NameRecord {
  Role role = Role{};        ///< What the name is for.
  std::uint16_t length = 0;  ///< Bytes of text, at most 56.
  std::uint32_t number = 0;  ///< Number, unique within (rank, role).
  std::string_view text;     ///< Text, UTF-8, padded with zeros.
};

/// Ends a block: sums over all records before it in its block, by which damage of the file is found. See "Blocks"
/// below. Chunks without such records have none.
struct BlockChecksumRecord {
  std::uint64_t sum = 0;          ///< Sum of the 64-bit words of these records.
  std::uint64_t sum_of_sums = 0;  ///< Sum of what that sum is after each word, in their order.
};

}  // namespace plait::trace::detail
