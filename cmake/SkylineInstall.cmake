# What scripts/bundle takes: the program, the cuda module and the programs for GPUs, with paths relative to themselves.
# Included last: every target exists.

set(skyline_installed skyline)
if(TARGET skyline_cuda)
  list(APPEND skyline_installed skyline_cuda)
  add_dependencies(skyline skyline_cuda)  # who builds the program alone wants GPUs used, too
endif()
get_property(skyline_gpu_targets GLOBAL PROPERTY SKYLINE_GPU_TARGETS)
list(APPEND skyline_installed ${skyline_gpu_targets})

set_target_properties(${skyline_installed} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS ${skyline_installed} RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
