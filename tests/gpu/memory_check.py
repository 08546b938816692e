#!/usr/bin/env python3
"""Memory of the 977m model under a ballast: that what is promised fits, and that the peak never moves.

    memory_check.py --lathe bin/lathe [--only fp32,bf16,11,8] [--quick]

fp32   977m, context 4096, micro-batch 1, exact FP32 master, 8-bit states, FP32 gradients, no matrix product
       recomputed: arena at most 13.9 GiB, and a card of which a ballast leaves 15.0 GiB is enough for 200 updates with
       evaluation, a save, the end of the process, and a resume. The ballast watches the card: what is in use must not
       change from the first update of a session to its end, and both sessions must use the same.
bf16   the same with BF16 gradients on 14.0 GiB (100 updates).
11, 8  budgets of 11.0 and 8.0 GiB: the planner finds a configuration, which then runs under a ballast of exactly that,
       or says what it would need.

With --device cpu a tiny model is used and there is no ballast: that tries the script, not the memory."""
from lathe_tool import *

EXACT = {"optimizer.state": "8bit", "precision.master": "split", "precision.gradients": "fp32"}
BF16_GRADIENTS = {**EXACT, "precision.gradients": "bf16"}
NO_MASTER = {**BF16_GRADIENTS, "precision.master": "none"}


def base(script):
    if script.cpu:
        return "tiny", {"model.vocab": 512, "run.device": "cpu", "precision.compute": "bf16", "precision.weights": "bf16", "batch.accumulation": 2, "model.context": 64}
    return "977m", {"batch.accumulation": 2}


def train(script, name, settings, budget, updates):
    """Trains half of `updates`, ends, resumes, trains the rest; returns what the card and the history say."""
    preset, common = base(script)
    vocab = 512 if script.cpu else 32000
    data = random_dataset(script.lathe, pathlib.Path(script.options.home) / f"random-{vocab}", vocab, 400_000 if script.cpu else 2_000_000)
    half = updates // 2
    run = {**common, **settings, "run.updates": half, "run.eval_every": max(half // 2, 1), "run.eval_tokens": 65536 if not script.cpu else 256,
           "run.checkpoint_every": 0, "run.keep_last": 1, "schedule.warmup": max(half // 4, 1), "run.name": name}
    if budget:
        run["memory.vram_budget"] = budget
    sessions = []
    for words in (["train", "--preset", preset, "--data", data, *flags(run)],
                  ["resume", "last", "--set", f"run.updates={updates}"]):
        first = last = None
        evaluations = 0
        started = {}
        for event in script.lathe.events(*words):
            if event["event"] == "start":
                started = event
            if event["event"] == "update":
                first = first or event["read_at"]
                last = event["read_at"]
            evaluations += event["event"] == "evaluation"
            if event["event"] == "end":
                started["result"] = event["result"]
                started["end"] = event["read_at"]
        sessions.append(dict(first=first, last=last, evaluations=evaluations, **started))
        script.say(f"{name}: session to step {sessions[-1]['result']['step']}, {evaluations} evaluations, "
                   f"checkpoint {sessions[-1]['result']['checkpoint_step']}")
    return sessions


def prove(script, name, settings, budget, arena_limit, updates):
    script.say(f"{name}: {updates} updates with {gib(budget)} left on the card")
    with (NoBallast() if script.cpu else Ballast(budget)) as ballast:
        sessions = train(script, name, settings, 0 if script.cpu else budget, updates)
        time.sleep(0.1)
        levels = []
        for session in sessions:
            at_first = ballast.peak(session["first"], session["first"])
            levels.append((at_first, ballast.peak(session["first"], session["end"])))
    rows = script.lathe.rows(sessions[0]["run"], "updates")
    arena, process = {row["memory_arena"] for row in rows}, {row["memory_process"] for row in rows}
    script.result(name, budget=budget, free=ballast.free_bytes, levels=levels, arena=sorted(arena), process=sorted(process), sessions=sessions,
                  samples=ballast.samples)
    steps = sorted(row["step"] for row in rows)
    script.check(f"{name}: updates", steps == list(range(1, updates + 1)) and all(s["evaluations"] for s in sessions), f"{len(steps)} of {updates}, evaluated, saved, resumed")
    script.check(f"{name}: arena", len(arena) == 1 and max(arena) <= arena_limit, f"{gib(max(arena))}, at most {gib(arena_limit)}")
    if script.cpu:
        return
    peak = max(level for _, level in levels)
    script.check(f"{name}: on the card", 0 < peak <= ballast.free_bytes <= budget, f"{gib(peak)} of the {gib(ballast.free_bytes)} left by the ballast")
    script.check(f"{name}: peak never moves", all(a == b for a, b in levels) and len({b for _, b in levels}) == 1,
                 "; ".join(f"session {i + 1}: {a} then at most {b} bytes" for i, (a, b) in enumerate(levels)))
    script.check(f"{name}: process", max(process) <= budget, f"{gib(max(process))} in the history")


def budget_run(script, budget):
    """The first maths, from exact on, for which the planner finds a configuration; then it must run."""
    preset, common = base(script)
    name = f"budget {gib(budget)}"
    where = ["--gpu", "H200"] if script.cpu else []
    for what, maths in (("FP32 gradients, exact master", EXACT), ("BF16 gradients, exact master", BF16_GRADIENTS), ("BF16 gradients, no master", NO_MASTER)):
        try:
            plan = script.lathe.json("plan", "--preset", "977m", "--vram", budget, *where, *flags(maths))
        except Refused as refusal:
            words = str(refusal)
            script.check(f"{name}: {what}", "needs" in words, words.splitlines()[0])
            continue
        best = plan["ranked"][0]
        script.check(f"{name}: {what}", best["process_bytes"] <= budget, f"{best['words']}; {gib(best['process_bytes'])} planned")
        settings = {**common, **maths, "memory.recompute": "auto", "memory.loss_chunk_tokens": "auto", "memory.vram_budget": budget}
        if script.cpu:
            settings.pop("memory.vram_budget")
        with (NoBallast() if script.cpu else Ballast(budget)) as ballast:
            try:
                result = script.lathe.bench(settings, preset, updates=3, seconds=2 if script.quick else 4)
            except Refused as refusal:
                script.result(name, plan=plan, refused=str(refusal))
                script.check(f"{name}: runs", False, str(refusal).splitlines()[0])
                return
            time.sleep(0.1)
            peak = ballast.peak()
        script.result(name, plan=plan, bench=result, peak=peak)
        script.check(f"{name}: runs", script.cpu or 0 < peak <= budget, f"{gib(peak)} on the card, {result['tokens_per_s']:.0f} tokens/s")
        return


def main():
    script = Script(__doc__)
    fits = {"memory.recompute": "norms", "memory.loss_chunk_tokens": 1024 if not script.cpu else 32}
    updates = 8 if script.cpu else 60 if script.quick else 200
    if script.wanted("fp32"):
        prove(script, "fp32", {**EXACT, **fits}, 15 * GIB, int(13.9 * GIB), updates)
    if script.wanted("bf16"):
        prove(script, "bf16", {**BF16_GRADIENTS, **fits}, 14 * GIB, int(12.9 * GIB), updates // 2)
    for budget in (11, 8):
        if script.wanted(str(budget)):
            budget_run(script, budget * GIB)
    script.end()


main()
