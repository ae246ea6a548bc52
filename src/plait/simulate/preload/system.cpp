// SPDX-License-Identifier: Apache-2.0
// What ranks ask of the system, by the virtual clock and on hosts of their own. Other threads get the system's answers.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sys/time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "plait/simulate/preload/real.hpp"
#include "plait/simulate/preload/simulation.hpp"

namespace plait::simulate {
namespace {

/// Calendar time at the start of the virtual clock, 2000-01-01 in UTC: equal in all runs.
constexpr std::chrono::seconds calendar_start{946'684'800};

std::timespec to_timespec(nanoseconds time) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = whole.count(), .tv_nsec = (time - whole).count()};
}

nanoseconds to_nanoseconds(const std::timespec& time) noexcept {
  return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

bool is_virtual(clockid_t clock) noexcept {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE ||
         clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

nanoseconds read(Simulation& simulation, clockid_t clock) {
  const bool is_calendar = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  // Libraries read the calendar to limit their own work, under locks that another rank may need: FFTW does.
  return is_calendar ? simulation.time().peek_clock() + calendar_start : simulation.time().read_clock();
}

}  // namespace
}  // namespace plait::simulate

// NOLINTBEGIN(readability-identifier-naming): names of the system
extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  plait::simulate::Simulation* const simulation = plait::simulate::simulation_of_caller();
  if (simulation == nullptr || !plait::simulate::is_virtual(clock)) {
    return plait::simulate::real_clock_gettime(clock, time);
  }
  *time = plait::simulate::to_timespec(plait::simulate::read(*simulation, clock));
  return 0;
}

[[gnu::visibility("default")]] int gettimeofday(struct timeval* time, void* /*zone*/) noexcept {
  std::timespec precise{};
  const int status = clock_gettime(CLOCK_REALTIME, &precise);
  *time = {.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
  return status;
}

[[gnu::visibility("default")]] time_t time(time_t* where) noexcept {
  std::timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (where != nullptr) {
    *where = precise.tv_sec;
  }
  return precise.tv_sec;
}

[[gnu::visibility("default")]] int clock_nanosleep(clockid_t clock,
                                                   int flags,
                                                   const struct timespec* length,
                                                   struct timespec* left) {
  plait::simulate::Simulation* const simulation = plait::simulate::simulation_of_caller();
  if (simulation == nullptr || !plait::simulate::is_virtual(clock)) {
    using Sleep = int(clockid_t, int, const std::timespec*, std::timespec*);
    static const auto real = plait::simulate::real_function<Sleep>("clock_nanosleep");
    return real(clock, flags, length, left);
  }
  const plait::nanoseconds now =
      flags == TIMER_ABSTIME ? plait::simulate::read(*simulation, clock) : plait::nanoseconds{0};
  simulation->time().wait_for(std::max(plait::simulate::to_nanoseconds(*length) - now, plait::nanoseconds{0}));
  return 0;
}

[[gnu::visibility("default")]] int nanosleep(const struct timespec* length, struct timespec* left) {
  const int error = clock_nanosleep(CLOCK_REALTIME, 0, length, left);
  errno = error != 0 ? error : errno;
  return error != 0 ? -1 : 0;
}

// These two do not reach the function above within glibc.
[[gnu::visibility("default")]] int usleep(useconds_t length) {
  const std::timespec time{.tv_sec = length / 1'000'000, .tv_nsec = static_cast<long>(length % 1'000'000) * 1000};
  return nanosleep(&time, nullptr);
}

[[gnu::visibility("default")]] unsigned int sleep(unsigned int seconds) {
  const std::timespec time{.tv_sec = seconds, .tv_nsec = 0};
  return nanosleep(&time, nullptr) == 0 ? 0 : seconds;
}

[[gnu::visibility("default")]] int gethostname(char* name, size_t size) noexcept {
  plait::simulate::Simulation* const simulation = plait::simulate::simulation_of_caller();
  if (simulation == nullptr) {
    static const auto real = plait::simulate::real_function<int(char*, size_t) noexcept>("gethostname");
    return real(name, size);
  }
  const std::string host = fmt::format("host-{:04}", simulation->host_of_caller());
  if (host.size() >= size) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(name, host.c_str(), host.size() + 1);
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
