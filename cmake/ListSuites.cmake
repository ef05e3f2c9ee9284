# Writes a file of CTest's to LIST that runs each test suite of the GoogleTest program PROGRAM as MODULE.SUITE, with
# PROPERTIES. See skyline_discover_suites.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ${status}\n${said}")
endif()
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\.[\n ]" suites "\n${said}")
list(JOIN PROPERTIES " " properties)
set(tests "")
foreach(line ${suites})
  string(REGEX REPLACE "[\n .]" "" suite "${line}")
  set(name "${MODULE}.${suite}")
  string(APPEND tests "add_test([=[${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n")
  string(APPEND tests "set_tests_properties([=[${name}]=] PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${LIST} "${tests}")
