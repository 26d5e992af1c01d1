# What every file of the library is compiled and linked with, as the interface target hakmem_flags.
#
# The tests use it as well, so that an instrumented library meets instrumented tests.

add_library(hakmem_flags INTERFACE)
target_compile_features(hakmem_flags INTERFACE c_std_17)
target_compile_definitions(hakmem_flags INTERFACE _GNU_SOURCE)
target_compile_options(
  hakmem_flags
  INTERFACE $<$<COMPILE_LANGUAGE:C>:-std=gnu17>
            -Wall -Wextra -Wshadow -Wundef -Wwrite-strings
            $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
            $<$<C_COMPILER_ID:GNU>:-Wno-clobbered> # takes every variable beside a vfork for lost
            $<$<BOOL:${HAKMEM_WERROR}>:-Werror>)

if(HAKMEM_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(HAKMEM_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
else()
  set(sanitize)
endif()
target_compile_options(hakmem_flags INTERFACE ${sanitize})
target_link_options(hakmem_flags INTERFACE ${sanitize})
if(HAKMEM_SANITIZE)
  # A sanitizer brings its own malloc: the library keeps to its hakmem_ names.
  target_compile_definitions(hakmem_flags INTERFACE HAKMEM_NO_LIBC_NAMES)
endif()
if(HAKMEM_DEBUG)
  target_compile_definitions(hakmem_flags INTERFACE HAKMEM_DEBUG)
endif()
if(HAKMEM_LAB)
  target_compile_definitions(hakmem_flags INTERFACE HAKMEM_LAB)
endif()

# -O2: there is no loop here that -O3 would do better, and the code of a small program counts in
# its resident memory. Debug information stays out of memory and makes profiles readable.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g3")
