// SPDX-License-Identifier: Apache-2.0
#include "plait/task/graph.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::task {

namespace {

constexpr std::size_t chunk_tasks = 256;  // 48 KiB: taken from the heap and given back without asking the system

/// The number of runs until all weights of a graph are refreshed.
constexpr std::size_t runs_a_round = 32;

}  // namespace

/// Room for tasks, which stay where they are.
struct Graph::Chunk {
  Chunk() = default;
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  ~Chunk() {
    if (owns_something) {
      std::destroy_n(first(), count);
    }
  }

  detail::Node& add(TaskKind kind) { return *new (first() + count++) detail::Node{kind}; }
  [[nodiscard]] detail::Node* first() { return reinterpret_cast<detail::Node*>(memory); }

  alignas(detail::Node) std::byte memory[chunk_tasks * sizeof(detail::Node)];
  std::size_t count = 0;
  bool owns_something = false;  ///< One of the tasks here does, which must be destroyed then; most own nothing.
};

Task& Task::after(Task earlier) {
  node_->owner->depend(earlier.node(), *node_);
  return *this;
}

Task& Task::claim(const Claim& claim) {
  expect(node_->role == detail::Role::compute, "only tasks that compute lock");
  if (node_->claims == nullptr) {
    node_->claims = std::make_unique<std::vector<Claim>>();
  }
  expect(std::ranges::none_of(*node_->claims, [&](const Claim& other) { return claim.excludes(other); }),
         "a task that claims what its own other claims exclude could never run");
  node_->claims->push_back(claim);
  node_->has_claims = true;
  node_->owner->chunks_[node_->number / chunk_tasks]->owns_something = true;
  return *this;
}

Task& Task::object(std::uint64_t number) {
  node_->object = number;
  return *this;
}

Task& Task::cost(nanoseconds estimate) {
  node_->cost_ns = static_cast<float>(estimate.count());
  node_->cost_source = detail::CostSource::estimate;
  node_->owner->has_weights_ = true;
  return *this;
}

Graph::Graph() = default;

Graph::~Graph() {
  if (has_gone_on_.load(std::memory_order_relaxed)) {  // a run that failed may have left what `then` was given
    for (const auto& chunk : chunks_) {
      chunk->owns_something = true;
    }
  }
}

TaskKind Graph::kind(std::string_view name) {
  if (!kinds_.names.empty() && kinds_.names.back() == name) {  // most often the same again
    return TaskKind{static_cast<std::uint16_t>(kinds_.names.size() - 1)};
  }
  const auto known = std::ranges::find(kinds_.names, name);
  const auto index = static_cast<std::uint16_t>(known - kinds_.names.begin());
  if (known == kinds_.names.end()) {
    kinds_.names.emplace_back(name);
    kinds_.cost_ns.push_back(0);
  }
  return TaskKind{index};
}

Task Graph::add(TaskKind kind, const detail::Role& role) {
  if (chunks_.empty() || chunks_.back()->count == chunk_tasks) {
    chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
  }
  detail::Node& node = chunks_.back()->add(kind);
  node.owner = this;
  node.is_of_graph = true;
  node.role = role;
  node.number = static_cast<std::uint32_t>(all_.size());
  is_changed_ = true;
  return all_.emplace_back(node);
}

Task Graph::task(TaskKind kind, Body body) {
  const Task added = add(kind, detail::Role::compute);
  added.node().body = std::move(body);
  chunks_.back()->owns_something = chunks_.back()->owns_something || added.node().body.owns_something();
  return added;
}

Task Graph::join(std::string_view kind_name) {
  return add(kind(kind_name), detail::Role::join);
}

Task Graph::add_message(std::string_view kind_name, const detail::Role& role, const comm::Address& address) {
  const Task added = add(kind(kind_name), role);
  added.node().message = std::make_unique<detail::NodeMessage>(added.node());
  added.node().message->address = address;
  chunks_.back()->owns_something = true;
  return added;
}

Task Graph::send(std::string_view kind_name,
                 const comm::Address& to,
                 std::function<std::span<const std::byte>()> data) {
  const Task added = add_message(kind_name, detail::Role::send, to);
  added.node().message->data = std::move(data);
  has_weights_ = true;
  return added;
}

Task Graph::send(std::string_view kind_name, const comm::Address& to, std::function<comm::Layout()> data) {
  const Task added = add_message(kind_name, detail::Role::send, to);
  added.node().message->layout = std::move(data);
  has_weights_ = true;
  return added;
}

Task Graph::add_receive(std::string_view kind_name, const comm::Address& from, Body on_arrival) {
  const Task added = add_message(kind_name, detail::Role::receive, from);
  added.node().body = std::move(on_arrival);
  return added;
}

Task Graph::receive(std::string_view kind_name, const comm::Address& from, Bytes& buffer, Body on_arrival) {
  const Task added = add_receive(kind_name, from, std::move(on_arrival));
  added.node().message->growing = &buffer;
  return added;
}

Task Graph::receive(std::string_view kind_name,
                    const comm::Address& from,
                    std::span<std::byte> buffer,
                    Body on_arrival) {
  const Task added = add_receive(kind_name, from, std::move(on_arrival));
  added.node().message->buffer = buffer;
  return added;
}

Task Graph::receive(std::string_view kind_name, const comm::Address& from, comm::Layout buffer, Body on_arrival) {
  const Task added = add_receive(kind_name, from, std::move(on_arrival));
  added.node().message->layout = [buffer = std::move(buffer)] { return buffer; };
  return added;
}

void Graph::depend(detail::Node& earlier, detail::Node& later) {
  expect(earlier.owner == this, "both tasks are of one graph");
  if (!successors_.empty()) {
    unlist_successors();
  }
  new_edges_.push_back({&earlier, &later});
  ++earlier.successor_count;
  ++later.earlier_count;
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
    has_weights_ = set_kind_steps() || has_weights_;
    if (has_weights_) {  // else nothing is known yet
      weigh(task_count());
    }
    return;
  }
  if (set_kind_steps()) {
    has_weights_ = true;
    weigh(task_count());
    return;
  }
  weigh((std::min(active, task_count()) + runs_a_round - 1) / runs_a_round);
}

/// Turns the list of successors back into new edges, so that more can be added.
void Graph::unlist_successors() {
  for (const Task& task : all_) {
    for (detail::Node* const later : std::span{task.node().successors, task.node().successor_count}) {
      new_edges_.push_back({&task.node(), later});
    }
    task.node().successors = nullptr;
  }
  successors_.clear();
}

/// Lists the successors of all tasks, those of a task contiguous. They are counted already.
void Graph::list_successors() {
  if (new_edges_.empty()) {
    return;
  }
  successors_.resize(new_edges_.size());
  detail::Node** next = successors_.data();
  for (const Task& task : all_) {
    next += task.node().successor_count;
    task.node().successors = next;  // the end: filling goes backwards
  }
  for (std::size_t i = new_edges_.size(); i-- > 0;) {
    *--new_edges_[i].earlier->successors = new_edges_[i].later;
  }
  new_edges_ = {};
}

/// Kahn's algorithm. Tasks that remain are on a cycle or behind one.
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
    throw Error{ErrorCode::bad_argument,
                "these tasks depend on each other in a cycle, remove one dependency: " + cycle()};
  }
}

/// Returns the kinds on a cycle. Each task without a place in the order waits for another such task, so that going back
/// from one ends in a cycle.
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
  std::string names = kinds_.names[before->kind.value()];
  for (auto step = way.rbegin(); step != way.rend() && *step != before; ++step) {
    names += " -> " + kinds_.names[(*step)->kind.value()];
  }
  return names + " -> " + kinds_.names[before->kind.value()];
}

detail::Node& Graph::in_order(std::size_t place) const {
  return order_.empty() ? all_[place].node() : *order_[place];
}

/// Rounds the costs of kinds to powers of two, and keeps those that are right within a factor of two: weights are
/// refreshed a part at a time and must fit each other. Returns whether one was changed.
bool Graph::set_kind_steps() {
  bool is_changed = kinds_.step_ns.size() != kinds_.cost_ns.size();
  kinds_.step_ns.resize(kinds_.cost_ns.size(), 0);
  for (std::size_t kind = 0; kind < kinds_.cost_ns.size(); ++kind) {
    const float cost = kinds_.cost_ns[kind];
    float& step = kinds_.step_ns[kind];
    if (cost > 2 * step || cost < step / 2) {
      step = std::exp2(std::round(std::log2(cost)));
      is_changed = true;
    }
  }
  return is_changed && std::ranges::any_of(kinds_.step_ns, [](float step) { return step > 0; });
}

/// Short tasks of a kind count as equal: measurements of each are noise, which would change their order.
float Graph::cost_of(detail::Node& node) const {
  const float of_kind = kinds_.cost_ns[node.kind.value()];
  if (node.cost_source == detail::CostSource::kind) {
    node.cost_ns = of_kind;
  }
  const bool is_noise = node.cost_source != detail::CostSource::estimate && node.cost_ns < detail::short_ns;
  return is_noise ? kinds_.step_ns[node.kind.value()] : node.cost_ns;
}

/// Refreshes the weights of the next `count` tasks, cyclically from the last of the order to the first. A measurement
/// reaches the first tasks after one round.
void Graph::weigh(std::size_t count) {
  for (; count > 0; --count) {
    detail::Node& node = in_order(all_.size() - 1 - next_to_weigh_);
    float longest = 0;
    node.leads_to_send = node.role == detail::Role::send;
    for (const detail::Node* const successor : std::span{node.successors, node.successor_count}) {
      longest = std::max(longest, successor->weight_ns);
      node.leads_to_send = node.leads_to_send || successor->leads_to_send;
    }
    node.weight_ns = cost_of(node) + longest;
    next_to_weigh_ = (next_to_weigh_ + 1) % all_.size();
  }
}

}  // namespace plait::task
