// SPDX-License-Identifier: Apache-2.0
#include "plait/python/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::python {

namespace nb = nanobind;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t sweep_min = 64;
/// Between two checks for signals to the process.
constexpr auto signals_period = std::chrono::milliseconds{50};

Options options_of(const EngineSettings& settings) {
  Options options = Options::from_environment();
  if (settings.workers) {
    options.worker_count = *settings.workers;
  }
  if (settings.progress) {
    const auto mode = comm::progression_mode(*settings.progress);
    if (!mode) {
      throw nb::value_error(fmt::format("progress={:?} is unknown: use True, False, \"timer\", \"idle\" or "
                                        "\"dedicated\"",
                                        *settings.progress)
                                .c_str());
    }
    options.progression.mode = *mode;
  }
  options.command = settings.command;
  return options;
}

Tag tag_of(std::int64_t number) {
  if (number < 0) {
    throw nb::value_error(fmt::format("the tag {} is negative", number).c_str());
  }
  return Tag{static_cast<std::uint64_t>(number)};
}

}  // namespace

Engine::Engine(MPI_Comm communicator, const EngineSettings& settings)
    : communicator_{communicator}, event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (event_ < 0) {
    throw Error{ErrorCode::io, fmt::format("the system has no event descriptor left: {}", std::strerror(errno))};
  }
  try {
    const Options options = options_of(settings);
    const nb::gil_scoped_release released;
    runtime_ = std::make_unique<Runtime>(communicator, options);
    group_.emplace(runtime_->messages());
  } catch (...) {
    ::close(event_);
    throw;
  }
}

Engine::~Engine() {
  // Python closes it before; without that no rank can rely on the others, so nothing is waited for.
  if (is_open()) {
    try {
      close("a rank has dropped its plait.Runtime without closing it");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "plait: %s\n", error.what());
    }
  }
  ::close(event_);
}

void Engine::close(const std::optional<std::string>& failure) {
  if (!is_open()) {
    return;
  }
  if (waiting_ > 0) {
    throw nb::value_error("the runtime cannot be closed: another thread waits for one of its operations");
  }
  if (failure) {
    runtime_->messages().stop_all(Error{ErrorCode::user_task, *failure, runtime_->self()});
  }
  for (const OperationPtr& operation : pending_) {
    operation->abandon();
  }
  {
    const std::unique_ptr<Runtime> ended = std::move(runtime_);  // closed for Python at once
    const nb::gil_scoped_release released;
    while (!kept_.empty()) {
      kept_.pop_back();  // the newest first, as scopes would
    }
    group_.reset();
  }
  pending_.clear();  // their memory: no thread of the engine is left
}

Runtime& Engine::runtime() const {
  if (!is_open()) {
    throw nb::value_error("the runtime is closed: call this before the end of its `with` block");
  }
  return *runtime_;
}

const comm::Group& Engine::group() const {
  static_cast<void>(runtime());
  return *group_;
}

Rank Engine::rank(std::int64_t number, const char* what) const {
  const std::uint32_t count = runtime().rank_count();
  if (number < 0 || number >= count) {
    throw nb::value_error(fmt::format("the {} is rank {}, and ranks are 0 to {}", what, number, count - 1).c_str());
  }
  return Rank{static_cast<std::uint32_t>(number)};
}

Engine::OperationPtr Engine::posted(std::vector<Buffer> buffers,
                                    const std::function<comm::Request(std::vector<Buffer>&)>& post) {
  if (pending_.size() >= std::max(sweep_at_, sweep_min)) {
    std::erase_if(pending_, [](const OperationPtr& operation) { return operation->settle(); });
    sweep_at_ = 2 * pending_.size();
  }
  pending_.reserve(pending_.size() + 1);  // what is posted is kept, whatever else fails
  comm::Request request = post(buffers);
  auto operation = std::make_shared<ArrayOperation>(std::move(buffers));
  operation->start(std::move(request));
  if (!operation->settle()) {
    pending_.push_back(operation);
  }
  return operation;
}

Engine::OperationPtr Engine::send(nb::handle object, std::int64_t to, std::int64_t tag, std::int16_t priority) {
  const comm::Address address{.rank = rank(to, "receiver"), .tag = tag_of(tag)};
  std::vector<Buffer> buffers;
  buffers.emplace_back(object, Buffer::Access::read, "the array to send");
  return posted(std::move(buffers), [&](std::vector<Buffer>& memory) {
    const Buffer& from = memory.front();
    comm::Endpoint& messages = runtime().messages();
    return from.is_contiguous() ? messages.send(address, from.contiguous(), {.priority = priority})
                                : messages.send(address, from.layout(), {.priority = priority});
  });
}

Engine::OperationPtr Engine::receive(nb::handle object, std::int64_t source, std::int64_t tag) {
  const comm::Address address{.rank = source == -1 ? any_source : rank(source, "sender"),
                              .tag = tag == -1 ? any_tag : tag_of(tag)};
  std::vector<Buffer> buffers;
  buffers.emplace_back(object, Buffer::Access::write, "the array to receive into");
  return posted(std::move(buffers), [&](std::vector<Buffer>& memory) {
    const Buffer& to = memory.front();
    comm::Endpoint& messages = runtime().messages();
    return to.is_contiguous() ? messages.receive(address, to.contiguous()) : messages.receive(address, to.layout());
  });
}

Engine::OperationPtr Engine::all_to_all(nb::handle to_send, nb::handle to_receive) {
  std::vector<Buffer> buffers;
  buffers.emplace_back(to_send, Buffer::Access::read, "the array to send");
  buffers.emplace_back(to_receive, Buffer::Access::write, "the array to receive into");
  const std::size_t count = group().size();
  if (buffers[0].bytes() != buffers[1].bytes() || buffers[0].bytes() % count != 0) {
    throw nb::value_error(
        fmt::format("all_to_all sends {} bytes and receives {}: both must be equal, and a multiple of the {} ranks",
                    buffers[0].bytes(),
                    buffers[1].bytes(),
                    count)
            .c_str());
  }
  return posted(std::move(buffers), [&](std::vector<Buffer>& memory) {
    return comm::all_to_all(group(), std::as_bytes(memory[0].contiguous()), memory[1].contiguous());
  });
}

Engine::OperationPtr Engine::all_to_all_blocks(const std::vector<nb::object>& to_send,
                                               const std::vector<nb::object>& to_receive) {
  const std::size_t count = group().size();
  if (to_send.size() != count || to_receive.size() != count) {
    throw nb::value_error(fmt::format("all_to_all has {} arrays to send and {} to receive into: pass one of each for "
                                      "each of the {} ranks",
                                      to_send.size(),
                                      to_receive.size(),
                                      count)
                              .c_str());
  }
  std::vector<Buffer> buffers;
  buffers.reserve(2 * count);
  for (const nb::object& object : to_send) {
    buffers.emplace_back(object, Buffer::Access::read, "an array to send");
  }
  for (const nb::object& object : to_receive) {
    buffers.emplace_back(object, Buffer::Access::write, "an array to receive into");
  }
  return posted(std::move(buffers), [&](std::vector<Buffer>& memory) {
    comm::BlocksToSend to;
    comm::BlocksToReceive from;
    for (std::size_t i = 0; i < count; ++i) {
      to.emplace_back(memory[i].contiguous());
      from.emplace_back(memory[count + i].contiguous());
    }
    return comm::all_to_all(group(), std::move(to), std::move(from));
  });
}

Engine::OperationPtr Engine::broadcast(nb::handle object, std::int64_t root) {
  const std::size_t member = rank(root, "root").value();
  std::vector<Buffer> buffers;
  const bool is_root = runtime().self().value() == member;
  buffers.emplace_back(object, is_root ? Buffer::Access::read : Buffer::Access::write, "the array to broadcast");
  return posted(std::move(buffers), [&](std::vector<Buffer>& memory) {
    return comm::broadcast(group(), member, memory.front().contiguous());
  });
}

Engine::OperationPtr Engine::all_gather(nb::handle mine, nb::handle all) {
  std::vector<Buffer> buffers;
  buffers.emplace_back(mine, Buffer::Access::read, "the array to gather");
  buffers.emplace_back(all, Buffer::Access::write, "the array to gather into");
  const std::size_t count = group().size();
  if (buffers[0].bytes() * count != buffers[1].bytes()) {
    throw nb::value_error(
        fmt::format("all_gather has {} bytes from each of {} ranks, and an array of {} bytes for them",
                    buffers[0].bytes(),
                    count,
                    buffers[1].bytes())
            .c_str());
  }
  return posted(std::move(buffers), [&](std::vector<Buffer>& memory) {
    return comm::all_gather(group(), std::as_bytes(memory[0].contiguous()), memory[1].contiguous());
  });
}

void Engine::throw_if_unusable(const ArrayOperation& operation) const {
  if (operation.is_abandoned() || !is_open()) {
    throw nb::value_error("the runtime was closed before this operation was complete: wait for it inside `with`");
  }
  if (const std::optional<Error> failure = runtime_->messages().failure()) {
    throw Error{*failure};
  }
}

bool Engine::test(ArrayOperation& operation) {
  if (!operation.settle()) {
    throw_if_unusable(operation);
    runtime_->messages().progress();
    return operation.settle();
  }
  return true;
}

bool Engine::wait(ArrayOperation& operation, std::optional<double> seconds) {
  const auto begin = steady_clock::now();
  while (!test(operation)) {
    auto until = steady_clock::now() + signals_period;
    if (seconds) {
      const auto end =
          begin + std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(*seconds));
      if (steady_clock::now() >= end) {
        return false;
      }
      until = std::min(until, end);
    }
    const comm::Request request = operation.handle();
    run([&] {
      runtime_->messages().progress_until(
          [&] { return (request.is_complete() && request.is_released()) || steady_clock::now() >= until; });
    });
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
  }
  return true;
}

bool Engine::notify(ArrayOperation& operation) {
  if (test(operation)) {
    return false;
  }
  return operation.handle().then_unless_complete([event = event_](const comm::Status& /*status*/) {
    // An eventfd counts; it is full only when it is readable anyway.
    static_cast<void>(eventfd_write(event, 1));
  });
}

}  // namespace plait::python
