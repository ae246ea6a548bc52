// SPDX-License-Identifier: Apache-2.0
#include "plait/task/graph.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::task {

namespace {

constexpr std::size_t chunk_tasks = 256;  // 48 KiB: taken from the heap and given back without asking the system

}  // namespace

/// Room for tasks, which stay where they are.
struct Graph::Chunk {
  Chunk() = default;
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  Chunk(Chunk&&) = delete;
  Chunk& operator=(Chunk&&) = delete;
  ~Chunk() { std::destroy_n(first(), count); }

  detail::Node& add(TaskKind kind) { return *new (first() + count++) detail::Node{kind}; }
  [[nodiscard]] detail::Node* first() { return reinterpret_cast<detail::Node*>(memory); }

  alignas(detail::Node) std::byte memory[chunk_tasks * sizeof(detail::Node)];
  std::size_t count = 0;
};

Task& Task::after(Task earlier) {
  node_->owner->depend(earlier.node(), *node_);
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
  if (node_->claims == nullptr) {
    node_->claims = std::make_unique<std::vector<Claim>>();
  }
  expect(std::ranges::none_of(*node_->claims, [&](const Claim& other) { return claim.excludes(other); }),
         "a task that claims what its own other claims exclude could never run");
  node_->claims->push_back(claim);
}

Task& Task::object(std::uint64_t number) {
  node_->object = number;
  return *this;
}

Task& Task::cost(nanoseconds estimate) {
  node_->cost_ns = static_cast<float>(estimate.count());
  node_->is_measured = false;
  return *this;
}

Graph::Graph() = default;
Graph::~Graph() = default;

TaskKind Graph::kind(std::string_view name) {
  if (!kinds_.empty() && kinds_.back() == name) {  // most often the same again
    return TaskKind{static_cast<std::uint16_t>(kinds_.size() - 1)};
  }
  const auto known = std::ranges::find(kinds_, name);
  const auto index = static_cast<std::uint16_t>(known - kinds_.begin());
  if (known == kinds_.end()) {
    kinds_.emplace_back(name);
    kind_cost_ns_.push_back(0);
  }
  return TaskKind{index};
}

Task Graph::add(TaskKind kind, detail::Role role) {
  if (chunks_.empty() || chunks_.back()->count == chunk_tasks) {
    chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
  }
  detail::Node& node = chunks_.back()->add(kind);
  node.owner = this;
  node.role = role;
  node.number = static_cast<std::uint32_t>(all_.size());
  is_changed_ = true;
  return all_.emplace_back(node);
}

Task Graph::task(TaskKind kind, Body body) {
  const Task added = add(kind, detail::Role::compute);
  added.node().body = std::move(body);
  return added;
}

Task Graph::join(std::string_view kind_name) {
  return add(kind(kind_name), detail::Role::join);
}

Task Graph::send(std::string_view kind_name,
                 const comm::Address& to,
                 std::function<std::span<const std::byte>()> data) {
  const Task added = add(kind(kind_name), detail::Role::send);
  added.node().message = std::make_unique<detail::NodeMessage>(added.node());
  added.node().message->address = to;
  added.node().message->data = std::move(data);
  return added;
}

Task Graph::receive(std::string_view kind_name, const comm::Address& from, Bytes& buffer) {
  const Task added = add(kind(kind_name), detail::Role::receive);
  added.node().message = std::make_unique<detail::NodeMessage>(added.node());
  added.node().message->address = from;
  added.node().message->growing = &buffer;
  return added;
}

Task Graph::receive(std::string_view kind_name, const comm::Address& from, std::span<std::byte> buffer) {
  const Task added = add(kind(kind_name), detail::Role::receive);
  added.node().message = std::make_unique<detail::NodeMessage>(added.node());
  added.node().message->address = from;
  added.node().message->buffer = buffer;
  return added;
}

void Graph::depend(detail::Node& earlier, detail::Node& later) {
  expect(earlier.owner == this, "both tasks are of one graph");
  new_edges_.push_back({&earlier, &later});
  is_made_in_order_ = is_made_in_order_ && earlier.number < later.number;
  is_changed_ = true;
}

void Graph::prepare(std::size_t active) {
  if (is_changed_) {
    list_successors();
    find_order();
    is_changed_ = false;
    number_in_trace_ = 0;
    next_to_weigh_ = 0;
    weigh(task_count());
    return;
  }
  weigh(std::min(active, task_count()));
}

/// Puts the successors of all tasks into one list, a task's own side by side.
void Graph::list_successors() {
  if (new_edges_.empty()) {
    return;
  }
  std::vector<Edge> edges;
  if (successors_.empty()) {
    edges = std::move(new_edges_);
  } else {  // what is listed already comes first
    edges.reserve(successors_.size() + new_edges_.size());
    for (const Task& task : all_) {
      for (detail::Node* const later : std::span{task.node().successors, task.node().successor_count}) {
        edges.push_back({&task.node(), later});
      }
      task.node().earlier_count = 0;
      task.node().successor_count = 0;
    }
    edges.insert(edges.end(), new_edges_.begin(), new_edges_.end());
  }
  new_edges_.clear();
  for (const Edge& edge : edges) {
    ++edge.earlier->successor_count;
    ++edge.later->earlier_count;
  }
  successors_.resize(edges.size());
  detail::Node** next = successors_.data();
  for (const Task& task : all_) {
    next += task.node().successor_count;
    task.node().successors = next;  // the end: filling goes backwards
  }
  for (std::size_t i = edges.size(); i-- > 0;) {
    *--edges[i].earlier->successors = edges[i].later;
  }
}

/// Kahn's algorithm; what is left when nothing is free any more stands on cycles or behind one.
void Graph::find_order() {
  order_.clear();
  if (is_made_in_order_) {
    return;
  }
  std::vector<std::uint32_t> earlier;
  earlier.reserve(all_.size());
  for (const Task& task : all_) {
    earlier.push_back(task.node().earlier_count);
    if (earlier.back() == 0) {
      order_.push_back(&task.node());
    }
  }
  for (std::size_t next = 0; next < order_.size(); ++next) {
    for (detail::Node* const successor : std::span{order_[next]->successors, order_[next]->successor_count}) {
      if (--earlier[successor->number] == 0) {
        order_.push_back(successor);
      }
    }
  }
  if (order_.size() < all_.size()) {
    throw Error{ErrorCode::bad_argument, "these tasks wait for one another in a circle: " + cycle()};
  }
}

/// The kinds on a cycle. Each task that has no place in the order waits for another such: going back from one must come
/// round.
std::string Graph::cycle() const {
  const std::unordered_set<const detail::Node*> ordered{order_.begin(), order_.end()};
  const auto is_left = [&](const Task& task) { return !ordered.contains(&task.node()); };
  const auto one_before = [&](const detail::Node* later) {
    return &std::ranges::find_if(all_, [&](const Task& task) {
              const std::span after{task.node().successors, task.node().successor_count};
              return is_left(task) && std::ranges::find(after, later) != after.end();
            })->node();
  };
  std::vector<const detail::Node*> way{&std::ranges::find_if(all_, is_left)->node()};
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

detail::Node& Graph::in_order(std::size_t place) const {
  return order_.empty() ? all_[place].node() : *order_[place];
}

/// The next `count` tasks, from the last of the order to the first and round again. A slice takes the weights of what
/// comes after it as they are, so that what is measured reaches the first tasks after one round.
void Graph::weigh(std::size_t count) {
  for (; count > 0; --count) {
    detail::Node& node = in_order(all_.size() - 1 - next_to_weigh_);
    float longest = 0;
    node.leads_to_send = node.role == detail::Role::send;
    for (const detail::Node* const successor : std::span{node.successors, node.successor_count}) {
      longest = std::max(longest, successor->weight_ns);
      node.leads_to_send = node.leads_to_send || successor->leads_to_send;
    }
    if (node.cost_ns == 0) {
      node.cost_ns = kind_cost_ns_[node.kind.value()];  // as good as an estimate
    }
    node.weight_ns = node.cost_ns + longest;
    next_to_weigh_ = (next_to_weigh_ + 1) % all_.size();
  }
}

}  // namespace plait::task
