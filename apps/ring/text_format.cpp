// SPDX-License-Identifier: Apache-2.0
#include "ring/text_format.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "ring/snapshot.hpp"

namespace ring {
namespace {

using plait::Error;
using plait::ErrorCode;

/// The numbers of a text, one after the other, with the line that each stands on.
class Numbers {
 public:
  Numbers(std::string name, std::string text) : name_{std::move(name)}, text_{std::move(text)} {}

  template <class T>
  T next(std::string_view what) {
    skip_space();
    T value{};
    const char* const end = text_.data() + text_.size();
    const auto [after, error] = std::from_chars(text_.data() + at_, end, value);
    if (error == std::errc::result_out_of_range) {
      fail(fmt::format("{} is out of range", what));
    }
    if (error != std::errc{}) {
      fail(at_ == text_.size() ? fmt::format("the file ends where {} should be", what)
                               : fmt::format("{} is not a number", what));
    }
    at_ = static_cast<std::size_t>(after - text_.data());
    if (at_ < text_.size() && !is_space(text_[at_])) {
      fail(fmt::format("{} is not a number", what));
    }
    return value;
  }

  void expect_end() {
    skip_space();
    if (at_ != text_.size()) {
      fail("there is more than the bodies that its second line tells of");
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error{ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, line_, what)};
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      line_ += text_[at_] == '\n' ? 1 : 0;
      ++at_;
    }
  }

  std::string name_;
  std::string text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

Body next_body(Numbers& in) {
  Body body;
  body.id = in.next<std::uint64_t>("an id");
  body.mass = in.next<double>("a mass");
  for (double* component : {&body.position.x, &body.position.y, &body.position.z}) {
    *component = in.next<double>("a position");
  }
  for (double* component : {&body.velocity.x, &body.velocity.y, &body.velocity.z}) {
    *component = in.next<double>("a velocity");
  }
  return body;
}

TextBodies read_all(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) {
    throw Error{ErrorCode::io, fmt::format("{}: cannot be opened; is the name right?", file.string())};
  }
  Numbers in{file.string(), std::string{std::istreambuf_iterator<char>{stream}, {}}};
  TextBodies result;
  result.time = in.next<double>("the time");
  const auto n = in.next<std::uint64_t>("the number of bodies");
  if (n > std::numeric_limits<std::uint32_t>::max()) {
    in.fail(fmt::format("{} bodies are more than a text file can mean", n));
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    result.bodies.push_back(next_body(in));
  }
  in.expect_end();
  static_cast<void>(check_bodies(result.bodies, file.string()).value());
  return result;
}

}  // namespace

plait::Result<TextBodies> read_text(const std::filesystem::path& file) {
  try {
    return read_all(file);
  } catch (const Error& error) {
    return error;
  }
}

plait::Result<std::uint64_t> write_text(const std::filesystem::path& file, double time, std::span<const Body> bodies) {
  std::string text = fmt::format("{}\n{}\n", time, bodies.size());
  for (const Body& body : bodies) {
    const Vector& p = body.position;
    const Vector& v = body.velocity;
    fmt::format_to(
        std::back_inserter(text), "{} {} {} {} {} {} {} {}\n", body.id, body.mass, p.x, p.y, p.z, v.x, v.y, v.z);
  }
  const std::filesystem::path partial = file.string() + ".partial";
  std::ofstream stream{partial, std::ios::binary};
  stream << text;
  stream.close();
  std::error_code trouble;
  if (stream) {
    std::filesystem::rename(partial, file, trouble);
  }
  if (!stream || trouble) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    return Error{ErrorCode::io,
                 fmt::format("{}: cannot be written; does its folder exist, and may one write there?", file.string())};
  }
  return std::uint64_t{text.size()};
}

}  // namespace ring
