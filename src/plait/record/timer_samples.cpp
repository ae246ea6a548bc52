// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <span>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "plait/record/sample_source.hpp"

namespace plait::record {
namespace {

/// One writer, the handler on the sampled thread; one reader. Is never freed, as a signal may come late.
struct SampleRing {
  struct Slot {
    nanoseconds time{};
    Registers registers;
    std::size_t stack_bytes = 0;
    std::array<std::byte, sampled_stack_bytes> stack;
  };

  std::array<Slot, 32> slots;
  std::atomic<std::uint64_t> written = 0;
  std::atomic<std::uint64_t> read = 0;
  std::atomic<std::uint64_t> lost = 0;
};

Registers registers_in(const ucontext_t& context) noexcept {
  const auto number = [](auto value) { return static_cast<std::uintptr_t>(value); };
#ifdef __x86_64__
  const auto& all = context.uc_mcontext.gregs;
  return {.instruction = number(all[REG_RIP]), .stack = number(all[REG_RSP]), .frame = number(all[REG_RBP])};
#else  // AArch64
  const auto& all = context.uc_mcontext;
  return {.instruction = number(all.pc), .stack = number(all.sp), .frame = number(all.regs[29])};
#endif
}

/// Copies what is there of the stack. The kernel copies whole pieces, and stops at memory that is not mapped.
std::size_t copy_stack(std::uintptr_t from, std::array<std::byte, sampled_stack_bytes>& to) noexcept {
  constexpr std::uintptr_t piece = 4096;
  std::array<iovec, sampled_stack_bytes / piece + 1> parts{};
  std::size_t count = 0;
  for (std::uintptr_t at = from; at < from + sampled_stack_bytes; ++count) {
    const std::uintptr_t end = std::min((at / piece + 1) * piece, from + sampled_stack_bytes);
    parts[count] = {.iov_base = reinterpret_cast<void*>(at), .iov_len = end - at};
    at = end;
  }
  iovec own{.iov_base = to.data(), .iov_len = to.size()};
  const ssize_t copied = ::process_vm_readv(::getpid(), &own, 1, parts.data(), count, 0);
  return copied < 0 ? 0 : static_cast<std::size_t>(copied);
}

/// Calls only what signal handlers may.
void on_signal(int /*signal*/, siginfo_t* info, void* context) noexcept {
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr == nullptr) {
    return;
  }
  const int error = errno;
  auto& ring = *static_cast<SampleRing*>(info->si_value.sival_ptr);
  const std::uint64_t written = ring.written.load(std::memory_order_relaxed);      // only this thread writes it
  if (written - ring.read.load(std::memory_order_acquire) >= ring.slots.size()) {  // with release in drain()
    ring.lost.fetch_add(1, std::memory_order_relaxed);                             // a count by itself
  } else {
    SampleRing::Slot& slot = ring.slots[written % ring.slots.size()];
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    slot.time = std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
    slot.registers = registers_in(*static_cast<const ucontext_t*>(context));
    slot.stack_bytes = copy_stack(slot.registers.stack, slot.stack);
    ring.written.store(written + 1, std::memory_order_release);  // with acquire in drain()
  }
  errno = error;
}

/// Returns whether SIGPROF is now ours; a program that has a handler of its own keeps it.
bool take_signal() noexcept {
  struct sigaction present{};
  ::sigaction(SIGPROF, nullptr, &present);
  if ((present.sa_flags & SA_SIGINFO) != 0) {
    return present.sa_sigaction == on_signal;
  }
  if (present.sa_handler != SIG_DFL) {
    return false;
  }
  struct sigaction own{};
  own.sa_sigaction = on_signal;
  own.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&own.sa_mask);
  return ::sigaction(SIGPROF, &own, nullptr) == 0;
}

/// The clock of a thread's processor time, as Linux encodes it.
clockid_t clock_of(pid_t thread) noexcept {
  constexpr unsigned per_thread = 4;
  constexpr unsigned of_scheduler = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U | per_thread | of_scheduler);
}

class TimerSamples final : public SampleSource {
 public:
  TimerSamples(timer_t timer, SampleRing& ring) : timer_{timer}, ring_{ring} {}
  TimerSamples(const TimerSamples&) = delete;
  TimerSamples& operator=(const TimerSamples&) = delete;
  ~TimerSamples() override { ::timer_delete(timer_); }

  void drain(const std::function<void(const RawSample&)>& take) override {
    std::uint64_t read = ring_.read.load(std::memory_order_relaxed);              // only this thread writes it
    const std::uint64_t written = ring_.written.load(std::memory_order_acquire);  // with release in on_signal()
    for (; read != written; ++read) {
      const SampleRing::Slot& slot = ring_.slots[read % ring_.slots.size()];
      take({.time = slot.time,
            .registers = slot.registers,
            .stack = {.begin = slot.registers.stack, .bytes = std::span{slot.stack}.first(slot.stack_bytes)}});
      ring_.read.store(read + 1, std::memory_order_release);  // with acquire in on_signal()
    }
  }
  [[nodiscard]] std::uint64_t lost_count() const noexcept override {
    return ring_.lost.load(std::memory_order_relaxed);  // a count by itself
  }

 private:
  timer_t timer_;
  SampleRing& ring_;
};

}  // namespace

std::unique_ptr<SampleSource> timer_samples(pid_t thread, nanoseconds interval) {
  if (!take_signal()) {
    errno = EBUSY;
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, sizeof(SampleRing), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  auto* const ring = new (memory) SampleRing;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event.sigev_value.sival_ptr = ring;
  event._sigev_un._tid = thread;  // glibc has no public name for it before 2.41
  timer_t timer{};
  if (::timer_create(clock_of(thread), &event, &timer) != 0) {
    ::munmap(memory, sizeof(SampleRing));
    return nullptr;
  }
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(interval);
  const timespec every{.tv_sec = whole.count(), .tv_nsec = (interval - whole).count()};
  const itimerspec times{.it_interval = every, .it_value = every};
  ::timer_settime(timer, 0, &times, nullptr);
  return std::make_unique<TimerSamples>(timer, *ring);
}

}  // namespace plait::record
