// SPDX-License-Identifier: Apache-2.0
// Task flow.
#include "plait/task/flow/flow.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "plait/c/detail/function.hpp"
#include "plait/c/guard.hpp"
#include "plait/c/handles.hpp"
#include "plait/task/flow/data.hpp"

namespace plait::c::detail {
namespace {

using Bytes = std::span<const std::span<std::byte>>;

task::Data<std::byte> data_of(plait_data* handle) {
  require(handle != nullptr, "data of a flow is NULL: use what plait_flow_data has given");
  return task::Data<std::byte>{*reinterpret_cast<task::detail::Datum*>(handle)};
}

task::AnyAccess access_of(const plait_access& access) {
  const task::Data<std::byte> data = data_of(access.data);
  switch (access.mode) {
    case PLAIT_READ:
      return {&data.datum(), task::r(data).mode};
    case PLAIT_WRITE:
      return {&data.datum(), task::w(data).mode};
    case PLAIT_READ_WRITE:
      return {&data.datum(), task::rw(data).mode};
    case PLAIT_COMMUTE:
      return {&data.datum(), task::commute(data).mode};
  }
  throw Error{ErrorCode::bad_argument,
              fmt::format("a task accesses data by mode {}: use a value of plait_mode", access.mode)};
}

void call_flow_function(task::TaskContext& context, plait_flow_function function, Bytes bytes, void* argument) {
  constexpr std::size_t usual_count = 8;
  std::array<plait_memory, usual_count> few;
  std::vector<plait_memory> many;
  plait_memory* memory = few.data();
  if (bytes.size() > usual_count) {
    many.resize(bytes.size());
    memory = many.data();
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    memory[i] = {.first = bytes[i].data(), .bytes = bytes[i].size()};
  }
  call_function(context, [&] { return function(memory, argument); });
}

/// A function with the pointer that its program has given.
struct WithPointer {
  plait_flow_function function;
  void* argument;
  void operator()(task::TaskContext& context, Bytes bytes) { call_flow_function(context, function, bytes, argument); }
};

/// A function with a copy of its argument, which has no allocation of its own.
struct WithFewBytes {
  static constexpr std::size_t bytes_max = 96;
  plait_flow_function function;
  alignas(std::max_align_t) std::array<std::byte, bytes_max> argument{};
  void operator()(task::TaskContext& context, Bytes bytes) {
    call_flow_function(context, function, bytes, argument.data());
  }
};

struct WithBytes {
  plait_flow_function function;
  std::vector<std::byte> argument;
  void operator()(task::TaskContext& context, Bytes bytes) {
    call_flow_function(context, function, bytes, argument.data());
  }
};

void submit(task::Flow& flow,
            const plait_submission& submission,
            const task::SubmitOptions& options,
            std::span<const task::AnyAccess> accesses) {
  const std::size_t bytes = submission.argument_bytes;
  if (bytes == 0) {
    flow.submit_bytes(options, WithPointer{submission.function, submission.argument}, accesses);
  } else if (bytes <= WithFewBytes::bytes_max) {
    WithFewBytes kernel{submission.function};
    std::memcpy(kernel.argument.data(), submission.argument, bytes);
    flow.submit_bytes(options, kernel, accesses);
  } else {
    const auto* const first = static_cast<const std::byte*>(submission.argument);
    flow.submit_bytes(options, WithBytes{submission.function, {first, first + bytes}}, accesses);
  }
}

task::SubmitOptions options_of_task(task::Flow& flow, const plait_submission& submission) {
  task::SubmitOptions options{.kind = flow.kind(submission.kind != nullptr ? submission.kind : "task"),
                              .priority = submission.priority};
  if (submission.runs_elsewhere != 0) {
    require(submission.rank >= 0, "a task is submitted for a negative rank: give a rank of the runtime");
    options.on = Rank{static_cast<std::uint32_t>(submission.rank)};
  }
  return options;
}

}  // namespace
}  // namespace plait::c::detail

using namespace plait::c;
using namespace plait::c::detail;

extern "C" {

int plait_flow_create(plait_runtime* runtime, plait_flow** flow) {
  return create(flow, [&] { return new plait_flow{*runtime}; });
}

int plait_flow_free(plait_flow** flow) {
  return destroy(flow);
}

int plait_flow_data(plait_flow* flow, int owner, size_t bytes, void* memory, plait_data** data) {
  return guarded([&] {
    plait::require(owner >= 0 && static_cast<std::uint32_t>(owner) < flow->flow.rank_count(),
                   "the owner of data is no rank of the runtime: give one from 0 to the number of ranks less 1");
    const plait::Rank rank{static_cast<std::uint32_t>(owner)};
    const bool is_own = memory != nullptr && rank == flow->flow.self();
    const auto made = is_own ? flow->flow.data(rank, bytes, std::span{static_cast<std::byte*>(memory), bytes})
                             : flow->flow.data<std::byte>(rank, bytes);
    *data = reinterpret_cast<plait_data*>(&made.datum());
  });
}

int plait_data_local(plait_data* data, void** memory) {
  return guarded([&] { *memory = data_of(data).local().data(); });
}

int plait_flow_submit(plait_flow* flow,
                      const plait_submission* submission,
                      size_t count,
                      const plait_access* accesses) {
  return guarded([&] {
    plait::require(submission->function != nullptr, "a task of a flow has no function: set it in its plait_submission");
    plait::require(count > 0, "a task of a flow accesses no data: name the data that it reads and writes");
    constexpr std::size_t usual_count = 8;
    std::array<plait::task::AnyAccess, usual_count> few;
    std::vector<plait::task::AnyAccess> many(count > usual_count ? count : 0);
    const std::span<plait::task::AnyAccess> all = count > usual_count ? std::span{many} : std::span{few}.first(count);
    for (size_t i = 0; i < count; ++i) {
      all[i] = access_of(accesses[i]);
    }
    submit(flow->flow, *submission, options_of_task(flow->flow, *submission), all);
  });
}

int plait_flow_flush(plait_flow* flow, plait_data* data) {
  return guarded([&] { flow->flow.flush(data_of(data)); });
}

int plait_flow_wait(plait_flow* flow) {
  return guarded([&] { flow->flow.wait(); });
}
}
