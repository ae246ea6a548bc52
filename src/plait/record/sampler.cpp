// SPDX-License-Identifier: Apache-2.0
#include "plait/record/sampler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::record {
namespace {

constexpr std::size_t path_length_max = 64;
constexpr std::chrono::seconds last_samples_time_max{5};
constexpr int per_second_max = 10'000;
/// Between two drains; new threads are found then.
constexpr nanoseconds pause_min = std::chrono::milliseconds{2};
constexpr nanoseconds pause_max = std::chrono::milliseconds{100};
/// Of the samples for which a source has memory (4 to 64), those that may come in a pause.
constexpr int samples_in_pause = 3;

/// Those of plait as well.
std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/task", ignored}) {
    pid_t thread = 0;
    const std::string number = entry.path().filename();
    std::from_chars(number.data(), number.data() + number.size(), thread);
    threads.push_back(thread);
  }
  return threads;
}

std::string name_of(pid_t thread) {
  std::ifstream file{fmt::format("/proc/self/task/{}/comm", thread)};
  std::string name;
  std::getline(file, name);
  return name;
}

/// The program's threads have its name, which may begin with "plait-", too.
bool is_of_plait(pid_t thread) {
  const std::string name = name_of(thread);
  return name.starts_with("plait-") && name != name_of(::getpid());
}

}  // namespace

struct Sampler::Shared {
  Shared(std::function<void(const ThreadSample&)> taken, const SamplerOptions& with)
      : take{std::move(taken)}, options{with} {}

  void run() noexcept;
  void end() noexcept {
    const std::lock_guard lock{mutex};
    is_over = true;
    ended.notify_all();
  }

  std::function<void(const ThreadSample&)> take;
  SamplerOptions options;
  std::atomic<std::uint64_t> lost = 0;
  std::mutex mutex;  ///< Guards `is_over`.
  std::condition_variable ended;
  bool is_over = false;

 private:
  struct SampledThread {
    std::unique_ptr<SampleSource> source;  ///< Null: not sampled.
    std::uint32_t number = 0;
  };

  void find_threads();
  void drain();
  void take_sample(pid_t thread, std::uint32_t number, const RawSample& raw);
  [[nodiscard]] bool pause() {
    const nanoseconds length = std::clamp(samples_in_pause * options.interval, pause_min, pause_max);
    std::unique_lock lock{mutex};
    return !ended.wait_for(lock, length, [this] { return is_over; });
  }

  std::map<pid_t, SampledThread> threads_;
  std::uint32_t found_ = 0;
  Unwinder unwinder_;
};

void Sampler::Shared::find_threads() {
  const std::vector<pid_t> present = threads_of_process();
  for (const pid_t thread : present) {
    const auto [place, is_new] = threads_.try_emplace(thread);
    if (is_new && !is_of_plait(thread)) {
      place->second = {.source = options.open(thread, options.interval), .number = found_++};
    }
  }
  std::erase_if(threads_, [&](const auto& known) { return std::ranges::find(present, known.first) == present.end(); });
}

void Sampler::Shared::drain() {
  std::uint64_t lost_now = 0;
  for (const auto& [thread, sampled] : threads_) {
    if (sampled.source != nullptr) {
      const std::uint64_t before = sampled.source->lost_count();
      sampled.source->drain([&](const RawSample& raw) { take_sample(thread, sampled.number, raw); });
      lost_now += sampled.source->lost_count() - before;
    }
  }
  lost.fetch_add(lost_now, std::memory_order_relaxed);  // a count by itself
}

void Sampler::Shared::take_sample(pid_t thread, std::uint32_t number, const RawSample& raw) {
  if (raw.registers.instruction == 0) {
    return;  // a thread that has no registers of a program any more: it ends
  }
  std::array<std::uintptr_t, path_length_max> path{};
  const std::uintptr_t start = unwinder_.function_start(raw.registers.instruction);
  path[0] = start != 0 ? start : raw.registers.instruction;
  const std::size_t callers = unwinder_.find_callers(raw.registers, raw.stack, std::span{path}.subspan(1));
  for (std::uintptr_t& address : std::span{path}.subspan(1, callers)) {
    --address;  // the call is before the return address
  }
  take({.time = raw.time, .thread = thread, .thread_number = number, .path = std::span{path}.first(callers + 1)});
}

void Sampler::Shared::run() noexcept {
  try {
    do {
      drain();
      find_threads();
    } while (pause());
    drain();
  } catch (const std::exception&) {
    // Memory is lacking: the program comes first, without samples from here on.
  }
  threads_.clear();
}

Sampler::Sampler(std::function<void(const ThreadSample&)> take, const SamplerOptions& options)
    : shared_{std::make_shared<Shared>(std::move(take), options)} {
  if (options.open(::gettid(), options.interval) == nullptr) {
    throw std::system_error{errno, std::generic_category(), "threads cannot be sampled"};
  }
  thread_.emplace("plait-sampler", [shared = shared_] { shared->run(); });
}

Sampler::~Sampler() {
  stop();
}

bool Sampler::stop() noexcept {
  if (!thread_->is_running()) {
    return true;
  }
  shared_->end();
  return thread_->await_end(last_samples_time_max);
}

std::uint64_t Sampler::lost_count() const noexcept {
  return shared_->lost.load(std::memory_order_relaxed);  // a count by itself
}

std::optional<nanoseconds> sampling_wanted() {
  const char* const wanted = std::getenv("PLAIT_RECORD_SAMPLE");
  if (wanted == nullptr || *wanted == '\0' || std::string_view{wanted} == "0") {
    return std::nullopt;
  }
  const std::string_view text{wanted};
  int per_second = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), per_second);
  if (trouble != std::errc{} || end != text.data() + text.size() || per_second < 1 || per_second > per_second_max) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("PLAIT_RECORD_SAMPLE={}: set samples a second, 1 to {}", text, per_second_max)};
  }
  return nanoseconds{std::chrono::seconds{1}} / per_second;
}

}  // namespace plait::record
