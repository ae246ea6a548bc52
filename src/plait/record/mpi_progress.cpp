// SPDX-License-Identifier: Apache-2.0
#include "plait/record/mpi_progress.hpp"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/record/mpi_library.hpp"

namespace plait::record {

namespace {

/// An operation that never completes: a test of it makes MPI poll all operations in flight, in Open MPI and in
/// MPICH. (A probe does so in Open MPI only, and a receive needs a communicator of its own.) Ended before MPI is
/// finalised.
class EndlessRequest {
 public:
  EndlessRequest() {
    const auto query = [](void*, MPI_Status*) { return MPI_SUCCESS; };
    const auto free = [](void*) { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) { return MPI_SUCCESS; };
    const Real<decltype(PMPI_Grequest_start)> start{"PMPI_Grequest_start"};
    is_good_ = start(query, free, cancel, nullptr, &request_) == MPI_SUCCESS;
  }
  EndlessRequest(const EndlessRequest&) = delete;
  EndlessRequest& operator=(const EndlessRequest&) = delete;
  ~EndlessRequest() {
    if (is_good_) {
      complete_(request_);
      wait_(&request_, MPI_STATUS_IGNORE);
    }
  }

  /// False when MPI refuses.
  [[nodiscard]] bool test() noexcept {
    int is_complete = 0;
    return is_good_ && test_(&request_, &is_complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_complete == 0;
  }

 private:
  Real<decltype(PMPI_Test)> test_{"PMPI_Test"};
  Real<decltype(PMPI_Wait)> wait_{"PMPI_Wait"};
  Real<decltype(PMPI_Grequest_complete)> complete_{"PMPI_Grequest_complete"};
  MPI_Request request_{};
  bool is_good_ = false;
};

const char* name_of_level(int level) {
  return level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
         : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                        : "MPI_THREAD_SINGLE";
}

}  // namespace

bool is_progress_wanted() {
  const char* const wanted = std::getenv("PLAIT_RECORD_PROGRESS");
  return wanted != nullptr && *wanted != '\0' && std::string_view{wanted} != "0";
}

std::string why_no_progress() {
  int provided = MPI_THREAD_SINGLE;
  Real<decltype(PMPI_Query_thread)>{"PMPI_Query_thread"}(&provided);
  if (provided >= MPI_THREAD_MULTIPLE) {
    return {};
  }
  return fmt::format(
      "plait: no progress in the background: that takes MPI_THREAD_MULTIPLE, and this MPI library gives {}; the "
      "program runs as it would without --progress",
      name_of_level(provided));
}

std::unique_ptr<Progress> start_progress(Pending& pending) {
  if (!why_no_progress().empty()) {
    return {};
  }
  const auto request = std::make_shared<EndlessRequest>();
  return std::make_unique<Progress>(pending, [request] { return request->test(); });
}

}  // namespace plait::record
