// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that wait for requests, test, cancel and free them: ours, the MPI library's, or both.
#include <algorithm>
#include <span>
#include <vector>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

namespace {

/// Ends what a complete request names, and the request itself unless it is persistent.
Outcome end(EngineSession& session, PendingOperation& pending, MPI_Request* request) {
  RoutedCommunicator& on = *pending.on;
  const bool was_active = pending.is_active;
  const Outcome outcome = pending.end(session.tally());
  if (was_active && !pending.is_persistent) {
    session.requests().pool().end(pending);
    on.outstanding.fetch_sub(1, std::memory_order_release);  // with acquire where a communicator ends
    *request = MPI_REQUEST_NULL;
  }
  return outcome;
}

/// The status of our request in an array, if the program wants statuses.
MPI_Status* status_at(MPI_Status* statuses, std::size_t index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}

/// Tests a request of the MPI library. True when it has ended, or cannot.
bool test_theirs(EngineSession& session, MPI_Request* request, MPI_Status* status, int* error) {
  int is_complete = 0;
  const MPI_Request before = *request;
  *error = PMPI_Test(request, &is_complete, status);
  if (is_complete != 0) {
    session.foreign().ended(before);
  }
  return is_complete != 0 || *error != MPI_SUCCESS;
}

// ---- one request ----

int wait(MPI_Request* request, MPI_Status* status) {
  EngineSession& session = use_session();
  PendingOperation* const pending = session.requests().find(*request);
  if (pending == nullptr) {
    if (*request == MPI_REQUEST_NULL || !session.endpoint().activity().needs_polls()) {
      const MPI_Request before = *request;
      const int result = PMPI_Wait(request, status);
      session.foreign().ended(before);
      return result;
    }
    int result = MPI_SUCCESS;
    const int trouble = session.guarded(
        MPI_COMM_WORLD, [&] { session.wait_until([&] { return test_theirs(session, request, status, &result); }); });
    return trouble != MPI_SUCCESS ? trouble : result;
  }
  const MPI_Comm handle = pending->on->handle();
  int error = MPI_SUCCESS;
  const int trouble = session.guarded(handle, [&] {
    pending->wait(session);
    const Outcome outcome = end(session, *pending, request);
    fill(status, outcome);
    error = outcome.error;
  });
  return trouble != MPI_SUCCESS ? trouble : session.report(handle, error);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  EngineSession& session = use_session();
  PendingOperation* const pending = session.requests().find(*request);
  if (pending == nullptr) {
    session.endpoint().progress();
    int error = MPI_SUCCESS;
    *flag = test_theirs(session, request, status, &error) && error == MPI_SUCCESS ? 1 : 0;
    return error;
  }
  if (!pending->is_complete()) {
    session.progress();
  }
  *flag = pending->is_complete() ? 1 : 0;
  if (*flag == 0) {
    const std::optional<Error> failure = session.endpoint().failure();
    return failure ? session.guarded(pending->on->handle(), [&] { throw Error{*failure}; }) : MPI_SUCCESS;
  }
  const MPI_Comm handle = pending->on->handle();
  const Outcome outcome = end(session, *pending, request);
  fill(status, outcome);
  return session.report(handle, outcome.error);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  EngineSession& session = use_session();
  PendingOperation* const pending = session.requests().find(request);
  if (pending == nullptr) {
    session.endpoint().progress();
    return PMPI_Request_get_status(request, flag, status);
  }
  session.progress();
  *flag = pending->is_complete() ? 1 : 0;
  if (*flag != 0) {
    fill(status, pending->outcome());
  }
  return MPI_SUCCESS;
}

int cancel(MPI_Request* request) {
  PendingOperation* const pending = use_session().requests().find(*request);
  if (pending == nullptr) {
    return PMPI_Cancel(request);
  }
  if (pending->is_active) {
    (void)pending->transfer.cancel();
  }
  return MPI_SUCCESS;
}

/// Operations of freed requests go on. What they use ends when they do.
int request_free(MPI_Request* request) {
  EngineSession& session = use_session();
  PendingOperation* const pending = session.requests().find(*request);
  if (pending == nullptr) {
    session.foreign().freed(*request);
    return PMPI_Request_free(request);
  }
  *request = MPI_REQUEST_NULL;
  session.end_when_complete(*pending);
  return MPI_SUCCESS;
}

// ---- arrays ----

/// The requests of a call, of which some are ours.
class Requests {
 public:
  Requests(EngineSession& session, int count, MPI_Request* requests)
      : session_{session}, all_{requests, static_cast<std::size_t>(std::max(count, 0))} {
    for (const MPI_Request request : all_) {
      if (request != MPI_REQUEST_NULL) {
        (session.requests().find(request) != nullptr ? has_ours_ : has_theirs_) = true;
      }
    }
  }

  [[nodiscard]] bool has_ours() const noexcept { return has_ours_; }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// Whether any can complete: is neither null nor inactive.
  [[nodiscard]] bool has_active() const {
    return (has_ours_ || has_theirs_) &&
           std::ranges::any_of(all_, [this](MPI_Request request) { return is_active(request); });
  }
  /// Whether one that is active is complete. Of the MPI library's, without ending it.
  [[nodiscard]] bool is_complete(std::size_t index) {
    if (PendingOperation* const pending = session_.requests().find(all_[index])) {
      return pending->is_complete();
    }
    int flag = 1;
    if (all_[index] != MPI_REQUEST_NULL) {
      PMPI_Request_get_status(all_[index], &flag, MPI_STATUS_IGNORE);
    }
    return flag != 0;
  }
  [[nodiscard]] bool is_active(std::size_t index) const { return is_active(all_[index]); }
#if MPI_VERSION * 100 + MPI_SUBVERSION >= 401
  /// Fills the status of one that is complete or not active, without ending it.
  void describe(std::size_t index, MPI_Status* status) {
    if (PendingOperation* const pending = session_.requests().find(all_[index])) {
      fill(status, pending->outcome());
    } else {
      int is_complete = 0;
      PMPI_Request_get_status(all_[index], &is_complete, status);
    }
  }
#endif
  /// Ends one that is complete. Returns its error, which no handler has seen if it is ours.
  int end(std::size_t index, MPI_Status* status) {
    if (PendingOperation* const pending = session_.requests().find(all_[index])) {
      handle_ = pending->on->handle();
      pending->was_awaited = pending->was_awaited || has_waited_;
      const Outcome outcome = accelerate::end(session_, *pending, &all_[index]);
      fill(status, outcome);
      return outcome.error;
    }
    int error = MPI_SUCCESS;
    (void)test_theirs(session_, &all_[index], status, &error);
    return error;
  }
  /// The communicator of the request of ours that ended last.
  [[nodiscard]] MPI_Comm handle() const noexcept { return handle_; }
  void progress() {
    session_.endpoint().progress();
    if (has_theirs_ || session_.foreign().is_active()) {
      session_.foreign().progress();
    }
  }
  /// The first that is active and complete; `size()` if there is none. Programs rely on the order, as MPI libraries
  /// have it; those that end many use MPI_Waitsome.
  [[nodiscard]] std::size_t find_complete() {
    for (std::size_t index = 0; index < all_.size(); ++index) {
      if (all_[index] == MPI_REQUEST_NULL) {
        continue;
      }
      PendingOperation* const pending = session_.requests().find(all_[index]);
      if (pending != nullptr ? pending->is_active && pending->is_complete() : is_active(index) && is_complete(index)) {
        return index;
      }
    }
    return all_.size();
  }
  /// Waits until one that is active is complete, and returns the first.
  [[nodiscard]] std::size_t wait_any() {
    std::size_t found = find_complete();
    has_waited_ = found == all_.size();
    if (has_waited_) {
      session_.wait_until([&] {
        found = find_complete();
        return found != all_.size();
      });
    }
    return found;
  }

 private:
  [[nodiscard]] bool is_active(MPI_Request request) const {
    if (request == MPI_REQUEST_NULL) {
      return false;
    }
    const PendingOperation* const pending = session_.requests().find(request);
    return pending != nullptr ? pending->is_active : !session_.foreign().is_inactive(request);
  }

  EngineSession& session_;
  std::span<MPI_Request> all_;
  MPI_Comm handle_ = MPI_COMM_WORLD;
  bool has_ours_ = false;
  bool has_theirs_ = false;
  bool has_waited_ = false;  ///< For those that end.
};

/// Reports the errors of requests that have ended, if there are any, in their statuses too. Returns the call's error.
int report_all(EngineSession& session, const Requests& requests, const std::vector<int>& errors, MPI_Status* statuses) {
  if (std::ranges::all_of(errors, [](int error) { return error == MPI_SUCCESS; })) {
    return MPI_SUCCESS;
  }
  if (statuses != MPI_STATUSES_IGNORE) {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      statuses[i].MPI_ERROR = errors[i];
    }
  }
  return session.report(requests.handle(), MPI_ERR_IN_STATUS);
}

/// Ends all requests, which are complete.
int end_all(EngineSession& session, Requests& requests, MPI_Status* statuses) {
  std::vector<int> errors(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    errors[i] = requests.end(i, status_at(statuses, i));
  }
  return report_all(session, requests, errors, statuses);
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  EngineSession& session = use_session();
  Requests all{session, count, requests};
  if (!all.has_ours() && !session.endpoint().activity().needs_polls()) {
    const std::vector<MPI_Request> before(requests, requests + std::max(count, 0));
    const int result = PMPI_Waitall(count, requests, statuses);
    std::ranges::for_each(before, [&](MPI_Request one) { session.foreign().ended(one); });
    return result;
  }
  const int trouble = session.guarded(MPI_COMM_WORLD, [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (PendingOperation* const pending = session.requests().find(requests[i]); pending != nullptr) {
        pending->wait(session);
      } else if (requests[i] != MPI_REQUEST_NULL) {
        session.wait_until([&] { return all.is_complete(i); });
      }
    }
  });
  return trouble != MPI_SUCCESS ? trouble : end_all(session, all, statuses);
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  EngineSession& session = use_session();
  Requests all{session, count, requests};
  all.progress();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all.is_complete(i)) {
      *flag = 0;
      return MPI_SUCCESS;
    }
  }
  *flag = 1;
  return end_all(session, all, statuses);
}

int end_any(EngineSession& session, Requests& all, std::size_t found, int* index, MPI_Status* status) {
  *index = static_cast<int>(found);
  return session.report(all.handle(), all.end(found, status));
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  EngineSession& session = use_session();
  Requests all{session, count, requests};
  if (!all.has_active()) {
    *index = MPI_UNDEFINED;
    fill_empty(status);
    return MPI_SUCCESS;
  }
  std::size_t found = all.size();
  const int trouble = session.guarded(MPI_COMM_WORLD, [&] { found = all.wait_any(); });
  return trouble != MPI_SUCCESS ? trouble : end_any(session, all, found, index, status);
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  EngineSession& session = use_session();
  Requests all{session, count, requests};
  *index = MPI_UNDEFINED;
  if (!all.has_active()) {
    *flag = 1;
    fill_empty(status);
    return MPI_SUCCESS;
  }
  all.progress();
  const std::size_t found = all.find_complete();
  *flag = found != all.size() ? 1 : 0;
  return *flag != 0 ? end_any(session, all, found, index, status) : MPI_SUCCESS;
}

/// Ends all that are complete.
int end_some(EngineSession& session, Requests& all, int* done, int* indices, MPI_Status* statuses) {
  std::vector<int> errors;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.is_active(i) && all.is_complete(i)) {
      indices[errors.size()] = static_cast<int>(i);
      errors.push_back(all.end(i, status_at(statuses, errors.size())));
    }
  }
  *done = static_cast<int>(errors.size());
  return report_all(session, all, errors, statuses);
}

int waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  EngineSession& session = use_session();
  Requests all{session, count, requests};
  if (!all.has_active()) {
    *done = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  const int trouble = session.guarded(MPI_COMM_WORLD, [&] { (void)all.wait_any(); });
  return trouble != MPI_SUCCESS ? trouble : end_some(session, all, done, indices, statuses);
}

int testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  EngineSession& session = use_session();
  Requests all{session, count, requests};
  if (!all.has_active()) {
    *done = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  all.progress();
  return end_some(session, all, done, indices, statuses);
}

#if MPI_VERSION * 100 + MPI_SUBVERSION >= 401

/// The requests of a call that ends none of them. Intel MPI declares them without const.
Requests unchanged(EngineSession& session, int count, const MPI_Request* requests) {
  return {session, count, const_cast<MPI_Request*>(requests)};
}

template <class Request>
int request_get_status_all(int count, Request* requests, int* flag, MPI_Status* statuses) {
  Requests all = unchanged(use_session(), count, requests);
  all.progress();
  *flag = 1;
  for (std::size_t i = 0; i < all.size() && *flag != 0; ++i) {
    *flag = all.is_complete(i) ? 1 : 0;
  }
  for (std::size_t i = 0; i < all.size() && *flag != 0; ++i) {
    all.describe(i, status_at(statuses, i));
  }
  return MPI_SUCCESS;
}

template <class Request>
int request_get_status_any(int count, Request* requests, int* index, int* flag, MPI_Status* status) {
  Requests all = unchanged(use_session(), count, requests);
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!all.has_active()) {
    fill_empty(status);
    return MPI_SUCCESS;
  }
  all.progress();
  const std::size_t found = all.find_complete();
  if (found == all.size()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  *index = static_cast<int>(found);
  all.describe(found, status);
  return MPI_SUCCESS;
}

template <class Request>
int request_get_status_some(int count, Request* requests, int* done, int* indices, MPI_Status* statuses) {
  Requests all = unchanged(use_session(), count, requests);
  *done = MPI_UNDEFINED;
  if (!all.has_active()) {
    return MPI_SUCCESS;
  }
  all.progress();
  *done = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.is_active(i) && all.is_complete(i)) {
      all.describe(i, status_at(statuses, static_cast<std::size_t>(*done)));
      indices[(*done)++] = static_cast<int>(i);
    }
  }
  return MPI_SUCCESS;
}

#endif

}  // namespace

std::vector<FunctionRoute> wait_routes() {
  return {
      route<decltype(::PMPI_Wait)>("PMPI_Wait", wait),
      route<decltype(::PMPI_Test)>("PMPI_Test", test),
      route<decltype(::PMPI_Waitall)>("PMPI_Waitall", waitall),
      route<decltype(::PMPI_Testall)>("PMPI_Testall", testall),
      route<decltype(::PMPI_Waitany)>("PMPI_Waitany", waitany),
      route<decltype(::PMPI_Testany)>("PMPI_Testany", testany),
      route<decltype(::PMPI_Waitsome)>("PMPI_Waitsome", waitsome),
      route<decltype(::PMPI_Testsome)>("PMPI_Testsome", testsome),
      route<decltype(::PMPI_Request_get_status)>("PMPI_Request_get_status", request_get_status),
#if MPI_VERSION * 100 + MPI_SUBVERSION >= 401
      route<decltype(::PMPI_Request_get_status_all)>("PMPI_Request_get_status_all", request_get_status_all),
      route<decltype(::PMPI_Request_get_status_any)>("PMPI_Request_get_status_any", request_get_status_any),
      route<decltype(::PMPI_Request_get_status_some)>("PMPI_Request_get_status_some", request_get_status_some),
#endif
      route<decltype(::PMPI_Request_free)>("PMPI_Request_free", request_free),
      route<decltype(::PMPI_Cancel)>("PMPI_Cancel", cancel),
  };
}

}  // namespace plait::accelerate
