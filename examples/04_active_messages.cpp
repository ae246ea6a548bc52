// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// An active message calls a handler on its destination, which posts no receive.
#include <cstdint>
#include <iostream>

#include "plait/plait.hpp"

struct Deposit {
  static constexpr plait::HandlerId handler{1};
  std::uint64_t amount = 0;
};

struct Balance {
  static constexpr plait::HandlerId handler{2};
  std::uint64_t amount = 0;
};

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  plait::comm::Endpoint& network = runtime.messages();
  const plait::Rank bank{0};
  const plait::Rank customer{1};

  std::uint64_t held = 0;
  std::uint64_t told = 0;
  plait::on<Deposit>(network, [&](plait::Rank source, const Deposit& deposit) {
    held += deposit.amount;
    plait::post(network, source, Balance{held});  // a handler may post; it must not wait
  });
  plait::on<Balance>(network, [&](plait::Rank, const Balance& balance) { told = balance.amount; });
  plait::barrier(network);  // from here on every rank has its handlers

  if (runtime.self() == customer) {
    for (std::uint64_t amount = 1; amount <= 10; ++amount) {
      plait::post(network, bank, Deposit{amount});  // handled in this order
    }
    network.progress_until([&] { return told == 55; });
    std::cout << "the bank holds " << told << '\n';
  }
  plait::barrier(network);  // the bank handles messages until the customer has its answer
}
