"""Save, kill, resume: the same bits as a run that was never interrupted. A fork changes what it says and
nothing else."""

import support
from support import SMALL_MODEL


class Resume(support.WorkplaceTest):
    def check_same_bits(self, settings, *data, at, more=50):
        """Kills a run behind its checkpoint at step `at`, resumes there, and compares `more` updates with a run
        that had no such luck."""
        end = at + more
        settings = {**SMALL_MODEL, **settings, "run.checkpoint_every": at, "schedule.length": end}
        reference = self.place.train({**settings, "run.updates": end}, *data)
        # Without a near end the victim is alive when the kill comes, however slow this test is at that moment.
        victim = self.place.start(["train"], {**settings, "run.updates": 1_000_000}, *data)
        run = victim.run_id()
        victim.wait_for_message(f"Saved a checkpoint at step {at} ")
        victim.kill()
        self.assertEqual(self.place.show(run)["status"], "interrupted")
        self.place.run("resume", f"{run}@{at}", "--run.updates", end)

        expected = [(row["step"], row["loss"], row["grad_norm"]) for row in self.place.rows(reference)]
        resumed = [(row["step"], row["loss"], row["grad_norm"]) for row in self.place.rows(run)]
        self.assertEqual([step for step, _, _ in resumed], list(range(1, end + 1)))
        self.assertEqual(resumed[at:], expected[at:])
        self.assertEqual(resumed, expected)
        self.assertEqual(self.place.tensors(run, end), self.place.tensors(reference, end))
        self.assertEqual(self.place.manifest(run, end)["progress"]["cursor"],
                         self.place.manifest(reference, end)["progress"]["cursor"])
        # The tensors must have moved, else equality proves nothing.
        self.assertNotEqual(self.place.tensors(run, end), self.place.tensors(run, at))
        return run

    def test_Resume_AfterKill_SameBits(self):
        self.check_same_bits({}, self.data, at=50)

    def test_Resume_WithAccumulationAndBf16_SameBits(self):
        self.check_same_bits({"batch.accumulation": 3, "precision.compute": "bf16", "precision.weights": "bf16",
                              "optimizer.state": "8bit"}, self.data,
                             at=20)

    def test_Resume_InEpochTwo_SameBits(self):
        small = self.place.dataset("small", text_bytes=24_000)
        tokens = self.place.json("data", "info", small)["splits"]["train"]["tokens"]
        windows = tokens // SMALL_MODEL["model.context"]  # of one epoch
        at = windows * 3 // 2 // SMALL_MODEL["batch.micro_batch"]
        run = self.check_same_bits({}, small, at=at)
        done = self.place.manifest(run, at)["progress"]["cursor"]["windows"]
        self.assertGreater(done, windows)
        self.assertLess(done, 2 * windows)

    def test_Resume_MixOfTwoDatasets_SameBits(self):
        other = self.place.dataset("other", first_byte=1_000_000, text_bytes=60_000,
                                   tokenizer=self.data / "tokenizer.model")
        run = self.check_same_bits({"data.sources": f"{self.data}*0.7,{other}*0.3"}, at=50)
        cursor = self.place.manifest(run, 50)["progress"]["cursor"]
        self.assertEqual(len(cursor["sources"]), 2, cursor)


class Fork(support.WorkplaceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.parent = cls.place.train({**SMALL_MODEL, "run.updates": 40, "run.checkpoint_every": 20}, cls.data)

    def fork(self, *words, **settings):
        settings = {key.replace("__", "."): value for key, value in settings.items()}
        return self.place.train(settings, extra=["--init-from", f"{self.parent}@20", *words])

    def test_Fork_ChangesOneSetting_NothingElse(self):
        before = {step: self.place.tensors(self.parent, step) for step in (20, 40)}
        fork = self.fork(schedule__lr=1e-3)
        shown, parent = self.place.show(fork), self.place.show(self.parent)
        differing = {key for key in shown["settings"] if shown["settings"][key] != parent["settings"].get(key)}
        self.assertEqual(differing, {"schedule.lr", "run.init_from"})
        self.assertEqual((shown["parent"]["run"], shown["parent"]["step"]), (self.parent, 20))
        self.assertEqual({step: self.place.tensors(self.parent, step) for step in (20, 40)}, before)
        self.assertEqual(self.place.show(self.parent)["status"], "finished")

    def test_Fork_WeightsOnly_StartsFromTheWeights(self):
        # With a learning rate of zero the update leaves the weights as they came.
        fork = self.fork(schedule__lr=0, run__updates=1, schedule__warmup=0)
        ours, theirs = self.place.tensors(fork, 1), self.place.tensors(self.parent, 20)
        weights = [name for name in theirs if name.endswith(".weight.bin")]
        self.assertTrue(weights)
        for name in weights:
            self.assertEqual(ours[name], theirs[name], name)
        self.assertEqual(self.place.manifest(fork, 1)["progress"]["optimizer_step"], 1)

    def test_Fork_WithStates_ContinuesTheOptimizer(self):
        fork = self.fork("--with-states", schedule__lr=0, run__updates=1, schedule__warmup=0)
        self.assertEqual(self.place.manifest(fork, 1)["progress"]["optimizer_step"], 21)
        self.assertEqual(self.place.manifest(fork, 1)["progress"]["step"], 1)


if __name__ == "__main__":
    support.main()
