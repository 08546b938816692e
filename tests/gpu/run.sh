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
# The tests in three processes: most of the time goes into the reference on the CPU.
sharded() {
  local shard pids=() status=0
  for shard in 0 1 2; do GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=$shard "$@" & pids+=($!); done
  for shard in "${pids[@]}"; do wait "$shard" || status=1; done
  return $status
}
export -f sharded
part "parity and runs" 240 bash -c 'sharded "$@"' sharded "$bin/lathe_gpu_tests" --gtest_brief=1
part "attention against FP64, times" 60 "$bin/attention_check" check time
part "125m, killed and resumed" 120 env LATHE="$bin/lathe" python3 tests/gpu/resume_check.py Preset125m
part "kernels beside a copy" 90 "$bin/lathe_gpu_bench" kernels
part "977m, micro-batch 1" 60 "$bin/lathe" bench --preset 977m --set precision.gradients=bf16 --set memory.loss_chunk_tokens=4096
part "977m, everything recomputed" 60 "$bin/lathe" bench --preset 977m --set precision.gradients=bf16 --set memory.loss_chunk_tokens=4096 \
  --set memory.recompute=block
if command -v compute-sanitizer >/dev/null; then
  part "memcheck on small runs" 120 compute-sanitizer --tool memcheck --error-exitcode 1 "$bin/lathe_gpu_tests" \
    --gtest_brief=1 --gtest_filter='GpuExecutable.TwoRuns*:GpuExecutable.DocumentMask*'
  # Own kernels whose threads hand values to each other. The attention's: build attention_racecheck, run its `check`.
  LATHE_PARITY_OPS="rms norm, rms norm backward, qk norm backward, classifier loss, embedding backward, adamw, attention decode" \
    part "racecheck on own kernels" 120 compute-sanitizer --tool racecheck --kernel-name kernel_substring=lathe \
    --error-exitcode 1 "$bin/lathe_gpu_tests" --gtest_brief=1 --gtest_filter='*EveryOp*bf16*'
fi
echo
echo "logs: $logs"
grep -hE 'tokens/s|% *$' "$logs"/*.log
printf '%s\n' "${table[@]}"
exit $failed
