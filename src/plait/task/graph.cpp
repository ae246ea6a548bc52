// SPDX-License-Identifier: Apache-2.0
#include "plait/task/graph.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "plait/base/error.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::task {

namespace {

constexpr std::uint32_t runs_between_weighings = 16;

}  // namespace

Task& Task::after(Task earlier) {
  earlier.node().successors.push_back(node_);
  node_->owner->is_changed_ = true;
  return *this;
}

Task& Task::before(Task later) {
  later.after(*this);
  return *this;
}

Task& Task::locks(Resource& resource) {
  claim({&resource, Access::exclusive});
  return *this;
}

Task& Task::shares(Resource& resource) {
  claim({&resource, Access::shared});
  return *this;
}

void Task::claim(const Claim& claim) {
  expect(node_->role == detail::Role::compute, "only tasks that compute lock");
  expect(std::ranges::none_of(node_->resources, [&](const Claim& other) { return claim.excludes(other); }),
         "a task that claims what its own other claims exclude could never run");
  node_->resources.push_back(claim);
}

Task& Task::object(std::uint64_t number) {
  node_->object = number;
  return *this;
}

Task& Task::cost(nanoseconds estimate) {
  node_->cost_ns = static_cast<double>(estimate.count());
  return *this;
}

Graph::Graph() = default;
Graph::~Graph() = default;

TaskKind Graph::kind(std::string_view name) {
  const auto known = std::ranges::find(kinds_, name);
  const auto index = static_cast<std::uint16_t>(known - kinds_.begin());
  if (known == kinds_.end()) {
    kinds_.emplace_back(name);
  }
  return TaskKind{index};
}

Task Graph::add(std::string_view kind_name) {
  nodes_.push_back(std::make_unique<detail::Node>(kind(kind_name)));
  nodes_.back()->owner = this;
  nodes_.back()->number = static_cast<std::uint32_t>(nodes_.size() - 1);
  is_changed_ = true;
  return all_.emplace_back(*nodes_.back());
}

Task Graph::task(std::string_view kind_name, Body body) {
  const Task added = add(kind_name);
  added.node().body = std::move(body);
  return added;
}

Task Graph::join(std::string_view kind_name) {
  const Task added = add(kind_name);
  added.node().role = detail::Role::join;
  return added;
}

Task Graph::send(std::string_view kind_name,
                 const comm::Address& to,
                 std::function<std::span<const std::byte>()> data) {
  const Task added = add(kind_name);
  added.node().role = detail::Role::send;
  added.node().address = to;
  added.node().data = std::move(data);
  return added;
}

Task Graph::receive(std::string_view kind_name, const comm::Address& from, Bytes& buffer) {
  const Task added = add(kind_name);
  added.node().role = detail::Role::receive;
  added.node().address = from;
  added.node().growing = &buffer;
  return added;
}

Task Graph::receive(std::string_view kind_name, const comm::Address& from, std::span<std::byte> buffer) {
  const Task added = add(kind_name);
  added.node().role = detail::Role::receive;
  added.node().address = from;
  added.node().buffer = buffer;
  return added;
}

void Graph::prepare() {
  if (is_changed_) {
    find_order();
    is_changed_ = false;
    number_in_trace_ = 0;
    runs_until_weighing_ = 0;
  }
  if (runs_until_weighing_ > 0) {
    --runs_until_weighing_;
    return;
  }
  weigh();
  runs_until_weighing_ = runs_between_weighings;
}

/// Kahn's algorithm; what is left when nothing is free any more stands on cycles or behind one.
void Graph::find_order() {
  std::unordered_map<const detail::Node*, std::size_t> earlier;
  for (const auto& node : nodes_) {
    for (const detail::Node* const successor : node->successors) {
      ++earlier[successor];
    }
  }
  order_.clear();
  for (const auto& node : nodes_) {
    if (!earlier.contains(node.get())) {
      order_.push_back(node.get());
    }
  }
  for (std::size_t next = 0; next < order_.size(); ++next) {
    for (detail::Node* const successor : order_[next]->successors) {
      if (--earlier[successor] == 0) {
        order_.push_back(successor);
      }
    }
  }
  if (order_.size() < nodes_.size()) {
    throw Error{ErrorCode::bad_argument, "these tasks wait for one another in a circle: " + cycle()};
  }
}

/// The kinds on a cycle. Each task that has no place in the order waits for another such: going back from one must come
/// round.
std::string Graph::cycle() const {
  const std::unordered_set<const detail::Node*> ordered{order_.begin(), order_.end()};
  const auto is_left = [&](const auto& node) { return !ordered.contains(&*node); };
  const auto one_before = [&](const detail::Node* later) {
    return std::ranges::find_if(nodes_,
                                [&](const auto& node) {
                                  return is_left(node) &&
                                         std::ranges::find(node->successors, later) != node->successors.end();
                                })
        ->get();
  };
  std::vector<const detail::Node*> way{std::ranges::find_if(nodes_, is_left)->get()};
  const detail::Node* before = one_before(way.back());
  while (std::ranges::find(way, before) == way.end()) {
    way.push_back(before);
    before = one_before(before);
  }
  std::string names = kinds_[before->kind.value()];
  for (auto step = way.rbegin(); step != way.rend() && *step != before; ++step) {
    names += " -> " + kinds_[(*step)->kind.value()];
  }
  return names + " -> " + kinds_[before->kind.value()];
}

void Graph::weigh() {
  const auto pass = [this](double cost_of_send) {
    double most = 0;
    for (std::size_t i = order_.size(); i-- > 0;) {
      detail::Node& node = *order_[i];
      double longest = 0;
      for (const detail::Node* const successor : node.successors) {
        longest = std::max(longest, successor->weight_ns);
      }
      node.weight_ns = (node.role == detail::Role::send ? cost_of_send : node.cost_ns) + longest;
      most = std::max(most, node.weight_ns);
    }
    return most;
  };
  // Another rank waits for what is sent, and what waits there is not seen here: as much as the longest way here, say.
  pass(pass(0));
}

}  // namespace plait::task
