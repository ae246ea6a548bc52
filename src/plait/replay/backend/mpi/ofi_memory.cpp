// SPDX-License-Identifier: Apache-2.0
#ifdef PLAIT_WITH_OFI

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
#include "plait/net/mpi/exchange.hpp"
#include "plait/net/ofi/detail/call.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"

namespace plait::replay {
namespace {

namespace ofi = net::detail::ofi;

/// Completions read in one poll, and the length of the completion queue.
constexpr std::size_t completions_per_poll = 16;
constexpr std::size_t completions_max = 1024;

/// A write in flight: its context for libfabric.
struct Write {
  fi_context2 context{};
  Rank to;
};
static_assert(offsetof(Write, context) == 0, "libfabric returns the context, which is the write");

/// Another rank's memory.
struct Target {
  fi_addr_t name = FI_ADDR_NOTAVAIL;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  std::size_t writes = 0;  ///< In flight.
};

struct Region {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

ofi::Fabric open_fabric(const net::Exchange& exchange, MPI_Comm world) {
  const std::string host = ofi::describe_host();
  const std::vector<Bytes> hosts = exchange(std::as_bytes(std::span{host}));
  const bool is_one_host = std::ranges::all_of(hosts, [&](const Bytes& other) { return other == hosts.front(); });
  using Ranks = ofi::Wanted::Ranks;
  // Providers within one host have no addresses: they are found without a node.
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
    throw Error{ErrorCode::bad_argument,
                "the ranks have different providers of libfabric; set FI_PROVIDER to one of them"};
  }
  return {std::move(info), completions_max, hosts.size()};
}

/// Memory registered with libfabric, in the first provider with remote writes; the environment variable FI_PROVIDER
/// restricts the choice. A write is complete when it is in the memory (`FI_DELIVERY_COMPLETE`). Threads: any.
///
/// Software providers (tcp, shm) move a write only while the receiver polls too.
class OfiMemory final : public RemoteMemory {
 public:
  OfiMemory(MPI_Comm world, std::size_t bytes)
      : ranks_{world},
        self_{rank_in(world)},
        memory_((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)),
        fabric_{open_fabric(net::mpi_exchange(world), world)},
        region_{fabric_.make_writable(std::as_writable_bytes(std::span{memory_}), 1)} {
    const net::Exchange exchange = net::mpi_exchange(world);
    for (const Bytes& address : exchange(fabric_.address())) {
      targets_.push_back({.name = fabric_.insert(address)});
    }
    const bool is_by_address = fabric_.registers_by(FI_MR_VIRT_ADDR);
    const Region mine{is_by_address ? std::bit_cast<std::uintptr_t>(memory_.data()) : 0, fi_mr_key(region_.get())};
    const std::vector<Bytes> regions = exchange(std::as_bytes(std::span{&mine, 1}));
    for (std::size_t rank = 0; rank < targets_.size(); ++rank) {
      Region other;
      std::memcpy(&other, regions[rank].data(), sizeof other);
      targets_[rank].address = other.address;
      targets_[rank].key = other.key;
    }
  }
  OfiMemory(const OfiMemory&) = delete;
  OfiMemory& operator=(const OfiMemory&) = delete;
  ~OfiMemory() override {
    if (std::uncaught_exceptions() == exceptions_at_start_) {
      MPI_Barrier(ranks_);  // no rank writes into freed memory
    }
  }

  [[nodiscard]] std::string name() const override {
    return fmt::format("ofi ({})", fabric_.info().fabric_attr->prov_name);
  }
  [[nodiscard]] std::string write_name() const override { return "fi_writemsg"; }
  [[nodiscard]] std::span<std::byte> local() override { return std::as_writable_bytes(std::span{memory_}); }
  void write(Rank to, std::uint64_t at, std::span<const std::byte> data) override {
    const std::lock_guard lock{mutex_};
    if (to == self_) {
      write_here(at, data);
      return;
    }
    const std::size_t bytes_max = fabric_.info().ep_attr->max_msg_size;
    while (!data.empty()) {
      const auto part = data.first(std::min(data.size(), bytes_max));
      post(targets_[to.value()], at, part);
      data = data.subspan(part.size());
      at += part.size();
    }
  }
  void push(Rank /*to*/) override {}  // libfabric delays no write
  void complete(Rank to) override {
    while (!poll_until_complete(to)) {
      std::this_thread::yield();
    }
  }
  void poll() override {
    const std::lock_guard lock{mutex_};
    take_completions();
  }
  [[nodiscard]] bool moves_inside_mpi() const override { return false; }

 private:
  /// False if there was no completion.
  bool take_completions() {
    std::array<fi_cq_data_entry, completions_per_poll> entries;  // not set: filled by libfabric
    const ssize_t count = fi_cq_read(fabric_.queue(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) {
      return false;
    }
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry entry{};
      ofi::check_ofi(fi_cq_readerr(fabric_.queue(), &entry, 0), "fi_cq_readerr");
      const Rank to = entry.op_context != nullptr ? static_cast<Write*>(entry.op_context)->to : Rank{};
      ofi::ofi_failed(-entry.err, "fi_writemsg", to);
    }
    ofi::check_ofi(count, "fi_cq_read");
    for (const fi_cq_data_entry& entry : std::span{entries}.first(static_cast<std::size_t>(count))) {
      auto* const write = static_cast<Write*>(entry.op_context);
      --targets_[write->to.value()].writes;
      free_.push_back(write);
    }
    return true;
  }

  /// False if a write to that rank is in flight, and there was no completion.
  bool poll_until_complete(Rank to) {
    const std::lock_guard lock{mutex_};
    while (targets_[to.value()].writes > 0) {
      if (!take_completions()) {
        return false;
      }
    }
    return true;
  }

  void post(Target& to, std::uint64_t at, std::span<const std::byte> data) {
    if (free_.empty()) {
      free_.push_back(&writes_.emplace_back());
    }
    Write* const write = free_.back();
    free_.pop_back();
    write->to = Rank{static_cast<std::uint32_t>(&to - targets_.data())};
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
    while ((code = fi_writemsg(fabric_.endpoint(), &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)) == -FI_EAGAIN) {
      if (!take_completions()) {
        std::this_thread::yield();
      }
    }
    ofi::check_ofi(code, "fi_writemsg", write->to);
    ++to.writes;
  }

  void write_here(std::uint64_t at, std::span<const std::byte> data) {
    if (data.size() == sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data(), sizeof word);
      std::atomic_ref{memory_[at / sizeof word]}.store(word,
                                                       std::memory_order_release);  // with acquire in is_flag_set()
    } else if (!data.empty()) {
      std::memcpy(std::as_writable_bytes(std::span{memory_}).subspan(at).data(), data.data(), data.size());
    }
  }

  MPI_Comm ranks_;
  Rank self_;
  int exceptions_at_start_ = std::uncaught_exceptions();
  std::vector<std::uint64_t> memory_;  ///< In words, as flags are.
  ofi::Fabric fabric_;
  ofi::FiHandle<fid_mr> region_;
  std::vector<Target> targets_;
  std::mutex mutex_;  ///< Guards what is above and below.
  std::deque<Write> writes_;
  std::vector<Write*> free_;
};

}  // namespace

std::unique_ptr<RemoteMemory> make_ofi_memory(MPI_Comm world, std::size_t bytes) {
  return std::make_unique<OfiMemory>(world, bytes);
}

}  // namespace plait::replay

#else

#include "plait/base/error.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"

namespace plait::replay {

std::unique_ptr<RemoteMemory> make_ofi_memory(MPI_Comm /*world*/, std::size_t /*bytes*/) {
  throw Error{ErrorCode::bad_argument,
              "plait was built without libfabric (Debian: libfabric-dev), which --backend ofi needs; choose rma or "
              "plait, or build plait again with it"};
}

}  // namespace plait::replay

#endif
