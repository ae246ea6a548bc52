# SPDX-License-Identifier: Apache-2.0
# How plait's targets are made. Four functions, documented where they stand.

# plait_compile_settings(<target>): the flags that every target of plait shares.
function(plait_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers
    -Wno-restrict  # GCC 12 warns of std::string + std::string (its bug 105651)
    -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${PLAIT_WARNINGS_AS_ERRORS}>:-Werror>
    $<$<CONFIG:Debug>:-O1>)
  target_compile_definitions(${target} PRIVATE $<$<NOT:$<CONFIG:Release>>:PLAIT_CHECKS=1>)
  if(PLAIT_SANITIZE)
    # Compiling is most of what these builds take: -O2 or whole debug information would double that.
    target_compile_options(${target} PRIVATE -O1 -g1 -fsanitize=${PLAIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${PLAIT_SANITIZE})
  endif()
endfunction()

# plait_precompile(<target>): in sanitizer builds, reads the headers that most files include once for all targets, which
# saves 1 to 2 seconds a file. Only there, as their warnings do not count and other builds find a file that forgets an
# include; and only for targets with no flags of their own: GCC 12 breaks down where -O2 meets what was precompiled
# with -O1.
function(plait_precompile target)
  if(NOT PLAIT_SANITIZE)
    return()
  endif()
  if(NOT TARGET plait_precompiled)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
    add_library(plait_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    plait_compile_settings(plait_precompiled)
    target_link_libraries(plait_precompiled PRIVATE fmt::fmt Threads::Threads $<$<BOOL:${PLAIT_BUILD_TESTS}>:GTest::gtest>)
    target_compile_definitions(plait_precompiled PRIVATE GTEST_HAS_PTHREAD=1)
    target_precompile_headers(plait_precompiled PRIVATE <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring>
      <deque> <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream>
      <string> <string_view> <thread> <tuple> <unordered_map> <utility> <vector> <fmt/format.h>
      $<$<BOOL:${PLAIT_BUILD_TESTS}>:gtest/gtest.h>)
  endif()
  target_compile_definitions(${target} PRIVATE GTEST_HAS_PTHREAD=1)  # as GTest::gtest says; all must agree
  target_precompile_headers(${target} REUSE_FROM plait_precompiled)
endfunction()

# plait_library(<folder> [DEPENDS <folder>...] [LIBRARIES <target>...] [DEFINITIONS <name=value>...]
#               [EXCLUDE <sub-folder>...])
#   Builds every .cpp below the calling folder as plait::<folder>. DEPENDS names lower folders only.
function(plait_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;LIBRARIES;DEFINITIONS;EXCLUDE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plait_library(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  foreach(folder IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/${folder}/")
  endforeach()
  set(target plait_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    plait_compile_settings(${target})
    plait_precompile(${target})
    if(NOT PLAIT_SANITIZE)  # what is precompiled for programs must do for libraries
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
  endif()
  add_library(plait::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/src)
  foreach(lower IN LISTS arg_DEPENDS)
    target_link_libraries(${target} ${scope} plait::${lower})
  endforeach()
  target_link_libraries(${target} ${scope} ${arg_LIBRARIES})
  target_compile_definitions(${target} ${scope} ${arg_DEFINITIONS})
endfunction()

# plait_test(<folder>/<name> LIBRARIES <target>... [ONE_THREAD] [NP <n>...] [LABELS <label>...] [ARGS <argument>...])
#   Builds tests/<folder>/<name>_test.cpp as test <folder>.<name>. With NP, once per rank count as
#   <folder>.<name>.np<n> under mpiexec; such a test is left out when plait is built without MPI. A test that needs no
#   MPI (neither NP nor the label mpi) gets the label unit and is built by the target plait_tests, not by all: tools/test
#   runs it under the sanitizers only. ONE_THREAD says that no second thread ever starts in the test, which the thread
#   sanitizer therefore has nothing to say of: its build leaves the test out.
function(plait_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD" "" "LIBRARIES;NP;LABELS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plait_test(${path}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PLAIT_BUILD_TESTS OR (arg_NP AND NOT PLAIT_WITH_MPI) OR (arg_ONE_THREAD AND PLAIT_SANITIZE STREQUAL "thread"))
    return()
  endif()
  string(REPLACE "/" "." name "${path}")
  add_executable(${name} "${PROJECT_SOURCE_DIR}/tests/${path}_test.cpp")
  plait_compile_settings(${name})
  plait_precompile(${name})
  add_dependencies(plait_tests ${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(arg_NP)
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest MPI::MPI_C)
    foreach(n IN LISTS arg_NP)
      add_test(NAME ${name}.np${n}
        COMMAND ${PROJECT_SOURCE_DIR}/tools/mpiexec ${n} $<TARGET_FILE:${name}> ${arg_ARGS})
      set_tests_properties(${name}.np${n} PROPERTIES PROCESSORS 2 LABELS "mpi;${arg_LABELS}" TIMEOUT 120)
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
    set(labels ${arg_LABELS})
    if(NOT "mpi" IN_LIST labels)
      list(PREPEND labels unit)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  endif()
endfunction()

# The project's own Python, which has what tests read files with; else the system's.
find_package(Python3 QUIET COMPONENTS Interpreter)
set(PLAIT_PYTHON ${Python3_EXECUTABLE})
if(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(PLAIT_PYTHON ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()

# plait_program_test(FOLDER/NAME PROGRAM [TIMEOUT SECONDS]) runs tests/FOLDER/NAME_test.py, which runs a program on ranks as
# its users do; where the program is not built, there is nothing to run.
function(plait_program_test path program)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "")
  if(NOT TARGET ${program} OR NOT PLAIT_PYTHON)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  string(REPLACE "/" "." name "${path}")
  cmake_path(GET path PARENT_PATH folder)
  add_test(NAME ${name} COMMAND ${PLAIT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/${path}_test.py $<TARGET_FILE:${program}>
    ${PROJECT_SOURCE_DIR}/tools/mpiexec)
  set_tests_properties(${name} PROPERTIES PROCESSORS 2 TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${folder}"
    ENVIRONMENT PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support)
endfunction()
