"""Steering a run from outside: pause, continue, save and stop from another process, Ctrl-C once and twice, a
start-up script's resume, and exit codes a script can use."""

import json
import signal
import time

import support
from support import SMALL_MODEL

ENDLESS = {**SMALL_MODEL, "run.updates": 1_000_000}


class Requests(support.WorkplaceTest):
    def start(self, settings=None):
        training = self.place.start(["train"], settings or ENDLESS, self.data)
        self.addCleanup(lambda: training.process.poll() is None and training.kill())
        run = training.run_id()
        training.wait_for_step(3)
        return training, run

    def test_Requests_FromAnotherProcess_AreDone(self):
        training, run = self.start()
        self.assertTrue(self.place.json("runs", "pause", run)["done"])
        self.assertEqual(self.place.show(run)["status"], "paused")
        step = self.place.sql(run, "SELECT max(step) AS step FROM updates")[0]["step"]
        time.sleep(0.5)
        self.assertEqual(self.place.sql(run, "SELECT max(step) AS step FROM updates")[0]["step"], step)
        self.assertTrue(self.place.json("runs", "continue", run)["done"])
        training.wait_for_step(step + 2)
        saved = self.place.json("runs", "save", run)
        self.assertTrue(saved["done"])
        self.assertEqual(f"saved at step {self.place.checkpoints(run)[-1]}", saved["answer"])
        # While it trains it is busy for others, and says so with an exit code of its own.
        self.assertEqual(self.place.json("resume", run, code=11)["error"]["code"], "busy")
        self.place.run("runs", "delete", run, "--yes", code=11)
        self.assertTrue(self.place.json("runs", "stop", run)["done"])
        self.assertEqual(training.end(), 12)
        shown = self.place.show(run)
        self.assertEqual(shown["status"], "stopped")
        self.assertEqual(self.place.checkpoints(run)[-1], shown["step"])

    def test_Requests_EvaluateAndSample_AreDoneOrRefused(self):
        training, run = self.start({**ENDLESS, "run.sample_every": 1_000_000, "run.sample_tokens": 8})
        self.assertTrue(self.place.json("runs", "evaluate", run)["done"])  # though none is planned
        self.assertEqual(len(self.place.rows(run, "evaluations")), 1)
        self.assertTrue(self.place.json("runs", "sample", run, "--prompt", "It is")["done"])
        sample = self.place.sql(run, "SELECT prompt, text FROM sample")
        self.assertEqual(["It is"], [row["prompt"] for row in sample])
        self.assertTrue(sample[0]["text"])
        self.place.run("runs", "stop", run)
        self.assertEqual(training.end(), 12)

    def test_Requests_SampleOfARunWithoutMemoryForIt_IsRefused(self):
        training, run = self.start()
        refused = self.place.json("runs", "sample", run, code=12)
        self.assertFalse(refused["done"])
        self.assertIn("sample_every", refused["answer"])
        self.place.run("runs", "stop", run)
        training.end()

    def test_Requests_StopNow_SavesNothing(self):
        training, run = self.start({**ENDLESS, "batch.accumulation": 16})
        self.assertTrue(self.place.json("runs", "stop", run, "--now")["done"])
        self.assertEqual(training.end(), 12)
        self.assertEqual(self.place.checkpoints(run), [])
        self.assertIn("without saving", self.place.show(run)["status_reason"])

    def test_Requests_PausedThenStopped_Saves(self):
        training, run = self.start()
        self.place.run("runs", "pause", run)
        self.place.run("runs", "stop", run)
        self.assertEqual(training.end(), 12)
        self.assertEqual(self.place.checkpoints(run)[-1], self.place.show(run)["step"])

    def test_CtrlC_Once_SavesAndStops(self):
        training, run = self.start()
        training.signal(signal.SIGINT)
        self.assertEqual(training.end(), 12)
        shown = self.place.show(run)
        self.assertEqual(shown["status"], "stopped")
        self.assertEqual(self.place.checkpoints(run), [shown["step"]])
        self.place.run("resume", run, "--run.updates", shown["step"] + 5)
        self.assertEqual([row["step"] for row in self.place.rows(run)], list(range(1, shown["step"] + 6)))

    def test_CtrlC_Twice_StopsAtOnce(self):
        # Long updates: the second Ctrl-C comes while the first waits for the update's end.
        training, run = self.start({**ENDLESS, "batch.accumulation": 256})
        training.signal(signal.SIGINT)
        training.wait_for_message("Ctrl-C again")
        training.signal(signal.SIGINT)
        self.assertEqual(training.end(), 12)
        self.assertEqual(self.place.show(run)["status"], "stopped")
        self.assertIn("at once", self.place.show(run)["status_reason"])
        self.assertEqual(self.place.checkpoints(run), [])


class StartUpScript(support.WorkplaceTest):
    def resume(self):
        return self.place.run("--json", "resume", "--last", "--if-interrupted")

    def test_ResumeIfInterrupted_InEveryState_IsSafe(self):
        self.assertFalse(json.loads(self.resume())["resumed"])  # no runs at all
        training = self.place.start(["train"], {**SMALL_MODEL, "run.updates": 1_000_000, "run.checkpoint_every": 10},
                                    self.data)
        run = training.run_id()
        training.wait_for_message("Saved a checkpoint")
        answer = json.loads(self.resume())  # it runs: nothing to do
        self.assertFalse(answer["resumed"], answer)
        training.kill()
        step = self.place.checkpoints(run)[-1]
        # A start-up script gives no settings; an earlier limit would be the run's own. Here it is told to end.
        lines = self.place.run("--json", "resume", "--last", "--if-interrupted", "--run.updates", step + 5).splitlines()
        self.assertEqual(json.loads(lines[-1])["result"]["status"], "finished")
        self.assertFalse(json.loads(self.resume())["resumed"])  # finished: nothing to do
        self.assertEqual(self.place.show(run)["step"], step + 5)


class ExitCodes(support.WorkplaceTest):
    def check(self, code, name, *words):
        answer = self.place.json(*words, code=code)["error"]
        self.assertEqual(answer["code"], name)
        self.assertTrue(answer["what_happened"])
        self.assertTrue(answer["what_to_do"], "an error says what to do")

    def test_ExitCode_OfEachFailure_IsItsOwn(self):
        data = ["--data", self.data]
        model = support.flags({**SMALL_MODEL, "run.updates": 10})
        before = self.place.json("runs", "list")
        self.place.run("train", "--no-such-flag", code=2)
        self.place.run(code=2)
        self.check(2, "invalid_config", "train", *model, *data, "--model.layers", "0")
        self.check(2, "invalid_config", "train", *model, *data, "--model.vocab", "100")
        self.check(2, "invalid_argument", "resume")
        self.check(3, "not_found", "resume", "nobody")
        self.check(3, "not_found", "train", *model, "--data", self.place.folder / "nowhere")
        self.check(3, "not_found", "generate", "nobody")
        self.check(3, "not_found", "runs", "show", "nobody")
        self.assertEqual(self.place.json("runs", "list"), before, "a refused run is not listed")

    def test_ExitCode_OfABrokenCheckpoint_Is4(self):
        run = self.place.train({**SMALL_MODEL, "run.updates": 10, "run.checkpoint_every": 5, "schedule.length": 20}, self.data)
        file = next(self.place.checkpoint(run, 10).glob("*.weight.bin"))
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        self.check(4, "corrupt_file", "resume", run, "--run.updates", "20")
        self.check(4, "corrupt_file", "generate", run)
        self.place.run("resume", f"{run}@5", "--run.updates", "20")  # the one before loads


if __name__ == "__main__":
    support.main()
