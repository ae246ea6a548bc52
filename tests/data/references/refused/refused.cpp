// SPDX-License-Identifier: Apache-2.0
// What must not compile, each beside what must. refused_test.py compiles this twice, and looks for the sentence that is
// meant for the line below it.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/data/accessor.hpp"
#include "plait/data/references/remote.hpp"
#include "plait/data/references/work.hpp"
#include "plait/data/serialize.hpp"

namespace {

using plait::data::Permission;
using plait::data::Ref;
using plait::data::Work;

struct Silent {
  std::string text;
};
struct Open {
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};
struct Forgetful {
  std::vector<double*> places;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(places);
  }
};
struct NoAccessor {};

[[maybe_unused]] void pack_values() {
  static_cast<void>(plait::data::pack(Open{}));
  static_cast<void>(plait::data::pack(std::map<int, Open>{}));
#ifdef REFUSED
  // refused: plait cannot pack this type
  static_cast<void>(plait::data::pack(Silent{}));
  // refused: plait cannot pack this type
  static_cast<void>(plait::data::pack(std::map<int, Silent>{}));
  // refused: plait cannot pack this type
  static_cast<void>(plait::data::pack(std::unique_ptr<Silent>{}));
  // refused: is_packable<std::vector<double*> >
  static_cast<void>(plait::data::pack(Forgetful{}));
  // refused: A::size(from)
  static_cast<void>(plait::data::pack_with<NoAccessor>(Open{}));
#endif
}

[[maybe_unused]] void hold_references(Work& work) {
  Ref<int> value = work.ref<int>(1);
  Ref<int> moved = std::move(value);
  const Ref<int, Permission::read> reader = moved.read();
  const Ref<int, Permission::read> other_reader = reader.read();
  auto fetched = work.fetch(std::move(moved));
  *fetched = 2;
  const Ref<int, Permission::read> later = std::move(fetched).later().read();
  auto shown = work.fetch(later.read());
  static_cast<void>(*shown);
#ifdef REFUSED
  // refused: use of deleted function
  const Ref<int> copy = value;
  // refused: this Ref's value may not be there yet
  static_cast<void>(*value);
  // refused: assignment of read-only location
  *shown = 3;
  // refused: the holder of this Ref may write the value now
  static_cast<void>(fetched.read());
  // refused: a Ref without permission cannot give the permission to read
  static_cast<void>(value.token().read());
  // refused: a Ref without permission has no value to fetch
  static_cast<void>(work.fetch(value.token()));
  // refused: no matching function for call
  static_cast<void>(work.take(value.read()));
  // refused: conversion from
  const Ref<int> writer = value.read();
  // refused: Ref<T, Permission::read> for one that may not be changed
  const Ref<const int> constant;
#endif
}

[[maybe_unused]] void do_work(Work& work) {
  Ref<int> value = work.ref<int>(1);
  Ref<bool> flag = work([](const int& now) { return now > 0; }, value.read());
  value = work([](int& now) { ++now; }, std::move(value));
  value = work.when(flag.read(), [](int& now) { ++now; }, std::move(value));
  work([] {}, value.token());
#ifdef REFUSED
  // refused: a reference is given away to a deferred task
  work([](int& now) { ++now; }, value);
  // refused: the function of a deferred task takes T& for a Ref<T>
  work([](int& now) { ++now; }, value.read());
  // refused: the function of a deferred task takes T& for a Ref<T>
  work([](int& now) { ++now; }, value.token());
  // refused: a deferred task takes references, Ref<T>
  work([](int now) { ++now; }, 5);
  // refused: the condition of a deferred task is a reference that reads a bool
  work.when(value.read(), [] {});
  // refused: the condition of a deferred task is a reference that reads a bool
  work.when(std::move(flag), [] {});
  // refused: the condition of a deferred task takes const T&
  work.when([](int& now) { return ++now > 0; }, [](int&) {}, std::move(value));
  // refused: a deferred task returns a value
  static_cast<void>(work([&value] { return std::move(value); }));
#endif
}

[[maybe_unused]] void send_references(Work& work) {
  const Ref<Open> open = work.ref<Open>();
  plait::data::send_ref(work, plait::Rank{0}, plait::Tag{1}, open.read());
  static_cast<void>(plait::data::receive_ref<Open>(work, plait::Rank{0}, plait::Tag{1}));
#ifdef REFUSED
  const Ref<Silent> silent = work.ref<Silent>();
  // refused: Serializable
  plait::data::send_ref(work, plait::Rank{0}, plait::Tag{1}, silent.read());
  // refused: Serializable
  static_cast<void>(plait::data::receive_ref<Silent>(work, plait::Rank{0}, plait::Tag{1}));
#endif
}

}  // namespace
