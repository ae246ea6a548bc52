// SPDX-License-Identifier: Apache-2.0
#include "plait/record/recorded_thread.hpp"

#include <string>

#include <fmt/format.h>

namespace plait::record {

RecordedThread& RecordedThreads::take(trace::Recorder& recorder) {
  const std::lock_guard lock{mutex_};
  if (spare_.empty()) {
    const auto index = static_cast<std::uint16_t>(threads_.size());
    const std::string name = index == 0 ? "main" : fmt::format("thread {}", index);
    threads_.push_back(std::make_unique<RecordedThread>(recorder.thread(WorkerId{index}, name)));
    return *threads_.back();
  }
  RecordedThread* const thread = spare_.back();
  spare_.pop_back();
  return *thread;
}

void RecordedThreads::give_back(RecordedThread& thread) noexcept {
  const std::lock_guard lock{mutex_};
  thread.write_polls();
  spare_.push_back(&thread);
}

}  // namespace plait::record
