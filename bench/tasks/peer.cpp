// SPDX-License-Identifier: Apache-2.0
#include "tasks/peer.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace tasks {

Peer::Peer(const std::filesystem::path& program, unsigned threads) : name_{program.filename()} {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error{"no pipe for " + name_};
  }
  const std::string argument = std::to_string(threads);
  process_ = fork();
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), argument.c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_.reset(fdopen(in[1], "w"));
  from_.reset(fdopen(out[0], "r"));
  if (process_ < 0 || to_ == nullptr || from_ == nullptr) {
    throw std::runtime_error{name_ + " cannot be started"};
  }
  try {
    read_cases();
  } catch (const std::runtime_error&) {
    waitpid(process_, nullptr, 0);  // its output has ended, so it has
    throw;
  }
  stop();
}

Peer::~Peer() {
  to_.reset();  // its input ends, and so does it
  kill(process_, SIGCONT);
  waitpid(process_, nullptr, 0);
}

std::vector<double> Peer::turn(std::size_t index) {
  kill(process_, SIGCONT);
  std::fprintf(to_.get(), "%zu\n", index);
  std::fflush(to_.get());
  std::istringstream line{read_line()};
  stop();
  std::vector<double> times;
  for (double time = 0; line >> time;) {
    times.push_back(time);
  }
  if (times.empty()) {
    throw std::runtime_error{name_ + " has not reported its times"};
  }
  return times;
}

void Peer::read_cases() {
  library_ = read_line();
  const unsigned long count = std::stoul(read_line());
  for (unsigned long i = 0; i < count; ++i) {
    std::istringstream line{read_line()};
    int pattern = 0;
    int way = 0;
    Case one;
    line >> pattern >> way;
    line.ignore(1);
    std::getline(line, one.means);
    one.pattern = static_cast<Pattern>(pattern);
    one.way = static_cast<Way>(way);
    cases_.push_back(std::move(one));
  }
}

std::string Peer::read_line() {
  std::string line;
  for (int next = std::fgetc(from_.get()); next != '\n'; next = std::fgetc(from_.get())) {
    if (next == EOF) {
      throw std::runtime_error{name_ + " has ended early"};
    }
    line.push_back(static_cast<char>(next));
  }
  return line;
}

void Peer::stop() const {
  kill(process_, SIGSTOP);
  waitpid(process_, nullptr, WUNTRACED);
}

}  // namespace tasks
