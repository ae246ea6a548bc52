// SPDX-License-Identifier: Apache-2.0
#include "plait/record/mpi_progress.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/record/mpi_library.hpp"

namespace plait::record {

namespace {

/// The recorder is not linked with MPI (`mpi_library.hpp`).
template <class Signature>
Signature& function(const char* name) {
  return *reinterpret_cast<Signature*>(need_real(name));
}

/// An operation that nobody ends: a test of it makes MPI look at everything that is under way, in Open MPI and in
/// MPICH. (A probe does so in Open MPI only, and a receive needs a communicator of its own.) Ended before MPI is
/// finalised.
class EndlessRequest {
 public:
  EndlessRequest() {
    const auto query = [](void*, MPI_Status*) { return MPI_SUCCESS; };
    const auto free = [](void*) { return MPI_SUCCESS; };
    const auto cancel = [](void*, int) { return MPI_SUCCESS; };
    auto& start = function<decltype(PMPI_Grequest_start)>("PMPI_Grequest_start");
    is_good_ = start(query, free, cancel, nullptr, &request_) == MPI_SUCCESS;
  }
  EndlessRequest(const EndlessRequest&) = delete;
  EndlessRequest& operator=(const EndlessRequest&) = delete;
  EndlessRequest(EndlessRequest&&) = delete;
  EndlessRequest& operator=(EndlessRequest&&) = delete;
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
  decltype(PMPI_Test)& test_ = function<decltype(PMPI_Test)>("PMPI_Test");
  decltype(PMPI_Wait)& wait_ = function<decltype(PMPI_Wait)>("PMPI_Wait");
  decltype(PMPI_Grequest_complete)& complete_ = function<decltype(PMPI_Grequest_complete)>("PMPI_Grequest_complete");
  MPI_Request request_{};
  bool is_good_ = false;
};

const char* name_of_level(int level) {
  if (level == MPI_THREAD_MULTIPLE) {
    return "MPI_THREAD_MULTIPLE";
  }
  if (level == MPI_THREAD_SERIALIZED) {
    return "MPI_THREAD_SERIALIZED";
  }
  return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE";
}

}  // namespace

bool is_progress_wanted() {
  const char* const told = std::getenv("PLAIT_RECORD_PROGRESS");
  return told != nullptr && *told != '\0' && std::string_view{told} != "0";
}

int thread_level_to_ask(int wanted) {
  return is_progress_wanted() ? MPI_THREAD_MULTIPLE : wanted;
}

int thread_level_to_tell(int wanted, int provided) {
  return is_progress_wanted() ? std::min(wanted, provided) : provided;
}

std::string why_no_progress() {
  int provided = MPI_THREAD_SINGLE;
  function<decltype(PMPI_Query_thread)>("PMPI_Query_thread")(&provided);
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
