// SPDX-License-Identifier: Apache-2.0
// ranks: 4
// Ranks in a grid of 2 x 2 exchange blocks in their rows, then in their columns, like the transposes of an FFT. Two
// fields alternate: while the blocks of one are in transit, the rank computes on the other.
#include <array>
#include <cstddef>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include "plait/plait.hpp"

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  const plait::GroupGrid grid{.rows = 2, .columns = 2};
  const plait::Group row = plait::row_group(runtime.messages(), grid);
  const plait::Group column = plait::column_group(runtime.messages(), grid);

  using Field = std::vector<double>;
  std::array<Field, 2> fields{Field(10'000, runtime.self().value() + 1.0), Field(10'000, 10.0)};
  std::array<Field, 2> in_rows{Field(10'000), Field(10'000)};
  std::array<Field, 2> in_columns{Field(10'000), Field(10'000)};
  const auto exchange = [](const plait::Group& group, const Field& from, Field& to) {
    return plait::all_to_all(group, std::span<const double>{from}, std::span{to});
  };
  const auto double_all = [](Field& field) {
    for (double& value : field) {
      value *= 2;
    }
  };

  plait::Request first = exchange(row, fields[0], in_rows[0]);
  plait::Request second = exchange(row, fields[1], in_rows[1]);
  first.wait();
  double_all(in_rows[0]);  // while the second field is in transit
  first = exchange(column, in_rows[0], in_columns[0]);
  second.wait();
  double_all(in_rows[1]);  // while the first is in transit again
  second = exchange(column, in_rows[1], in_columns[1]);
  first.wait();
  second.wait();

  std::array<double, 2> sums{std::accumulate(in_columns[0].begin(), in_columns[0].end(), 0.0),
                             std::accumulate(in_columns[1].begin(), in_columns[1].end(), 0.0)};
  plait::all_reduce(plait::Group{runtime.messages()}, std::span{sums}).wait();
  if (runtime.self() == plait::Rank{0}) {
    std::cout << "the fields' sums are " << sums[0] << " and " << sums[1] << '\n';
  }
}
