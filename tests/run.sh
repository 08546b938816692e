#!/usr/bin/env bash
# Installs what the tests need, builds, and runs them. The last line is "N passed, N failed, N skipped".
#
#   tests/run.sh           the release build and all its tests, except long campaigns
#   tests/run.sh --soak    long campaigns (label soak) instead; the fuzzers' under AddressSanitizer and
#                          UndefinedBehaviorSanitizer
#   tests/run.sh --asan    the same tests under AddressSanitizer and UndefinedBehaviorSanitizer, too
#   tests/run.sh --tsan    the part without Qt under ThreadSanitizer, too
#
# Each stage is a function below, run in turn by `stage`; a stage that fails counts as one failure and does
# not keep the later ones from running, unless they need its result.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source installer/packages.sh
source installer/cuda.sh

jobs=$(nproc)
passed=0
failed=0
skipped=0

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0" | sed '/^Each stage/,$d'; }

soak=0
sanitizers=()
for argument in "$@"; do
  case "$argument" in
    --soak) soak=1 ;;
    --asan) sanitizers+=(asan) ;;
    --tsan) sanitizers+=(tsan) ;;
    -h | --help) usage; exit 0 ;;
    *) echo "Unknown option '$argument'." >&2; usage >&2; exit 2 ;;
  esac
done

# --- Counting and timing -----------------------------------------------------------------------------------

# add_totals PASSED FAILED SKIPPED: for stages that count tests themselves.
add_totals() {
  passed=$((passed + $1))
  failed=$((failed + $2))
  skipped=$((skipped + $3))
}

# The value of an attribute of a JUnit file's <testsuite>, its first element.
junit_attribute() { grep -o -m1 "\b$2=\"[0-9]*\"" "$1" | head -n 1 | tr -dc 0-9; }

# stage TITLE FUNCTION [ARGUMENTS…]: runs it, prints its time, returns its status. Counts a failure that the
# function has not counted itself.
stage() {
  local title=$1 begin=$SECONDS failed_before=$failed status=0
  shift
  printf '\n== %s\n' "$title"
  "$@" || status=$?
  if [ "$status" -ne 0 ] && [ "$failed" -eq "$failed_before" ]; then failed=$((failed + 1)); fi
  printf '== %s: %s in %d s\n' "$title" "$([ "$status" -eq 0 ] && echo done || echo FAILED)" $((SECONDS - begin))
  return "$status"
}

finish() {
  printf '\nTotal time: %d s\n' "$SECONDS"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

# --- Stages ------------------------------------------------------------------------------------------------

install_packages() {
  lathe_install_packages "${lathe_packages_core[@]}" "${lathe_packages_workbench[@]}" "${lathe_packages_tests[@]}"
}

# With a CUDA toolkit on the machine, what the CUDA backend needs beside it. Without: said by the build.
cuda_headers() {
  command -v nvcc >/dev/null || { echo "No CUDA toolkit: the CUDA backend is not built, its tests don't run."; return 0; }
  lathe_install_cudnn_frontend "$PWD/build/deps" || echo "WARNING: the cuDNN attention is left out of this build." >&2
}

# build PRESET [TARGET]
build() { cmake --preset "$1" -DLATHE_TESTS=ON && cmake --build --preset "$1" -j "$jobs" ${2:+--target "$2"}; }

# The ten-minute campaigns of tests/fuzz, and what each tried.
fuzz_campaigns() {
  local status=0
  ctest_preset fuzz asan || status=$?
  grep -h '^fuzz .* inputs tried' build/asan/Testing/Temporary/LastTest.log || true
  return "$status"
}

# ctest_preset TEST_PRESET BUILD_PRESET: runs the tests of a built preset and adds their totals.
ctest_preset() {
  local junit="$PWD/build/$2/junit-$1.xml" status=0
  rm -f "$junit"
  ctest --preset "$1" -j "$jobs" --output-junit "$junit" || status=$?
  [ -s "$junit" ] || return 1
  local all bad off
  all=$(junit_attribute "$junit" tests)
  bad=$(junit_attribute "$junit" failures)
  off=$(($(junit_attribute "$junit" skipped) + $(junit_attribute "$junit" disabled)))
  # A test whose program is missing is "not run", which JUnit calls skipped; ctest's status knows better.
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1 off=$((off > 0 ? off - 1 : 0)); fi
  add_totals $((all - bad - off)) "$bad" "$off"
  return "$status"
}

# --- The run -----------------------------------------------------------------------------------------------

stage "packages" install_packages || finish
stage "cuda headers" cuda_headers
stage "build release" build release || finish
if [ "$soak" -eq 1 ]; then
  stage "soak tests" ctest_preset soak release
  stage "build fuzzers under asan" build asan lathe_fuzz_programs && stage "fuzz campaigns under asan" fuzz_campaigns
  finish
fi
stage "tests" ctest_preset release release
for sanitizer in "${sanitizers[@]}"; do
  stage "build $sanitizer" build "$sanitizer" && stage "tests under $sanitizer" ctest_preset "$sanitizer" "$sanitizer"
done
finish
