"""Every command speaks JSON under --json: one document, or one a line where it reports as it goes. The commands
are read from the program's own help, so that a new one can't be forgotten here."""

import json
import subprocess

import support
from support import SMALL_MODEL


def leaf_commands(place, words=()):
    """All commands without subcommands, as tuples of words."""
    text = place.run(*words, "--help")
    lines, names = text.splitlines(), []
    for index, line in enumerate(lines):
        if line.startswith("Subcommands:"):
            for entry in lines[index + 1:]:
                if entry.startswith("  ") and not entry.startswith("   "):
                    names.append(entry.split()[0])
                elif not entry.strip():
                    break
    if not names:
        return [tuple(words)]
    return [leaf for name in names for leaf in leaf_commands(place, (*words, name))]


class EveryCommand(support.WorkplaceTest):
    def parse(self, words, text):
        try:
            return json.loads(text)
        except ValueError:
            pass
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError as error:
            self.fail(f"lathe --json {' '.join(map(str, words))}: no JSON ({error}):\n{text[:600]}")

    def test_Json_OfEveryCommand_Parses(self):
        place, data = self.place, self.data
        model = support.flags({**SMALL_MODEL, "run.updates": 12, "run.checkpoint_every": 6, "run.eval_every": 6,
                               "run.eval_tokens": 256, "run.sample_every": 6, "run.sample_tokens": 8})
        train = ["--data", data, *model]
        text = place.folder / "data.txt"
        shard = sorted(data.glob("train-*.bin"))[0]
        log = place.folder / "old.log"
        log.write_text("".join(f"step {i} | loss {5 - i / 100:.4f} | lr 1e-3\n" for i in range(1, 40)))
        a_run, b_run = place.train({**SMALL_MODEL, "run.updates": 6}, data), place.train({**SMALL_MODEL, "run.updates": 6}, data)
        # In this order: later ones may build on what earlier ones made. A command may have several examples.
        examples = {
            ("settings",): [[]],
            ("data", "build"): [[place.folder / "built", "--input", text, "--train-vocab", 400]],
            ("data", "import"): [[place.folder / "imported", "--format", "nanogpt", shard, "--vocab", 512]],
            ("data", "info"): [[data]],
            ("data", "show"): [[data, "--at", 3]],
            ("data", "verify"): [[data]],
            ("estimate",): [model],
            ("plan",): [[*model, "--vram", "16GiB"]],
            ("profile",): [model],
            ("bench",): [model],
            ("train",): [train],
            ("resume",): [["last", "--run.updates", 15], ["--last", "--if-interrupted"]],
            ("generate",): [["last", "--tokens", 5]],
            ("runs", "list"): [[]],
            ("runs", "show"): [[a_run]],
            ("runs", "compare"): [[a_run, b_run]],
            ("runs", "export"): [[a_run], [a_run, "--table", "updates"]],
            ("runs", "tag"): [[a_run, "good"]],
            ("runs", "note"): [[a_run, "a note"]],
            ("runs", "rename"): [[a_run, "first"]],
            ("runs", "archive"): [[a_run]],
            ("runs", "import-log"): [[log]],
            ("runs", "pause"): [[b_run]],
            ("runs", "continue"): [[b_run]],
            ("runs", "evaluate"): [[b_run]],
            ("runs", "sample"): [[b_run, "--prompt", "It is"]],
            ("runs", "save"): [[b_run]],
            ("runs", "stop"): [[b_run]],
            ("runs", "delete"): [[b_run, "--yes"]],
            ("doctor",): [[], ["--quick"]],
        }
        # Nobody trains b_run: what is asked of it is refused, which must be JSON as well.
        refused = {("runs", name) for name in ("pause", "continue", "evaluate", "sample", "save", "stop")}
        commands = leaf_commands(place)
        unknown = [" ".join(command) for command in commands if command not in examples]
        self.assertEqual(unknown, [], "commands without an example in this test")
        for command, lists in examples.items():
            if command not in commands:
                continue
            for words in lists:
                words = [*command, *words]
                with self.subTest(command=" ".join(map(str, words))):
                    done = subprocess.run([support.lathe_binary(), "--json", *map(str, words)], env=place.environment(),
                                          capture_output=True, text=True, timeout=support.PATIENCE_S)
                    if command not in refused:
                        self.assertEqual(done.returncode, 0, done.stdout[-800:] + done.stderr[-800:])
                    self.assertTrue(done.stdout.strip(), f"nothing was printed; {done.stderr[-500:]}")
                    self.parse(words, done.stdout)

    def test_Help_OfEveryCommand_HasAnExample(self):
        for command in leaf_commands(self.place):
            with self.subTest(command=" ".join(command)):
                text = self.place.run(*command, "--help")
                self.assertIn("Example", text)
                self.assertIn(f"lathe {' '.join(command)}", text)


if __name__ == "__main__":
    support.main()
