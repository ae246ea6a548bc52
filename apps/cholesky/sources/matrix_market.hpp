// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <string_view>

namespace cholesky {

/// Reads the Matrix Market exchange format (Boisvert, Pozo and Remington, NISTIR 5935, 1996) as a stream: square
/// matrices, coordinate or array, real or integer, general or symmetric.
class MatrixMarketReader {
 public:
  /// Reads the lines before the entries. `in` is borrowed; `name` is for errors.
  /// Throws: `plait::Error` with `bad_input` that names the line.
  MatrixMarketReader(std::istream& in, std::string name);

  /// Rows and columns of the matrix.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Whether the file has the lower triangle only.
  [[nodiscard]] bool is_symmetric() const noexcept { return is_symmetric_; }

  /// Calls `visit(row, column, value)`, counted from 0, for each entry in the file's order. Call it once.
  /// Throws: as above, and what `visit` throws.
  void each(const std::function<void(std::size_t, std::size_t, double)>& visit);

 private:
  [[nodiscard]] bool next_line();
  [[noreturn]] void refuse(std::string_view why) const;
  void read_banner();
  void read_sizes();
  [[nodiscard]] std::string_view word(std::string_view what);
  [[nodiscard]] std::uint64_t number(std::string_view what);
  [[nodiscard]] double value();
  void end_of_line();
  void each_coordinate(const std::function<void(std::size_t, std::size_t, double)>& visit);
  void each_of_array(const std::function<void(std::size_t, std::size_t, double)>& visit);

  std::istream& in_;
  std::string name_;
  std::string line_;
  std::string_view rest_;  ///< Of the line: not read yet.
  std::uint64_t line_number_ = 0;
  std::size_t size_ = 0;
  std::uint64_t entries_ = 0;
  bool is_symmetric_ = false;
  bool is_array_ = false;
};

}  // namespace cholesky
