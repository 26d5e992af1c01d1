# Tests of the tree itself: generated documents, layers and budgets, what is exported and installed,
# the other compiler.

add_executable(gen-docs ${PROJECT_SOURCE_DIR}/tools/gen_docs.c ${PROJECT_SOURCE_DIR}/src/config/table.c
                        ${PROJECT_SOURCE_DIR}/src/base/print.c)
target_include_directories(gen-docs PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(gen-docs PRIVATE hakmem_flags)
set_target_properties(gen-docs PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)

set(options_page ${PROJECT_SOURCE_DIR}/docs/options.md)
add_custom_target(docs COMMAND gen-docs ${options_page} COMMENT "Writing docs/options.md")

set(tools ${PROJECT_SOURCE_DIR}/tools)
if(HAKMEM_LAB)
  add_test(NAME lab.tree.options COMMAND ${tools}/check-options $<TARGET_FILE:hakmem> ${options_page}
                                         --lab)
  set_tests_properties(lab.tree.options PROPERTIES LABELS ci TIMEOUT 120)
endif()

# The rest looks at sources or at the release library, so one build is enough to run it.
if(HAKMEM_SANITIZE OR HAKMEM_DEBUG OR HAKMEM_LAB)
  return()
endif()

if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(other_compiler clang)
else()
  set(other_compiler gcc)
endif()

add_test(NAME tree.options COMMAND ${tools}/check-options $<TARGET_FILE:hakmem> ${options_page})
add_test(NAME tree.options_page COMMAND gen-docs --compare ${options_page})
add_test(NAME tree.layers COMMAND ${tools}/check-layers ${PROJECT_SOURCE_DIR})
add_test(NAME tree.library COMMAND ${tools}/check-library $<TARGET_FILE:hakmem>
                                   ${PROJECT_SOURCE_DIR}/src/api/surface.txt)
add_test(NAME tree.package COMMAND ${tools}/check-package ${PROJECT_BINARY_DIR})
add_test(NAME tree.other_compiler
         COMMAND ${CMAKE_CTEST_COMMAND}
                 --build-and-test ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/other_compiler
                 --build-generator ${CMAKE_GENERATOR}
                 --build-options -DCMAKE_C_COMPILER=${other_compiler} -DCMAKE_BUILD_TYPE=Release
                                 -DHAKMEM_WERROR=ON -DHAKMEM_TESTS=OFF)
set_tests_properties(tree.options tree.options_page tree.layers tree.library tree.package tree.other_compiler
                     PROPERTIES LABELS ci TIMEOUT 300)
