#!/usr/bin/env bash
# Whether every source is formatted as .clang-format says. Exit code 77 (skipped) without clang-format 14:
# other versions format differently.
set -euo pipefail
cd "$1"

tool=""
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
    tool=$candidate
    break
  fi
done
if [ -z "$tool" ]; then
  echo "SKIPPED: clang-format 14 is not installed; nothing was checked."
  exit 77
fi

# Compiled sources and headers; settings.def and its like are tables, laid out by hand.
folders=()
for folder in app core kernels tests ui; do
  if [ -d "$folder" ]; then folders+=("$folder"); fi
done
if [ "${#folders[@]}" -eq 0 ]; then  # find without a path would search wherever it stands
  echo "$1 is not the root of the source tree."
  exit 1
fi
mapfile -t files < <(find "${folders[@]}" -type f \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | sort)
if [ "${#files[@]}" -eq 0 ]; then
  echo "No sources found in $1."
  exit 1
fi
printf '%s\0' "${files[@]}" | xargs -0 -n 40 -P "$(nproc)" "$tool" --dry-run -Werror
echo "${#files[@]} files are formatted."
