"""kill -9 at random moments, saves included: no database breaks, the last complete checkpoint loads, at most one
flush of rows is lost, the run is listed as interrupted and goes on, and ends with the bits of a run that nobody
killed.

    LATHE_KILLS=50 python3 tests/e2e/kill_test.py      how often (default 10)
"""

import os
import random
import time

import support
from support import SMALL_MODEL

SEED = 20240607
# A row is committed 250 ms after it was added, at most; the rest is what a busy machine adds before the trainer's
# thread, or the reader of its output, gets its turn.
FLUSH_S = 0.25 + 1.0
# 1.1M parameters: 13 MB a checkpoint, so that a save takes long enough to be hit.
SETTINGS = {**SMALL_MODEL, "model.hidden": 192, "model.ffn": 512, "batch.micro_batch": 1, "run.checkpoint_every": 4,
            "run.keep_last": 2, "schedule.kind": "constant"}


class Kill(support.WorkplaceTest):
    def await_save(self, training, run):
        """Returns as soon as a checkpoint's folder is there whose manifest is not: in the middle of a save."""
        deadline = time.monotonic() + support.PATIENCE_S
        folder = self.place.run_folder(run) / "checkpoints"
        while time.monotonic() < deadline and training.process.poll() is None:
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                continue
            newest = max(names, default=None)
            if newest and not (folder / newest / "manifest.json").exists():
                return
        self.fail("no save began")

    def check_after_kill(self, training, run, killed):
        self.place.check_databases()
        shown = self.place.show(run)
        self.assertEqual(shown["status"], "interrupted")
        complete = self.place.checkpoints(run)
        self.assertEqual(shown["last_checkpoint_step"], complete[-1] if complete else None)
        stored = {row["step"] for row in self.place.sql(run, "SELECT step FROM updates")}
        for when, event in training.events:
            if event.get("event") == "update" and when < killed - FLUSH_S:
                self.assertIn(event["step"], stored, f"lost, although printed {killed - when:.2f} s before the kill")
        return complete

    def test_Kill_AtRandomMoments_LosesNothingElse(self):
        kills = int(os.environ.get("LATHE_KILLS", "10"))
        random.seed(SEED)
        print(f"{kills} kills, seed {SEED}")
        run, in_saves = None, 0
        for number in range(kills):
            command = ["resume", run] if run and self.place.checkpoints(run) else ["train"]
            data = [self.data] if command == ["train"] else []
            training = self.place.start(command, {**SETTINGS, "run.updates": 1_000_000} if data else {}, *data)
            run = training.run_id()
            first = training.wait_for_step(1)["step"]
            if number % 2:  # in the middle of a save, of the first or of a later one
                training.wait_for_step(first + random.randrange(12))
                self.await_save(training, run)
                time.sleep(random.random() * 0.02)
                in_saves += 1
            else:  # somewhere behind a logged update
                training.wait_for_step(first + random.randrange(12))
                time.sleep(random.random() * 0.3)
            killed = time.monotonic()
            training.kill()
            complete = self.check_after_kill(training, run, killed)
            print(f"  kill {number + 1}: update {training.updates()[-1]['step']}, checkpoints {complete}")
        self.assertGreater(in_saves, 0)

        end = (self.place.checkpoints(run) or [0])[-1] + 10
        self.place.run("resume", run, "--run.updates", end)
        reference = self.place.train({**SETTINGS, "run.updates": end}, self.data)
        rows = [(row["step"], row["loss"]) for row in self.place.rows(run)]
        self.assertEqual([step for step, _ in rows], list(range(1, end + 1)), "a hole in what is visible")
        self.assertEqual(rows, [(row["step"], row["loss"]) for row in self.place.rows(reference)])
        self.assertEqual(self.place.tensors(run, end), self.place.tensors(reference, end))
        self.place.check_databases()


if __name__ == "__main__":
    support.main()
