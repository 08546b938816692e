"""The quickstart, as a newcomer runs it: killed in the middle of training, run again it goes on; run a third time it
does no work twice. Minutes long; builds in build/release of this checkout."""

import os
import re
import signal
import subprocess
import time

import support

PATIENCE_S = 3600  # building included


class Quickstart(support.unittest.TestCase):
    def setUp(self):
        self.place = support.Workplace()
        self.addCleanup(self.place.close)

    def start(self, *words):
        environment = {key: value for key, value in self.place.environment().items()
                       if key not in ("DISPLAY", "WAYLAND_DISPLAY", "LATHE_RESOURCES")}
        return subprocess.Popen([str(support.SOURCE / "installer/quickstart.sh"), *words], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_to_end(self, *words):
        begin = time.monotonic()
        process = self.start(*words)
        text, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, text[-3000:])
        return text, time.monotonic() - begin

    def test_Quickstart_KilledAndRunAgain_GoesOnAndEnds(self):
        first = self.start()
        for line in first.stdout:
            if line.startswith("Saved a checkpoint"):
                break
        run = next((self.place.home / "runs").iterdir()).name
        trainer = self.place.sql(run, "SELECT process FROM session ORDER BY id DESC")[0]["process"]
        os.kill(trainer, signal.SIGKILL)
        first.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(first.returncode, 0)

        text, _ = self.run_to_end()
        self.assertIn("it goes on at step", text)
        self.assertIn("Resuming bit for bit", text)
        loss = float(re.search(r"^Validation loss +([0-9.]+) nats", text, re.MULTILINE).group(1))
        self.assertLess(loss, 4.0)  # a model that knows nothing: 7.62
        for what in ("Checkpoint", "History"):
            path = re.search(rf"^{what} +(/\S+)", text, re.MULTILINE).group(1)
            self.assertTrue(os.path.exists(path), path)

        text, seconds = self.run_to_end()
        self.assertIn("has finished already", text)
        self.assertNotIn("step 1/", text)
        self.assertEqual(len(list((self.place.home / "runs").iterdir())), 1)
        self.assertLess(seconds, 120)


if __name__ == "__main__":
    support.main()
