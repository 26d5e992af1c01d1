# libhakmem.so, libhakmem.a and hakmem_core, the same objects for tests of single modules.

# Folders are layers, in include order (tools/check-layers).
set(HAKMEM_LAYERS base os config observe harden space tiny mid large core report api)
set(sources)
foreach(layer IN LISTS HAKMEM_LAYERS)
  file(GLOB layer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${layer}/*.c)
  list(APPEND sources ${layer_sources})
  # Said once in a process or never: small matters, fast does not.
  if(layer MATCHES "^(config|harden|report)$" AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${layer_sources} PROPERTIES COMPILE_OPTIONS "-Os")
  endif()
endforeach()
# An exception of a C++ new handler passes through these functions.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/api/cxx.c PROPERTIES COMPILE_OPTIONS
                                                                           "-fexceptions")

add_library(hakmem_core OBJECT ${sources})
target_include_directories(hakmem_core PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(hakmem_core PUBLIC hakmem_flags)
target_compile_options(
  hakmem_core
  PRIVATE -fPIC -fno-plt -fvisibility=hidden -ftls-model=initial-exec -fno-semantic-interposition
          -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
          -ffunction-sections -fdata-sections)

# ---- shared ----
set(exports ${PROJECT_SOURCE_DIR}/src/api/exports.map)
add_library(hakmem SHARED $<TARGET_OBJECTS:hakmem_core>)
set_target_properties(hakmem PROPERTIES VERSION ${HAKMEM_ABI}.${PROJECT_VERSION} SOVERSION ${HAKMEM_ABI}
                                        LINKER_LANGUAGE C LINK_DEPENDS ${exports})
target_include_directories(
  hakmem INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(hakmem PRIVATE $<BUILD_INTERFACE:hakmem_flags>)
# initfirst: the word on a sanitizer must come before the sanitizer's own start.
# nodelete: thread exit and signal handlers may come back into the library after dlclose.
# noseparate-code: fewer, fuller pages, which a small program notices.
target_link_options(
  hakmem PRIVATE -Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,noseparate-code -Wl,-z,relro -Wl,-O1 -Wl,--hash-style=gnu
                 -Wl,--gc-sections -Wl,--as-needed -Wl,--version-script=${exports})
if(NOT HAKMEM_SANITIZE)
  target_link_options(hakmem PRIVATE -Wl,-z,defs)
endif()

# ---- static ----
# One object: whoever needs one symbol gets them all, so no call can end up in libc's malloc, and
# what is hidden becomes local. The nothrow forms of operator new become local, too: those of the C++
# runtime call the throwing forms here and catch what a new handler throws, and a static program has
# no other way to do that. A sanitizer build has none; its symbols cannot be made local.
if(NOT HAKMEM_SANITIZE)
  set(one_object ${PROJECT_BINARY_DIR}/hakmem.o)
  add_custom_command(
    OUTPUT ${one_object}
    COMMAND ${CMAKE_LINKER} -r -o ${one_object} $<TARGET_OBJECTS:hakmem_core>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard
            --localize-symbol=_Zn*RKSt9nothrow_t ${one_object}
    DEPENDS hakmem_core $<TARGET_OBJECTS:hakmem_core>
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Linking hakmem.o")
  set_source_files_properties(${one_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(hakmem_static STATIC ${one_object})
  set_target_properties(hakmem_static PROPERTIES OUTPUT_NAME hakmem LINKER_LANGUAGE C)
  target_include_directories(
    hakmem_static INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # operator new needs this function of the C++ runtime when memory runs out; a fully static program
  # would otherwise leave it out.
  target_link_options(hakmem_static
                      INTERFACE $<$<LINK_LANGUAGE:CXX>:LINKER:-u,_ZSt17__throw_bad_allocv>)
  add_library(hakmem::hakmem_static ALIAS hakmem_static)
endif()

add_library(hakmem::hakmem ALIAS hakmem)
