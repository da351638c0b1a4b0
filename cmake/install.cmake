# SPDX-License-Identifier: Apache-2.0
# `make install PREFIX=…`: glia, libnrt with the headers that programs are written against, the manual page, completion.
# What is linked into glia is static, so nothing else of the tree is needed where it is installed.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "folder of libnrt")    # not Debian's lib/<machine>: PREFIX is anywhere
include(GNUInstallDirs)
set(completion ${PROJECT_BINARY_DIR}/glia.bash-completion)
add_custom_command(OUTPUT ${completion} COMMAND glia completion bash > ${completion} DEPENDS glia VERBATIM)
add_custom_target(glia_completion ALL DEPENDS ${completion})

install(TARGETS glia RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS nrt LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/man/glia.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME glia)
