#!/usr/bin/env python3
"""Layer test: who may include whom (law 5 of the design). Prints every include that breaks a rule.

  layers.py ROOT        checks the source tree at ROOT; exit code 1 when a rule is broken
  layers.py --selftest  checks that each rule catches a sample that breaks it
"""

import pathlib
import re
import sys

FOLDERS = ("app", "core", "kernels", "tests", "ui")
SUFFIXES = {".h", ".hpp", ".cuh", ".cpp", ".cu", ".def"}

# A core folder knows the folders of lower rank, and itself.
CORE_RANK = {"platform": 0, "config": 1, "data": 2, "model": 2, "program": 3, "history": 4, "train": 5, "experiment": 6}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
QT = re.compile(r"^(Q[A-Z]\w*(\.h)?|Qt\w*/.*|q[a-z]\w*\.h)$")
CUDA = re.compile(r"^(cuda|cublas|cudnn|curand|cusparse|cusolver|nccl|nvrtc|nvml|nvtx|cub/|cutlass/|cute/|thrust/|mma\.h)")
SYSTEM = re.compile(
    r"^(unistd|fcntl|dlfcn|pthread|glob|sched|poll|termios|dirent|windows|winsock2|psapi|shlobj|io|direct|process)\.h$"
    r"|^(sys|linux|mach)/")


def area(path):
    """The layer of a file: 'core/data', 'kernels/api', 'ui/charts', 'app/cli', 'tests'."""
    parts = path.split("/")
    if parts[0] == "tests" or len(parts) < 3:
        return parts[0]
    return "/".join(parts[:2])


def project_rule(includer, included):
    """Why the layer `includer` may not know the layer `included`; None when it may."""
    if includer == included or includer == "tests":
        return None
    if included == "tests":
        return "only tests know tests"
    top, folder = (includer.split("/") + [""])[:2]
    other_top, other_folder = (included.split("/") + [""])[:2]
    if top == "kernels" and included != "kernels/api":
        return "kernels know nobody but kernels/api"
    if top == "core":
        if other_top == "kernels":
            return None if included == "kernels/api" else "core knows kernels/api only"
        if other_top != "core":
            return "core knows core and kernels/api only"
        for name in (folder, other_folder):
            if name not in CORE_RANK:
                return f"core/{name} has no rank in tests/support/layers.py"
        if CORE_RANK[other_folder] >= CORE_RANK[folder]:
            return "core folders know only those before them: platform, config, data and model, program, history, train, experiment"
    if top == "ui" and not (other_top in ("ui", "core") or included == "kernels/api"):
        return "ui knows ui, core and kernels/api only"
    return None


def header_rule(path, header):
    """Why the file may not include this library header; None when it may."""
    where = area(path)
    tests = where == "tests"
    if header == "qcustomplot.h":
        return None if where == "ui/charts" or tests else "qcustomplot.h stays in ui/charts"
    if CUDA.match(header) and where != "kernels/cuda" and not tests:
        return "CUDA headers stay in kernels/cuda"
    if QT.match(header) and not (where.split("/")[0] == "ui" or where == "app/workbench" or tests):
        return "Qt stays in ui and app/workbench"
    if SYSTEM.match(header) and not tests and not pathlib.PurePosixPath(path).stem.endswith(("_posix", "_windows")):
        return "system headers stay in sources named _posix or _windows"
    return None


def check_file(path, text, exists):
    """Complaints about one file. `exists` tells whether a path from the root is a file of the project."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        if quoted and header.split("/")[0] in FOLDERS:
            reason = project_rule(area(path), area(header))
            if not reason and not exists(header):
                reason = "there is no such file"
        elif quoted and header != "qcustomplot.h" and not header.endswith(".moc"):
            reason = "project files are included by their path from the root, libraries in <>"
        else:
            reason = header_rule(path, header)
        if reason:
            yield f"{path}:{number}: includes {header}: {reason}"


def check_tree(root):
    complaints, files = [], 0
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            complaints += check_file(path, file.read_text(encoding="utf-8"), lambda p: (root / p).is_file())
    return complaints, files


def selftest():
    good = [("core/data/a.cpp", '"core/config/b.h"'), ("core/train/a.cpp", '"kernels/api/b.h"'),
            ("ui/forms/a.cpp", "<QWidget>"), ("ui/charts/a.cpp", "<qcustomplot.h>"), ("app/cli/a.cpp", '"kernels/cpu/b.h"'),
            ("kernels/cuda/a.cu", "<cuda_runtime.h>"), ("kernels/cuda/dl_posix.cpp", "<dlfcn.h>"),
            ("tests/gpu/a.cpp", "<cuda_runtime.h>"), ("core/data/a.cpp", "<vector>"), ("app/workbench/a.cpp", "<QApplication>")]
    bad = [("core/config/a.cpp", '"core/data/b.h"'), ("core/data/a.cpp", '"core/model/b.h"'),
           ("core/train/a.cpp", '"kernels/cpu/b.h"'), ("core/train/a.cpp", '"ui/b/c.h"'), ("core/new/a.cpp", '"core/data/b.h"'),
           ("kernels/cpu/a.cpp", '"core/config/b.h"'), ("kernels/cpu/a.cpp", '"kernels/cuda/b.h"'),
           ("kernels/api/a.h", '"kernels/cpu/b.h"'), ("ui/forms/a.cpp", '"app/cli/b.h"'), ("ui/forms/a.cpp", '"kernels/cpu/b.h"'),
           ("core/data/a.cpp", "<QString>"), ("core/data/a.cpp", "<QtCore/QString>"), ("app/cli/a.cpp", "<qstring.h>"),
           ("ui/forms/a.cpp", "<qcustomplot.h>"), ("ui/forms/a.cpp", '"qcustomplot.h"'), ("core/train/a.cpp", "<cuda_runtime.h>"),
           ("kernels/api/a.h", "<cudnn.h>"), ("ui/forms/a.cpp", "<nvml.h>"), ("core/data/a.cpp", "<unistd.h>"),
           ("app/cli/a.cpp", "<sys/stat.h>"), ("core/data/a.cpp", '"b.h"'), ("core/data/a.cpp", '"../config/b.h"'),
           ("app/cli/a.cpp", '"tests/support/b.h"')]
    failures = [f"{p} {h}: refused" for p, h in good if list(check_file(p, f"#include {h}", lambda _: True))]
    failures += [f"{p} {h}: accepted" for p, h in bad if not list(check_file(p, f"#  include {h}", lambda _: True))]
    if not list(check_file("core/data/a.cpp", '#include "core/config/b.h"', lambda _: False)):
        failures.append("a missing file: accepted")
    return failures, len(good) + len(bad) + 1


def main():
    if sys.argv[1:] == ["--selftest"]:
        complaints, count = selftest()
        noun = "samples"
    elif len(sys.argv) == 2:
        complaints, count = check_tree(pathlib.Path(sys.argv[1]))
        noun = "files"
        if count == 0:
            complaints.append(f"{sys.argv[1]}: no sources found")
    else:
        sys.exit(__doc__)
    for complaint in complaints:
        print(complaint)
    print(f"{count} {noun} checked, {len(complaints)} complaints")
    sys.exit(1 if complaints else 0)


main()
