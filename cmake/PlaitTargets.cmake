# SPDX-License-Identifier: Apache-2.0
# How plait's targets are made: functions, each documented where it is defined.

# plait_compile_settings(<target>): the flags that every target of plait shares.
function(plait_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers
    # GCC 12 warns of std::string + std::string (its bug 105651). In unity builds, where files include others, it warns of
    # members of anonymous types.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
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
# saves 1 to 2 seconds a file, and compiles eight files as one, which halves what remains. Only there: their warnings do
# not count, other builds find a file that forgets an include, and they compile a single edited file sooner. Only for
# targets with no flags of their own: GCC 12 breaks down where -O2 meets what was precompiled with -O1.
function(plait_precompile target)
  # In unity builds, here or by -DCMAKE_UNITY_BUILD=ON: helpers of these files have the names of other helpers in their
  # library. Where the compiler refuses another file for this reason, rename the helper or add the file.
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "/(loopback|sim|shm_driver|all_gather|all_to_all|broadcast|halving_reduce\
|two_level_all_to_all|collection_engine|lend_routes|file_layout|decompose|exchange|halo|let|long_range|tree_tasks\
|pairing|prediction_run|part|fold|boundary_bins|packet_sends)\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
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
  target_compile_definitions(${target} PRIVATE GTEST_HAS_PTHREAD=1  # as GTest::gtest has it; all must agree,
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)  # or the compiler silently reads the headers again
  target_precompile_headers(${target} REUSE_FROM plait_precompiled)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# plait_library(<folder> [IN <package>] [DEPENDS <folder>...] [LIBRARIES <target>...] [PRIVATE <target>...]
#               [DEFINITIONS <name=value>...] [EXCLUDE <path>...])
#   Builds every .cpp below the calling folder, but for the paths named by EXCLUDE, as plait::<folder>: as a part of the
#   installed library plait::<package>, or without IN as such a library itself. DEPENDS names lower folders and packages.
#   Public headers include LIBRARIES; only sources use PRIVATE. Each target in both needs a plait_external().
function(plait_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "IN" "DEPENDS;LIBRARIES;PRIVATE;DEFINITIONS;EXCLUDE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plait_library(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cpp)
  file(GLOB_RECURSE headers RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.hpp)
  foreach(path IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "^${path}[/.]")
    list(FILTER headers EXCLUDE REGEX "^${path}/")
  endforeach()
  list(FILTER headers EXCLUDE REGEX "(^|/)detail/")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE folder)
  list(TRANSFORM headers PREPEND ${folder}/)
  set(target plait_${name})
  set(package ${name})
  if(arg_IN)
    set(package ${arg_IN})
  endif()
  if(NOT TARGET plait_${package})
    plait_package(${package})
  endif()
  set(targets plait_${package})
  if(arg_IN)
    # Tests of a folder link the folders below it alone; a shared library exists as a whole only.
    if(BUILD_SHARED_LIBS)
      add_library(${target} OBJECT)
      add_library(plait::${name} ALIAS plait_${package})
    else()
      add_library(${target} STATIC)
      add_library(plait::${name} ALIAS ${target})
    endif()
    list(APPEND targets ${target})
    plait_compile_settings(${target})
    set_target_properties(${target} PROPERTIES PLAIT_PACKAGE ${package})
    target_sources(plait_${package} PRIVATE $<TARGET_OBJECTS:${target}>)
  endif()
  target_sources(${target} PRIVATE ${sources})
  plait_precompile(${target})
  if(NOT PLAIT_SANITIZE)  # what is precompiled for programs must do for libraries
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # Without it, GCC inlines no function that another library could replace: a spawned task takes 6 % longer.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  endif()
  foreach(each IN LISTS targets)
    target_include_directories(${each} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
      $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
    target_compile_definitions(${each} PUBLIC ${arg_DEFINITIONS})
  endforeach()
  if(arg_IN)
    target_link_libraries(${target} PUBLIC ${arg_LIBRARIES} PRIVATE ${arg_PRIVATE})
  endif()
  plait_package_libraries(${package} PUBLIC ${arg_LIBRARIES})
  plait_package_libraries(${package} PRIVATE ${arg_PRIVATE})
  foreach(lower IN LISTS arg_DEPENDS)
    get_target_property(lower_package plait_${lower} PLAIT_PACKAGE)
    get_target_property(used plait_${package} PLAIT_USES)
    if(NOT lower_package STREQUAL package AND NOT lower_package IN_LIST used)
      target_link_libraries(plait_${package} PUBLIC plait_${lower_package})
      set_property(TARGET plait_${package} APPEND PROPERTY PLAIT_USES ${lower_package})
    endif()
    if(arg_IN AND BUILD_SHARED_LIBS AND NOT lower_package STREQUAL package)
      target_link_libraries(${target} PUBLIC plait_${lower_package})
    elseif(arg_IN)
      target_link_libraries(${target} PUBLIC plait_${lower})
    endif()
  endforeach()
  set_property(TARGET plait_${package} APPEND PROPERTY PLAIT_HEADERS ${headers})
endfunction()

# plait_program(<name> LIBRARIES <target>...): builds <name>_main.cpp as bin/plait-<name>, which the plait command calls.
function(plait_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  add_executable(plait_program_${name} ${name}_main.cpp)
  plait_compile_settings(plait_program_${name})
  target_link_libraries(plait_program_${name} PRIVATE ${arg_LIBRARIES} plait::core CLI11::CLI11)
  set_target_properties(plait_program_${name} PROPERTIES OUTPUT_NAME plait-${name}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS plait_program_${name} RUNTIME COMPONENT instruments)
endfunction()

# plait_test_program(<target> <source>...): a program of tests, built by the target plait_tests and not by all.
function(plait_test_program target)
  add_executable(${target} ${ARGN})
  plait_compile_settings(${target})
  plait_precompile(${target})
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_dependencies(plait_tests ${target})
endfunction()

# plait_rank_tests(<name> <target> NP <n>... [ARGS <argument>...] [LABELS <label>...]): the tests <name>.np<n>, each of which
# runs a program under mpiexec.
function(plait_rank_tests name target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "NP;ARGS;LABELS")
  foreach(n IN LISTS arg_NP)
    add_test(NAME ${name}.np${n}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/mpiexec ${n} $<TARGET_FILE:${target}> ${arg_ARGS})
    set_tests_properties(${name}.np${n} PROPERTIES PROCESSORS 2 LABELS "mpi;${arg_LABELS}" TIMEOUT 120)
  endforeach()
endfunction()

# plait_c_test(<folder>/<name> LIBRARY <target> NP <n>...): tests/<folder>/<name>.c, a program in C99.
function(plait_c_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIBRARY" "NP")
  string(REPLACE "/" "." name "${path}")
  add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/${path}.c)
  set_target_properties(${name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_options(${name} PRIVATE -Wall -Wextra -pedantic $<$<BOOL:${PLAIT_WARNINGS_AS_ERRORS}>:-Werror>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARY})
  add_dependencies(plait_tests ${name})
  plait_rank_tests(${name} ${name} NP ${arg_NP})
endfunction()

# plait_symbols_test(<folder> <target> <header>): the functions that the library for C exports are those of
# src/plait/<folder>/symbols.txt and of its header.
function(plait_symbols_test folder target header)
  if(PLAIT_PYTHON)
    add_test(NAME ${folder}.symbols COMMAND ${PLAIT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/c/symbols_test.py
      ${PROJECT_SOURCE_DIR}/src/plait/${folder}/symbols.txt $<TARGET_FILE:${target}>
      ${PROJECT_SOURCE_DIR}/src/plait/${header})
    set_tests_properties(${folder}.symbols PROPERTIES LABELS mpi)
  endif()
endfunction()

# plait_test(<folder>/<name> LIBRARIES <target>... [ONE_THREAD] [NP <n>... [ARGS <argument>...]] [LABELS <label>...])
#   Adds tests/<folder>/<name>_test.cpp as test <folder>.<name>. The files below one folder of tests/ are one program,
#   tests_<folder>, of which each test runs the cases of its file. With NP, the file is a program with a main of its own,
#   <folder>.<name>, run with ARGS once per rank count as <folder>.<name>.np<n> under mpiexec; such a test is left out when plait is
#   built without MPI. A test that needs no MPI (neither NP nor the label mpi) gets the label unit and is built by the
#   target plait_tests, not by all: tools/test runs it under the sanitizers only. ONE_THREAD: no second thread
#   ever starts in the test, so the thread sanitizer's build leaves it out.
function(plait_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD" "" "LIBRARIES;NP;LABELS;ARGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "plait_test(${path}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PLAIT_BUILD_TESTS OR (arg_NP AND NOT PLAIT_WITH_MPI) OR (arg_ONE_THREAD AND PLAIT_SANITIZE STREQUAL "thread"))
    return()
  endif()
  foreach(library IN LISTS arg_LIBRARIES)
    if(NOT TARGET ${library})
      return()  # a part that is not built, as the configuration reports
    endif()
  endforeach()
  string(REPLACE "/" "." name "${path}")
  set(source ${PROJECT_SOURCE_DIR}/tests/${path}_test.cpp)
  if(arg_NP)
    plait_test_program(${name} ${source})
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL OFF)
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest MPI::MPI_C)
    plait_rank_tests(${name} ${name} NP ${arg_NP} ARGS ${arg_ARGS} LABELS ${arg_LABELS})
    return()
  endif()
  string(REGEX REPLACE "/.*" "" folder "${path}")
  set(program tests_${folder})
  if(NOT TARGET ${program})
    plait_test_program(${program} ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
    target_link_libraries(${program} PRIVATE GTest::gtest)
  endif()
  target_sources(${program} PRIVATE ${source})
  target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
  add_test(NAME ${name} COMMAND ${program} --file=${path}_test.cpp)
  set(labels ${arg_LABELS})
  if("mpi" IN_LIST labels)
    set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL OFF)
  else()
    list(PREPEND labels unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
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
  # No PROCESSORS: such a test mostly starts programs, so two of them side by side end a third sooner.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${folder}"
    ENVIRONMENT PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support)
endfunction()

# plait_fortran_programs(<target> <folder> <source>... [OPTIONS <option>...]): MPI programs in Fortran for tests, each
# <folder>/NAME for its NAME.f90, compiled with the options. Without a Fortran compiler they are not there.
function(plait_fortran_programs target folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OPTIONS")
  set(family openmpi)
  if("${MPI_C_LIBRARIES}" MATCHES "mpich")
    set(family mpich)
  endif()
  find_program(PLAIT_MPI_FORTRAN NAMES mpifort.${family} mpifort DOC "Compiles Fortran with MPI, for programs of tests")
  find_program(PLAIT_FORTRAN NAMES gfortran ifx flang DOC "What the above needs")
  mark_as_advanced(PLAIT_MPI_FORTRAN PLAIT_FORTRAN)
  if(NOT PLAIT_MPI_FORTRAN OR NOT PLAIT_FORTRAN)
    message(STATUS "plait: no Fortran compiler; ${target} is not built (Debian: gfortran)")
    return()
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source STEM name)
    add_custom_command(OUTPUT ${folder}/${name} DEPENDS ${source} VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${PLAIT_MPI_FORTRAN} -w -O1 -o ${folder}/${name} ${source} ${arg_OPTIONS})
    list(APPEND programs ${folder}/${name})
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${programs})
  add_dependencies(plait_tests ${target})
endfunction()
