# skyline_libraries::webp and skyline_libraries::minizip: CMake has no modules for them, and the distribution's packages no
# files for CMake. Used by the build and by find_package(Skyline).
foreach(skyline_library webp minizip)
  set(skyline_header webp/decode.h)
  if(skyline_library STREQUAL "minizip")
    set(skyline_header minizip/unzip.h)
  endif()
  string(TOUPPER SKYLINE_${skyline_library} skyline_variable)
  find_path(${skyline_variable}_INCLUDE ${skyline_header} REQUIRED)
  find_library(${skyline_variable}_LIBRARY ${skyline_library} REQUIRED)
  if(NOT TARGET skyline_libraries::${skyline_library})
    add_library(skyline_libraries::${skyline_library} UNKNOWN IMPORTED)
    set_target_properties(skyline_libraries::${skyline_library} PROPERTIES
      IMPORTED_LOCATION "${${skyline_variable}_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${${skyline_variable}_INCLUDE}")
  endif()
endforeach()
