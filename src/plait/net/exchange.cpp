// SPDX-License-Identifier: Apache-2.0
#include "plait/net/exchange.hpp"

#include <cstdint>
#include <exception>
#include <new>
#include <string>

namespace plait::net {

std::optional<Error> first_error(const Exchange& exchange, const std::function<void()>& work) {
  Bytes mine;  // the code and the sentence; empty when all went well
  const auto note = [&mine](ErrorCode code, const std::string& sentence) {
    mine.push_back(static_cast<std::byte>(code));
    const auto text = std::as_bytes(std::span{sentence});
    mine.insert(mine.end(), text.begin(), text.end());
  };
  try {
    work();
  } catch (const Error& error) {
    note(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    note(ErrorCode::out_of_memory, "memory is short: use more ranks");
  } catch (const std::exception& error) {
    note(ErrorCode::io, error.what());
  }
  const std::vector<Bytes> all = exchange(mine);
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    if (const Bytes& theirs = all[rank]; !theirs.empty()) {
      return Error{static_cast<ErrorCode>(theirs.front()),
                   std::string{reinterpret_cast<const char*>(theirs.data() + 1), theirs.size() - 1},
                   Rank{rank}};
    }
  }
  return std::nullopt;
}

void agree(const Exchange& exchange, const std::function<void()>& work) {
  if (const std::optional<Error> error = first_error(exchange, work)) {
    throw Error{*error};
  }
}

}  // namespace plait::net
