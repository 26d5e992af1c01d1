# What the tests need beyond the library's own compiler: HAK_TESTS_MISSING names what is not there.
#
# The library and the workloads are built without them all the same. Nothing is skipped in `make test`:
# tools/install-deps brings what is missing before it configures, and the number of tests is checked.

set(HAK_TESTS_MISSING)

if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(other_cxx g++)
else()
  set(other_cxx clang++)
endif()
find_program(HAK_OTHER_CXX ${other_cxx} DOC "The C++ compiler that does not build this tree")
find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
find_package(Python3 3.11 QUIET COMPONENTS Interpreter)

if(NOT HAK_OTHER_CXX)
  list(APPEND HAK_TESTS_MISSING ${other_cxx})
endif()
if(NOT CMOCKA_INCLUDE OR NOT CMOCKA_LIBRARY)
  list(APPEND HAK_TESTS_MISSING cmocka)
endif()
if(NOT Python3_Interpreter_FOUND)
  list(APPEND HAK_TESTS_MISSING "python3 >= 3.11")
endif()
list(JOIN HAK_TESTS_MISSING ", " HAK_TESTS_MISSING)
