"""What the measuring scripts of this folder share: `lathe` as a child process, a ballast on the GPU, checks, a table.

Every script takes --lathe, --device cuda|cpu (cpu: the same script over a tiny model, to try the script itself),
--home (history and calibration; default LATHE_HOME, else a folder in memory, removed at the end), --quick, --only and
--out (results as JSON lines). Everything is printed as it comes: a script that is cut short has told what it knew."""
import argparse
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIB, MIB = 1 << 30, 1 << 20


def flags(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


class Refused(Exception):
    """`lathe` ended with an error; its words."""


class Lathe:
    def __init__(self, binary, home):
        self.binary, self.home = str(binary), str(home)

    def start(self, *words):
        command = [self.binary, "--home", self.home, "--json", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def json(self, *words):
        """The one document a command prints."""
        process = self.start(*words)
        out, errors = process.communicate()
        try:
            document = json.loads(out)
        except ValueError:
            document = None
        if process.returncode != 0 and (document is None or "error" in document):
            raise Refused((errors or out).strip() or f"exit code {process.returncode}")
        return document

    def events(self, *words):
        """The events of a training as they come, each with the time it was read. Raises Refused at a bad end."""
        process = self.start(*words)
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()), daemon=True)
        reader.start()
        try:
            for line in process.stdout:
                if line.startswith('{"event"'):  # an error is printed over several lines, and on stderr
                    yield dict(json.loads(line), read_at=time.monotonic())
        finally:
            if process.poll() is None and sys.exc_info()[0] is GeneratorExit:
                process.kill()
            process.wait()
            reader.join()
        if process.returncode != 0:
            raise Refused(errors[0].strip() or f"exit code {process.returncode}")

    def bench(self, settings, preset, updates=3, seconds=4.0, warmup=2):
        return self.json("bench", "--preset", preset, "--updates", updates, "--seconds", seconds, "--warmup", warmup,
                         *flags(settings))

    def rows(self, run, table):
        """Rows of a run's history."""
        return self.json("runs", "export", run, "--format", "json", "--table", table)[table]


class Ballast:
    """A process that holds all of the GPU but `free_bytes`, and watches how much of the card is used meanwhile.

    Leaves what it sees in `samples`: (monotonic time, bytes in use beside the ballast), one for each change. The
    context of the ballast counts as ballast: others may take free_bytes (at most what was asked for, less a block)."""

    CHILD = r"""
import sys, time, torch
wanted = int(sys.argv[1])
free, total = torch.cuda.mem_get_info()
blocks = []
for piece in (1 << 30, 64 << 20):
    while torch.cuda.mem_get_info()[0] - piece >= wanted:
        blocks.append(torch.empty(piece, dtype=torch.uint8, device="cuda"))
while torch.cuda.mem_get_info()[0] > wanted:  # at most what was asked for
    blocks.append(torch.empty(2 << 20, dtype=torch.uint8, device="cuda"))
left = torch.cuda.mem_get_info()[0]
print(time.monotonic(), left, flush=True)
last = left
while True:
    now = torch.cuda.mem_get_info()[0]
    if now != last:
        print(time.monotonic(), now, flush=True)
        last = now
    time.sleep(0.005)
"""

    def __init__(self, free_bytes):
        # Without a caching allocator every block is asked from the driver, and none is kept beyond it.
        environment = dict(os.environ, PYTORCH_NO_CUDA_MEMORY_CACHING="1")
        self.process = subprocess.Popen([sys.executable, "-c", self.CHILD, str(free_bytes)], stdout=subprocess.PIPE,
                                        text=True, env=environment)
        first = self.process.stdout.readline().split()
        if len(first) != 2:
            raise RuntimeError("the ballast could not be laid (torch with CUDA is needed)")
        self.free_bytes = int(first[1])
        self.samples = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            at, free = line.split()
            self.samples.append((float(at), self.free_bytes - int(free)))

    def peak(self, begin=0.0, end=float("inf")):
        """Largest use between two times; what held at `begin` counts."""
        inside = [used for at, used in self.samples if begin <= at <= end]
        before = [used for at, used in self.samples if at < begin]
        return max(inside + before[-1:], default=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class NoBallast:
    """On the CPU: nothing to hold, nothing seen."""

    free_bytes = 0
    samples = []

    def peak(self, *_):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Script:
    """Options, results and checks of one script."""

    def __init__(self, doc, **extra):
        parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--lathe", default=os.environ.get("LATHE", str(ROOT / "build/release/bin/lathe")))
        parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
        parser.add_argument("--home", default=os.environ.get("LATHE_HOME"))
        parser.add_argument("--quick", action="store_true", help="shorter measurements, fewer of them")
        parser.add_argument("--only", default="", help="only parts whose name contains one of these words: a,b")
        parser.add_argument("--out", help="file that gets every result as a line of JSON")
        for name, options in extra.items():
            parser.add_argument("--" + name.replace("_", "-"), **options)
        self.options = parser.parse_args()
        self.cpu = self.options.device == "cpu"
        self.quick = self.options.quick or self.cpu
        self.failures, self.table, self.begin = [], [], time.monotonic()
        self.scratch = None
        if not self.options.home:
            memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
            self.scratch = self.options.home = tempfile.mkdtemp(prefix="lathe-", dir=memory)
        self.lathe = Lathe(self.options.lathe, self.options.home)

    def wanted(self, name):
        return not self.options.only or any(word in name for word in self.options.only.split(","))

    def say(self, text):
        print(f"[{time.monotonic() - self.begin:6.1f} s] {text}", flush=True)

    def result(self, name, **values):
        """One measurement: kept in --out."""
        if self.options.out:
            with open(self.options.out, "a") as file:
                file.write(json.dumps(dict(name=name, **values)) + "\n")

    def check(self, what, good, text):
        self.table.append((what, text, "ok" if good else "MISSED"))
        self.say(f"{'ok    ' if good else 'MISSED'} {what}: {text}")
        if not good:
            self.failures.append(what)

    def judge(self, what, good, text):
        """A bound on speed: holds for a GPU; on the CPU it is only told."""
        (self.note(what, text) if self.cpu else self.check(what, good, text))

    def note(self, what, text):
        self.table.append((what, text, ""))
        self.say(f"{what}: {text}")

    def end(self):
        """Prints the table and leaves with 1 when a check was missed, or when nothing was checked at all."""
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)
        print()
        print_table(["what", "measured", ""], self.table)
        checked = any(row[2] for row in self.table) or self.cpu and self.table
        print(f"{len(self.failures)} missed, {time.monotonic() - self.begin:.0f} s" if checked else "nothing was checked")
        sys.exit(1 if self.failures or not checked else 0)


def print_table(header, rows):
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    for row in [header] + rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)


def gib(count):
    return f"{count / GIB:.3f} GiB"


def random_dataset(lathe, folder, vocab, tokens):
    """A dataset of random tokens: memory and speed don't read them."""
    folder = pathlib.Path(folder)
    if (folder / "manifest.json").exists():
        return folder
    import array
    import random
    source = random.Random(1)
    raw = folder.parent / (folder.name + ".bin")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(raw, "wb") as file:
        array.array("H", (source.randrange(1, vocab) for _ in range(tokens))).tofile(file)
    lathe.json("data", "import", folder, raw, "--format", "nanogpt", "--vocab", vocab, "--eos", -1,
               "--validation-fraction", 0.1, "--replace")
    raw.unlink()
    return folder


def tensor_bytes(tensor):
    """The bytes of a torch tensor, without numpy."""
    tensor = tensor.detach().cpu().contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())
