// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"

namespace plait::replay {
namespace {

using net::detail::check_mpi;

/// Below 2 GiB, to which MPI counts.
constexpr std::size_t put_bytes_max = std::size_t{1} << 30U;

/// Memory that MPI allocates as a window. All ranks hold a shared lock on all others for its life.
class WindowMemory final : public RemoteMemory {
 public:
  WindowMemory(MPI_Comm world, std::size_t bytes) : exceptions_at_start_{std::uncaught_exceptions()} {
    check_mpi(MPI_Comm_dup(world, &ranks_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    std::string trouble;
    void* memory = nullptr;
    try {
      check_mpi(MPI_Win_allocate(
                    static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, ranks_, static_cast<void*>(&memory), &window_),
                "MPI_Win_allocate");
      check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
      check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    } catch (const Error& error) {
      trouble = fmt::format(
          "this MPI has no memory that other ranks can write into here ({}). With Open MPI, set OMPI_MCA_osc=^rdma "
          "if ranks are on several hosts, and replay with --threads one; else replay with --backend mpi",
          error.what());
    }
    throw_together(ranks_, trouble, ErrorCode::network);
    memory_ = {static_cast<std::byte*>(memory), bytes};
    std::ranges::fill(memory_, std::byte{});
    check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
    check_mpi(MPI_Barrier(ranks_), "MPI_Barrier");  // no rank writes before all memory is zero
  }
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  /// Frees nothing during stack unwinding, as it would wait for ranks that wait for this one.
  ~WindowMemory() override {
    if (std::uncaught_exceptions() > exceptions_at_start_) {
      return;
    }
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    MPI_Comm_free(&ranks_);
  }

  [[nodiscard]] std::string name() const override { return "rma (MPI)"; }
  [[nodiscard]] std::string write_name() const override { return "MPI_Put"; }
  [[nodiscard]] std::span<std::byte> local() override { return memory_; }
  void write(Rank to, std::uint64_t at, std::span<const std::byte> data) override {
    const auto target = static_cast<int>(to.value());
    while (!data.empty()) {
      const auto part = data.first(std::min(data.size(), put_bytes_max));
      const auto count = static_cast<int>(part.size());
      check_mpi(MPI_Put(part.data(), count, MPI_BYTE, target, static_cast<MPI_Aint>(at), count, MPI_BYTE, window_),
                "MPI_Put",
                to);
      data = data.subspan(part.size());
      at += part.size();
    }
  }
  void push(Rank to) override {
    check_mpi(MPI_Win_flush_local(static_cast<int>(to.value()), window_), "MPI_Win_flush_local", to);
  }
  void complete(Rank to) override {
    check_mpi(MPI_Win_flush(static_cast<int>(to.value()), window_), "MPI_Win_flush", to);
  }
  void poll() override {
    // The probe makes the library progress even if the window does not.
    int is_there = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ranks_, &is_there, MPI_STATUS_IGNORE), "MPI_Iprobe");
    check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
  }

 private:
  int exceptions_at_start_ = 0;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<std::byte> memory_;
};

}  // namespace

std::unique_ptr<RemoteMemory> make_window_memory(MPI_Comm world, std::size_t bytes) {
  return std::make_unique<WindowMemory>(world, bytes);
}

}  // namespace plait::replay
