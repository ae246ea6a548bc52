// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <asm/perf_regs.h>
#include <atomic>
#include <bit>
#include <cerrno>
#include <ctime>
#include <linux/perf_event.h>
#include <span>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "plait/record/sample_source.hpp"

namespace plait::record {
namespace {

#ifdef __x86_64__
/// The kernel gives registers in the order of their numbers.
constexpr std::array registers_wanted = {PERF_REG_X86_BP, PERF_REG_X86_SP, PERF_REG_X86_IP};
#else  // AArch64
constexpr std::array registers_wanted = {PERF_REG_ARM64_X29, PERF_REG_ARM64_SP, PERF_REG_ARM64_PC};
#endif

constexpr std::size_t ring_bytes_max = 1024 * 1024;
constexpr std::size_t ring_bytes_min = 64 * 1024;

int open_event(pid_t thread, nanoseconds interval, bool with_kernel) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_CPU_CLOCK;
  event.sample_period = static_cast<std::uint64_t>(interval.count());
  event.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  for (const auto number : registers_wanted) {
    event.sample_regs_user |= std::uint64_t{1} << static_cast<unsigned>(number);
  }
  event.sample_stack_user = sampled_stack_bytes;
  event.exclude_kernel = with_kernel ? 0 : 1;
  event.exclude_hv = 1;
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC;
  return static_cast<int>(::syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// The memory that the kernel writes records to.
class Ring {
 public:
  /// Takes less memory where the kernel does not allow as much as wanted. Without memory, `is_good` is false.
  explicit Ring(int event) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    for (bytes_ = ring_bytes_max; bytes_ >= ring_bytes_min; bytes_ /= 2) {
      void* const memory = ::mmap(nullptr, page + bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
      if (memory != MAP_FAILED) {
        page_ = static_cast<perf_event_mmap_page*>(memory);
        data_ = static_cast<const std::byte*>(memory) + page;
        whole_ = page + bytes_;
        return;
      }
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (is_good()) {
      ::munmap(page_, whole_);
    }
  }

  [[nodiscard]] bool is_good() const noexcept { return page_ != nullptr; }

  /// Calls `take` with each new record, in one piece.
  template <class Take>
  void drain(const Take& take) {
    std::uint64_t tail = page_->data_tail;
    const std::uint64_t head = std::atomic_ref{page_->data_head}.load(std::memory_order_acquire);  // with the kernel
    while (head - tail >= sizeof(perf_event_header)) {
      perf_event_header header{};
      copy(tail, std::as_writable_bytes(std::span{&header, 1}));
      if (header.size < sizeof header || header.size > head - tail) {
        tail = head;  // not what the kernel writes
        break;
      }
      record_.resize(header.size);
      copy(tail, record_);
      take(header, std::span{std::as_const(record_)}.subspan(sizeof header));
      tail += header.size;
    }
    std::atomic_ref{page_->data_tail}.store(tail, std::memory_order_release);  // with the kernel
  }

 private:
  void copy(std::uint64_t from, std::span<std::byte> to) const {
    const std::size_t at = from % bytes_;
    const std::size_t first = std::min(to.size(), bytes_ - at);
    std::copy_n(data_ + at, first, to.begin());
    std::copy_n(data_, to.size() - first, to.begin() + static_cast<std::ptrdiff_t>(first));
  }

  perf_event_mmap_page* page_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t whole_ = 0;
  std::vector<std::byte> record_;
};

/// Reads numbers from a record; zeros after its end.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_{bytes} {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() >= sizeof value) {
      std::copy_n(bytes_.begin(), sizeof value, std::as_writable_bytes(std::span{&value, 1}).begin());
    }
    bytes_ = bytes_.subspan(std::min(bytes_.size(), sizeof value));
    return value;
  }
  std::span<const std::byte> bytes(std::uint64_t count) {
    const auto found = bytes_.first(std::min<std::size_t>(count, bytes_.size()));
    bytes_ = bytes_.subspan(found.size());
    return found;
  }

 private:
  std::span<const std::byte> bytes_;
};

RawSample sample_in(std::span<const std::byte> record) {
  Fields fields{record};
  RawSample sample;
  sample.time = nanoseconds{static_cast<std::int64_t>(fields.number())};
  if (fields.number() != PERF_SAMPLE_REGS_ABI_NONE) {
    sample.registers.frame = fields.number();
    sample.registers.stack = fields.number();
    sample.registers.instruction = fields.number();
  }
  const auto stack = fields.bytes(fields.number());
  const std::uint64_t used = stack.empty() ? 0 : fields.number();
  sample.stack = {.begin = sample.registers.stack, .bytes = stack.first(std::min<std::size_t>(used, stack.size()))};
  return sample;
}

class PerfSamples final : public SampleSource {
 public:
  explicit PerfSamples(int event) : event_{event}, ring_{event} {}
  PerfSamples(const PerfSamples&) = delete;
  PerfSamples& operator=(const PerfSamples&) = delete;
  ~PerfSamples() override { ::close(event_); }

  [[nodiscard]] bool is_good() const noexcept { return ring_.is_good(); }

  void drain(const std::function<void(const RawSample&)>& take) override {
    ring_.drain([&](const perf_event_header& header, std::span<const std::byte> record) {
      if (header.type == PERF_RECORD_SAMPLE) {
        take(sample_in(record));
      } else if (header.type == PERF_RECORD_LOST) {
        Fields fields{record};
        fields.number();  // the event
        lost_ += fields.number();
      }
    });
  }
  [[nodiscard]] std::uint64_t lost_count() const noexcept override { return lost_; }

 private:
  int event_;
  Ring ring_;
  std::uint64_t lost_ = 0;
};

}  // namespace

std::unique_ptr<SampleSource> perf_samples(pid_t thread, nanoseconds interval) {
  int event = open_event(thread, interval, true);
  if (event < 0 && (errno == EACCES || errno == EPERM)) {
    event = open_event(thread, interval, false);
  }
  if (event < 0) {
    return nullptr;
  }
  auto samples = std::make_unique<PerfSamples>(event);
  return samples->is_good() ? std::move(samples) : nullptr;
}

}  // namespace plait::record
