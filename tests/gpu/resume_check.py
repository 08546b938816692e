#!/usr/bin/env python3
"""`lathe train --preset 125m` on the GPU, killed behind a checkpoint and resumed: the same bits as a run that was
never interrupted. Then the small models of tests/e2e/resume_test.py on the GPU.

    LATHE=build/release/bin/lathe python3 tests/gpu/resume_check.py
"""

import os
import pathlib
import sys

os.environ["LATHE_TEST_DEVICE"] = "cuda"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import resume_test  # noqa: E402
import support  # noqa: E402


class Preset125m(support.WorkplaceTest):
    def test_Preset125m_KilledAndResumed_SameBits(self):
        settings = {"batch.accumulation": 2, "run.checkpoint_every": 20, "run.keep_last": 10, "run.eval_every": 15,
                    "run.device": "cuda", "schedule.length": 40, "schedule.warmup": 10}
        preset = ("--preset", "125m")
        reference = self.place.train({**settings, "run.updates": 40}, self.data, extra=preset)
        victim = self.place.start(["train"], {**settings, "run.updates": 1_000_000}, self.data, extra=preset)
        run = victim.run_id()
        victim.wait_for_message("Saved a checkpoint at step 20 ")
        victim.kill()
        self.place.run("resume", f"{run}@20", "--run.updates", 40)
        whole, resumed = self.place.rows(reference), self.place.rows(run)
        key = [(row["step"], row["loss"], row["grad_norm"]) for row in whole]
        self.assertEqual([(row["step"], row["loss"], row["grad_norm"]) for row in resumed], key)
        self.assertEqual(self.place.tensors(run, 40), self.place.tensors(reference, 40))
        self.assertNotEqual(self.place.tensors(run, 40), self.place.tensors(run, 20))
        print(f"125m: loss {key[0][1]:.4f} at step 1, {key[-1][1]:.4f} at step 40, bit-equal after the resume; "
              f"{sorted(row['tokens_per_s'] for row in whole)[20]:,.0f} tokens/s")


Resume = resume_test.Resume

if __name__ == "__main__":
    support.main()
