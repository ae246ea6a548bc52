// SPDX-License-Identifier: Apache-2.0
#include "plait/data/detail/all_ranks.hpp"

#include <cstdint>
#include <exception>
#include <string>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/broadcast.hpp"

namespace plait::data::detail {

std::vector<Bytes> all_gather_any(const comm::Group& group, std::span<const std::byte> mine) {
  std::vector<std::uint64_t> sizes(group.size());
  const std::uint64_t size = mine.size();
  comm::all_gather(group, std::span{&size, 1}, std::span{sizes}).wait_released();
  std::vector<Bytes> all(group.size());
  std::vector<std::span<std::byte>> places;
  for (std::size_t member = 0; member < all.size(); ++member) {
    all[member].resize(sizes[member]);
    places.emplace_back(all[member]);
  }
  comm::all_gather(group, mine, std::move(places)).wait_released();
  return all;
}

Bytes broadcast_any(const comm::Group& group, std::span<const std::byte> on_first) {
  std::uint64_t size = on_first.size();
  comm::broadcast(group, 0, std::span{&size, 1}).wait_released();
  Bytes bytes(size);
  if (group.self() == 0) {
    bytes.assign(on_first.begin(), on_first.end());
  }
  if (size > 0) {
    comm::broadcast(group, 0, std::span{bytes}).wait_released();
  }
  return bytes;
}

void agree(const comm::Group& group, const std::function<void()>& work) {
  Bytes trouble;  // the code, and then the sentence; empty when all went well
  const auto note = [&trouble](ErrorCode code, const std::string& sentence) {
    trouble.push_back(static_cast<std::byte>(code));
    const auto text = std::as_bytes(std::span{sentence});
    trouble.insert(trouble.end(), text.begin(), text.end());
  };
  try {
    work();
  } catch (const Error& error) {
    note(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    note(ErrorCode::out_of_memory, "memory is short for a second copy of this rank's elements: use more ranks");
  } catch (const std::exception& error) {
    note(ErrorCode::io, error.what());
  }
  const std::vector<Bytes> all = all_gather_any(group, trouble);
  for (std::size_t member = 0; member < all.size(); ++member) {
    if (!all[member].empty()) {
      throw Error{static_cast<ErrorCode>(all[member].front()),
                  std::string{reinterpret_cast<const char*>(all[member].data() + 1), all[member].size() - 1},
                  group.rank(member)};
    }
  }
}

}  // namespace plait::data::detail
