// SPDX-License-Identifier: Apache-2.0
#include "plait/task/task_context.hpp"

#include "plait/task/detail/worker.hpp"
#include "plait/task/run/detail/spawner.hpp"

namespace plait::task {

WorkerId TaskContext::worker() const noexcept {
  return worker_.id;
}

std::uint32_t TaskContext::idle_workers() const noexcept {
  return spawner_.state().sleep.sleeping();
}

void TaskContext::spawn(Spawn wish) {
  spawner_.spawn(worker_, node_, std::move(wish));
}

void TaskContext::send(TaskKind kind, const Outgoing& message) {
  spawner_.send(worker_, node_, kind, message);
}

void TaskContext::receive(TaskKind kind, Incoming message) {
  spawner_.receive(worker_, node_, kind, std::move(message));
}

void TaskContext::wait_for(TaskKind kind, comm::Request operation, Body body) {
  spawner_.wait(worker_, node_, kind, std::move(operation), std::move(body));
}

void TaskContext::then(Body body) {
  worker_.continuation = std::move(body);
  worker_.continues = true;
}

}  // namespace plait::task
