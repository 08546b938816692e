"""A disk that fills up while a run saves: the run pauses and says why, the checkpoint before still loads, and
with space freed it goes on. Needs a small file system of its own, hence root; says so and skips otherwise."""

import pathlib
import subprocess
import tempfile
import time
import unittest

import support
from support import SMALL_MODEL

DISK_MB = 150
# 1.1M parameters: 13 MB a checkpoint.
SETTINGS = {**SMALL_MODEL, "model.hidden": 192, "model.ffn": 512, "batch.micro_batch": 1, "run.checkpoint_every": 20,
            "run.keep_last": 1, "run.updates": 1_000_000}


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.place = support.Workplace()
        self.addCleanup(self.place.close)
        self.data = self.place.dataset("data")
        disk = pathlib.Path(tempfile.mkdtemp(prefix="lathe-disk-"))
        self.addCleanup(disk.rmdir)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "lathe-test", disk], capture_output=True,
                                 text=True)
        if mounted.returncode != 0:
            self.skipTest(f"*** NOT RUN: no small file system can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        self.place.home = disk / "home"
        self.ballast = disk / "ballast"

    def fill(self, leave_bytes):
        """Takes all space but `leave_bytes`."""
        block = b"\0" * (1 << 20)
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(block)
            except OSError:
                pass
            file.truncate(max(0, file.tell() - leave_bytes))

    def wait_for_status(self, run, *wanted):
        deadline = time.monotonic() + support.PATIENCE_S
        while time.monotonic() < deadline:
            status = self.place.show(run)["status"]
            if status in wanted:
                return
            time.sleep(0.2)
        self.fail(f"the run is {status}, expected {wanted}")

    def test_FullDisk_WhileSaving_PausesAndGoesOn(self):
        training = self.place.start(["train"], SETTINGS, self.data)
        self.addCleanup(lambda: training.process.poll() is None and training.kill())
        run = training.run_id()
        training.wait_for_message("Saved a checkpoint at step 20 ")
        self.fill(leave_bytes=6 << 20)
        training.wait_for_message("failed")
        self.wait_for_status(run, "paused")
        before = self.place.checkpoints(run)
        self.assertEqual(len(before), 1)
        said = [text for text in self.place.events(run) if "Saving at step" in text and "failed" in text]
        self.assertTrue(said, self.place.events(run))
        self.assertIn("previous checkpoint is untouched", said[0])
        self.assertTrue(any("waiting for the disk: a checkpoint needs" in text for text in self.place.events(run)))
        # Nothing half-written stays, and what was there loads, on the full disk.
        self.assertEqual([path.name for path in (self.place.run_folder(run) / "checkpoints").iterdir()],
                         [f"step-{before[0]:08d}"])
        self.assertTrue(self.place.json("generate", f"{run}@{before[0]}", "--prompt", "She", "--tokens", "5")["text"])
        # Time alone changes nothing: it waits for a person.
        self.assertIsNone(training.process.poll())

        self.ballast.unlink()
        self.place.run("runs", "continue", run)
        failed_step = before[0] + 20
        training.wait_for_message(f"Saved a checkpoint at step {failed_step} ")
        training.wait_for_step(failed_step + 1)
        self.place.run("runs", "stop", run)
        self.assertEqual(training.end(), 12)
        steps = [row["step"] for row in self.place.rows(run)]
        self.assertEqual(steps, list(range(1, len(steps) + 1)), "a row was lost")
        self.place.check_databases()

    def test_FullDisk_BeforeLaunch_RefusesWithAdvice(self):
        self.fill(leave_bytes=40 << 20)
        answer = self.place.json("train", *support.flags(SETTINGS), "--data", self.data, code=6)["error"]
        self.assertEqual(answer["code"], "disk_full")
        self.assertIn("Free space", answer["what_to_do"])
        self.assertEqual(self.place.json("runs", "list"), [])


if __name__ == "__main__":
    support.main()
