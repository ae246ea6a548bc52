// SPDX-License-Identifier: Apache-2.0
#include "plait/record/own_thread.hpp"

#include <csignal>
#include <ctime>
#include <memory>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace plait::record {
namespace {

struct Start {
  std::string name;
  std::function<void()> run;
};

void* run_thread(void* argument) {
  const std::unique_ptr<Start> start{static_cast<Start*>(argument)};
  pthread_setname_np(pthread_self(), start->name.c_str());
  start->run();
  return nullptr;
}

}  // namespace

OwnThread::OwnThread(std::string name, std::function<void()> run) : process_{::getpid()} {
  auto start = std::make_unique<Start>(Start{.name = std::move(name), .run = std::move(run)});
  sigset_t all;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, &all);
  const int error = pthread_create(&thread_, &attributes, run_thread, start.get());
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    throw std::system_error{error, std::generic_category(), start->name + ": the thread cannot be created"};
  }
  start.release();  // NOLINT(bugprone-unused-return-value): the thread has it
  is_running_ = true;
}

bool OwnThread::is_running() const noexcept {
  return is_running_ && ::getpid() == process_;
}

bool OwnThread::await_end(std::chrono::seconds time_max) noexcept {
  if (!is_running()) {
    return true;
  }
  is_running_ = false;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += time_max.count();
  if (pthread_timedjoin_np(thread_, nullptr, &until) == 0) {
    return true;
  }
  pthread_detach(thread_);
  return false;
}

}  // namespace plait::record
