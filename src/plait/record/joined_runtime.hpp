// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plait/record/recorded_threads.hpp"

namespace plait::record {

/// The runtime of plait, in the program, that records into the files of this session (trace::PreloadedRecorder). There
/// is one at most. Threads: any.
class JoinedRuntime {
 public:
  /// False: one has joined already.
  [[nodiscard]] bool is_free() const {
    const std::lock_guard lock{mutex_};
    return workers_.empty();
  }
  /// The calling thread, of which `first` is the state, is worker 0.
  void join(RecordedThreads& threads, trace::Recorder& recorder, RecordedThread& first, std::uint32_t worker_count) {
    const std::lock_guard lock{mutex_};
    workers_.push_back(&first);
    while (workers_.size() < worker_count) {
      workers_.push_back(&threads.add(recorder, fmt::format("worker {}", workers_.size())));
    }
  }
  /// Null if there is no such worker.
  [[nodiscard]] RecordedThread* worker(std::uint16_t index) const {
    const std::lock_guard lock{mutex_};
    return index < workers_.size() ? workers_[index] : nullptr;
  }
  void note_option(std::string name, std::string value) {
    const std::lock_guard lock{mutex_};
    options_.insert_or_assign(std::move(name), std::move(value));
  }
  [[nodiscard]] std::uint32_t worker_count() const {
    const std::lock_guard lock{mutex_};
    return static_cast<std::uint32_t>(workers_.size());
  }
  [[nodiscard]] std::map<std::string, std::string> options() const {
    const std::lock_guard lock{mutex_};
    return options_;
  }

 private:
  mutable std::mutex mutex_;  ///< Guards all below.
  std::vector<RecordedThread*> workers_;
  std::map<std::string, std::string> options_;
};

}  // namespace plait::record
