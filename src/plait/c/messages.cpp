// SPDX-License-Identifier: Apache-2.0
// Messages, and requests.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "plait/c/detail/convert.hpp"
#include "plait/c/guard.hpp"
#include "plait/c/handles.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::c::detail {

comm::Address destination(int rank, std::int64_t tag) {
  if (rank < 0 || tag < 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a message goes to rank {} with tag {}: give 0 or more for both", rank, tag)};
  }
  return {Rank{static_cast<std::uint32_t>(rank)}, Tag{static_cast<std::uint64_t>(tag)}};
}

comm::Address source(int rank, std::int64_t tag) {
  if (rank < PLAIT_ANY_SOURCE || tag < PLAIT_ANY_TAG) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("a message is received from rank {} with tag {}: give 0 or more, or -1 for any", rank, tag)};
  }
  return {rank == PLAIT_ANY_SOURCE ? any_source : Rank{static_cast<std::uint32_t>(rank)},
          tag == PLAIT_ANY_TAG ? any_tag : Tag{static_cast<std::uint64_t>(tag)}};
}

plait_status status_of(const comm::Status& status) noexcept {
  return {.source = status.source ? static_cast<int>(status.source.value()) : -1,
          .error = status.error ? code_of(*status.error) : PLAIT_SUCCESS,
          .tag = status.tag ? static_cast<std::int64_t>(status.tag.value()) : -1,
          .bytes = status.bytes};
}

void finish(comm::Request request, plait_request** handle) {
  if (handle == nullptr) {
    static_cast<void>(request.wait_released());
  } else {
    *handle = new plait_request{std::move(request)};
  }
}

namespace {

std::span<const std::byte> bytes_at(const void* first, std::size_t bytes) {
  require(first != nullptr || bytes == 0, "a message has bytes at a null pointer: allocate its memory before");
  return {static_cast<const std::byte*>(first), bytes};
}

std::span<std::byte> bytes_at(void* first, std::size_t bytes) {
  require(first != nullptr || bytes == 0, "a message has bytes at a null pointer: allocate its memory before");
  return {static_cast<std::byte*>(first), bytes};
}

/// Frees the request, which is complete or has failed, and returns its result.
int end_request(plait_request** request, plait_status* status) noexcept {
  const std::unique_ptr<plait_request> owned{std::exchange(*request, nullptr)};
  const int error = guarded([&] { static_cast<void>(owned->request.wait_released()); });
  if (status != nullptr) {
    *status = owned->request.is_complete() ? status_of(owned->request.result())
                                           : plait_status{.source = -1, .error = error, .tag = -1, .bytes = 0};
  }
  return error;
}

constexpr plait_status nothing{.source = -1, .error = PLAIT_SUCCESS, .tag = -1, .bytes = 0};

}  // namespace
}  // namespace plait::c::detail

using namespace plait::c;
using namespace plait::c::detail;

extern "C" {

int plait_send(plait_runtime* runtime, const void* data, size_t bytes, int to, int64_t tag, plait_request** request) {
  return guarded(
      [&] { finish(runtime->runtime.messages().send(destination(to, tag), bytes_at(data, bytes)), request); });
}

int plait_send_layout(plait_runtime* runtime, const plait_layout* data, int to, int64_t tag, plait_request** request) {
  return guarded([&] {
    const std::span<const std::byte> whole = contiguous_part(data);
    if (whole.size() == plait_layout_bytes(data)) {
      finish(runtime->runtime.messages().send(destination(to, tag), whole), request);
    } else {
      finish(runtime->runtime.messages().send(destination(to, tag), layout_of(data)), request);
    }
  });
}

int plait_receive(plait_runtime* runtime, void* buffer, size_t bytes, int from, int64_t tag, plait_request** request) {
  return guarded(
      [&] { finish(runtime->runtime.messages().receive(source(from, tag), bytes_at(buffer, bytes)), request); });
}

int plait_receive_layout(
    plait_runtime* runtime, const plait_layout* buffer, int from, int64_t tag, plait_request** request) {
  return guarded([&] {
    const std::span<std::byte> whole = contiguous_part(buffer);
    if (whole.size() == plait_layout_bytes(buffer)) {
      finish(runtime->runtime.messages().receive(source(from, tag), whole), request);
    } else {
      finish(runtime->runtime.messages().receive(source(from, tag), layout_of(buffer)), request);
    }
  });
}

int plait_probe(plait_runtime* runtime, int from, int64_t tag, int* has_arrived, plait_status* status) {
  return guarded([&] {
    const std::optional<plait::comm::Status> found = runtime->runtime.messages().probe(source(from, tag));
    *has_arrived = found ? 1 : 0;
    if (found && status != nullptr) {
      *status = status_of(*found);
    }
  });
}

int plait_wait(plait_request** request, plait_status* status) {
  if (*request == nullptr) {
    if (status != nullptr) {
      *status = nothing;
    }
    return PLAIT_SUCCESS;
  }
  return end_request(request, status);
}

int plait_test(plait_request** request, int* is_complete, plait_status* status) {
  *is_complete = 1;
  if (*request == nullptr) {
    return plait_wait(request, status);
  }
  bool is_over = false;
  const int error = guarded([&] {
    static_cast<void>((*request)->request.test());
    is_over = (*request)->request.is_released();
  });
  if (error != PLAIT_SUCCESS || is_over) {
    return end_request(request, status);
  }
  *is_complete = 0;
  return PLAIT_SUCCESS;
}

int plait_wait_all(size_t count, plait_request** requests, plait_status* statuses) {
  int first_error = PLAIT_SUCCESS;
  std::string sentence;
  for (size_t i = 0; i < count; ++i) {
    const int error = plait_wait(&requests[i], statuses != nullptr ? &statuses[i] : nullptr);
    if (error != PLAIT_SUCCESS && first_error == PLAIT_SUCCESS) {
      first_error = error;
      sentence = plait_last_error();
    }
  }
  return first_error == PLAIT_SUCCESS ? PLAIT_SUCCESS : plait_fail(first_error, sentence.c_str());
}

int plait_cancel(plait_request** request, int* is_cancelled) {
  *is_cancelled = 0;
  if (*request == nullptr) {
    return PLAIT_SUCCESS;
  }
  return guarded([&] {
    if ((*request)->request.cancel()) {
      *is_cancelled = 1;
      delete std::exchange(*request, nullptr);
    }
  });
}
}
