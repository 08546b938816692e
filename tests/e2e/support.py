"""What every end-to-end test shares: `lathe` as a child process, a small dataset, a small model, and a look
into the history from outside (SQLite), as another program would look.

    LATHE=build/release/bin/lathe python3 tests/e2e/resume_test.py
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # CTest's SKIP_RETURN_CODE
PATIENCE_S = 240  # for one command; the machine may be busy

# A model that makes an update in milliseconds. The vocabulary is that of the datasets below. LATHE_TEST_DEVICE=cuda
# puts it on the GPU.
SMALL_MODEL = {
    "model.layers": 2, "model.hidden": 48, "model.heads": 2, "model.ffn": 96, "model.vocab": 512, "model.context": 32,
    "batch.micro_batch": 4, "batch.accumulation": 1, "precision.compute": "fp32", "precision.weights": "fp32",
    "schedule.lr": 3e-3, "schedule.warmup": 5, "run.device": os.environ.get("LATHE_TEST_DEVICE", "cpu"),
    "run.threads": 1, "run.eval_every": 0,
    "run.checkpoint_every": 0, "run.keep_last": 100,
}


def flags(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def lathe_binary():
    path = os.environ.get("LATHE", str(SOURCE / "build/release/bin/lathe"))
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is missing; build it, or name it in LATHE.")
    return path


class Failed(AssertionError):
    pass


class Training:
    """A `lathe train` or `resume` that goes on beside the test. Its JSON lines are read as they come."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.events = []  # (monotonic time read, event)
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue  # the last line of a killed process may be cut
            with self._changed:
                self.events.append((time.monotonic(), event))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def updates(self):
        with self._changed:
            return [event for _, event in self.events if event.get("event") == "update"]

    def wait_for(self, what, condition):
        """Waits for an event that `condition(event)` likes; returns it."""
        deadline = time.monotonic() + PATIENCE_S
        seen = 0
        with self._changed:
            while True:
                for _, event in self.events[seen:]:
                    if condition(event):
                        return event
                seen = len(self.events)
                if not self._reader.is_alive() or time.monotonic() > deadline:
                    raise Failed(f"{what} never came; the last events: {[e for _, e in self.events[-3:]]}")
                self._changed.wait(1)

    def wait_for_step(self, step):
        return self.wait_for(f"update {step}", lambda e: e.get("event") == "update" and e["step"] >= step)

    def wait_for_message(self, text):
        return self.wait_for(f"'{text}'", lambda e: e.get("event") == "message" and text in e["text"])

    def run_id(self):
        return self.wait_for("the run's id", lambda e: e.get("event") == "start")["run"]

    def kill(self):
        self.process.kill()
        return self.end()

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self):
        """Waits for the end; returns the exit code."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed("the training didn't end") from None
        self._reader.join(PATIENCE_S)
        self.errors = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        return code


class Workplace:
    """A folder with a history home and datasets of its own, removed at the end."""

    def __init__(self, folder=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="lathe-e2e-"))
        self.home = self.folder / "home"

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self):
        return dict(os.environ, LATHE_HOME=str(self.home), LATHE_RESOURCES=str(SOURCE / "resources"),
                    OPENBLAS_NUM_THREADS="1")

    def run(self, *words, code=0):
        """Runs `lathe WORDS` to its end; returns standard output. Another exit code than `code` fails."""
        done = subprocess.run([lathe_binary(), *map(str, words)], env=self.environment(), capture_output=True, text=True,
                              timeout=PATIENCE_S)
        if code is not None and done.returncode != code:
            raise Failed(f"lathe {' '.join(map(str, words))}: exit code {done.returncode}, expected {code}\n"
                         f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def json(self, *words, code=0):
        return json.loads(self.run("--json", *words, code=code))

    def train(self, settings, *data, extra=()):
        """Trains to the end; returns the run's id."""
        words = [word for path in data for word in ("--data", path)]
        lines = self.run("--json", "train", *flags(settings), *words, *extra).splitlines()
        return json.loads(lines[-1])["result"]["run"]

    def start(self, command, settings=None, *data, extra=()):
        """The same beside the test; `command` is words such as ["train"] or ["resume", id]."""
        words = [word for path in data for word in ("--data", path)]
        return Training([lathe_binary(), "--json", *map(str, command), *flags(settings or {}), *map(str, words),
                         *map(str, extra)], self.environment())

    # --- Data ---------------------------------------------------------------------------------------------

    def dataset(self, name, first_byte=0, text_bytes=120_000, tokenizer=None):
        """A dataset of a stretch of the sample corpus with 512 token ids, cut into documents of 3 kB."""
        folder, text = self.folder / name, self.folder / f"{name}.txt"
        corpus = corpus_text()[first_byte:first_byte + text_bytes]
        pieces = [corpus[i:i + 3000] for i in range(0, len(corpus), 3000)]
        text.write_bytes(b"\n<|endoftext|>\n".join(pieces).decode("utf-8", "ignore").encode())
        how = ["--tokenizer", tokenizer] if tokenizer else ["--train-vocab", 512]
        self.run("data", "build", folder, "--input", text, "--validation-fraction", "0.1", *how)
        return folder

    # --- History ------------------------------------------------------------------------------------------

    def run_folder(self, run):
        return self.home / "runs" / run

    def show(self, run):
        return self.json("runs", "show", run)

    def rows(self, run, table="updates", visible=True):
        """Every stored row of a table as dictionaries; those a later session superseded only on request."""
        document = json.loads(self.run("runs", "export", run, "--format", "json", "--table", table))
        rows = document["tables"][table] if "tables" in document else document[table]
        return [row for row in rows if not (visible and row.get("superseded"))]

    def events(self, run):
        return [row["text"] for row in self.sql(run, "SELECT text FROM event ORDER BY id")]

    def sql(self, run, statement):
        database = sqlite3.connect(f"file:{self.run_folder(run) / 'run.db'}?mode=ro", uri=True, timeout=30)
        try:
            database.row_factory = sqlite3.Row
            return database.execute(statement).fetchall()
        finally:
            database.close()

    def check_databases(self):
        """PRAGMA integrity_check on every database below the home."""
        for path in [self.home / "history.db", *self.home.glob("runs/*/run.db")]:
            database = sqlite3.connect(path, timeout=30)
            try:
                answer = database.execute("PRAGMA integrity_check").fetchall()
            finally:
                database.close()
            if answer != [("ok",)]:
                raise Failed(f"{path}: {answer[:3]}")

    # --- Checkpoints --------------------------------------------------------------------------------------

    def checkpoint(self, run, step):
        return self.run_folder(run) / "checkpoints" / f"step-{step:08d}"

    def checkpoints(self, run):
        """Steps of the complete ones."""
        return sorted(int(path.parent.name[5:]) for path in self.run_folder(run).glob("checkpoints/step-*/manifest.json"))

    def tensors(self, run, step):
        """Digest of every tensor file of a checkpoint: weights and optimizer states."""
        files = sorted(self.checkpoint(run, step).glob("*.bin"))
        if not files:
            raise Failed(f"no tensors in {self.checkpoint(run, step)}")
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def manifest(self, run, step):
        return json.loads((self.checkpoint(run, step) / "manifest.json").read_text())


_corpus = None


def corpus_text():
    """The sample corpus. Python's standard library has no zstd: the tool of that name, or the library, unpacks it."""
    global _corpus
    if _corpus is None:
        path = SOURCE / "resources/samples/austen.txt.zst"
        _corpus = unpack_zstd(path.read_bytes())
    return _corpus


def unpack_zstd(packed):
    import ctypes
    import ctypes.util
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    size = library.ZSTD_getFrameContentSize(packed, ctypes.c_size_t(len(packed)))
    if size > 1 << 30:  # unknown size and errors are near 2^64
        size = 16 << 20
    buffer = ctypes.create_string_buffer(size)
    written = library.ZSTD_decompress(buffer, size, packed, len(packed))
    if written > size:
        raise Failed("the sample corpus can't be unpacked")
    return buffer.raw[:written]


def xxh3_128_hex(data):
    """The checksum of checkpoint manifests, through the library Lathe itself links to."""
    import ctypes
    import ctypes.util

    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_128bits.restype = Hash
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    value = library.XXH3_128bits(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


class WorkplaceTest(unittest.TestCase):
    """One workplace with a dataset for all tests of a class."""

    maxDiff = 500

    @classmethod
    def setUpClass(cls):
        cls.place = Workplace()
        cls.addClassCleanup(cls.place.close)
        cls.data = cls.place.dataset("data")


def main():
    """Runs the file's tests; exit code 77 when all of them were skipped."""
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun and len(result.skipped) == result.testsRun:
        print("*** NOT RUN: every test of this file was skipped; the reasons stand above.")
        sys.exit(SKIPPED)
