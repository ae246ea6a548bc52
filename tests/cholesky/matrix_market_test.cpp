// SPDX-License-Identifier: Apache-2.0
#include "cholesky/sources/matrix_market.hpp"

#include <cmath>
#include <sstream>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/base/random.hpp"

namespace cholesky::matrix_market_test {
namespace {

using Entry = std::tuple<std::size_t, std::size_t, double>;

struct Read {
  std::size_t size = 0;
  bool is_symmetric = false;
  std::vector<Entry> entries;
};

Read read(const std::string& text) {
  std::istringstream in{text};
  MatrixMarketReader reader{in, "some.mtx"};
  Read result{reader.size(), reader.is_symmetric(), {}};
  reader.each(
      [&](std::size_t row, std::size_t column, double value) { result.entries.emplace_back(row, column, value); });
  return result;
}

/// Expects the text to be refused with a sentence that names the file and holds `words`.
void expect_refused(const std::string& text, const std::string& words) {
  try {
    (void)read(text);
    ADD_FAILURE() << text;
  } catch (const plait::Error& error) {
    EXPECT_EQ(error.code(), plait::ErrorCode::bad_input);
    const std::string sentence{error.what()};
    EXPECT_EQ(sentence.find("some.mtx: line "), 0U) << sentence;
    EXPECT_NE(sentence.find(words), std::string::npos) << sentence << "\nlacks: " << words;
  }
}

const std::string coordinate = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string array = "%%MatrixMarket matrix array real general\n";

TEST(MatrixMarket, coordinates_are_read_with_comments_and_blank_lines) {
  const Read found =
      read("%%matrixmarket MATRIX Coordinate Real General\n% note\n\n 3 3 2 \n%more\n1 2 0.5\n\n3 3 -1e-3\r\n");
  EXPECT_EQ(found.size, 3U);
  EXPECT_FALSE(found.is_symmetric);
  EXPECT_EQ(found.entries, (std::vector<Entry>{{0, 1, 0.5}, {2, 2, -1e-3}}));
}

TEST(MatrixMarket, a_symmetric_file_tells_its_lower_triangle) {
  const Read found = read(symmetric + "2 2 2\n1 1 4\n2 1 +7\n");
  EXPECT_TRUE(found.is_symmetric);
  EXPECT_EQ(found.entries, (std::vector<Entry>{{0, 0, 4}, {1, 0, 7}}));
}

TEST(MatrixMarket, arrays_go_down_the_columns) {
  EXPECT_EQ(read(array + "2 2\n1\n2\n3\n4\n").entries,
            (std::vector<Entry>{{0, 0, 1}, {1, 0, 2}, {0, 1, 3}, {1, 1, 4}}));
  EXPECT_EQ(read("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n").entries,
            (std::vector<Entry>{{0, 0, 1}, {1, 0, 2}, {1, 1, 3}}));
}

TEST(MatrixMarket, a_last_line_needs_no_end) {
  EXPECT_EQ(read(array + "1 1\n5").entries.size(), 1U);
}

TEST(MatrixMarket, other_kinds_of_files_are_refused) {
  expect_refused("", "line 1: does not begin with");
  expect_refused("\x89HDF\r\n\x1a\n", "line 1: does not begin with");
  expect_refused("\n" + coordinate + "1 1 1\n1 1 1\n", "does not begin with");
  expect_refused("%%MatrixMarket vector coordinate real general\n", "'vector'");
  expect_refused("%%MatrixMarket matrix sparse real general\n", "'sparse'");
  expect_refused("%%MatrixMarket matrix coordinate complex general\n", "'complex'");
  expect_refused("%%MatrixMarket matrix coordinate pattern general\n", "'pattern'");
  expect_refused("%%MatrixMarket matrix coordinate real hermitian\n", "'hermitian'");
  expect_refused("%%MatrixMarket matrix coordinate real\n", "the symmetry is missing");
  expect_refused("%%MatrixMarket matrix coordinate real general sorted\n", "'sorted'");
}

TEST(MatrixMarket, sizes_that_make_no_sense_are_refused_with_their_line) {
  expect_refused(coordinate, "before the line of sizes");
  expect_refused(coordinate + "% comment\n3 4 1\n", "line 3: the matrix has 3 rows and 4 columns");
  expect_refused(coordinate + "0 0 0\n", "0 rows");
  expect_refused(coordinate + "2 2\n", "the number of entries is missing");
  expect_refused(coordinate + "2 2 5\n", "more than the 4");
  expect_refused(symmetric + "2 2 4\n", "more than the 3");
  expect_refused(coordinate + "2 2 x\n", "'x'");
  expect_refused(coordinate + "2 2 -1\n", "'-1'");
  expect_refused(coordinate + "99999999999999999999 1 1\n", "no whole number");
  expect_refused(coordinate + "4000000000 4000000000 1\n", "it can have 1 to");
  expect_refused(array + "2 2 4\n", "'4' is more than belongs");
}

TEST(MatrixMarket, entries_that_make_no_sense_are_refused_with_their_line) {
  expect_refused(coordinate + "2 2 2\n1 1 1\n3 1 1\n", "line 4: there is no place (3, 1)");
  expect_refused(coordinate + "2 2 1\n0 1 1\n", "no place (0, 1)");
  expect_refused(coordinate + "2 2 1\n1 1\n", "the value is missing");
  expect_refused(coordinate + "2 2 1\n1 1 1 1\n", "more than belongs");
  expect_refused(coordinate + "2 2 1\n1 1 one\n", "'one'");
  expect_refused(coordinate + "2 2 1\n1 1 nan\n", "no finite number");
  expect_refused(coordinate + "2 2 1\n1 1 1e999\n", "no finite number");
  expect_refused(coordinate + "2 2 1\n1.5 1 1\n", "'1.5'");
  expect_refused(symmetric + "2 2 1\n1 2 1\n", "above the diagonal");
}

TEST(MatrixMarket, too_few_and_too_many_entries_are_refused) {
  expect_refused(coordinate + "2 2 2\n1 1 1\n", "ends after 1 of 2 entries");
  expect_refused(coordinate + "2 2 1\n1 1 1\n2 2 1\n", "line 4: there is more after the 1 entries");
  expect_refused(array + "2 2\n1\n2\n3\n", "ends after 3 of 4");
}

TEST(MatrixMarket, damaged_files_are_read_or_refused_and_nothing_else) {
  const std::vector<std::string> good{coordinate + "3 3 3\n1 1 1.5\n2 2 -2e3\n3 1 0\n",
                                      symmetric + "3 3 2\n% c\n2 1 1\n3 3 1\n",
                                      array + "2 2\n1\n2\n3\n4\n"};
  plait::Random random{1};
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good[random.below(good.size())];
    for (std::uint64_t change = random.below(4) + 1; change > 0 && !text.empty(); --change) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, random.below(5) + 1);
          break;
        case 2:
          text.insert(at, 1, "0123456789 \n-+.eE%"[random.below(18)]);
          break;
        default:
          text.resize(at);
      }
    }
    try {
      const Read found = read(text);
      for (const auto& [row, column, value] : found.entries) {
        ASSERT_LT(row, found.size) << text;
        ASSERT_LT(column, found.size) << text;
        ASSERT_TRUE(std::isfinite(value)) << text;
      }
    } catch (const plait::Error& error) {
      ASSERT_EQ(error.code(), plait::ErrorCode::bad_input) << text;
    }
  }
}

}  // namespace
}  // namespace cholesky::matrix_market_test
