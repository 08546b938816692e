# What is installed beside the programs, and the packages CPack makes of it: DEB and TGZ on Linux, NSIS on Windows.
#
#   cmake --build --preset release && (cd build/release && cpack)      the default generators of the system
include(GNUInstallDirs)

if(TARGET lathe_cuda)
  # Loaded from beside the program that asks for it.
  install(TARGETS lathe_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(LATHE_WORKBENCH_BUILT AND NOT WIN32)
  install(FILES installer/lathe-workbench.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  if(EXISTS ${CMAKE_SOURCE_DIR}/resources/icons/lathe.svg)
    install(FILES resources/icons/lathe.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps
      RENAME lathe-workbench.svg)
  endif()
endif()

set(CPACK_PACKAGE_NAME lathe)
set(CPACK_PACKAGE_VENDOR "The Lathe developers")
set(CPACK_PACKAGE_CONTACT "The Lathe developers <lathe@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Pretrain a Llama-style language model on one GPU")
set(CPACK_PACKAGE_DESCRIPTION "Lathe says what a run will cost in memory and time before it starts, trains it, and \
keeps its history: a command line and a window.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_INSTALL_DIRECTORY Lathe)
set(CPACK_STRIP_FILES ON)

if(WIN32)
  set(CPACK_GENERATOR NSIS)
  set(CPACK_NSIS_DISPLAY_NAME Lathe)
  set(CPACK_NSIS_UNINSTALL_NAME Lathe)
  set(CPACK_NSIS_MODIFY_PATH ON)
  set(CPACK_NSIS_ENABLE_UNINSTALL_BEFORE_INSTALL ON)
  if(LATHE_WORKBENCH_BUILT)
    set(CPACK_PACKAGE_EXECUTABLES lathe-workbench Lathe)
  endif()
else()
  set(CPACK_GENERATOR DEB TGZ)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # needs dpkg-dev
  # CUDA's and cuDNN's libraries come from wheels or NVIDIA's own packages, which dpkg may not know.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SOURCE_DIR}/build/deps/cuda/lib
    ${CMAKE_SOURCE_DIR}/build/deps/cudnn/lib)
endif()
include(CPack)
