// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/foreign.hpp"

#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

MPI_Request begin_endless() noexcept {
  const auto query = [](void*, MPI_Status* status) {
    PMPI_Status_set_cancelled(status, 0);
    return PMPI_Status_set_elements(status, MPI_BYTE, 0);
  };
  const auto free = [](void*) -> int { return MPI_SUCCESS; };
  const auto cancel = [](void*, int) -> int { return MPI_SUCCESS; };
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Grequest_start(query, free, cancel, nullptr, &request);
  return request;
}

void end_endless(MPI_Request& request) noexcept {
  PMPI_Grequest_complete(request);
  PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A probe makes progress on everything in Open MPI only, and a receive needs a communicator of its own.
Foreign::Foreign() : endless_{begin_endless()} {}

int Foreign::prepared(int result, const MPI_Request* request) {
  if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
    const std::lock_guard lock{persistent_mutex_};
    persistent_[*request] = false;
    has_persistent_.store(true, std::memory_order_relaxed);  // the lock orders the table
  }
  return result;
}

void Foreign::started(int result, MPI_Request request) {
  if (result == MPI_SUCCESS) {
    const std::lock_guard lock{persistent_mutex_};
    persistent_[request] = true;
    has_persistent_.store(true, std::memory_order_relaxed);
    add();
  }
}

void Foreign::ended(MPI_Request request) noexcept {
  if (request == MPI_REQUEST_NULL) {
    return;
  }
  if (has_persistent_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock{persistent_mutex_};
    if (const auto found = persistent_.find(request); found != persistent_.end()) {
      count_.fetch_sub(found->second ? 1 : 0, std::memory_order_relaxed);
      found->second = false;
      return;
    }
  }
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void Foreign::freed(MPI_Request request) noexcept {
  ended(request);
  const std::lock_guard lock{persistent_mutex_};
  persistent_.erase(request);
}

bool Foreign::is_inactive(MPI_Request request) const noexcept {
  if (request == MPI_REQUEST_NULL) {
    return true;
  }
  if (!has_persistent_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::lock_guard lock{persistent_mutex_};
  const auto found = persistent_.find(request);
  return found != persistent_.end() && !found->second;
}

void Foreign::suspend() {
  const std::lock_guard lock{mutex_};  // no thread polls now
  suspended_.fetch_add(1, std::memory_order_relaxed);
}

void Foreign::poll() noexcept {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (lock.owns_lock() && suspended_.load(std::memory_order_relaxed) == 0 && !is_library_called()) {
    advance();
  }
}

void Foreign::progress() noexcept {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (lock.owns_lock()) {
    advance();
  }
}

void Foreign::advance() noexcept {
  if (endless_ != MPI_REQUEST_NULL) {
    int is_complete = 0;
    PMPI_Request_get_status(endless_, &is_complete, MPI_STATUS_IGNORE);
  }
}

bool Foreign::arm(const std::function<void()>* doorbell) noexcept {
  doorbell_.store(doorbell);
  return doorbell == nullptr || count_.load() <= 0;
}

void Foreign::ring() noexcept {
  if (const std::function<void()>* const doorbell = doorbell_.exchange(nullptr)) {
    (*doorbell)();
  }
}

void Foreign::end() noexcept {
  const std::lock_guard lock{mutex_};
  if (endless_ != MPI_REQUEST_NULL) {
    end_endless(endless_);
  }
}

}  // namespace plait::accelerate
