#!/usr/bin/env python3
"""What each memory lever costs in quality: 125m, 2,000 updates of 16,384 tokens on real text, the same data in the same
order, one lever changed at a time; final validation loss against FP32 states, master and gradients.

    quality.py --lathe bin/lathe [--data DATASET | --text FOLDER [--tokenizer MODEL | --vocab 32000]] [--out curves.jsonl]
               [--picture curves.png]
    quality.py --draw curves.jsonl --picture curves.png           draws only

--text takes (up to 120 MB of) every .txt, .md, .rst and .py file below a folder, in the order of their names: the folder of an installed torch
gives 90 MB, enough for 2,000 updates of fresh data. The sample corpus (the default) would be read thirty times.

Runs one after the other, each about 95 s on an H200; a run that is finished in --home is not made again, so a call that
was cut goes on; the reference is always among them. `rounding` is the reference with the loss in chunks: it differs in rounding alone, and says what a gap is
worth. A lever should end within 0.01 nats of the reference; a larger gap stands in that setting's help. It isn't a failure
of the program, so it is told, not counted."""
from lathe_tool import *

LEVERS = {
    "reference": {},
    "bf16_states": {"optimizer.state": "bf16"},
    "8bit_states": {"optimizer.state": "8bit"},
    "split_master": {"precision.master": "split"},
    "no_master": {"precision.master": "none"},
    "bf16_gradients": {"precision.gradients": "bf16"},
    "rounding": {"memory.loss_chunk_tokens": 1024},
    "all_small": {"optimizer.state": "8bit", "precision.master": "none", "precision.gradients": "bf16"},
}
MOST_TEXT = 120_000_000  # characters of --text: 33M tokens are read, at about 3.2 characters each
WORDS = {"reference": "FP32 states, master, gradients", "bf16_states": "BF16 states", "8bit_states": "8-bit states", "split_master": "split master",
         "no_master": "no master, stochastic rounding", "bf16_gradients": "BF16 gradients", "rounding": "reference, other rounding", "all_small": "8-bit, no master, BF16 gradients"}


def settings(script, lever, vocab):
    common = {"model.vocab": vocab, "batch.micro_batch": 8, "batch.accumulation": 2, "schedule.lr": 6e-4, "schedule.warmup": 100, "run.updates": script.options.updates,
              "run.tokens": 0, "run.eval_every": script.options.updates // 10, "run.eval_tokens": 524288, "run.checkpoint_every": 0, "run.keep_last": 1,
              "optimizer.state": "fp32", "precision.master": "fp32", "precision.gradients": "fp32", "memory.recompute": "norms", "memory.loss_chunk_tokens": 0,
              "run.name": f"quality-{lever}"}
    if script.cpu:
        common.update({"run.device": "cpu", "model.layers": 2, "model.hidden": 64, "model.heads": 2, "model.ffn": 128, "model.context": 64, "batch.micro_batch": 4,
                       "run.eval_tokens": 4096, "schedule.warmup": 3})
    return {**common, **LEVERS[lever]}


def dataset(script):
    options = script.options
    if options.data:
        info = script.lathe.json("data", "info", options.data)
        return options.data, info["vocab"]
    folder = pathlib.Path(options.home) / "quality-data"
    if not (folder / "manifest.json").exists():
        begin = time.monotonic()
        folder.parent.mkdir(parents=True, exist_ok=True)
        text = gather(options.text, folder.with_suffix(".txt")) if options.text else ROOT / "resources/samples/austen.txt.zst"
        tokenizer = ["--tokenizer", options.tokenizer] if options.tokenizer else ["--train-vocab", options.vocab]
        info = script.lathe.json("data", "build", folder, "--input", text, *tokenizer, "--validation-fraction", 0.03, "--replace")
        script.say(f"built {folder} in {time.monotonic() - begin:.0f} s: {json.dumps(info)}")
    return folder, script.lathe.json("data", "info", folder)["vocab"]


def gather(folder, target):
    """One text file of all below a folder, a document each, separated as `lathe data build` expects it."""
    separator, written = "<|endoftext|>", 0
    with open(target, "w") as out:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix in (".txt", ".md", ".rst", ".py") and path.is_file() and written < MOST_TEXT:
                text = path.read_text(errors="replace").replace(separator, "")
                written += out.write(f"{text.rstrip()}\n{separator}\n")
    return target


def finished(script):
    """Names of runs that reached their last update, with their ids."""
    return {run["name"]: run["id"] for run in script.lathe.json("runs", "list") if run["status"] == "finished" and run["step"] == script.options.updates}


def curve(script, lever, run):
    updates, evaluations = script.lathe.rows(run, "updates"), script.lathe.rows(run, "evaluations")
    speeds = sorted(row["tokens_per_s"] for row in updates)
    return dict(lever=lever, run=run, loss=[row["loss"] for row in updates], evaluations=[(row["step"], row["eval_loss"]) for row in evaluations],
                process_bytes=updates[-1]["memory_process"], tokens_per_s=speeds[len(speeds) // 2])


def draw(curves, picture):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    reference = next(c for c in curves if c["lever"] == "reference")
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 8), height_ratios=(3, 2), sharex=True)
    for c in curves:
        smooth, weight, line = 0.0, 0.0, []
        for value in c["loss"]:
            smooth, weight = 0.98 * smooth + 0.02 * value, 0.98 * weight + 0.02
            line.append(smooth / weight)
        top.plot(range(1, len(line) + 1), line, lw=1, label=f"{WORDS[c['lever']]}: {c['evaluations'][-1][1]:.4f}")
        if c is not reference:
            base = dict(reference["evaluations"])
            points = [(step, loss - base[step]) for step, loss in c["evaluations"] if step in base]
            bottom.plot(*zip(*points), marker="o", ms=3, lw=1, label=WORDS[c["lever"]])
    last = reference["loss"][len(reference["loss"]) // 20:]
    top.set_ylim(min(last) - 0.1, max(last) + 0.2)
    top.set_ylabel("training loss, smoothed (nats/token)")
    top.legend(title="final validation loss", fontsize=8)
    bottom.axhspan(-0.01, 0.01, color="0.92")
    bottom.axhline(0, color="0.5", lw=0.8)
    bottom.set_ylabel("validation loss minus reference")
    bottom.set_xlabel("update")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def main():
    script = Script(__doc__, data=dict(help="dataset folder"), text=dict(help="folder of texts to build one from (default: the sample corpus)"), tokenizer=dict(help="SentencePiece model for --text"),
                    vocab=dict(type=int, default=None, help="of the tokenizer trained for --text"), updates=dict(type=int, default=None),
                    picture=dict(help="PNG to draw"), draw=dict(help="--out file of an earlier call: draw it and end"))
    options = script.options
    options.updates = options.updates or (40 if script.cpu else 400 if script.quick else 2000)
    options.vocab = options.vocab or (512 if script.cpu else 8192)
    if options.draw:
        lines = {}
        for line in open(options.draw):
            entry = json.loads(line)
            if entry["name"] == "curve":
                lines[entry["lever"]] = entry
        draw([lines[lever] for lever in LEVERS if lever in lines], options.picture)
        return
    data, vocab = dataset(script)
    curves = []
    for lever in LEVERS:
        if lever != "reference" and not script.wanted(lever):
            continue
        done = finished(script)
        name = f"quality-{lever}"
        if name not in done:
            begin = time.monotonic()
            for event in script.lathe.events("train", "--preset", "125m", "--data", data, *flags(settings(script, lever, vocab))):
                if event["event"] == "evaluation":
                    script.say(f"{lever}: step {event['step']}, validation loss {event['loss']:.4f}")
            script.say(f"{lever}: {time.monotonic() - begin:.0f} s")
            done = finished(script)
        c = curve(script, lever, done[name])
        curves.append(c)
        script.result("curve", **c)
        gap = c["evaluations"][-1][1] - curves[0]["evaluations"][-1][1]
        text = f"final validation loss {c['evaluations'][-1][1]:.4f} ({gap:+.4f}), {c['tokens_per_s']:.0f} tokens/s, process {gib(c['process_bytes'])}"
        if lever == "split_master":
            # The same arithmetic: not close, but equal.
            script.check(WORDS[lever], c["loss"] == curves[0]["loss"], text + "; every loss equal to the reference's")
        else:
            script.check(WORDS[lever], len(c["loss"]) == options.updates, text + ("" if abs(gap) <= 0.01 else "; MORE THAN 0.01"))
    if options.picture:
        try:
            draw(curves, options.picture)
            script.say(f"drew {options.picture}")
        except ImportError:
            script.say("matplotlib is missing; draw later with --draw")
    script.end()


main()
