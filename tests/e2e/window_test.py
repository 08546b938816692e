"""The window as people use it: on a real display (Xvfb) with a window manager, without which no window is ever active
and keys go nowhere. window_flow does what a person does; here the window itself is started, killed and started again.

    LATHE=… LATHE_WORKBENCH=… LATHE_WINDOW_FLOW=… python3 tests/e2e/window_test.py
"""

import json
import os
import random
import shutil
import subprocess
import time

import support
from support import Failed, SMALL_MODEL

SEED = 20261201
SETTINGS = {**SMALL_MODEL, "run.updates": 1_000_000, "run.checkpoint_every": 5, "schedule.kind": "constant"}
IN_WINDOW, OWN_PROCESS = 0, 1


class Display:
    """An X server of its own with a window manager."""

    def __init__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1366x768x24", "-nolisten", "tcp"],
                                       pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise Failed("Xvfb did not start")
        self.environment = dict(os.environ, DISPLAY=f":{number}", QT_QPA_PLATFORM="xcb")
        self.manager = subprocess.Popen(["openbox"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        for process in (self.manager, self.server):
            process.terminate()
            process.wait(10)

    def xdotool(self, *words, timeout=60):
        return subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True, timeout=timeout)


def wait_for(what, condition, patience=support.PATIENCE_S):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise Failed(f"{what} never came")


class Window(support.WorkplaceTest):
    @classmethod
    def setUpClass(cls):
        missing = [tool for tool in ("Xvfb", "openbox", "xdotool") if not shutil.which(tool)]
        if missing:
            raise support.unittest.SkipTest(f"{', '.join(missing)} not installed")
        super().setUpClass()
        cls.display = Display()
        cls.addClassCleanup(cls.display.close)

    def environment(self):
        return dict(self.display.environment, **{key: value for key, value in self.place.environment().items()
                                                 if key.startswith(("LATHE", "OPENBLAS"))})

    def write_draft(self, run_in):
        """What New will show at the next start: the settings of the small model, and where the run lives."""
        settings = {}
        for key, value in {**SETTINGS, "data.sources": [{"path": str(self.data)}]}.items():
            section, name = key.split(".", 1)
            settings.setdefault(section, {})[name] = value
        text = json.dumps(settings).replace("\\", "\\\\").replace('"', '\\"')
        self.place.home.mkdir(parents=True, exist_ok=True)
        (self.place.home / "preferences.ini").write_text(f'[new]\ndraft="{text}"\ndraft_base=tiny\nrun_in={run_in}\n')

    def open_window(self):
        window = subprocess.Popen([os.environ["LATHE_WORKBENCH"]], env=self.environment(), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (window.kill(), window.wait(), window.stderr.close()))
        self.display.xdotool("search", "--sync", "--onlyvisible", "--name", "Lathe", timeout=support.PATIENCE_S)
        return window

    def launch(self):
        """Ctrl+Return until the run is listed: Launch is off until the drivers have answered and the verdict stands."""
        before = {run["id"] for run in self.runs()}

        def listed():
            self.display.xdotool("search", "--onlyvisible", "--name", "Lathe", "windowactivate", "--sync", "key", "ctrl+Return")
            time.sleep(0.5)
            return [run["id"] for run in self.runs() if run["id"] not in before]
        return wait_for("the run", listed)[0]

    def runs(self):
        return self.place.json("runs", "list") if (self.place.home / "history.db").exists() else []

    def step(self, run):
        return self.place.show(run)["step"]

    def test_WorkerRun_WindowKilled_IsInterruptedAndResumesBitForBit(self):
        kills = int(os.environ.get("LATHE_KILLS", "5"))
        random.seed(SEED)
        print(f"{kills} kills, seed {SEED}")
        for number in range(kills):
            self.write_draft(IN_WINDOW)
            window = self.open_window()
            run = self.launch()
            target = 6 + random.randrange(10)
            wait_for(f"step {target}", lambda: self.step(run) >= target)
            time.sleep(random.random() * 0.3)
            window.kill()
            window.wait()
            self.place.check_databases()
            shown = self.place.show(run)
            self.assertEqual(shown["status"], "interrupted")
            saved = self.place.checkpoints(run)
            self.assertEqual(shown["last_checkpoint_step"], saved[-1])
            end = saved[-1] + 5
            self.place.run("resume", run, "--run.updates", end)
            reference = self.place.train({**SETTINGS, "run.updates": end}, self.data)
            self.assertEqual([(row["step"], row["loss"]) for row in self.place.rows(run)],
                             [(row["step"], row["loss"]) for row in self.place.rows(reference)])
            self.assertEqual(self.place.tensors(run, end), self.place.tensors(reference, end))
            print(f"  kill {number + 1}: step {shown['step']}, resumed at {saved[-1]}")

    def test_OwnProcess_WindowKilled_GoesOn(self):
        self.write_draft(OWN_PROCESS)
        window = self.open_window()
        run = self.launch()
        wait_for("step 3", lambda: self.step(run) >= 3)
        window.kill()
        window.wait()
        step = self.step(run)
        wait_for("further steps", lambda: self.step(run) > step + 3)
        self.assertEqual(self.place.show(run)["status"], "running")
        self.place.run("runs", "stop", run)
        wait_for("the end", lambda: self.place.show(run)["status"] == "stopped")

    def test_Start_Warm_IsUsableWithinASecond(self):
        # The best of five, on a machine that does a fixed piece of work in so many seconds: what else it does, and its
        # age, are not the window's.
        times, work = [], []
        for _ in range(5):
            begin = time.perf_counter()
            sum(i * i for i in range(1_000_000))
            work.append(time.perf_counter() - begin)
            done = subprocess.run([os.environ["LATHE_WORKBENCH"], "--time-start"], env=self.environment(), capture_output=True,
                                  text=True, timeout=support.PATIENCE_S)
            lines = dict(line.rsplit(" ", 2)[:2] for line in done.stdout.splitlines() if line.endswith(" ms"))
            times.append(float(lines["usable"]))
            print(f"  {done.stdout.split(chr(10))}")
        self.assertLess(min(times), 1000 * min(max(min(work) / 0.075, 1), 4))

    def test_Person_MouseAndKeyboard_GetsThroughTheDay(self):
        done = subprocess.run([os.environ["LATHE_WINDOW_FLOW"]], env=self.environment(), capture_output=True, text=True,
                              timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        self.assertNotIn("SKIPPED", done.stdout)


if __name__ == "__main__":
    support.main()
