// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "plait/replay/predict/detail/machine.hpp"
#include "plait/replay/predict/detail/message_table.hpp"

namespace plait::replay::predicting {

/// Which streams have a core, on hosts that have fewer cores than ranks. The others queue, first come, first served.
///
/// A stream needs a core to compute and to call the library. It gives it back when it waits, as MPI libraries yield
/// between two polls if cores are shared, and after a time slice.
class Cores {
 public:
  explicit Cores(const Machine& machine) : per_host_{machine.shared_cores}, hosts_(machine.topology.host_count()) {}

  /// Whether ranks share cores at all. If not, no other function may be called.
  [[nodiscard]] bool are_shared() const noexcept { return per_host_ > 0; }
  [[nodiscard]] bool is_one_free(std::uint32_t host) const noexcept {
    return hosts_[host].holders.size() < per_host_ && hosts_[host].queue.empty();
  }
  /// The streams that have a core of the host.
  [[nodiscard]] std::span<const std::uint32_t> holders(std::uint32_t host) const noexcept {
    return hosts_[host].holders;
  }

  /// True if the stream has a core now; else it queues.
  [[nodiscard]] bool take(std::uint32_t host, std::uint32_t stream) {
    if (!is_one_free(host)) {
      hosts_[host].queue.push_back(stream);
      return false;
    }
    hosts_[host].holders.push_back(stream);
    return true;
  }

  /// Gives back the core that `stream` has. Returns the stream that has it from now on, or `none`.
  [[nodiscard]] std::uint32_t give_back(std::uint32_t host, std::uint32_t stream) {
    Host& at = hosts_[host];
    std::erase(at.holders, stream);
    if (at.queue.empty()) {
      return none;
    }
    at.holders.push_back(at.queue.front());
    at.queue.pop_front();
    return at.holders.back();
  }

 private:
  struct Host {
    std::vector<std::uint32_t> holders;
    std::deque<std::uint32_t> queue;
  };

  std::uint32_t per_host_;
  std::vector<Host> hosts_;
};

}  // namespace plait::replay::predicting
