// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/detail/meeting.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net::detail::shm {
namespace {

/// Must be equal on all ranks.
struct Agreed {
  std::uint64_t packet_bytes_max = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t bounce_bytes = 0;
  std::uint64_t piece_bytes = 0;
  std::uint64_t copy_bytes = 0;
  std::uint32_t copy_count = 0;
  std::uint32_t slot_count = 0;
  std::uint32_t single_copy = 0;
  std::uint32_t looks_at_all = 0;

  friend bool operator==(const Agreed&, const Agreed&) = default;
};

/// The first message of a rank to the others.
struct Hello {
  ProcessId process;
  std::uint64_t marks = 0;  ///< Address of one word for each rank, for others to try to read and write.
  Agreed agreed;
};

/// Where the segment is.
struct Place {
  std::array<char, 64> name{};
  std::uint64_t start = 0;  ///< In the process of rank 0.
};

template <class T>
std::vector<T> exchange_values(const Exchange& exchange, const T& mine, std::uint32_t rank_count) {
  const std::vector<Bytes> all = exchange(std::as_bytes(std::span{&mine, 1}));
  std::vector<T> values(rank_count);
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    require(rank < all.size() && all[rank].size() == sizeof(T),
            "shm driver: the exchange did not return what each rank has given");
    std::memcpy(static_cast<void*>(&values[rank]), all[rank].data(), sizeof(T));
  }
  return values;
}

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error{ErrorCode::io, "shm driver: " + sentence};
}

/// Reads a word of each peer and writes it back, which is what bulk data will need.
bool may_copy_with_all(const std::vector<Hello>& hellos, std::uint32_t self) {
  const ProcessId& me = hellos[self].process;
  return std::ranges::all_of(hellos, [&](const Hello& peer) {
    const std::uint64_t place = peer.marks + self * sizeof(std::uint64_t);
    std::uint64_t word = 0;
    const std::span bytes = std::as_writable_bytes(std::span{&word, 1});
    return peer.process == me ||
           (read_from(peer.process, place, bytes) == 0 && write_to(peer.process, place, bytes) == 0);
  });
}

void throw_unless_all_are_here(const std::vector<Hello>& hellos, std::uint32_t self) {
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank) {
    if (is_gone(hellos[rank].process)) {
      refuse(
          fmt::format("rank {} sees no process {}, which is rank {}: ranks in different containers cannot share "
                      "memory; use the mpi driver",
                      self,
                      hellos[rank].process.number,
                      rank));
    }
  }
}

/// Cannot be guessed by others, who could put a segment of their own in its place.
std::string new_name() {
  std::array<std::uint64_t, 2> chance{};
  if (::getrandom(chance.data(), sizeof chance, 0) != static_cast<ssize_t>(sizeof chance)) {
    chance = {static_cast<std::uint64_t>(::getpid()), std::bit_cast<std::uintptr_t>(&chance)};
  }
  return fmt::format("/plait-{:016x}{:016x}", chance[0], chance[1]);
}

/// The name of a segment, until the end of scope.
struct Name {
  explicit Name(std::string given) : text{std::move(given)} {}
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  ~Name() {
    if (!text.empty()) {
      ::shm_unlink(text.c_str());
    }
  }
  std::string text;
};

std::string no_room(int code, std::size_t bytes, std::uint32_t rank_count) {
  struct statvfs room{};
  const bool is_known = ::statvfs("/dev/shm", &room) == 0;
  constexpr double mebi = 1024.0 * 1024.0;
  return fmt::format(
      "{:.1f} MiB are needed in /dev/shm for {} ranks{}: {}; give the machine more, or set a smaller "
      "ShmOptions::ring_memory_bytes_max, or use the mpi driver",
      static_cast<double>(bytes) / mebi,
      rank_count,
      is_known ? fmt::format(", and {:.1f} MiB are free", static_cast<double>(room.f_bavail * room.f_bsize) / mebi)
               : "",
      system_words(code));
}

/// Maps an open segment and closes it. Null with `errno` when that failed.
std::byte* map(int file, std::size_t bytes) {
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  const int code = errno;
  ::close(file);
  errno = code;
  return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
}

/// A new segment under `name`, all of it allocated: missing memory is reported now, not by a signal later.
std::byte* create(const std::string& name, const Layout& layout) {
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    refuse(fmt::format("shared memory cannot be made: {}", system_words(errno)));
  }
  const std::size_t bytes = layout.total_bytes();
  const int code = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (code != 0) {
    ::close(file);
    refuse(no_room(code, bytes, layout.rank_count));
  }
  std::byte* const start = map(file, bytes);
  if (start == nullptr) {
    refuse(no_room(errno, bytes, layout.rank_count));
  }
  return start;
}

std::byte* open(const char* name, std::size_t bytes) {
  const int file = ::shm_open(name, O_RDWR | O_CLOEXEC, 0);
  std::byte* const start = file < 0 ? nullptr : map(file, bytes);
  if (start == nullptr) {
    refuse(
        fmt::format("a rank cannot open the memory of rank 0: {}; ranks in different containers cannot "
                    "share memory: use the mpi driver",
                    system_words(errno)));
  }
  return start;
}

enum class Users : std::uint8_t { one, counted };

/// Owns mapped memory, alone or with other ranks of this process, of which the last one unmaps it.
Mapping own(std::byte* memory, std::size_t bytes, Users users) {
  return {memory, [bytes, users](std::byte* start) {
            // acq_rel: the unmapping follows all accesses of the others.
            if (users == Users::one || Segment{start, {}}.user_count().fetch_sub(1, std::memory_order_acq_rel) == 1) {
              ::munmap(start, bytes);
            }
          }};
}

/// Makes the segment on rank 0 and maps it everywhere.
Mapping map_on_all(std::uint32_t self,
                   const std::vector<Hello>& hellos,
                   const Exchange& exchange,
                   const Layout& layout) {
  const auto rank_count = static_cast<std::uint32_t>(hellos.size());
  const std::size_t bytes = layout.total_bytes();
  Name name{self == 0 ? new_name() : ""};
  Place place;
  Mapping mapping;
  agree(exchange, [&] {
    if (self == 0) {
      std::byte* const start = create(name.text, layout);
      const auto users = std::ranges::count(hellos, hellos[0].process, &Hello::process);
      Segment{start, layout}.user_count().store(static_cast<std::uint64_t>(users), std::memory_order_relaxed);
      mapping = own(start, bytes, Users::counted);
      place.start = std::bit_cast<std::uintptr_t>(start);
      name.text.copy(place.name.data(), place.name.size() - 1);
    }
  });
  place = exchange_values(exchange, place, rank_count)[0];
  agree(exchange, [&] {
    if (self != 0) {
      // NOLINTBEGIN(performance-no-int-to-ptr): sent as a number
      // Ranks of one process share one mapping, as the thread sanitizer knows addresses only.
      mapping = hellos[self].process == hellos[0].process
                    ? own(reinterpret_cast<std::byte*>(place.start), bytes, Users::counted)
                    : own(open(place.name.data(), bytes), bytes, Users::one);
      // NOLINTEND(performance-no-int-to-ptr)
    }
  });
  return mapping;
}

}  // namespace

Layout layout_for(std::uint32_t rank_count, const ShmOptions& options) {
  const std::size_t least = RingMemory::capacity_min(options.packet_bytes_max);
  const std::size_t share = options.ring_memory_bytes_max / rank_count;
  return {.rank_count = rank_count,
          .slot_count = options.bulk_slot_count,
          .ring_bytes = round_up(std::max(least, std::min(share, options.ring_bytes_max)), line_bytes),
          .copies = options.shared_copies};
}

Meeting meet(Rank self, std::uint32_t rank_count, const Exchange& exchange, const ShmOptions& options) {
  Meeting meeting{.layout = layout_for(rank_count, options)};
  if (options.single_copy == SingleCopy::automatic) {
    let_others_attach();
  }
  std::vector<std::uint64_t> marks(rank_count);
  const std::vector<Hello> hellos =
      exchange_values(exchange,
                      Hello{.process = this_process(),
                            .marks = std::bit_cast<std::uintptr_t>(marks.data()),
                            .agreed = {.packet_bytes_max = options.packet_bytes_max,
                                       .ring_bytes = meeting.layout.ring_bytes,
                                       .bounce_bytes = options.bounce_bytes,
                                       .piece_bytes = options.bulk_piece_bytes_max,
                                       .copy_bytes = options.shared_copies.bytes_max,
                                       .copy_count = options.shared_copies.count,
                                       .slot_count = options.bulk_slot_count,
                                       .single_copy = static_cast<std::uint32_t>(options.single_copy),
                                       .looks_at_all = options.look_at_all_ranks_max}},
                      rank_count);
  for (const Hello& hello : hellos) {
    require(hello.agreed == hellos[0].agreed, "shm driver: the options are not the same on all ranks");
    meeting.processes.push_back(hello.process);
  }
  agree(exchange, [&] { throw_unless_all_are_here(hellos, self.value()); });
  // A rank frees its marks only after the exchange that follows the tries of all.
  const bool i_may = options.single_copy == SingleCopy::automatic && may_copy_with_all(hellos, self.value());
  const std::vector<std::uint8_t> answers = exchange_values(exchange, std::uint8_t{i_may}, rank_count);
  const bool may_copy = std::ranges::count(answers, 0) == 0;
  meeting.single_copy = may_copy ? SingleCopy::automatic : SingleCopy::never;
  meeting.layout.buffer_bytes = may_copy ? 0 : options.bounce_bytes;
  meeting.mapping = map_on_all(self.value(), hellos, exchange, meeting.layout);
  return meeting;
}

}  // namespace plait::net::detail::shm
