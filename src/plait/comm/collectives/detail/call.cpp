// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/call.hpp"

#include "plait/comm/collectives/detail/group_state.hpp"

namespace plait::comm::detail {

namespace {

/// Of a tag: the phase; the number of the collective is above. 2^40 collectives of a group last 12 days at one a
/// microsecond.
constexpr unsigned phase_bits = 24;

}  // namespace

Call::Call(const Group& group)
    : group_{group.state_}, comm_{group.comm().value() | collective_bit}, number_{group.state_->collective_count++} {}

Endpoint& Call::endpoint() const noexcept {
  return *group_->endpoint;
}

std::size_t Call::size() const noexcept {
  return group_->members.size();
}

std::size_t Call::self() const noexcept {
  return group_->self;
}

Rank Call::rank(std::size_t member) const noexcept {
  return group_->members[member];
}

Address Call::address(std::size_t member, unsigned phase) const noexcept {
  return {rank(member), Tag{number_ << phase_bits | phase}, comm_};
}

template <class Post>
Request Call::guarded(Post post) noexcept {
  try {
    return post();
  } catch (const Error& error) {
    return Request{Status{.source = error.rank(), .error = error.code()}};
  } catch (...) {
    return Request{Status{.error = ErrorCode::out_of_memory}};
  }
}

Request Call::send(std::size_t to, std::span<const std::byte> data, unsigned phase) const noexcept {
  return guarded([&] { return endpoint().send(address(to, phase), data); });
}

Request Call::send(std::size_t to, Layout data, unsigned phase) const noexcept {
  return guarded([&] { return endpoint().send(address(to, phase), std::move(data)); });
}

Request Call::receive(std::size_t from, std::span<std::byte> buffer, unsigned phase) const noexcept {
  return guarded([&] { return endpoint().receive(address(from, phase), buffer); });
}

Request Call::receive(std::size_t from, Layout buffer, unsigned phase) const noexcept {
  return guarded([&] { return endpoint().receive(address(from, phase), std::move(buffer)); });
}

Request Call::receive(std::size_t from, Bytes& buffer, unsigned phase) const noexcept {
  return guarded([&] { return endpoint().receive(address(from, phase), buffer); });
}

void Call::throw_if_failed() const {
  if (error_) {
    throw Error{*error_, "a collective operation failed"};
  }
}

bool Call::End::await_resume() const noexcept {
  const Status& status = request_.result();
  std::optional<ErrorCode> error = status.error;
  if (!error && bytes_ && status.bytes != *bytes_) {
    error = ErrorCode::bad_argument;  // another rank expects a block of another size
  }
  call_->note(error);
  return !error;
}

}  // namespace plait::comm::detail
