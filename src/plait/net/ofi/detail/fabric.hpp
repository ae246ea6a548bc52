// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <span>
#include <string>

#include "plait/base/bytes.hpp"

namespace plait::net::detail::ofi {

/// Closes what libfabric has opened.
struct FiCloser {
  template <class T>
  void operator()(T* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class T>
using FiHandle = std::unique_ptr<T, FiCloser>;

struct FiInfoFreer {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using FiInfo = std::unique_ptr<fi_info, FiInfoFreer>;

/// What is wanted of a provider.
struct Wanted {
  std::string provider;  ///< libfabric's name; empty for any.
  std::string node;      ///< Address, host name or network interface to use; empty for any.
  enum class Ranks { on_one_host, on_many_hosts } ranks = Ranks::on_many_hosts;
};

/// The host and namespaces of this process: equal for processes that share 127.0.0.1 and process numbers.
[[nodiscard]] std::string describe_host();

/// The first provider, in libfabric's order, with reliable ordered packets, remote writes with completion data, and
/// manual progress. Throws: `Error` with `bad_argument` that lists the available ones.
[[nodiscard]] FiInfo find_provider(const Wanted& wanted);

/// One endpoint with its completion queue and the addresses of its peers; closed in the right order.
class Fabric {
 public:
  /// Opens all, for `completions` that wait at once and `peers` addresses.
  Fabric(FiInfo info, std::size_t completions, std::size_t peers);

  [[nodiscard]] const fi_info& info() const noexcept { return *info_; }
  [[nodiscard]] fid_domain* domain() const noexcept { return domain_.get(); }
  [[nodiscard]] fid_cq* queue() const noexcept { return queue_.get(); }
  [[nodiscard]] fid_ep* endpoint() const noexcept { return endpoint_.get(); }

  /// Whether the provider's memory registration is of this kind, one of FI_MR_...
  [[nodiscard]] bool registers_by(unsigned kind) const noexcept {
    return (static_cast<unsigned>(info_->domain_attr->mr_mode) & kind) != 0;
  }

  /// By which others can reach this endpoint, in the provider's own form.
  [[nodiscard]] Bytes address() const;
  /// How to name the endpoint with that address in libfabric's calls.
  [[nodiscard]] fi_addr_t insert(std::span<const std::byte> address);
  /// Registers memory for writes of peers until the handle ends. `key_wanted` must be new; some providers ignore it.
  [[nodiscard]] FiHandle<fid_mr> make_writable(std::span<std::byte> memory, std::uint64_t key_wanted);

  /// Ends all operations: no buffer is touched any more.
  void close_endpoint() noexcept { endpoint_.reset(); }

 private:
  bool open_endpoint(bool may_be_taken);

  FiInfo info_;
  // In the order of opening: what is opened first is closed last.
  FiHandle<fid_fabric> fabric_;
  FiHandle<fid_domain> domain_;
  FiHandle<fid_av> addresses_;
  FiHandle<fid_cq> queue_;
  FiHandle<fid_ep> endpoint_;
};

}  // namespace plait::net::detail::ofi
