"""A NaN made on purpose: weights untouched, tensor named, each setting of guard.non_finite does what it says.

There is no hook for it in Lathe. The test makes a checkpoint whose embedding of one rare token is NaN, checksum
corrected, and goes on from there: every update whose windows hold that token has a NaN as its loss, the others
have none (embeddings are untied, so that nothing else reads the row).
"""

import collections
import json
import math
import struct

import support
from support import SMALL_MODEL

SETTINGS = {**SMALL_MODEL, "model.tied_embeddings": "false", "run.checkpoint_every": 1}
UPDATES = 60


class NonFinite(support.WorkplaceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.poisoned = cls.place.train({**SETTINGS, "run.updates": 1, "schedule.length": UPDATES}, cls.data)
        tokens = b"".join(path.read_bytes() for path in sorted(cls.data.glob("train-*.bin")))
        counts = collections.Counter(struct.unpack(f"<{len(tokens) // 2}H", tokens))
        # One in about twelve updates meets the token.
        update_tokens = SMALL_MODEL["model.context"] * SMALL_MODEL["batch.micro_batch"]
        wanted = len(tokens) / 2 / update_tokens / 12
        token = min(counts, key=lambda id: (abs(counts[id] - wanted), id))
        print(f"token {token}, {counts[token]} times")
        cls.poison(cls.poisoned, 1, token)

    @classmethod
    def poison(cls, run, step, token):
        folder = cls.place.checkpoint(run, step)
        manifest = cls.place.manifest(run, step)
        row = next(row for row in manifest["parameters"] if "embed" in row["name"])
        name = f"{row['group']}.weight.bin"
        hidden = row["shape"][1]
        data = bytearray((folder / name).read_bytes())
        begin = 4 * (row["offset"] + token * hidden)
        data[begin:begin + 4 * hidden] = struct.pack("<f", math.nan) * hidden
        (folder / name).write_bytes(data)
        for file in manifest["files"]:
            if file["name"] == name:
                file["xxh3_128"] = support.xxh3_128_hex(bytes(data))
        (folder / "manifest.json").write_text(json.dumps(manifest))

    def fork(self, action, code, **settings):
        """Goes on from the poisoned weights in a run of its own; returns its id."""
        settings = {"guard.non_finite": action, "run.updates": UPDATES,
                    **{key.replace("__", "."): value for key, value in settings.items()}}
        lines = self.place.run("--json", "train", "--init-from", f"{self.poisoned}@1", *support.flags(settings), code=code)
        return json.loads(lines.splitlines()[-1])["result"]["run"]

    def steps_of(self, run, finite):
        return [row["step"] for row in self.place.rows(run)
                if (isinstance(row["loss"], float) and math.isfinite(row["loss"])) == finite]

    def check_named(self, run, step):
        events = [text for text in self.place.events(run) if f"Update {step}:" in text]
        self.assertTrue(events, self.place.events(run))
        self.assertIn("the loss", events[0])
        self.assertIn("gradient of", events[0])
        self.assertIn("the weights are untouched", events[0])

    def test_NonFinite_Stop_EndsBeforeTheWeightsChange(self):
        run = self.fork("stop", code=10)
        bad = self.steps_of(run, finite=False)
        self.assertEqual(len(bad), 1)
        self.assertGreater(bad[0], 1, "a finite update should come first")
        shown = self.place.show(run)
        self.assertEqual(shown["status"], "failed")
        self.assertIn(f"Update {bad[0]}:", shown["status_reason"])
        self.check_named(run, bad[0])
        self.assertEqual(self.place.checkpoints(run)[-1], bad[0] - 1, "the last good state is the newest checkpoint")
        self.assertEqual(self.place.rows(run)[-1]["skipped"], 1)

    def test_NonFinite_Skip_LeavesWeightsAndStatesAndGoesOn(self):
        run = self.fork("skip", code=0)
        bad, good = self.steps_of(run, finite=False), self.steps_of(run, finite=True)
        self.assertEqual(sorted(bad + good), list(range(1, UPDATES + 1)))
        self.assertTrue(bad and good)
        self.assertEqual(self.place.show(run)["status"], "finished")
        for step in bad:
            if step == 1:
                continue
            self.check_named(run, step)
            self.assertEqual(self.place.tensors(run, step), self.place.tensors(run, step - 1), f"update {step}")
            before, after = (self.place.manifest(run, s)["progress"] for s in (step - 1, step))
            self.assertEqual(after["optimizer_step"], before["optimizer_step"])
        moved = [step for step in good if step > 1]
        self.assertNotEqual(self.place.tensors(run, moved[0]), self.place.tensors(run, moved[0] - 1))

    def test_NonFinite_Rollback_ReturnsToTheCheckpointAndPassesTheData(self):
        run = self.fork("rollback", code=0, run__checkpoint_every=3, guard__rollback_skip_updates=1)
        self.assertEqual(self.place.show(run)["status"], "finished")
        rolled = [text for text in self.place.events(run) if text.startswith("Rolled back to step")]
        self.assertTrue(rolled, self.place.events(run))
        # What is visible is the way without the failures; the failed updates are kept, superseded.
        self.assertEqual(self.steps_of(run, finite=False), [])
        self.assertEqual(self.steps_of(run, finite=True), list(range(1, UPDATES + 1)))
        hidden = [row for row in self.place.rows(run, visible=False) if row.get("superseded")]
        self.assertTrue(any(not isinstance(row["loss"], float) for row in hidden))
        # One updates' worth of data is passed over each time, beside the update that failed and those before it.
        done = self.place.manifest(run, UPDATES)["progress"]["cursor"]["windows"]
        self.assertGreater(done, (UPDATES + len(rolled)) * SMALL_MODEL["batch.micro_batch"])

    def test_NonFinite_Always_GivesUp(self):
        # Every row of the embedding is NaN now: no update is finite.
        run = self.place.train({**SETTINGS, "run.updates": 1, "schedule.length": UPDATES}, self.data)
        for token in range(SMALL_MODEL["model.vocab"]):
            self.poison(run, 1, token)
        lines = self.place.run("--json", "resume", run, "--run.updates", 1000, "--guard.non_finite", "skip",
                               "--run.checkpoint_every", 0, code=10)
        result = json.loads(lines.splitlines()[-1])["result"]
        self.assertEqual(result["status"], "failed")
        self.assertIn("in a row were not finite", result["reason"])


if __name__ == "__main__":
    support.main()
