# skyline_add_module(NAME EXCEPT ... PUBLIC ... PRIVATE ... PRECOMPILE ...): one static library per module, with house flags, of all
# sources below its folder but those named. Libraries of headers alone that no public header shows are given as
# $<BUILD_INTERFACE:...>: users of the package need none.

add_library(skyline_flags INTERFACE)
target_compile_options(skyline_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;-Wnon-virtual-dtor>"
  $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<BOOL:${SKYLINE_WERROR}>>:-Werror>
  # GCC 12 and 13 warn falsely on `"text" + std::string` (GCC bug 105651), in more ways with precompiled headers.
  "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>"
  # No -Wpedantic: nvcc's own intermediate code is not.
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SKYLINE_WERROR}>>:SHELL:--Werror all-warnings>")
if(SKYLINE_SANITIZE)
  # Instrumented code makes GCC 12 warn falsely of uninitialized std::optional and std::variant members.
  target_compile_options(skyline_flags INTERFACE -fsanitize=${SKYLINE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(skyline_flags INTERFACE -fsanitize=${SKYLINE_SANITIZE})
endif()

# The headers that most files include, compiled once per target; a source with compile options of its own cannot use
# them. Each file still includes what it uses: the preset `tidy` and CMAKE_DISABLE_PRECOMPILE_HEADERS build without.
set(skyline_precompiled <algorithm> <array> <chrono> <cstddef> <cstdint> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <utility> <variant> <vector>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # so that ccache sees through them
endif()
function(skyline_precompile target)
  list(TRANSFORM skyline_precompiled REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>" OUTPUT_VARIABLE headers)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>" OUTPUT_VARIABLE more)
  target_precompile_headers(${target} PRIVATE ${headers} ${more})
endfunction()

function(skyline_add_module name)
  cmake_parse_arguments(ARG "" "" "EXCEPT;PUBLIC;PRIVATE;PRECOMPILE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp *.cu)
  list(REMOVE_ITEM sources ${ARG_EXCEPT})
  add_library(skyline_${name} STATIC ${sources})
  add_library(skyline::${name} ALIAS skyline_${name})
  target_include_directories(skyline_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(skyline_${name}
    PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:skyline_flags> ${ARG_PRIVATE})
  target_compile_features(skyline_${name} PUBLIC cxx_std_20)
  skyline_precompile(skyline_${name} ${ARG_PRECOMPILE})
  set_target_properties(skyline_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()
