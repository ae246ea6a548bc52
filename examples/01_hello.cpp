// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// Every rank sends a greeting to rank 0, which prints them in the order of the ranks.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>

#include "plait/plait.hpp"

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  const plait::Rank first{0};
  const plait::Tag greeting{1};

  const std::string mine = "hello from rank " + std::to_string(runtime.self().value());
  plait::Request sent = runtime.messages().send({first, greeting}, std::as_bytes(std::span{mine}));

  for (std::uint32_t rank = 0; runtime.self() == first && rank < runtime.rank_count(); ++rank) {
    plait::Bytes text;  // takes the length of the message
    const plait::Status status = runtime.messages().receive({plait::Rank{rank}, greeting}, text).wait();
    std::cout.write(reinterpret_cast<const char*>(text.data()), static_cast<std::streamsize>(text.size()));
    std::cout << " in " << status.bytes << " bytes\n";
  }
  sent.wait();  // until then `mine` must stay as it is
}
