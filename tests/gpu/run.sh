#!/usr/bin/env bash
# Everything that proves the CUDA backend on this machine's GPU, within ten minutes; a short table last.
#
#   tests/gpu/run.sh [folder of the built programs]     default: build/release/bin
#
# Exit codes: 0 all passed, 1 something failed, 77 no GPU (said loudly).
set -u
cd "$(dirname "$0")/../.."
bin=${1:-build/release/bin}
logs=$(mktemp -d)
if [ ! -x "$bin/lathe_gpu_tests" ]; then
  echo "*** NOT RUN: $bin/lathe_gpu_tests is missing. Build with CUDA: cmake --preset release && cmake --build --preset release"
  exit 77
fi
"$bin/lathe_gpu_bench" probe
case $? in 0) ;; 77) exit 77 ;; *) exit 1 ;; esac

table=()
failed=0
part() {  # name, seconds at most, command…
  local name=$1 limit=$2 log="$logs/${#table[@]}.log" start=$SECONDS state=passed
  shift 2
  timeout "$limit" "$@" >"$log" 2>&1 || { state=FAILED; failed=1; }
  cat "$log"
  table+=("$(printf '%-34s %-7s %4d s' "$name" "$state" $((SECONDS - start)))")
}
part "parity and runs" 240 "$bin/lathe_gpu_tests" --gtest_brief=1
part "kernels beside a copy" 90 "$bin/lathe_gpu_bench" kernels
part "977m, micro-batch 1" 60 "$bin/lathe_gpu_bench" step 977m precision.gradients=bf16
part "977m, everything recomputed" 60 "$bin/lathe_gpu_bench" step 977m precision.gradients=bf16 memory.recompute=block
if command -v compute-sanitizer >/dev/null; then
  part "memcheck on small runs" 120 compute-sanitizer --tool memcheck --error-exitcode 1 "$bin/lathe_gpu_tests" \
    --gtest_brief=1 --gtest_filter='GpuExecutable.TwoRuns*:GpuExecutable.DocumentMask*'
fi
echo
echo "logs: $logs"
grep -hE 'tokens/s|% *$' "$logs"/*.log
printf '%s\n' "${table[@]}"
exit $failed
