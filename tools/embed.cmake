# SPDX-License-Identifier: MIT
# Writes OUTPUT, a C++ file that defines `FUNCTION()` over the bytes of FILES (see host/runtime/embedded.hpp).
# A file is called by its name, or by its path below ROOT where that is given.
# The assembler reads the bytes: as C++ they would take the compiler seconds. A zero follows each file.
#   cmake -DFUNCTION=embedded_kernels -DOUTPUT=x.cpp "-DFILES=a.cl,b.cl" -P embed.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(bytes "")
set(labels "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  if(ROOT)
    file(RELATIVE_PATH name "${ROOT}" "${file}")
  else()
    get_filename_component(name "${file}" NAME)
  endif()
  set(label clam_${FUNCTION}_${index})
  string(REGEX REPLACE "([\\\"])" "\\\\\\1" path "${file}")  # for the assembler's string,
  string(REGEX REPLACE "([\\\"])" "\\\\\\1" path "${path}")  # which lies in one of C++
  string(APPEND bytes
    "    \".globl ${label}, ${label}_end\\n.hidden ${label}, ${label}_end\\n\"\n"
    "    \"${label}:\\n.incbin \\\"${path}\\\"\\n${label}_end:\\n.byte 0\\n\"\n")
  string(APPEND labels "extern const char ${label}[] CLAM_HERE, ${label}_end[] CLAM_HERE;\n")
  string(APPEND rows
    "      {\"${name}\", {${label}, static_cast<std::size_t>(${label}_end - ${label})}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}.tmp"
  "#include \"runtime/embedded.hpp\"\n\n#define CLAM_HERE __attribute__((visibility(\"hidden\")))\n"
  "asm(\".pushsection .rodata\\n\"\n${bytes}    \".popsection\\n\");\n\n"
  "extern \"C\" {\n${labels}}\n\n"
  "const std::vector<clam::EmbeddedFile>& clam::${FUNCTION}() {\n"
  "  static const std::vector<EmbeddedFile> files = {\n${rows}  };\n  return files;\n}\n")
file(RENAME "${OUTPUT}.tmp" "${OUTPUT}")
