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

/// A rank's first words to the others.
struct Hello {
  ProcessId process;
  std::uint64_t marks = 0;  ///< Address of one word for each rank, for others to try to read and write.
  // What must be equal everywhere.
  std::uint64_t packet_bytes_max = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t bounce_bytes = 0;
  std::uint64_t piece_bytes = 0;
  std::uint32_t slot_count = 0;
  std::uint32_t single_copy = 0;
  std::uint32_t looks_at_all = 0;

  [[nodiscard]] bool agrees_with(const Hello& other) const {
    const auto all = [](const Hello& one) {
      return std::array<std::uint64_t, 7>{one.packet_bytes_max,
                                          one.ring_bytes,
                                          one.bounce_bytes,
                                          one.piece_bytes,
                                          one.slot_count,
                                          one.single_copy,
                                          one.looks_at_all};
    };
    return all(*this) == all(other);
  }
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
    if (rank >= all.size() || all[rank].size() != sizeof(T)) {
      throw Error{ErrorCode::bad_argument, "shm driver: the exchange did not bring what each rank has given"};
    }
    std::memcpy(static_cast<void*>(&values[rank]), all[rank].data(), sizeof(T));
  }
  return values;
}

/// What a rank tells of one step: empty when it went well. Trouble of one is trouble of all, in the same words.
class Verdict {
 public:
  void object(const std::string& sentence) {
    if (sentence_[0] == '\0') {
      sentence.copy(sentence_.data(), sentence_.size() - 1);
    }
  }
  void throw_trouble() const {
    if (sentence_[0] != '\0') {
      throw Error{ErrorCode::io, fmt::format("shm driver: {}", sentence_.data())};
    }
  }
  bool may_copy = false;

 private:
  std::array<char, 400> sentence_{};
};

std::vector<Verdict> agree(const Exchange& exchange, const Verdict& mine, std::uint32_t rank_count) {
  std::vector<Verdict> all = exchange_values(exchange, mine, rank_count);
  for (const Verdict& verdict : all) {
    verdict.throw_trouble();
  }
  return all;
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

Verdict look_at(const std::vector<Hello>& hellos, std::uint32_t self, SingleCopy wanted) {
  Verdict verdict;
  for (std::uint32_t rank = 0; rank < hellos.size(); ++rank) {
    if (is_gone(hellos[rank].process)) {
      verdict.object(
          fmt::format("rank {} sees no process {}, which is rank {}: ranks in different containers cannot share "
                      "memory; use the mpi driver",
                      self,
                      hellos[rank].process.number,
                      rank));
    }
  }
  if (wanted == SingleCopy::automatic) {
    verdict.may_copy = may_copy_with_all(hellos, self);
  }
  return verdict;
}

/// Nobody else can guess it, and so put a segment of his own in its place.
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
  Name(Name&&) = delete;
  Name& operator=(Name&&) = delete;
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

/// A new segment under `name`, all of it allocated: memory that is missing is told now, and not by a signal later.
std::byte* create(const std::string& name, const Layout& layout, Verdict& verdict) {
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    verdict.object(fmt::format("shared memory cannot be made: {}", system_words(errno)));
    return nullptr;
  }
  const std::size_t bytes = layout.total_bytes();
  const int code = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (code != 0) {
    ::close(file);
    verdict.object(no_room(code, bytes, layout.rank_count));
    return nullptr;
  }
  std::byte* const start = map(file, bytes);
  if (start == nullptr) {
    verdict.object(no_room(errno, bytes, layout.rank_count));
  }
  return start;
}

std::byte* open(const char* name, std::size_t bytes, Verdict& verdict) {
  const int file = ::shm_open(name, O_RDWR | O_CLOEXEC, 0);
  std::byte* const start = file < 0 ? nullptr : map(file, bytes);
  if (start == nullptr) {
    verdict.object(
        fmt::format("a rank cannot open the memory of rank 0: {}; ranks in different containers cannot "
                    "share memory: use the mpi driver",
                    system_words(errno)));
  }
  return start;
}

/// Makes the segment on rank 0 and maps it everywhere.
Mapping map_on_all(std::uint32_t self,
                   const std::vector<Hello>& hellos,
                   const Exchange& exchange,
                   const Layout& layout) {
  const auto rank_count = static_cast<std::uint32_t>(hellos.size());
  const std::size_t bytes = layout.total_bytes();
  Name name{self == 0 ? new_name() : ""};
  Verdict verdict;
  Place place;
  Mapping mapping;
  if (self == 0) {
    if (std::byte* const start = create(name.text, layout, verdict)) {
      const auto users = std::ranges::count(hellos, hellos[0].process, &Hello::process);
      Segment{start, layout}.user_count().store(static_cast<std::uint64_t>(users), std::memory_order_relaxed);
      mapping = {start, bytes, Mapping::Users::counted};
      place.start = std::bit_cast<std::uintptr_t>(start);
    }
    name.text.copy(place.name.data(), place.name.size() - 1);
  }
  place = exchange_values(exchange, place, rank_count)[0];
  if (self != 0 && place.start != 0) {
    // NOLINTBEGIN(performance-no-int-to-ptr): told as a number
    // Ranks of one process share one mapping: the thread sanitizer, for one, knows addresses and not what is behind.
    mapping = hellos[self].process == hellos[0].process
                  ? Mapping{reinterpret_cast<std::byte*>(place.start), bytes, Mapping::Users::counted}
                  : Mapping{open(place.name.data(), bytes, verdict), bytes, Mapping::Users::one};
    // NOLINTEND(performance-no-int-to-ptr)
  }
  agree(exchange, verdict, rank_count);
  return mapping;
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : start_{std::exchange(other.start_, nullptr)}, bytes_{other.bytes_}, users_{other.users_} {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  std::swap(users_, other.users_);
  return *this;
}

Mapping::~Mapping() {
  if (start_ == nullptr) {
    return;
  }
  // acq_rel: whoever unmaps comes after all that the others did.
  if (users_ == Users::one || Segment{start_, {}}.user_count().fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ::munmap(start_, bytes_);
  }
}

Layout layout_for(std::uint32_t rank_count, const ShmOptions& options) {
  const std::size_t least = RingMemory::capacity_min(options.packet_bytes_max);
  const std::size_t share = options.ring_memory_bytes_max / rank_count;
  return {.rank_count = rank_count,
          .slot_count = options.bulk_slot_count,
          .ring_bytes = round_up(std::max(least, std::min(share, options.ring_bytes_max)), line_bytes)};
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
                            .packet_bytes_max = options.packet_bytes_max,
                            .ring_bytes = meeting.layout.ring_bytes,
                            .bounce_bytes = options.bounce_bytes,
                            .piece_bytes = options.bulk_piece_bytes_max,
                            .slot_count = options.bulk_slot_count,
                            .single_copy = static_cast<std::uint32_t>(options.single_copy),
                            .looks_at_all = options.look_at_all_ranks_max},
                      rank_count);
  for (const Hello& hello : hellos) {
    if (!hello.agrees_with(hellos[0])) {
      throw Error{ErrorCode::bad_argument, "shm driver: the options are not the same on all ranks"};
    }
    meeting.processes.push_back(hello.process);
  }
  // Nobody leaves, and so frees its marks, before all have tried: that is when all have given their verdict.
  const std::vector<Verdict> verdicts = agree(exchange, look_at(hellos, self.value(), options.single_copy), rank_count);
  const bool may_copy = std::ranges::all_of(verdicts, &Verdict::may_copy);
  meeting.single_copy = may_copy ? SingleCopy::automatic : SingleCopy::never;
  meeting.layout.buffer_bytes = may_copy ? 0 : options.bounce_bytes;
  meeting.mapping = map_on_all(self.value(), hellos, exchange, meeting.layout);
  return meeting;
}

}  // namespace plait::net::detail::shm
