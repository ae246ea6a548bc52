// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/fabric.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <net/if.h>
#include <rdma/fi_errno.h>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {
namespace {

constexpr std::uint32_t api_version = FI_VERSION(1, 14);
/// Bytes of remote completion data that the driver needs.
constexpr std::size_t word_bytes = 4;

/// What a driver asks for. Local registration is not offered: providers that want it (efa) are left out.
FiInfo make_hints(const std::string& provider) {
  FiInfo hints{fi_allocinfo()};
  if (!hints) {
    throw Error{ErrorCode::network, "libfabric has no memory for its hints"};
  }
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->cq_data_size = word_bytes;
  if (!provider.empty()) {
    hints->fabric_attr->prov_name = strdup(provider.c_str());
  }
  return hints;
}

FiInfo ask(const fi_info* hints, const char* node) {
  fi_info* found = nullptr;
  const int code = fi_getinfo(api_version, node, nullptr, node == nullptr ? 0 : FI_SOURCE, hints, &found);
  if (code != 0 && code != -FI_ENODATA) {
    ofi_failed(code, "fi_getinfo");
  }
  return FiInfo{found};
}

/// The names of all suitable providers, on any address.
std::set<std::string> names_of_providers() {
  std::set<std::string> names;
  const FiInfo hints = make_hints({});
  const FiInfo found = ask(hints.get(), nullptr);
  for (const fi_info* info = found.get(); info != nullptr; info = info->next) {
    names.insert(info->fabric_attr->prov_name);
  }
  return names;
}

constexpr int endpoint_tries = 8;

bool is_within_one_host(const fi_info& info) {
  return info.addr_format == FI_ADDR_STR;
}

}  // namespace

std::string describe_host() {
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  std::error_code ignored;
  for (const char* const space : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    boot += ' ' + std::filesystem::read_symlink(space, ignored).string();
  }
  return boot;
}

FiInfo find_provider(const Wanted& wanted) {
  const FiInfo hints = make_hints(wanted.provider);
  // A node would become a part of shm's name, and two processes would have the same.
  const char* node = wanted.node.empty() || wanted.provider == "shm" ? nullptr : wanted.node.c_str();
  if (node != nullptr && if_nametoindex(node) != 0) {
    hints->domain_attr->name = strdup(node);
    node = nullptr;
  }
  const FiInfo found = ask(hints.get(), node);
  for (const fi_info* info = found.get(); info != nullptr; info = info->next) {
    if (is_within_one_host(*info) && (node != nullptr || wanted.ranks == Wanted::Ranks::on_many_hosts)) {
      continue;
    }
    return FiInfo{fi_dupinfo(info)};
  }
  const std::string on = wanted.node.empty() ? "" : fmt::format(" on {}", wanted.node);
  throw Error{
      ErrorCode::bad_argument,
      fmt::format("ofi driver: libfabric has no provider {}{} with reliable datagrams and remote writes between "
                  "these ranks; it offers: {} (see fi_info, and FI_PROVIDER if it is set)",
                  wanted.provider.empty() ? "at all" : fmt::format("\"{}\"", wanted.provider),
                  on,
                  fmt::join(names_of_providers(), ", "))};
}

Fabric::Fabric(FiInfo info, std::size_t completions, std::size_t peers) : info_{std::move(info)} {
  fid_fabric* fabric = nullptr;
  check_ofi(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check_ofi(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);
  fi_av_attr av_attributes{};
  av_attributes.type = FI_AV_UNSPEC;
  av_attributes.count = peers;
  fid_av* addresses = nullptr;
  check_ofi(fi_av_open(domain, &av_attributes, &addresses, nullptr), "fi_av_open");
  addresses_.reset(addresses);
  fi_cq_attr cq_attributes{};
  cq_attributes.size = completions;
  cq_attributes.format = FI_CQ_FORMAT_DATA;
  cq_attributes.wait_obj = FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  check_ofi(fi_cq_open(domain, &cq_attributes, &queue, nullptr), "fi_cq_open");
  queue_.reset(queue);
  int tries = 1;
  while (!open_endpoint(tries < endpoint_tries)) {
    ++tries;
  }
}

/// False when the endpoint's name exists and `may_be_taken`. libfabric's shm names endpoints by process and a count,
/// which the next try increments; killed processes leave their endpoints behind.
bool Fabric::open_endpoint(bool may_be_taken) {
  fid_ep* endpoint = nullptr;
  check_ofi(fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr), "fi_endpoint");
  endpoint_.reset(endpoint);
  check_ofi(fi_ep_bind(endpoint, &addresses_->fid, 0), "fi_ep_bind (addresses)");
  check_ofi(fi_ep_bind(endpoint, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind (queue)");
  const int code = fi_enable(endpoint);
  if (code == -FI_EBUSY && may_be_taken) {
    return false;
  }
  check_ofi(code, "fi_enable");
  return true;
}

Bytes Fabric::address() const {
  std::size_t length = 0;
  const int code = fi_getname(&endpoint_->fid, nullptr, &length);
  if (code != 0 && code != -FI_ETOOSMALL) {
    ofi_failed(code, "fi_getname");
  }
  Bytes bytes(length);
  check_ofi(fi_getname(&endpoint_->fid, bytes.data(), &length), "fi_getname");
  return bytes;
}

fi_addr_t Fabric::insert(std::span<const std::byte> address) {
  fi_addr_t name = FI_ADDR_NOTAVAIL;
  const int count = fi_av_insert(addresses_.get(), address.data(), 1, &name, 0, nullptr);
  if (count != 1) {
    ofi_failed(count < 0 ? count : -FI_EADDRNOTAVAIL, "fi_av_insert");
  }
  return name;
}

FiHandle<fid_mr> Fabric::make_writable(std::span<std::byte> memory, std::uint64_t key_wanted) {
  fid_mr* region = nullptr;
  check_ofi(fi_mr_reg(domain_.get(), memory.data(), memory.size(), FI_REMOTE_WRITE, 0, key_wanted, 0, &region, nullptr),
            "fi_mr_reg");
  FiHandle<fid_mr> handle{region};
  if (registers_by(FI_MR_ENDPOINT)) {
    check_ofi(fi_mr_bind(region, &endpoint_->fid, 0), "fi_mr_bind");
    check_ofi(fi_mr_enable(region), "fi_mr_enable");
  }
  return handle;
}

}  // namespace plait::net::detail::ofi
