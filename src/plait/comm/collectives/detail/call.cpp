// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/call.hpp"

namespace plait::comm::detail {

namespace {

/// Low bits of a tag for the phase, below the number of the collective, of which a group has 2^40.
constexpr unsigned phase_bits = 24;
/// Of these, the low ones for the phase of one part.
constexpr unsigned bits_of_a_part = 16;

}  // namespace

Call::Call(const Group& group)
    : group_{group}, comm_{group.comm().value() | collective_bit}, number_{group.state_->collective_count++} {}

void Call::restrict_to(std::vector<std::size_t> members, std::size_t self, unsigned part) {
  part_ = std::make_shared<const Part>(Part{std::move(members), self, part});
}

Address Call::address(std::size_t member, unsigned phase) const noexcept {
  const unsigned part = part_ ? part_->number : 0;
  return {rank(member), Tag{number_ << phase_bits | part << bits_of_a_part | phase}, comm_};
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
