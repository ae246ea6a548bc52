# SPDX-License-Identifier: Apache-2.0
# The libraries that plait installs. Each is a component of find_package(plait) and a module of pkg-config.
include(GNUInstallDirs)

# plait_package(<name>): the installed library plait::<name>, shared or static by BUILD_SHARED_LIBS. plait_library()
# adds the sources.
function(plait_package name)
  set(target plait_${name})
  set(exported ${PROJECT_SOURCE_DIR}/cmake/exported.map)
  add_library(${target})
  add_library(plait::${name} ALIAS ${target})
  plait_compile_settings(${target})
  target_include_directories(${target} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${target} PROPERTIES PLAIT_PACKAGE ${name} LINKER_LANGUAGE CXX EXPORT_NAME ${name}
    OUTPUT_NAME plait-${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    INSTALL_RPATH "$ORIGIN" LINK_DEPENDS ${exported})
  if(BUILD_SHARED_LIBS)
    target_link_options(${target} PRIVATE -Wl,--version-script=${exported} -Wl,--no-undefined)
  endif()
  set_property(GLOBAL APPEND PROPERTY PLAIT_PACKAGES ${name})
endfunction()

# plait_package_libraries(<name> PUBLIC|PRIVATE <target>...): links plait::<name> with each target, once. Headers that only
# the build needs, $<BUILD_INTERFACE:...>, are the affair of the folder that includes them.
function(plait_package_libraries name scope)
  foreach(target IN LISTS ARGN)
    get_target_property(linked plait_${name} PLAIT_${scope}_LIBRARIES)
    if(NOT target IN_LIST linked AND NOT target MATCHES "BUILD_INTERFACE")
      target_link_libraries(plait_${name} ${scope} ${target})
      set_property(TARGET plait_${name} APPEND PROPERTY PLAIT_${scope}_LIBRARIES ${target})
    endif()
  endforeach()
endfunction()

# plait_external(<target> FIND <command> [MODULE <pkg-config module>... | FLAGS <compiler flag>... LIBS <linker flag>...])
#   How a program that uses an installed plait finds <target>: FIND for CMake, the rest for pkg-config. Each target that
#   plait_library() is given as LIBRARIES or PRIVATE has one.
function(plait_external target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FIND" "MODULE;FLAGS;LIBS")
  foreach(key IN ITEMS FIND MODULE FLAGS LIBS)
    set_property(GLOBAL PROPERTY "PLAIT_EXTERNAL_${target}_${key}" "${arg_${key}}")
  endforeach()
endfunction()

# plait_install(): installs every package that plait_package() has made.
function(plait_install)
  include(CMakePackageConfigHelpers)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/plait)
  get_property(packages GLOBAL PROPERTY PLAIT_PACKAGES)
  foreach(name IN LISTS packages)
    install(TARGETS plait_${name} EXPORT plait-${name} COMPONENT ${name})
    install(EXPORT plait-${name} FILE plait-${name}-targets.cmake DESTINATION ${folder} NAMESPACE plait::
      COMPONENT ${name})
    get_target_property(headers plait_${name} PLAIT_HEADERS)
    install(CODE "set(headers \"${headers}\")
set(source_folder \"${PROJECT_SOURCE_DIR}/src\")
set(include_folder \"${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/PlaitInstallHeaders.cmake\")" COMPONENT ${name})
    plait_describe_package(${name})
    install(FILES ${PROJECT_BINARY_DIR}/package/plait-${name}.cmake DESTINATION ${folder} COMPONENT ${name})
    install(FILES ${PROJECT_BINARY_DIR}/package/plait-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
      COMPONENT ${name})
  endforeach()
  install(FILES ${PROJECT_BINARY_DIR}/include/plait/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plait
    COMPONENT core)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/plaitConfig.cmake.in ${PROJECT_BINARY_DIR}/package/plaitConfig.cmake @ONLY)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/plaitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/plaitConfig.cmake ${PROJECT_BINARY_DIR}/package/plaitConfigVersion.cmake
    DESTINATION ${folder} COMPONENT core)
endfunction()

# plait_describe_package(<name>): writes package/plait-<name>.cmake and .pc. Programs linked with a static library also
# need what only its sources use.
function(plait_describe_package name)
  foreach(property IN ITEMS PLAIT_USES PLAIT_PUBLIC_LIBRARIES PLAIT_PRIVATE_LIBRARIES INTERFACE_COMPILE_DEFINITIONS)
    get_target_property(${property} plait_${name} ${property})
    if(NOT ${property})
      set(${property} "")
    endif()
    list(REMOVE_DUPLICATES ${property})
  endforeach()
  if(NOT BUILD_SHARED_LIBS)
    list(APPEND PLAIT_PUBLIC_LIBRARIES ${PLAIT_PRIVATE_LIBRARIES})
    set(PLAIT_PRIVATE_LIBRARIES "")
  endif()
  set(includes "")
  set(requires "")
  foreach(used IN LISTS PLAIT_USES)
    string(APPEND includes "include(\${CMAKE_CURRENT_LIST_DIR}/plait-${used}.cmake)\n")
    list(APPEND requires "plait-${used} = ${PROJECT_VERSION}")
  endforeach()
  set(flags ${INTERFACE_COMPILE_DEFINITIONS})
  list(TRANSFORM flags PREPEND -D)
  set(libraries "")
  foreach(target IN LISTS PLAIT_PUBLIC_LIBRARIES)
    foreach(key IN ITEMS FIND MODULE FLAGS LIBS)
      get_property(${key} GLOBAL PROPERTY "PLAIT_EXTERNAL_${target}_${key}")
    endforeach()
    string(APPEND includes "${FIND}\n")
    list(APPEND requires ${MODULE})
    list(APPEND flags ${FLAGS})
    list(APPEND libraries ${LIBS})
  endforeach()
  file(RELATIVE_PATH prefix_from_here /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  list(JOIN requires ", " requires)
  list(JOIN flags " " flags)
  list(JOIN libraries " " libraries)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/component.cmake.in ${PROJECT_BINARY_DIR}/package/plait-${name}.cmake @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/component.pc.in ${PROJECT_BINARY_DIR}/package/plait-${name}.pc @ONLY)
endfunction()
