// SPDX-License-Identifier: Apache-2.0
#include "plait/record/counters.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <linux/perf_event.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

namespace plait::record {
namespace {

constexpr std::array known_counters = {
    CounterKind{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    CounterKind{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    CounterKind{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    CounterKind{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    CounterKind{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    CounterKind{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    CounterKind{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    CounterKind{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    CounterKind{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};
static_assert(known_counters.size() <= counters_max);

int open_counter(const CounterKind& kind) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = kind.type;
  event.config = kind.number;
  event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  event.exclude_kernel = kind.type == PERF_TYPE_HARDWARE ? 1 : 0;
  event.exclude_hv = 1;
  int file = static_cast<int>(::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (file < 0 && (errno == EACCES || errno == EPERM)) {
    event.exclude_kernel = 1;
    file = static_cast<int>(::syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  }
  return file;
}

std::string why_not(const CounterKind& kind, int error) {
  const char* const reason = error == EACCES || error == EPERM
                                 ? "the kernel does not permit it (/proc/sys/kernel/perf_event_paranoid above 2)"
                             : error == ENOENT || error == EOPNOTSUPP || error == ENODEV
                                 ? "this processor does not give it: a virtual machine often hides its counters"
                                 : std::strerror(error);
  return fmt::format(
      "counter {}: {}; task-clock, page-faults and context-switches need no such support", kind.name, reason);
}

}  // namespace

std::vector<CounterKind> counters_wanted() {
  const char* const wanted = std::getenv("PLAIT_RECORD_COUNTERS");
  std::string_view rest{wanted != nullptr ? wanted : ""};
  std::vector<CounterKind> kinds;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const auto known = std::ranges::find(known_counters, name, &CounterKind::name);
    if (known == known_counters.end()) {
      std::vector<std::string> names;
      std::ranges::transform(known_counters, std::back_inserter(names), &CounterKind::name);
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("PLAIT_RECORD_COUNTERS: there is no counter '{}'; there are {}", name, fmt::join(names, ", "))};
    }
    if (std::ranges::find(kinds, known->name, &CounterKind::name) == kinds.end()) {
      kinds.push_back(*known);
    }
  }
  return kinds;
}

ThreadCounters::ThreadCounters(std::span<const CounterKind> kinds) {
  for (const CounterKind& kind : kinds) {
    files_.push_back(open_counter(kind));
    if (files_.back() < 0) {
      const int error = errno;
      files_.pop_back();
      close_all();
      throw Error{ErrorCode::io, why_not(kind, error)};
    }
  }
}

ThreadCounters::~ThreadCounters() {
  close_all();
}

void ThreadCounters::close_all() noexcept {
  for (const int file : files_) {
    ::close(file);
  }
}

Counts ThreadCounters::read() const noexcept {
  struct Read {
    std::uint64_t value;
    std::uint64_t enabled;
    std::uint64_t running;
  };
  Counts counts{};
  for (std::size_t i = 0; i < files_.size(); ++i) {
    Read found{};
    const bool is_good = ::read(files_[i], &found, sizeof found) == static_cast<ssize_t>(sizeof found);
    const bool is_shared = is_good && found.running > 0 && found.running < found.enabled;
    const double scale = is_shared ? static_cast<double>(found.enabled) / static_cast<double>(found.running) : 1.0;
    counts[i] = is_shared ? static_cast<std::uint64_t>(static_cast<double>(found.value) * scale) : found.value;
  }
  return counts;
}

}  // namespace plait::record
