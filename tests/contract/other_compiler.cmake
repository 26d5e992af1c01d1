# The C++ tests once more from the C++ compiler that did not build this tree.

cmake_path(GET HAK_OTHER_CXX STEM other_name)

# hak_other_compiler_test(source): source.cpp preloaded, linked and linked statically
function(hak_other_compiler_test source)
  set(flags -std=gnu++17 -O2 -g -Wall -Wextra -fno-builtin -pthread -D_GNU_SOURCE)
  if(other_name MATCHES clang)
    list(APPEND flags -fsized-deallocation)
  endif()
  set(preload_flags -DTEST_WAY_PRELOAD)
  set(dynamic_flags $<TARGET_FILE:hakmem> -Wl,-rpath,$<TARGET_FILE_DIR:hakmem>)
  set(static_flags
      -DTEST_WAY_STATIC -static -Wl,-u,_ZSt17__throw_bad_allocv -Wl,-u,_ZSt15get_new_handlerv
      $<TARGET_FILE:hakmem_static>)
  string(REGEX REPLACE "^test_" "contract." name ${source})
  string(REGEX REPLACE "^lifecycle_" "lifecycle." name ${name})
  foreach(way preload dynamic static)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/${source}_${way}_other)
    add_custom_command(
      OUTPUT ${program}
      COMMAND ${HAK_OTHER_CXX} ${flags} -I${PROJECT_SOURCE_DIR}/tests
              -I${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/${source}.cpp -o ${program} ${${way}_flags}
      DEPENDS ${source}.cpp hakmem hakmem_static ${PROJECT_SOURCE_DIR}/tests/support/api.h
              ${PROJECT_SOURCE_DIR}/tests/support/check.h
      VERBATIM)
    add_custom_target(${source}_${way}_other_compiled ALL DEPENDS ${program})
    set(environment)
    if(way STREQUAL preload)
      set(environment ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:hakmem>)
    endif()
    hak_add_test(${name}.${way}.${other_name} LABEL ci ${environment} COMMAND ${program})
  endforeach()
endfunction()
