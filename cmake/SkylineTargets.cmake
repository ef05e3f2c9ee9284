# skyline_add_module(NAME COLD FOLDERS ... EXCEPT ... PUBLIC ... PRIVATE ... PRECOMPILED ...): one static library per module,
# with house flags and a kind of precompiled headers (default: standard), of all sources below its folder, or below the
# topic FOLDERS named, EXCEPT those named. Libraries of headers alone that no public header shows are given as
# $<BUILD_INTERFACE:...>: users of the package need none.
# COLD: nothing in it runs for long, and a release build compiles it quickly, at -O1.

include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

add_library(skyline_flags INTERFACE)
target_compile_options(skyline_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;-Wnon-virtual-dtor>"
  $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<BOOL:${SKYLINE_WERROR}>>:-Werror>
  # GCC 12 and 13 warn falsely on `"text" + std::string` (GCC bug 105651), in more ways with precompiled headers, and of
  # uninitialized members of std::optional and std::variant.
  "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>"
  "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-array-bounds;-Wno-maybe-uninitialized>"
  # No -Wpedantic: nvcc's own intermediate code is not.
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
  # Products are rounded before they are added, as on x86-64.
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SKYLINE_WERROR}>>:SHELL:--Werror all-warnings>")
if(NOT SKYLINE_SANITIZE)
  # What a bug in reading somebody's bytes may do is bounded: checked copies, guarded stacks, tables of functions that
  # nothing overwrites.
  target_compile_options(skyline_flags INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:Release>>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  target_link_options(skyline_flags INTERFACE LINKER:-z,relro,-z,now)
else()
  target_compile_options(skyline_flags INTERFACE -fsanitize=${SKYLINE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  target_link_options(skyline_flags INTERFACE -fsanitize=${SKYLINE_SANITIZE})
endif()

# Several sources at once in one compilation: less than half of the time to build all, somewhat more for one of them.
option(SKYLINE_UNITY "Compile the modules' sources in batches" OFF)

# GCC 14 takes precompiled headers of the same level only.
function(skyline_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

function(skyline_add_module name)
  cmake_parse_arguments(ARG "COLD" "PRECOMPILED" "FOLDERS;EXCEPT;PUBLIC;PRIVATE" ${ARGN})
  set(patterns *.cpp *.cu)
  if(ARG_FOLDERS)
    list(TRANSFORM ARG_FOLDERS APPEND /*.cpp OUTPUT_VARIABLE patterns)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
  list(REMOVE_ITEM sources ${ARG_EXCEPT})
  add_library(skyline_${name} STATIC ${sources})
  add_library(skyline::${name} ALIAS skyline_${name})
  target_include_directories(skyline_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(skyline_${name}
    PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:skyline_flags> ${ARG_PRIVATE})
  target_compile_features(skyline_${name} PUBLIC cxx_std_20)
  if(ARG_COLD)
    set(ARG_PRECOMPILED cold)
    skyline_compile_quickly(skyline_${name})
  elseif(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED standard)
  endif()
  skyline_precompile(skyline_${name} ${ARG_PRECOMPILED})
  # Position-independent, all of them: some become part of the cuda library, and one kind of precompiled headers serves.
  set_target_properties(skyline_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON UNITY_BUILD ${SKYLINE_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()
