// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/communicators.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

namespace {

constexpr std::uint32_t world_id = 1;
constexpr std::uint32_t self_id = 2;
constexpr std::uint32_t first_chosen_id = 16;
/// The library frees `handle`: by a call that is routed, or by one in a callback of the program, which is not.
int forget(MPI_Comm handle, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  if (EngineSession* const session = find_session()) {
    session->communicators().freed(handle);
  }
  return MPI_SUCCESS;
}

}  // namespace

RoutedCommunicator::RoutedCommunicator(comm::Endpoint& endpoint,
                                       const net::Driver& driver,
                                       MPI_Comm handle,
                                       std::vector<Rank> ranks)
    : endpoint_{endpoint},
      handle_{handle},
      ranks_{std::move(ranks)},
      spans_hosts_{std::ranges::any_of(ranks_, [&](Rank rank) { return driver.passes_network(rank); })} {
  for (std::size_t here = 0; here < ranks_.size(); ++here) {
    is_whole_ = is_whole_ && ranks_[here].value() == here;
    if (ranks_[here] == endpoint.self()) {
      rank_ = static_cast<int>(here);
    }
  }
  if (!is_whole_) {
    ranks_here_.resize(endpoint.rank_count(), MPI_UNDEFINED);
    for (std::size_t here = 0; here < ranks_.size(); ++here) {
      ranks_here_[ranks_[here].value()] = static_cast<int>(here);
    }
  }
}

void RoutedCommunicator::agree(RoutedCommunicator& parent, std::uint64_t creation, std::uint32_t own_choice) {
  const Tag tag{creation};
  if (rank_ != 0) {
    choice_ = endpoint_.receive({ranks_[0], tag, parent.internal_id()}, std::as_writable_bytes(std::span{&chosen_, 1}));
    return;
  }
  chosen_ = own_choice;
  if (ranks_.size() > 1) {
    std::vector<comm::Destination> others;
    for (std::size_t here = 1; here < ranks_.size(); ++here) {
      others.push_back({.rank = ranks_[here]});
    }
    choice_ =
        endpoint_.multicast(std::move(others), tag, std::as_bytes(std::span{&chosen_, 1}), {}, parent.internal_id());
  }
  set_id(chosen_);
}

std::uint32_t RoutedCommunicator::wait_for_id() {
  while (id_.load(std::memory_order_acquire) == 0) {  // with release in set_id()
    if (!is_waiting_for_id_.test_and_set(std::memory_order_acquire)) {
      if (id_.load(std::memory_order_acquire) == 0) {
        choice_.wait();
        set_id(chosen_);
      }
      is_waiting_for_id_.clear(std::memory_order_release);
    }
  }
  return id_.load(std::memory_order_acquire);
}

RoutedCommunicators::RoutedCommunicators(comm::Endpoint& endpoint, const net::Driver& driver)
    : endpoint_{endpoint}, driver_{driver} {
  PMPI_Comm_group(MPI_COMM_WORLD, &run_group_);
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval_, nullptr);
  std::vector<Rank> all;
  for (std::uint32_t rank = 0; rank < endpoint.rank_count(); ++rank) {
    all.emplace_back(rank);
  }
  add(MPI_COMM_WORLD, std::move(all)).set_id(world_id);
  add(MPI_COMM_SELF, {endpoint.self()}).set_id(self_id);
}

RoutedCommunicators::~RoutedCommunicators() {
  PMPI_Group_free(&run_group_);
  PMPI_Comm_free_keyval(&keyval_);
}

RoutedCommunicator* RoutedCommunicators::find(MPI_Comm handle) noexcept {
  struct Last {
    MPI_Comm handle;
    RoutedCommunicator* communicator = nullptr;
    std::uint64_t epoch = 0;
  };
  static constinit thread_local Last last{};
  const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
  if (last.epoch == epoch && last.handle == handle) [[likely]] {
    return last.communicator;
  }
  const std::shared_lock lock{mutex_};
  const auto found = known_.find(handle);
  if (found == known_.end()) {
    return nullptr;  // not kept: it may be made any time
  }
  last = {handle, found->second.get(), epoch};
  return last.communicator;
}

RoutedCommunicator& RoutedCommunicators::add(MPI_Comm handle, std::vector<Rank> ranks) {
  const std::unique_lock lock{mutex_};
  return *(known_[handle] = std::make_unique<RoutedCommunicator>(endpoint_, driver_, handle, std::move(ranks)));
}

std::uint32_t RoutedCommunicators::choose_id() noexcept {
  // Of those that no other rank chooses.
  const std::uint32_t choice = choices_.fetch_add(1, std::memory_order_relaxed);
  return first_chosen_id + endpoint_.self().value() + endpoint_.rank_count() * choice;
}

/// Empty when some are not of the run.
std::vector<Rank> RoutedCommunicators::ranks_of(MPI_Comm handle) const {
  MPI_Group group = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Comm_group(handle, &group);
  PMPI_Group_size(group, &size);
  std::vector<int> here(static_cast<std::size_t>(size));
  std::vector<int> of_run(here.size());
  std::iota(here.begin(), here.end(), 0);
  PMPI_Group_translate_ranks(group, size, here.data(), run_group_, of_run.data());
  PMPI_Group_free(&group);
  std::vector<Rank> ranks;
  for (const int rank : of_run) {
    if (rank < 0) {
      return {};
    }
    ranks.emplace_back(static_cast<std::uint32_t>(rank));
  }
  return ranks;
}

void RoutedCommunicators::made(RoutedCommunicator* parent, MPI_Comm made, std::uint64_t creation) {
  if (made == MPI_COMM_NULL) {
    return;
  }
  int is_inter = 0;
  PMPI_Comm_test_inter(made, &is_inter);
  std::vector<Rank> ranks = parent != nullptr && is_inter == 0 ? ranks_of(made) : std::vector<Rank>{};
  if (ranks.empty()) {
    note_unrouted();
    return;
  }
  const std::uint32_t choice = ranks.front() == endpoint_.self() ? choose_id() : 0;
  PMPI_Comm_set_attr(made, keyval_, nullptr);
  add(made, std::move(ranks)).agree(*parent, creation, choice);
}

void RoutedCommunicators::duplicated(RoutedCommunicator& parent, MPI_Comm made, std::uint64_t creation) {
  add(made, parent.ranks()).agree(parent, creation, parent.rank() == 0 ? choose_id() : 0);
}

void RoutedCommunicators::freed(MPI_Comm handle) noexcept {
  const std::unique_lock lock{mutex_};
  const auto found = known_.find(handle);
  if (found == known_.end()) {
    return;
  }
  freed_.push_back(std::move(found->second));
  known_.erase(found);
  epoch_.fetch_add(1, std::memory_order_release);  // with acquire in find()
  std::erase_if(freed_, [&](const std::unique_ptr<RoutedCommunicator>& one) {
    return one->outstanding.load(std::memory_order_acquire) == 0 && one->buffered.is_idle() && one->is_agreed();
  });
}

// ---- functions of MPI ----

namespace {

/// Calls MPI, and routes the communicator that it makes from `parent`.
template <class Make>
int make(MPI_Comm parent, MPI_Comm* made, const Make& real) {
  RoutedCommunicators& all = use_session().communicators();
  RoutedCommunicator* const from = all.find(parent);
  const std::uint64_t creation = from != nullptr ? from->next_creation() : 0;
  use_session().before_blocking();
  const int result = real();
  if (result == MPI_SUCCESS) {
    return use_session().guarded(parent, [&] { all.made(from, *made, creation); });
  }
  return result;
}

int comm_dup(MPI_Comm parent, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Comm_dup(parent, made); });
}
int comm_dup_with_info(MPI_Comm parent, MPI_Info info, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Comm_dup_with_info(parent, info, made); });
}
int comm_split(MPI_Comm parent, int color, int key, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Comm_split(parent, color, key, made); });
}
int comm_split_type(MPI_Comm parent, int type, int key, MPI_Info info, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Comm_split_type(parent, type, key, info, made); });
}
int comm_create(MPI_Comm parent, MPI_Group group, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Comm_create(parent, group, made); });
}
int cart_create(MPI_Comm parent, int count, const int* sizes, const int* periods, int reorder, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Cart_create(parent, count, sizes, periods, reorder, made); });
}
int cart_sub(MPI_Comm parent, const int* remaining, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Cart_sub(parent, remaining, made); });
}
int graph_create(MPI_Comm parent, int count, const int* index, const int* edges, int reorder, MPI_Comm* made) {
  return make(parent, made, [&] { return PMPI_Graph_create(parent, count, index, edges, reorder, made); });
}
int dist_graph_create(MPI_Comm parent,
                      int count,
                      const int* sources,
                      const int* degrees,
                      const int* destinations,
                      const int* weights,
                      MPI_Info info,
                      int reorder,
                      MPI_Comm* made) {
  return make(parent, made, [&] {
    return PMPI_Dist_graph_create(parent, count, sources, degrees, destinations, weights, info, reorder, made);
  });
}
int dist_graph_create_adjacent(MPI_Comm parent,
                               int in,
                               const int* sources,
                               const int* source_weights,
                               int out,
                               const int* destinations,
                               const int* destination_weights,
                               MPI_Info info,
                               int reorder,
                               MPI_Comm* made) {
  return make(parent, made, [&] {
    return PMPI_Dist_graph_create_adjacent(
        parent, in, sources, source_weights, out, destinations, destination_weights, info, reorder, made);
  });
}

/// Collective over the group only: its members agree by their tag.
int comm_create_group(MPI_Comm parent, MPI_Group group, int tag, MPI_Comm* made) {
  constexpr std::uint64_t by_tag = std::uint64_t{1} << 62U;
  use_session().before_blocking();
  const int result = PMPI_Comm_create_group(parent, group, tag, made);
  if (result == MPI_SUCCESS) {
    RoutedCommunicators& all = use_session().communicators();
    return use_session().guarded(parent,
                                 [&] { all.made(all.find(parent), *made, by_tag | static_cast<std::uint32_t>(tag)); });
  }
  return result;
}

template <class Make>
int make_later(MPI_Comm parent, MPI_Comm* made, MPI_Request* request, const Make& real) {
  RoutedCommunicators& all = use_session().communicators();
  RoutedCommunicator* const from = all.find(parent);
  const std::uint64_t creation = from != nullptr ? from->next_creation() : 0;
  const int result = real();
  use_session().foreign().begun(result, request);
  if (result == MPI_SUCCESS && from != nullptr) {
    return use_session().guarded(parent, [&] { all.duplicated(*from, *made, creation); });
  }
  return result;
}

int comm_idup(MPI_Comm parent, MPI_Comm* made, MPI_Request* request) {
  return make_later(parent, made, request, [&] { return PMPI_Comm_idup(parent, made, request); });
}
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
int comm_idup_with_info(MPI_Comm parent, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
  return make_later(parent, made, request, [&] { return PMPI_Comm_idup_with_info(parent, info, made, request); });
}
#endif

int comm_free(MPI_Comm* handle) {
  use_session().communicators().freed(*handle);
  use_session().before_blocking();
  return PMPI_Comm_free(handle);
}

int comm_disconnect(MPI_Comm* handle) {
  RoutedCommunicators& all = use_session().communicators();
  if (RoutedCommunicator* const ending = all.find(*handle)) {
    use_session().wait_until([&] { return ending->outstanding.load(std::memory_order_acquire) == 0; });
  }
  all.freed(*handle);
  use_session().before_blocking();
  return PMPI_Comm_disconnect(handle);
}

}  // namespace

std::vector<FunctionRoute> communicator_routes() {
  return {
      route<decltype(::PMPI_Comm_dup)>("PMPI_Comm_dup", comm_dup),
      route<decltype(::PMPI_Comm_dup_with_info)>("PMPI_Comm_dup_with_info", comm_dup_with_info),
      route<decltype(::PMPI_Comm_split)>("PMPI_Comm_split", comm_split),
      route<decltype(::PMPI_Comm_split_type)>("PMPI_Comm_split_type", comm_split_type),
      route<decltype(::PMPI_Comm_create)>("PMPI_Comm_create", comm_create),
      route<decltype(::PMPI_Comm_create_group)>("PMPI_Comm_create_group", comm_create_group),
      route<decltype(::PMPI_Cart_create)>("PMPI_Cart_create", cart_create),
      route<decltype(::PMPI_Cart_sub)>("PMPI_Cart_sub", cart_sub),
      route<decltype(::PMPI_Graph_create)>("PMPI_Graph_create", graph_create),
      route<decltype(::PMPI_Dist_graph_create)>("PMPI_Dist_graph_create", dist_graph_create),
      route<decltype(::PMPI_Dist_graph_create_adjacent)>("PMPI_Dist_graph_create_adjacent", dist_graph_create_adjacent),
      route<decltype(::PMPI_Comm_idup)>("PMPI_Comm_idup", comm_idup),
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
      route<decltype(::PMPI_Comm_idup_with_info)>("PMPI_Comm_idup_with_info", comm_idup_with_info),
#endif
      route<decltype(::PMPI_Comm_free)>("PMPI_Comm_free", comm_free),
      route<decltype(::PMPI_Comm_disconnect)>("PMPI_Comm_disconnect", comm_disconnect),
  };
}

}  // namespace plait::accelerate
