# The Debian and Ubuntu packages that Lathe needs, and how to install those that are missing.
# Sourced by installer/quickstart.sh and tests/run.sh. Names hold for Debian 12 and Ubuntu 24.04.

# To build the command line and the core.
lathe_packages_core=(
  g++ cmake ninja-build pkg-config git ca-certificates
  libopenblas-dev libsqlite3-dev libsentencepiece-dev nlohmann-json3-dev libcli11-dev libfmt-dev libspdlog-dev
  libxxhash-dev libzstd-dev zlib1g-dev
)

# To build the window.
lathe_packages_workbench=(qt6-base-dev qt6-svg-dev libqcustomplot-dev)

# To build and run the tests.
lathe_packages_tests=(ccache libgtest-dev libgmock-dev libbenchmark-dev clang-format-14 python3 sqlite3
  xvfb openbox xdotool)

# Prints those of the given packages that are not installed.
lathe_missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# Installs those of the given packages that are missing; does nothing when none is. The package lists are
# refreshed once a shell. Returns 1, saying what to do, where it can't.
lathe_install_packages() {
  local missing
  mapfile -t missing < <(lathe_missing_packages "$@")
  [ "${#missing[@]}" -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Missing packages: ${missing[*]}. Install them as root (apt-get install ${missing[*]}), then try again." >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  if [ -z "${lathe_lists_refreshed:-}" ]; then
    "${as_root[@]}" apt-get update -qq || echo "The package lists could not be refreshed; trying with those at hand." >&2
    lathe_lists_refreshed=1
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
    { echo "apt-get could not install ${missing[*]}; its message stands above." >&2; return 1; }
}
