# SPDX-License-Identifier: MIT
# Writes OUTPUT, a C++ file that defines `FUNCTION()` over the bytes of FILES (see embedded.hpp).
# A file is called by its name, or by its path below ROOT where that is given.
# Byte arrays, not string literals: compilers limit a literal's length, and bytes need no escaping.
#   cmake -DFUNCTION=embedded_kernels -DOUTPUT=x.cpp "-DFILES=a.cl,b.cl" -P embed.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  if(ROOT)
    file(RELATIVE_PATH name "${ROOT}" "${file}")
  else()
    get_filename_component(name "${file}" NAME)
  endif()
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND arrays "const unsigned char file_${index}[] = {${bytes}0};\n")
  string(APPEND rows
    "      {\"${name}\", {reinterpret_cast<const char*>(file_${index}), sizeof file_${index} - 1}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}.tmp"
  "#include \"embedded.hpp\"\n\nnamespace {\n${arrays}}  // namespace\n\n"
  "const std::vector<clam::EmbeddedFile>& clam::${FUNCTION}() {\n"
  "  static const std::vector<EmbeddedFile> files = {\n${rows}  };\n  return files;\n}\n")
file(RENAME "${OUTPUT}.tmp" "${OUTPUT}")
