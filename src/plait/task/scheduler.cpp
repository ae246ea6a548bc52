// SPDX-License-Identifier: Apache-2.0
#include "plait/task/scheduler.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "plait/task/detail/joined_sends.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/ready_queue.hpp"

namespace plait::task {

namespace detail {

/// One worker: its queue, and what only its own thread touches.
struct Worker {
  Worker(WorkerId its_id, trace::ThreadRecorder& its_trace) : id{its_id}, trace{its_trace} {}

  WorkerId id;
  trace::ThreadRecorder& trace;
  ReadyQueue queue;

  nanoseconds now{};  ///< The last reading of the clock.
  nanoseconds last_poll{};
  nanoseconds last_move{};  ///< When it last saw something happen; see check_stall().
  std::size_t remaining_seen = 0;
  std::uint32_t random = 1;
  bool is_now_fresh = false;  ///< No wait since that reading.
  std::vector<Node*> sends;   ///< Ready, not posted yet.
  std::vector<Node*> finishing;
  bool is_finishing = false;
  std::vector<std::unique_ptr<Node>> spawned;
  WorkerTimes times;
};

void Node::released(const comm::Status& /*its_status*/) noexcept {
  scheduler->note(*this);
}

/// Hands tasks of no graph over to the worker that has ended another.
class WorkerSink final : public ReadySink {
 public:
  WorkerSink(Scheduler& scheduler, Worker& worker) : scheduler_{scheduler}, worker_{worker} {}
  void ready(Node& node) override { scheduler_.make_ready(worker_, node); }
  void again(Node& node) override {
    node.unfinished.store(1, std::memory_order_relaxed);            // published by the queue's lock
    scheduler_.remaining_.fetch_add(1, std::memory_order_relaxed);  // the task whose end this is still counts
    scheduler_.make_ready(worker_, node);
  }

 private:
  Scheduler& scheduler_;
  Worker& worker_;
};

}  // namespace detail

namespace {

constexpr double cost_smoothing = 0.25;
constexpr int waiting_described_max = 20;

/// In its graph, from 1, as traces count.
std::uint32_t place_of(const detail::Node& node) {
  return node.owner != nullptr ? node.number + 1 : 0;
}

}  // namespace

WorkerId TaskContext::worker() const noexcept {
  return worker_.id;
}

Scheduler::Scheduler(comm::Endpoint& endpoint, trace::Recorder& recorder, SchedulerOptions options)
    : endpoint_{endpoint}, recorder_{recorder}, options_{std::move(options)} {
  if (options_.worker_count == 0) {
    throw Error{ErrorCode::bad_argument, "a run needs at least one worker: set workers to 1 or more"};
  }
  for (std::uint32_t index = 0; index < options_.worker_count; ++index) {
    const WorkerId id{static_cast<std::uint16_t>(index)};
    workers_.push_back(std::make_unique<Worker>(id, recorder.thread(id, fmt::format("worker {}", index))));
    workers_.back()->random = index * 2654435761U + 1;
  }
  for (std::uint32_t index = 1; index < options_.worker_count; ++index) {
    threads_.emplace_back([this, index] { serve(*workers_[index]); });
  }
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock{mutex_};
    is_ending_ = true;
  }
  wake_.notify_all();
}

std::vector<WorkerTimes> Scheduler::worker_times() const {
  std::vector<WorkerTimes> times;
  for (const auto& worker : workers_) {
    times.push_back(worker->times);
  }
  return times;
}

void Scheduler::reset_worker_times() {
  for (const auto& worker : workers_) {
    worker->times = {};
  }
}

// ---- a run ----

void Scheduler::run(Graph& graph, std::span<const Task> active) {
  graph.prepare();
  if (graph_ != &graph || names_.size() != graph.kinds().size()) {
    names_.clear();
    for (const std::string& kind : graph.kinds()) {
      names_.push_back(recorder_.name(trace::Role::task, kind));
    }
  }
  graph_ = &graph;
  active_ = active;
  if (const auto failure = endpoint_.failure()) {
    throw *failure;
  }
  activate(active);
  graph_record_.begin_run(graph, {names_, epoch_ - 1, active.size(), recorder_.now()}, workers_.front()->trace);
  let_in();
  Worker& self = *workers_.front();
  self.now = recorder_.now();
  for (const Task& task : active) {
    if (task.node().waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with finish()
      make_ready(self, task.node());
    }
  }
  post_sends(self);
  work(self);
  see_off();
}

void Scheduler::let_in() {
  {
    const std::lock_guard lock{mutex_};
    expect(!is_open_, "one run at a time");
    ++generation_;
    is_open_ = true;
    workers_inside_ = 1;
  }
  if (options_.worker_count > 1) {
    wake_.notify_all();
  }
}

/// Waits until the workers have left the run, and throws what has ended it.
void Scheduler::see_off() {
  std::unique_lock lock{mutex_};
  is_open_ = false;  // a worker that has slept through the run stays out
  wake_.wait(lock, [this] { return workers_inside_ == 0; });
  for (const auto& worker : workers_) {
    worker->spawned.clear();
  }
  if (failure_) {
    throw *failure_;
  }
  if (remaining_.load(std::memory_order_relaxed) > 0) {  // the others have gone: nobody writes it
    throw endpoint_.failure().value();
  }
}

// ---- an open run ----

void Scheduler::open(std::function<std::string()> describe) {
  if (const auto failure = endpoint_.failure()) {
    throw *failure;
  }
  graph_ = nullptr;
  active_ = {};
  ++epoch_;
  remaining_.store(1, std::memory_order_relaxed);  // until it is closed; published by the mutex in let_in()
  describe_ = std::move(describe);
  let_in();
  workers_.front()->now = recorder_.now();
}

void Scheduler::close() {
  help_until([this] { return remaining_.load(std::memory_order_acquire) == 1; });  // with release in count_off()
  count_off(nullptr, *workers_.front());
  work(*workers_.front());  // leaves at once
  describe_ = nullptr;
  see_off();
}

void Scheduler::count_in(Node& node) noexcept {
  node.scheduler = this;
  node.unfinished.store(1, std::memory_order_relaxed);  // published by whoever hands the task over
  node.id = next_id_.fetch_add(1, std::memory_order_relaxed);
  remaining_.fetch_add(1, std::memory_order_relaxed);
}

void Scheduler::start(Node& node) {
  Worker& self = *workers_.front();
  if (self.trace.is_on()) {
    self.now = recorder_.now();
    self.is_now_fresh = false;
  }
  make_ready(self, node);
  post_sends(self);
}

/// Each count starts one too high, so that nothing starts while the counting is under way.
void Scheduler::activate(std::span<const Task> active) {
  ++epoch_;
  for (const Task& task : active) {
    Node& node = task.node();
    expect(node.epoch != epoch_, "a task is active once in a run");
    node.epoch = epoch_;
    node.scheduler = this;
    node.waits.store(1, std::memory_order_relaxed);  // published to the workers by the mutex in run()
    node.unfinished.store(1, std::memory_order_relaxed);
    node.id = next_id_.fetch_add(1, std::memory_order_relaxed);
    node.caused_by = 0;
  }
  for (const Task& task : active) {
    for (Node* const successor : task.node().successors) {
      if (successor->epoch == epoch_) {
        successor->waits.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  remaining_.store(active.size(), std::memory_order_relaxed);
}

/// The life of a worker's thread.
void Scheduler::serve(Worker& worker) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [&] { return is_ending_ || generation_ != seen; });
      if (generation_ == seen) {
        return;
      }
      seen = generation_;
      if (!is_open_) {
        continue;
      }
      ++workers_inside_;
    }
    worker.now = recorder_.now();
    work(worker);
  }
}

bool Scheduler::is_over() const noexcept {
  return remaining_.load(std::memory_order_acquire) == 0 ||  // with release in finish()
         has_failed_.load(std::memory_order_acquire);        // with release in fail()
}

void Scheduler::work(Worker& worker) {
  const nanoseconds start = worker.now;
  worker.last_move = start;
  worker.last_poll = start;
  worker.remaining_seen = 0;
  Backoff backoff{options_.wait, crowding_};
  while (!is_over()) {
    look(worker, backoff);
  }
  worker.now = recorder_.now();
  worker.times.total += worker.now - start;
  const std::lock_guard lock{mutex_};
  if (--workers_inside_ == 0) {
    wake_.notify_all();
  }
}

/// Worker 0, in a run that is open for more.
void Scheduler::help_until(const std::function<bool()>& is_done) {
  Worker& worker = *workers_.front();
  worker.now = recorder_.now();
  const nanoseconds start = worker.now;
  worker.last_move = start;
  worker.last_poll = start;
  worker.remaining_seen = 0;
  Backoff backoff{options_.wait, crowding_};
  while (!has_failed_.load(std::memory_order_acquire) && !is_done()) {  // with release in fail()
    look(worker, backoff);
  }
  worker.now = recorder_.now();
  worker.times.total += worker.now - start;
}

/// One look at all that a worker may do.
void Scheduler::look(Worker& worker, Backoff& backoff) {
  if (noted_.load(std::memory_order_relaxed) != nullptr) {  // a hint; finish_noted() acquires
    finish_noted(worker);
  }
  if (Node* const node = find_task(worker)) {
    execute(worker, *node);
    backoff.reset();
    if (worker.now - worker.last_poll > options_.poll_interval) {
      worker.last_poll = worker.now;
      worker.is_now_fresh = false;
      endpoint_.progress();
    }
    return;
  }
  worker.is_now_fresh = false;
  if (endpoint_.progress() > 0) {
    backoff.reset();
    worker.now = recorder_.now();
    worker.last_poll = worker.now;
  } else {
    idle(worker, backoff);
  }
}

Scheduler::Node* Scheduler::find_task(Worker& worker) {
  if (Node* const own = worker.queue.pop()) {
    return own;
  }
  const auto count = static_cast<std::uint32_t>(workers_.size());
  if (count == 1) {
    return nullptr;
  }
  worker.random = worker.random * 1664525U + 1013904223U;  // Numerical Recipes' generator: any start will do
  const std::uint32_t first = (worker.random >> 16U) % count;
  for (std::uint32_t step = 0; step < count; ++step) {
    Worker& victim = *workers_[(first + step) % count];
    if (&victim == &worker) {
      continue;
    }
    if (Node* const stolen = victim.queue.steal()) {
      return stolen;
    }
  }
  return nullptr;
}

void Scheduler::execute(Worker& worker, Node& node) {
  executing_.fetch_add(1, std::memory_order_relaxed);  // for check_stall(): a hint
  const nanoseconds start = worker.is_now_fresh ? worker.now : recorder_.now();
  try {
    TaskContext context{*this, worker, node};
    node.body(context);
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(Error{ErrorCode::user_task,
               fmt::format("task '{}' on rank {} threw: {}", name_of(node), endpoint_.self().value(), error.what())});
  } catch (...) {
    fail(Error{
        ErrorCode::user_task,
        fmt::format(
            "task '{}' on rank {} threw something that is no exception", name_of(node), endpoint_.self().value())});
  }
  worker.now = recorder_.now();
  worker.is_now_fresh = true;
  executing_.fetch_sub(1, std::memory_order_relaxed);
  if (!node.resources.empty()) {
    unlock_all(node.resources);
    wake_one();  // what has waited for them may run now
  }
  const auto took = static_cast<double>((worker.now - start).count());
  node.cost_ns = node.last_worker ? node.cost_ns + cost_smoothing * (took - node.cost_ns) : took;
  node.last_worker = worker.id;
  worker.times.busy += worker.now - start;
  ++worker.times.tasks;
  worker.trace.task({.kind = trace_name_of(node),
                     .object = node.object,
                     .ready = node.ready,
                     .start = start,
                     .end = worker.now,
                     .task = node.id,
                     .caused_by = node.caused_by,
                     .step = epoch_ - 1,
                     .place = place_of(node)});
  finish(worker, node);
}

/// Counts an ended task off: its parent, what waits for it, the run. Iterative, as a long chain of joins may end at
/// once.
void Scheduler::finish(Worker& worker, Node& ended) {
  worker.finishing.push_back(&ended);
  if (std::exchange(worker.is_finishing, true)) {
    return;
  }
  while (!worker.finishing.empty()) {
    Node& node = *worker.finishing.back();
    worker.finishing.pop_back();
    // Acquires what the children wrote, or releases what this task wrote to the last of them.
    if (node.unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      continue;
    }
    Node* const parent = node.parent;
    if (node.ending != nullptr) {
      detail::WorkerSink sink{*this, worker};
      node.ending->ended(node, sink);
      count_off(parent, worker);
      continue;
    }
    for (Node* const successor : node.successors) {
      // Acquires what all predecessors wrote for whoever runs the successor.
      if (successor->epoch == epoch_ && successor->waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        // A join leaves no record: what comes after it was made ready by what the join waited for last.
        successor->caused_by = node.role == detail::Role::join ? node.caused_by : node.id;
        make_ready(worker, *successor);
      }
    }
    count_off(parent, worker);
  }
  worker.is_finishing = false;
  post_sends(worker);
}

void Scheduler::count_off(Node* parent, Worker& worker) {
  if (parent != nullptr) {
    worker.finishing.push_back(parent);
  }
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with is_over()
    wake_.notify_all();
  }
}

const std::string& Scheduler::name_of(const Node& node) const {
  return node.label != nullptr ? node.label->name : graph_->kinds()[node.kind.value()];
}

trace::NameId Scheduler::trace_name_of(const Node& node) const {
  return node.label != nullptr ? node.label->trace_name : names_[node.kind.value()];
}

void Scheduler::make_ready(Worker& worker, Node& node) {
  node.ready = worker.now;
  switch (node.role) {
    case detail::Role::join:
      finish(worker, node);
      break;
    case detail::Role::send:
      worker.sends.push_back(&node);
      break;
    case detail::Role::receive:
      post_receive(worker, node);
      break;
    case detail::Role::event:
      break;
    case detail::Role::compute: {
      const bool has_home = node.last_worker && node.last_worker.value() < workers_.size();
      (has_home ? *workers_[node.last_worker.value()] : worker).queue.push(node);
      wake_one();
      break;
    }
  }
}

void Scheduler::spawn(Worker& worker, Node& parent, Spawn&& wish) {
  auto& node = *worker.spawned.emplace_back(std::make_unique<Node>(wish.kind));
  node.body = std::move(wish.body);
  node.resources = std::move(wish.resources);
  node.object = wish.object;
  node.cost_ns = static_cast<double>(wish.cost.count());
  // What waits for the parent waits for this one, too.
  node.weight_ns = node.cost_ns + parent.weight_ns;
  node.parent = &parent;
  node.label = parent.label;
  node.epoch = epoch_;
  node.unfinished.store(1, std::memory_order_relaxed);  // published by the queue's lock
  node.id = next_id_.fetch_add(1, std::memory_order_relaxed);
  node.caused_by = parent.id;
  parent.unfinished.fetch_add(1, std::memory_order_relaxed);  // the parent itself still counts
  remaining_.fetch_add(1, std::memory_order_relaxed);
  if (worker.trace.is_on()) {
    worker.now = recorder_.now();
  }
  make_ready(worker, node);
}

// ---- messages ----

void Scheduler::post_receive(Worker& worker, Node& node) {
  node.posted = worker.now;
  try {
    if (node.growing != nullptr) {
      (void)endpoint_.receive(node.address, *node.growing, &node);
    } else {
      (void)endpoint_.receive(node.address, node.buffer, &node);
    }
  } catch (const Error& error) {
    fail(error);
  }
}

/// Posts the sends that have become ready together. Those of the same data with the same tag leave as one multicast.
void Scheduler::post_sends(Worker& worker) {
  if (worker.sends.empty()) {
    return;
  }
  if (worker.sends.size() == 1) {  // the common case needs no lists
    Node& only = *worker.sends.front();
    worker.sends.clear();
    only.posted = worker.now;
    only.outgoing = only.data();
    post_send(std::array{&only});
    return;
  }
  using What = std::tuple<const std::byte*, std::size_t, Tag, comm::CommId>;
  std::vector<std::vector<Node*>> groups;
  std::map<What, std::size_t> known;
  for (Node* const node : worker.sends) {
    node->posted = worker.now;
    node->outgoing = node->data();
    const What what{node->outgoing.data(), node->outgoing.size(), node->address.tag, node->address.comm};
    const auto [entry, is_new] = known.try_emplace(what, groups.size());
    // A rank that is to get the same twice gets two messages.
    if (is_new || std::ranges::any_of(groups[entry->second],
                                      [&](const Node* other) { return other->address.rank == node->address.rank; })) {
      entry->second = groups.size();
      groups.emplace_back();
    }
    groups[entry->second].push_back(node);
  }
  worker.sends.clear();
  for (const std::vector<Node*>& same : groups) {
    post_send(same);
  }
}

void Scheduler::post_send(std::span<Node* const> same) {
  Node& first = *same.front();
  try {
    if (same.size() == 1) {
      (void)endpoint_.send(first.address, first.outgoing, {.completion = &first});
      return;
    }
    auto joined = std::make_unique<detail::JoinedSends>(same);
    (void)endpoint_.multicast(
        joined->destinations(), first.address.tag, first.outgoing, {.completion = joined.get()}, first.address.comm);
    (void)joined.release();  // ends itself
  } catch (const Error& error) {
    fail(error);
  }
}

void Scheduler::note(Node& node) noexcept {
  node.next_noted = noted_.load(std::memory_order_relaxed);
  while (!noted_.compare_exchange_weak(node.next_noted, &node, std::memory_order_release)) {  // with finish_noted()
  }
  if (sleeping_.load(std::memory_order_relaxed) > 0) {  // a hint: sleeps are short
    wake_.notify_one();
  }
}

void Scheduler::finish_noted(Worker& worker) {
  Node* node = noted_.exchange(nullptr, std::memory_order_acquire);  // with note()
  if (node == nullptr) {
    return;
  }
  worker.now = recorder_.now();
  while (node != nullptr) {
    Node* const next = node->next_noted;
    if (node->role == detail::Role::event) {
      finish(worker, *node);
      node = next;
      continue;
    }
    const bool is_send = node->role == detail::Role::send;
    worker.trace.task(
        {.kind = trace_name_of(*node),
         .part = is_send ? trace::TaskPart::send : trace::TaskPart::receive,
         .object = trace::message_object(is_send ? node->address.rank : node->status.source, node->status.sequence),
         .ready = node->ready,
         .start = node->posted,
         .end = worker.now,
         .task = node->id,
         .caused_by = node->caused_by,
         .step = epoch_ - 1,
         .place = place_of(*node)});
    if (node->status.error) {
      fail(Error{
          *node->status.error,
          fmt::format("task '{}' on rank {} received {} bytes from rank {} with tag {}, more than its buffer of {}",
                      name_of(*node),
                      endpoint_.self().value(),
                      node->status.bytes,
                      node->status.source.value(),
                      node->status.tag.value(),
                      node->buffer.size()),
          node->status.source});
    }
    finish(worker, *node);
    node = next;
  }
}

// ---- waiting, trouble ----

void Scheduler::idle(Worker& worker, Backoff& backoff) {
  if (endpoint_.failure()) {
    has_failed_.store(true, std::memory_order_release);  // with is_over(); run() throws what the endpoint knows
    return;
  }
  if (endpoint_.is_moving_bulk()) {
    crowding_.give_way();
    return;
  }
  // The only worker has nobody to be woken by: it looks at the network again after a short sleep.
  if (workers_.size() == 1) {
    if (backoff.pause()) {
      check_stall(worker);
    }
    return;
  }
  if (backoff.must_sleep()) {
    check_stall(worker);
    std::unique_lock lock{mutex_};
    sleeping_.fetch_add(1, std::memory_order_relaxed);  // a hint for wake_one()
    if (!is_over()) {
      wake_.wait_for(lock, backoff.next_sleep());
    }
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
    backoff.count_look();
  } else {
    backoff.pause();
  }
}

void Scheduler::wake_one() {
  if (sleeping_.load(std::memory_order_relaxed) > 0) {  // a hint: sleeps are short
    wake_.notify_one();
  }
}

void Scheduler::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (!failure_) {
      failure_ = error;
    }
  }
  endpoint_.stop_all(error);
  has_failed_.store(true, std::memory_order_release);  // with is_over()
}

/// Only worker 0 watches, and only when it has slept.
void Scheduler::check_stall(Worker& worker) {
  if (worker.id != WorkerId{0} || options_.stall_max == nanoseconds::zero()) {
    return;
  }
  worker.now = recorder_.now();
  const std::size_t remaining = remaining_.load(std::memory_order_relaxed);
  if (remaining != worker.remaining_seen || executing_.load(std::memory_order_relaxed) > 0 ||
      worker.last_poll > worker.last_move) {
    worker.remaining_seen = remaining;
    worker.last_move = worker.now;
  } else if (worker.now - worker.last_move > options_.stall_max) {
    fail(Error{ErrorCode::timeout,
               fmt::format("nothing has moved for {} s on rank {}; waiting are {}. Does each message have its partner?",
                           std::chrono::duration_cast<std::chrono::seconds>(options_.stall_max).count(),
                           endpoint_.self().value(),
                           describe_waiting())});
  }
}

std::string Scheduler::describe_waiting() const {
  if (describe_) {
    return describe_();
  }
  std::string text;
  int count = 0;
  for (const Task& task : active_) {
    const Node& node = task.node();
    if (node.unfinished.load(std::memory_order_relaxed) == 0) {
      continue;
    }
    if (++count > waiting_described_max) {
      return text + ", ...";
    }
    text += count > 1 ? ", " : "";
    text += name_of(node);
    const std::uint32_t waits = node.waits.load(std::memory_order_relaxed);
    if (waits > 0) {
      text += fmt::format(" (for {} others)", waits);
    } else if (node.role == detail::Role::send || node.role == detail::Role::receive) {
      text += fmt::format(" ({} rank {}, tag {})",
                          node.role == detail::Role::send ? "to" : "from",
                          static_cast<std::int32_t>(node.address.rank.value()),
                          static_cast<std::int64_t>(node.address.tag.value()));
    }
  }
  return text;
}

}  // namespace plait::task
