// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>

#include <mpi.h>

#include "support/raw_mpi.hpp"

namespace bench {

/// The bound of overlap where TCP is the network: a send puts all of its data into the kernel's buffer, and no
/// thread polls. Two ranks, one message at a time. A receive takes its data at the wait, so that what exceeds TCP's
/// window moves only then. Needs to set the buffer's size, as root may.
class KernelTcp {
 public:
  using Request = std::span<std::byte>;  ///< What the wait reads.

  KernelTcp() : socket_{connected()} {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  KernelTcp(const KernelTcp&) = delete;
  KernelTcp& operator=(const KernelTcp&) = delete;
  ~KernelTcp() { ::close(socket_); }

  [[nodiscard]] Request send(int /*to*/, int /*tag*/, std::span<const std::byte> data) {
    write(data.empty() ? std::span<const std::byte>{&none_, 1} : data);
    return {};
  }
  [[nodiscard]] Request receive(int /*from*/, int /*tag*/, std::span<std::byte> buffer) {
    return buffer.empty() ? std::span{&none_, 1} : buffer;
  }
  void wait(Request& request) {
    while (!request.empty()) {
      const ssize_t count = ::recv(socket_, request.data(), request.size(), 0);
      expect(count > 0, "recv");
      request = request.subspan(static_cast<std::size_t>(count));
    }
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) { (void)send(to, tag, data); }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) {
    Request request = receive(from, tag, buffer);
    wait(request);
  }

 private:
  static void expect(bool holds, const char* what) {
    if (!holds) {
      std::perror(what);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

  void write(std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t count = ::send(socket_, data.data(), data.size(), 0);
      expect(count > 0, "send");
      data = data.subspan(static_cast<std::size_t>(count));
    }
  }

  static int made() {
    const int made = ::socket(AF_INET, SOCK_STREAM, 0);
    const int bytes = 32 << 20;
    const bool is_sized = ::setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) == 0 &&
                          ::setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0;
    expect(is_sized, "setsockopt");
    return made;
  }

  /// Rank 1 listens at a port that the system chooses, and rank 0 connects to it.
  static int connected() {
    const int own = made();
    sockaddr_in address{.sin_family = AF_INET};
    socklen_t length = sizeof address;
    std::array<char, 256> host{};
    if (RawMpi::rank() == 1) {
      expect(::bind(own, reinterpret_cast<sockaddr*>(&address), length) == 0, "bind");
      expect(::listen(own, 1) == 0, "listen");
      expect(::getsockname(own, reinterpret_cast<sockaddr*>(&address), &length) == 0, "getsockname");
      ::gethostname(host.data(), host.size() - 1);
    }
    MPI_Bcast(&address.sin_port, sizeof address.sin_port, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Bcast(host.data(), static_cast<int>(host.size()), MPI_CHAR, 1, MPI_COMM_WORLD);
    if (RawMpi::rank() == 1) {
      const int peer = ::accept(own, nullptr, nullptr);
      expect(peer >= 0, "accept");
      ::close(own);
      return peer;
    }
    const addrinfo hints{.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    addrinfo* found = nullptr;
    expect(::getaddrinfo(host.data(), nullptr, &hints, &found) == 0, "getaddrinfo");
    std::memcpy(&address.sin_addr, &reinterpret_cast<sockaddr_in*>(found->ai_addr)->sin_addr, sizeof address.sin_addr);
    ::freeaddrinfo(found);
    expect(::connect(own, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "connect");
    return own;
  }

  int socket_;
  std::byte none_{};  ///< Travels for a message without data.
};

}  // namespace bench
