# The headers that most files include, compiled once for all targets of a kind: skyline_precompile(TARGET KIND). Each
# file still includes what it uses: the preset `tidy` and CMAKE_DISABLE_PRECOMPILE_HEADERS build without. A source with
# macros of its own that these headers know cannot use them. Only GCC takes them for other options than its own.
set(skyline_standard_headers <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstddef>
  <cstdint> <deque> <filesystem> <fstream> <functional> <iostream> <map> <memory> <mutex> <optional> <set> <span> <sstream>
  <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
# Most operations on tensors bring in the same further headers: with these few, all of them are there.
set(skyline_torch_headers <ATen/core/Tensor.h> <ATen/core/grad_mode.h> <ATen/ops/empty.h> <ATen/ops/empty_like.h>
  <ATen/ops/from_blob.h> <ATen/ops/zeros.h> <ATen/ops/zeros_like.h>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(SKYLINE_PRECOMPILE ON)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # so that ccache sees through them
endif()

# skyline_add_precompiled(KIND PIC HEADERS ... LIBRARIES ...)
function(skyline_add_precompiled kind pic)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "" @ONLY)
  add_library(skyline_precompiled_${kind} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(skyline_precompiled_${kind} PRIVATE skyline_flags ${ARG_LIBRARIES})
  set_target_properties(skyline_precompiled_${kind} PROPERTIES POSITION_INDEPENDENT_CODE ${pic})
  target_precompile_headers(skyline_precompiled_${kind} PRIVATE ${ARG_HEADERS})
endfunction()

function(skyline_precompile target kind)
  if(SKYLINE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM skyline_precompiled_${kind})
  endif()
endfunction()

skyline_add_precompiled(standard ON HEADERS ${skyline_standard_headers})
skyline_add_precompiled(cold ON HEADERS ${skyline_standard_headers})
skyline_compile_quickly(skyline_precompiled_cold)
skyline_add_precompiled(torch ON HEADERS ${skyline_standard_headers} ${skyline_torch_headers}
  LIBRARIES skyline_torch::torch_cpu skyline_torch::c10)
