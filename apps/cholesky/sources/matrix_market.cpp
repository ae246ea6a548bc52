// SPDX-License-Identifier: Apache-2.0
#include "cholesky/sources/matrix_market.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace cholesky {

namespace {

constexpr std::size_t size_max = std::size_t{1} << 31U;
constexpr std::string_view blanks = " \t\r";

std::string lower(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return result;
}

/// Text of a file, cut so that it fits into a sentence.
std::string shown(std::string_view text) {
  std::string result;
  for (const char letter : text.substr(0, 30)) {
    result += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return text.size() > 30 ? result + "..." : result;
}

}  // namespace

MatrixMarketReader::MatrixMarketReader(std::istream& in, std::string name) : in_{in}, name_{std::move(name)} {
  read_banner();
  read_sizes();
}

void MatrixMarketReader::refuse(std::string_view why) const {
  throw plait::Error{plait::ErrorCode::bad_input, fmt::format("{}: line {}: {}", name_, line_number_, why)};
}

bool MatrixMarketReader::next_line() {
  while (std::getline(in_, line_)) {
    ++line_number_;
    const std::size_t begin = line_.find_first_not_of(blanks);
    // The banner, too, begins with a percent sign.
    if (begin != std::string::npos && (line_[begin] != '%' || line_number_ == 1)) {
      rest_ = std::string_view{line_}.substr(begin);
      return true;
    }
  }
  if (in_.bad()) {
    throw plait::Error{plait::ErrorCode::io,
                       fmt::format("{}: cannot be read any further after line {}", name_, line_number_)};
  }
  return false;
}

std::string_view MatrixMarketReader::word(std::string_view what) {
  const std::size_t begin = rest_.find_first_not_of(blanks);
  if (begin == std::string_view::npos) {
    refuse(fmt::format("{} is missing", what));
  }
  const std::size_t end = std::min(rest_.find_first_of(blanks, begin), rest_.size());
  const std::string_view found = rest_.substr(begin, end - begin);
  rest_ = rest_.substr(end);
  return found;
}

std::uint64_t MatrixMarketReader::number(std::string_view what) {
  const std::string_view text = word(what);
  std::uint64_t result = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (trouble != std::errc{} || end != text.data() + text.size()) {
    refuse(fmt::format("{} is '{}', which is no whole number", what, shown(text)));
  }
  return result;
}

double MatrixMarketReader::value() {
  std::string_view text = word("the value");
  const std::string_view whole = text;
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  double result = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (trouble != std::errc{} || end != text.data() + text.size() || !std::isfinite(result)) {
    refuse(fmt::format("the value is '{}', which is no finite number", shown(whole)));
  }
  return result;
}

void MatrixMarketReader::end_of_line() {
  if (const std::size_t begin = rest_.find_first_not_of(blanks); begin != std::string_view::npos) {
    refuse(fmt::format("'{}' is more than belongs on this line", shown(rest_.substr(begin))));
  }
}

void MatrixMarketReader::read_banner() {
  if (!next_line() || line_number_ != 1 || lower(word("the banner")) != "%%matrixmarket") {
    line_number_ = 1;
    refuse("does not begin with '%%MatrixMarket': is this a Matrix Market file?");
  }
  if (const std::string object = lower(word("the object")); object != "matrix") {
    refuse(fmt::format("the object is '{}'; only 'matrix' can be read", shown(object)));
  }
  const std::string format = lower(word("the format"));
  const std::string field = lower(word("the field"));
  const std::string symmetry = lower(word("the symmetry"));
  if (format != "coordinate" && format != "array") {
    refuse(fmt::format("the format is '{}'; it can be 'coordinate' or 'array'", shown(format)));
  }
  if (field != "real" && field != "double" && field != "integer") {
    refuse(fmt::format("the field is '{}'; only 'real' and 'integer' can be read", shown(field)));
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    refuse(fmt::format("the symmetry is '{}'; only 'general' and 'symmetric' can be read", shown(symmetry)));
  }
  end_of_line();
  is_array_ = format == "array";
  is_symmetric_ = symmetry == "symmetric";
}

void MatrixMarketReader::read_sizes() {
  if (!next_line()) {
    refuse("the file ends before the line of sizes");
  }
  const std::uint64_t rows = number("the number of rows");
  const std::uint64_t columns = number("the number of columns");
  if (rows != columns) {
    refuse(fmt::format("the matrix has {} rows and {} columns; only a square one can be factored", rows, columns));
  }
  if (rows == 0 || rows > size_max) {
    refuse(fmt::format("the matrix has {} rows; it can have 1 to {}", rows, size_max));
  }
  size_ = rows;
  entries_ = is_symmetric_ ? rows * (rows + 1) / 2 : rows * rows;
  if (!is_array_) {
    const std::uint64_t stored = number("the number of entries");
    if (stored > entries_) {
      refuse(fmt::format("{} entries are more than the {} that a matrix of this size has", stored, entries_));
    }
    entries_ = stored;
  }
  end_of_line();
}

void MatrixMarketReader::each(const std::function<void(std::size_t, std::size_t, double)>& visit) {
  is_array_ ? each_of_array(visit) : each_coordinate(visit);
  if (next_line()) {
    refuse(fmt::format("there is more after the {} entries of the line of sizes", entries_));
  }
}

void MatrixMarketReader::each_coordinate(const std::function<void(std::size_t, std::size_t, double)>& visit) {
  for (std::uint64_t entry = 0; entry < entries_; ++entry) {
    if (!next_line()) {
      refuse(fmt::format("the file ends after {} of {} entries", entry, entries_));
    }
    const std::uint64_t row = number("the row");
    const std::uint64_t column = number("the column");
    if (row < 1 || row > size_ || column < 1 || column > size_) {
      refuse(fmt::format("there is no place ({}, {}) in a matrix of {} rows", row, column, size_));
    }
    if (is_symmetric_ && row < column) {
      refuse(fmt::format("({}, {}) is above the diagonal; of a symmetric matrix only the rest is stored", row, column));
    }
    const double number = value();
    end_of_line();
    visit(row - 1, column - 1, number);
  }
}

void MatrixMarketReader::each_of_array(const std::function<void(std::size_t, std::size_t, double)>& visit) {
  std::uint64_t entry = 0;
  for (std::size_t column = 0; column < size_; ++column) {
    for (std::size_t row = is_symmetric_ ? column : 0; row < size_; ++row, ++entry) {
      if (!next_line()) {
        refuse(fmt::format("the file ends after {} of {} entries", entry, entries_));
      }
      const double number = value();
      end_of_line();
      visit(row, column, number);
    }
  }
}

}  // namespace cholesky
