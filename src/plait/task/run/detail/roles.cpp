// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>

#include "plait/task/detail/role.hpp"
#include "plait/task/run/detail/lifecycle.hpp"

namespace plait::task::detail {

namespace {

void finish(Lifecycle& lifecycle, Worker& worker, Node& node) {
  lifecycle.finish(worker, node);
}

void execute_body_or_finish(Lifecycle& lifecycle, Worker& worker, Node& node) {
  lifecycle.execute_body_or_finish(worker, node);
}

std::string name_of(const comm::Address& address) {
  return fmt::format("rank {}, tag {}",
                     static_cast<std::int32_t>(address.rank.value()),
                     static_cast<std::int64_t>(address.tag.value()));
}

/// Another thread will note the task.
void wait_for_note(Lifecycle& /*lifecycle*/, Worker& /*worker*/, Node& /*node*/) {}

}  // namespace

constinit const Role Role::compute{
    .name = "compute",
    .ready = [](Lifecycle& lifecycle, Worker& worker, Node& node) { lifecycle.execute_next(worker, node); },
    .noted = finish};

constinit const Role Role::join{
    .name = "join", .ready = finish, .noted = finish, .in_trace = trace::TaskRole::join, .leaves_record = false};

constinit const Role Role::send{
    .name = "send",
    // Posted with the others that become ready together, see MessageTasks::post_sends().
    .ready = [](Lifecycle& /*lifecycle*/, Worker& worker, Node& node) { worker.sends.push_back(node.message.get()); },
    .noted =
        [](Lifecycle& lifecycle, Worker& worker, Node& node) {
          lifecycle.messages().check(worker, node);
          lifecycle.finish(worker, node);
        },
    .waits_for = [](const Node& node) { return "to " + name_of(node.message->address); },
    .in_trace = trace::TaskRole::send,
    .is_message = true};

constinit const Role Role::receive{
    .name = "receive",
    .ready = [](Lifecycle& lifecycle, Worker& worker, Node& node) { lifecycle.messages().post_receive(worker, node); },
    .noted =
        [](Lifecycle& lifecycle, Worker& worker, Node& node) {
          lifecycle.messages().check(worker, node);
          lifecycle.execute_body_or_finish(worker, node);
        },
    .waits_for = [](const Node& node) { return "from " + name_of(node.message->address); },
    .in_trace = trace::TaskRole::receive,
    .is_message = true};

constinit const Role Role::event{.name = "event", .ready = wait_for_note, .noted = finish};

constinit const Role Role::wait{.name = "wait", .ready = wait_for_note, .noted = execute_body_or_finish};

}  // namespace plait::task::detail
