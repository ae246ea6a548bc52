// SPDX-License-Identifier: Apache-2.0
#ifdef PLAIT_WITH_OFI

#include "plait/replay/backend/mpi/ofi_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/exchange.hpp"
#include "plait/net/ofi/detail/call.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/meeting.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"

namespace plait::replay {
namespace {

namespace ofi = net::detail::ofi;

/// Completions looked at in one look, and those that may wait.
constexpr std::size_t completions_per_look = 16;
constexpr std::size_t completions_max = 1024;

/// A write under way: what libfabric is told to remember it by, and keeps notes in.
struct Write {
  fi_context2 context{};
  Rank to;
};
static_assert(offsetof(Write, context) == 0, "what libfabric hands back is the write");

/// Another rank's memory.
struct Target {
  fi_addr_t name = FI_ADDR_NOTAVAIL;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::size_t writes = 0;  ///< Under way.
};

struct Region {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

Rank rank_in(MPI_Comm ranks) {
  int rank = 0;
  net::detail::check_mpi(MPI_Comm_rank(ranks, &rank), "MPI_Comm_rank");
  return Rank{static_cast<std::uint32_t>(rank)};
}

ofi::Fabric open_fabric(const net::Exchange& exchange, MPI_Comm world) {
  const std::string host = ofi::describe_host();
  const std::vector<Bytes> hosts = exchange(std::as_bytes(std::span{host}));
  const bool is_one_host = std::ranges::all_of(hosts, [&](const Bytes& other) { return other == hosts.front(); });
  using Ranks = ofi::Wanted::Ranks;
  // Providers within one host have no addresses, and are not found by one.
  std::vector<std::string> nodes{""};
  if (is_one_host) {
    nodes.insert(nodes.begin(), "127.0.0.1");
  }
  std::string trouble;
  ofi::FiInfo info;
  for (auto node = nodes.begin(); !info && node != nodes.end(); ++node) {
    try {
      info = ofi::find_provider({.node = *node, .ranks = is_one_host ? Ranks::on_one_host : Ranks::on_many_hosts});
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  throw_together(world, info ? "" : trouble, ErrorCode::bad_argument);
  const std::string name{info->fabric_attr->prov_name};
  const std::vector<Bytes> names = exchange(std::as_bytes(std::span{name}));
  if (std::ranges::any_of(names, [&](const Bytes& other) { return other != names.front(); })) {
    throw Error{ErrorCode::bad_argument, "the ranks have different providers of libfabric; name one by FI_PROVIDER"};
  }
  return {std::move(info), completions_max, hosts.size()};
}

}  // namespace

struct OfiMemory::State {
  State(MPI_Comm world, std::size_t bytes);

  void post(Target& to, std::uint64_t at, std::span<const std::byte> data);
  /// False when there was nothing to see.
  bool look();
  /// False when something is under way to that rank, and there was nothing to see.
  bool look_until_complete(Rank to);
  void write_here(std::uint64_t at, std::span<const std::byte> data);

  MPI_Comm ranks;
  Rank self;
  int exceptions_at_start = std::uncaught_exceptions();
  std::vector<std::uint64_t> memory;  ///< Words, for flags are such.
  ofi::Fabric fabric;
  ofi::FiHandle<fid_mr> region;
  std::vector<Target> targets;
  std::mutex mutex;  ///< Guards what stands above and below.
  std::deque<Write> writes;
  std::vector<Write*> free;
};

OfiMemory::State::State(MPI_Comm world, std::size_t bytes)
    : ranks{world},
      self{rank_in(world)},
      memory((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)),
      fabric{open_fabric(net::mpi_exchange(world), world)},
      region{fabric.make_writable(std::as_writable_bytes(std::span{memory}), 1)} {
  const net::Exchange exchange = net::mpi_exchange(world);
  for (const Bytes& address : exchange(fabric.address())) {
    targets.push_back({.name = fabric.insert(address)});
  }
  const bool is_by_address = fabric.registers_by(FI_MR_VIRT_ADDR);
  const Region mine{is_by_address ? std::bit_cast<std::uintptr_t>(memory.data()) : 0, fi_mr_key(region.get())};
  const std::vector<Bytes> regions = exchange(std::as_bytes(std::span{&mine, 1}));
  for (std::size_t rank = 0; rank < targets.size(); ++rank) {
    Region other;
    std::memcpy(&other, regions[rank].data(), sizeof other);
    targets[rank].address = other.address;
    targets[rank].key = other.key;
  }
}

bool OfiMemory::State::look() {
  std::array<fi_cq_data_entry, completions_per_look> entries;  // not set: filled by libfabric
  const ssize_t count = fi_cq_read(fabric.queue(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) {
    return false;
  }
  if (count == -FI_EAVAIL) {
    fi_cq_err_entry entry{};
    ofi::check_ofi(fi_cq_readerr(fabric.queue(), &entry, 0), "fi_cq_readerr");
    const Rank to = entry.op_context != nullptr ? static_cast<Write*>(entry.op_context)->to : Rank{};
    ofi::ofi_failed(-entry.err, "fi_writemsg", to);
  }
  ofi::check_ofi(count, "fi_cq_read");
  for (const fi_cq_data_entry& entry : std::span{entries}.first(static_cast<std::size_t>(count))) {
    auto* const write = static_cast<Write*>(entry.op_context);
    --targets[write->to.value()].writes;
    free.push_back(write);
  }
  return true;
}

bool OfiMemory::State::look_until_complete(Rank to) {
  const std::lock_guard lock{mutex};
  while (targets[to.value()].writes > 0) {
    if (!look()) {
      return false;
    }
  }
  return true;
}

void OfiMemory::State::post(Target& to, std::uint64_t at, std::span<const std::byte> data) {
  if (free.empty()) {
    free.push_back(&writes.emplace_back());
  }
  Write* const write = free.back();
  free.pop_back();
  write->to = Rank{static_cast<std::uint32_t>(&to - targets.data())};
  const iovec from{const_cast<std::byte*>(data.data()), data.size()};  // libfabric reads it only
  const fi_rma_iov into{to.address + at, data.size(), to.key};
  fi_msg_rma message{};
  message.msg_iov = &from;
  message.iov_count = 1;
  message.addr = to.name;
  message.rma_iov = &into;
  message.rma_iov_count = 1;
  message.context = write;
  ssize_t code = -FI_EAGAIN;
  while ((code = fi_writemsg(fabric.endpoint(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)) == -FI_EAGAIN) {
    if (!look()) {
      std::this_thread::yield();
    }
  }
  ofi::check_ofi(code, "fi_writemsg", write->to);
  ++to.writes;
}

void OfiMemory::State::write_here(std::uint64_t at, std::span<const std::byte> data) {
  if (data.size() == sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data(), sizeof word);
    std::atomic_ref{memory[at / sizeof word]}.store(word, std::memory_order_release);  // acquired by who sees the flag
  } else if (!data.empty()) {
    std::memcpy(std::as_writable_bytes(std::span{memory}).subspan(at).data(), data.data(), data.size());
  }
}

OfiMemory::OfiMemory(MPI_Comm world, std::size_t bytes) : state_{std::make_unique<State>(world, bytes)} {}

OfiMemory::~OfiMemory() {
  if (std::uncaught_exceptions() == state_->exceptions_at_start) {
    MPI_Barrier(state_->ranks);  // nobody writes into memory that is gone
  }
}

std::string OfiMemory::name() const {
  return fmt::format("ofi ({})", state_->fabric.info().fabric_attr->prov_name);
}

std::span<std::byte> OfiMemory::local() {
  return std::as_writable_bytes(std::span{state_->memory});
}

void OfiMemory::write(Rank to, std::uint64_t at, std::span<const std::byte> data) {
  State& state = *state_;
  const std::lock_guard lock{state.mutex};
  if (to == state.self) {
    state.write_here(at, data);
    return;
  }
  const std::size_t bytes_max = state.fabric.info().ep_attr->max_msg_size;
  while (!data.empty()) {
    const auto part = data.first(std::min(data.size(), bytes_max));
    state.post(state.targets[to.value()], at, part);
    data = data.subspan(part.size());
    at += part.size();
  }
}

void OfiMemory::complete(Rank to) {
  while (!state_->look_until_complete(to)) {
    std::this_thread::yield();
  }
}

void OfiMemory::look() {
  const std::lock_guard lock{state_->mutex};
  state_->look();
}

}  // namespace plait::replay

#endif
