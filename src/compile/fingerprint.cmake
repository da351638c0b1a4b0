# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT with the SHA-256 of names and contents of FILES, a list of paths from ROOT.
set(all "")
foreach(name ${FILES})
  file(SHA256 ${ROOT}/${name} digest)
  string(APPEND all "${name} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
file(WRITE ${OUTPUT} "#include \"compile/cache.h\"\n\nconst char compile_fingerprint[65] = \"${digest}\";\n")
