# CUDA 13 from NVIDIA's Python wheels, for machines without a toolkit of their own. Sourced by quickstart.sh.
#
# Everything lands in build/deps, nothing else is touched:
#   build/deps/cuda            nvcc, headers, cuBLAS, cudart, nvrtc: give it to CMake as CUDAToolkit_ROOT
#   build/deps/cudnn           include/, lib/: where kernels/cuda/CMakeLists.txt looks
#   build/deps/cudnn-frontend  include/: likewise

# The version the attention was proven with; newer ones want NVRTC at link time.
lathe_cudnn_frontend=nvidia-cudnn-frontend==1.18.0
lathe_cuda_wheels=(
  "nvidia-cuda-nvcc>=13.0,<14" "nvidia-cuda-cccl>=13.0,<14" "nvidia-cuda-crt>=13.0,<14" "nvidia-nvvm>=13.0,<14"
  "nvidia-cuda-runtime>=13.0,<14" "nvidia-cuda-nvrtc>=13.0,<14" "nvidia-cublas>=13.0,<14"
  "nvidia-cudnn-cu13>=9.13,<10" "$lathe_cudnn_frontend"
)

# Fetches and unpacks the wheels unless they are there. Returns 1, saying why, when it can't.
lathe_install_cuda() {
  local deps=$1 wheels=$1/wheels
  if [ -e "$deps/complete" ]; then return 0; fi
  lathe_install_packages python3 python3-venv || return 1
  echo "Fetching CUDA 13 and cuDNN (1.1 GB, 2.1 GB unpacked) into $deps"
  rm -rf "$deps"
  mkdir -p "$deps"
  python3 -m venv "$deps/venv" &&
    "$deps/venv/bin/pip" install -q --no-deps --only-binary :all: --target "$wheels" "${lathe_cuda_wheels[@]}" ||
    { echo "The CUDA wheels could not be fetched; pip's message stands above." >&2; return 1; }
  lathe_arrange_cuda "$deps" "$wheels" || return 1
  touch "$deps/complete"
}

# Makes of the wheels' folders what CMake's FindCUDAToolkit and our own find_path expect. Wheels leave out the
# names without a version that a linker looks for.
lathe_arrange_cuda() {
  local deps=$1 wheels=$2 library
  mv "$wheels/nvidia/cu13" "$deps/cuda" || { echo "The CUDA wheels have an unknown layout." >&2; return 1; }
  mv "$wheels/nvidia/cudnn" "$deps/cudnn" || { echo "The cuDNN wheel has an unknown layout." >&2; return 1; }
  ln -sfn lib "$deps/cuda/lib64"
  for library in "$deps"/cuda/lib/lib*.so.* "$deps"/cudnn/lib/lib*.so.*; do
    [ -e "$library" ] && ln -sf "$(basename "$library")" "${library%%.so.*}.so"
  done
  local header
  header=$(find "$wheels" -name cudnn_frontend.h -print -quit)
  if [ -n "$header" ]; then
    mkdir -p "$deps/cudnn-frontend"
    cp -r "$(dirname "$header")" "$deps/cudnn-frontend/include"
  fi
  chmod +x "$deps"/cuda/bin/* "$deps"/cuda/nvvm/bin/* 2>/dev/null
  "$deps/cuda/bin/nvcc" --version >/dev/null || { echo "The fetched nvcc does not run." >&2; return 1; }
}

# The header-only frontend of cuDNN alone, for a machine that has a toolkit of its own: without it the backend builds
# with Lathe's own attention kernels only. Returns 1, saying why, when it can't be fetched.
lathe_install_cudnn_frontend() {
  local deps=$1 wheels
  [ -e "$deps/cudnn-frontend/include/cudnn_frontend.h" ] && return 0
  lathe_install_packages python3 python3-venv || return 1
  wheels=$(mktemp -d)
  python3 -m venv "$wheels/venv" &&
    "$wheels/venv/bin/pip" install -q --no-deps --only-binary :all: --target "$wheels/site" "$lathe_cudnn_frontend" ||
    { echo "The cuDNN frontend could not be fetched; pip's message stands above." >&2; rm -rf "$wheels"; return 1; }
  mkdir -p "$deps/cudnn-frontend"
  cp -r "$(dirname "$(find "$wheels/site" -name cudnn_frontend.h -print -quit)")" "$deps/cudnn-frontend/include"
  rm -rf "$wheels"
}
