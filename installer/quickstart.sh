#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 (native or WSL) to a model that writes words, in one command:
# installs what is missing, builds, makes a dataset of the sample corpus, trains the preset `tiny` for about two
# minutes on the CPU, and shows what it writes. Run again it does no work twice; a run that was interrupted goes on.
#
#   installer/quickstart.sh                the whole road
#   installer/quickstart.sh --new          train once more, although a run has finished
#   installer/quickstart.sh --with-cuda    fetch CUDA 13 and cuDNN into build/deps first, and build the CUDA backend
#   installer/quickstart.sh --no-window    don't open the workbench at the end
#
# History, checkpoints and the dataset lie in the platform's data folder, or in LATHE_HOME.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source installer/packages.sh
source installer/cuda.sh

readonly name=quickstart
new=0 with_cuda=0 window=1
for argument in "$@"; do
  case "$argument" in
    --new) new=1 ;;
    --with-cuda) with_cuda=1 ;;
    --no-window) window=0 ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "Unknown option '$argument'; --help lists them." >&2; exit 2 ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }
has_display() { [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; }

# The value of a text or number in the JSON of lathe, which prints one key a line.
json_value() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" | head -n 1; }

# --- Packages and build --------------------------------------------------------------------------------------

say "Packages"
lathe_install_packages "${lathe_packages_core[@]}"
if has_display; then
  lathe_install_packages "${lathe_packages_workbench[@]}" ||
    echo "Without them there is no window; everything else works."
else
  echo "No display was found: the window's packages are left out."
fi

# Leaves a build folder's own choices alone, so that the tests' build is not thrown away.
configure=(--preset release)
[ -e build/release/CMakeCache.txt ] || configure+=(-DLATHE_TESTS=OFF)
if [ "$with_cuda" -eq 1 ]; then
  say "CUDA"
  if lathe_install_cuda "$PWD/build/deps"; then
    configure+=("-DCUDAToolkit_ROOT=$PWD/build/deps/cuda")
  else
    echo "Going on without the CUDA backend."
  fi
fi
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
  nvidia-smi -L
  [ "$with_cuda" -eq 1 ] || command -v nvcc >/dev/null ||
    echo "To train on it, run again with --with-cuda."
fi

say "Build"
mkdir -p build
cmake "${configure[@]}" >build/configure.log 2>&1 || { tail -n 30 build/configure.log >&2; exit 1; }
grep -E '^-- (CUDA|No CUDA|No cuDNN)' build/configure.log || true
cmake --build --preset release -j "$(nproc)" --target lathe
if has_display && grep -q lathe-workbench build/release/build.ninja; then
  cmake --build --preset release -j "$(nproc)" --target lathe-workbench ||
    echo "The window was not built; everything else works."
fi
lathe=build/release/bin/lathe
home=$("$lathe" doctor --json | json_value home)

# --- Dataset -------------------------------------------------------------------------------------------------

dataset=$home/datasets/austen
say "Dataset"
if [ -e "$dataset/manifest.json" ]; then
  "$lathe" data info "$dataset"
else
  mkdir -p "$home/datasets"
  "$lathe" data build "$dataset" --input resources/samples/austen.txt.zst --train-vocab 2048
fi

# --- Training ------------------------------------------------------------------------------------------------

# Trains with the given words; Ctrl-C has saved then, which is no failure.
train() {
  local code=0
  "$lathe" "$@" || code=$?
  case "$code" in
    0) return 0 ;;
    12) echo; echo "Run installer/quickstart.sh again to go on."; exit 0 ;;
    *) exit "$code" ;;
  esac
}
# On the GPU where there is one.
train_anew() { train train --preset tiny --data "$dataset" --run.name "$name" --run.device auto; }

say "Training"
run=$("$lathe" runs list --search "$name" --limit 1 --json | json_value id)
status=none checkpoint=none
if [ -n "$run" ]; then
  shown=$("$lathe" runs show "$run" --json)
  status=$(json_value status <<<"$shown")
  checkpoint=$(json_value last_checkpoint_step <<<"$shown")
fi
case "$status" in
  preparing | running | paused | stopping)
    echo "Run $run is being trained by another process (it is $status)."
    echo "Look at it with: $lathe runs show $run"
    exit 0
    ;;
  finished)
    if [ "$new" -eq 1 ]; then
      train_anew
    else
      echo "Run $run has finished already."
      echo "  once more:           installer/quickstart.sh --new"
      echo "  or longer:           $lathe resume $run --run.updates N"
      echo "  or with your text:   $lathe data build OUT --input FOLDER, then $lathe train --preset tiny --data OUT"
    fi
    ;;
  stopped | interrupted | failed)
    if [ "$new" -eq 1 ] || [ "$checkpoint" = null ]; then
      train_anew
    else
      echo "Run $run was $status; it goes on at step $checkpoint."
      train resume "$run"
    fi
    ;;
  *) train_anew ;;
esac

# --- What came of it -----------------------------------------------------------------------------------------

run=$("$lathe" runs list --search "$name" --limit 1 --json | json_value id)
shown=$("$lathe" runs show "$run" --json)
folder=$(json_value folder <<<"$shown")
checkpoint=$(json_value last_checkpoint_step <<<"$shown")
say "What it writes"
"$lathe" generate "$run" --prompt "It is a truth" --tokens 120 --temperature 0.7 --seed 1
say "Done"
LC_ALL=C printf 'Validation loss  %.4f nats a token (a model that knows nothing: 7.62, the logarithm of 2048)\n' \
  "$(json_value last_eval_loss <<<"$shown")"
echo "Checkpoint       $folder/checkpoints/$(printf 'step-%08d' "$checkpoint")"
echo "History          $home/history.db and $folder/run.db"
echo "Look further     $lathe runs show $run; $lathe generate $run --prompt \"She was\"; $lathe --help"

if [ "$window" -eq 1 ] && has_display && [ -x build/release/bin/lathe-workbench ]; then
  echo "Opening the workbench."
  nohup build/release/bin/lathe-workbench >build/workbench.log 2>&1 &
fi
