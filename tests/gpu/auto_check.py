#!/usr/bin/env python3
"""The planner against ten hand-made configurations on this GPU, at 8, 11, 15 and 24 GiB, all with the same maths.

    auto_check.py --lathe bin/lathe [--only 8,11,15,24,unlimited] [--gpu H200] [--quick] [--no-calibrate]

For each budget `lathe plan --micro-batch` chooses; its choice must reach at least 0.99 times the tokens/s of the best of
the hand-made ones that fit. What the cost model predicts to be more than 15% slower than the best is not timed, and
said. The choice is timed first and last; when it misses, both are timed once more and the means decide. With --quick only
the two hand-made ones with the best predictions are timed, and the choice once.
unlimited: at micro-batch 1 and the same gradient type, 15 GiB must give at least 0.98 times of what the whole card does.

With --device cpu only a tiny model runs, by the H200's predictions: that tries the script."""
from lathe_tool import *

F8 = {"optimizer.state": "8bit"}
MATHS = {  # what makes each budget a matter of choice
    8: {**F8, "precision.master": "none", "precision.gradients": "bf16"},
    11: {**F8, "precision.master": "split", "precision.gradients": "bf16"},
    15: {**F8, "precision.master": "split", "precision.gradients": "fp32"},
    24: {"optimizer.state": "fp32", "precision.master": "fp32", "precision.gradients": "fp32"},
}
HAND_MADE = [  # recompute, loss chunk, micro-batch
    ("none", 0, 1), ("norms", 0, 1), ("norms", 1024, 1), ("norms*16,gate_up*8", 1024, 1), ("gate_up", 2048, 1),
    ("gate_up*12,qkv*12", 1024, 1), ("qkv", 1024, 1), ("block", 512, 1), ("norms", 2048, 2), ("qkv", 4096, 4),
]
WINDOWS = 16  # micro-batch x accumulation


def settings_of(maths, recompute, chunk, micro_batch):
    return {**maths, "memory.recompute": recompute, "memory.loss_chunk_tokens": chunk, "batch.micro_batch": micro_batch,
            "batch.accumulation": WINDOWS // micro_batch}


class Timer:
    """Tokens/s of configurations, each timing kept."""

    def __init__(self, script):
        self.script, self.all = script, {}

    def speed(self, settings):
        script = self.script
        if script.cpu:
            settings = {"run.device": "cpu", "precision.compute": "bf16", "precision.weights": "bf16", "model.context": 32, "model.vocab": 512, "batch.micro_batch": 1, "batch.accumulation": 2,
                        "memory.recompute": settings["memory.recompute"].split("*")[0]}
        bench = script.lathe.bench(settings, "tiny" if script.cpu else "977m", seconds=1 if script.quick else 4, updates=2, warmup=1 if script.quick else 2)
        script.result("timed", settings=settings, bench=bench)
        self.all.setdefault(json.dumps(settings, sort_keys=True), []).append(bench["tokens_per_s"])
        return bench["tokens_per_s"]


def mean(values):
    return sum(values) / len(values)


def plan(script, gpu, maths, budget, micro_batch=True):
    ranked = script.lathe.json("plan", "--preset", "977m", "--gpu", gpu, "--vram", budget, *(["--micro-batch"] if micro_batch else []), *flags(maths))["ranked"]
    best = ranked[0]
    return settings_of(maths, best["recompute"], best["loss_chunk_tokens"], best["micro_batch"]), best


def one_budget(script, timer, gpu, budget):
    maths, limit = MATHS[budget], budget * GIB
    chosen, best = plan(script, gpu, maths, limit)
    script.say(f"{budget} GiB, auto: {best['words']}; {gib(best['process_bytes'])}, {best['tokens_per_s']:.0f} tokens/s predicted")
    fitting = []
    for recompute, chunk, micro_batch in HAND_MADE:
        settings = settings_of(maths, recompute, chunk, micro_batch)
        estimate = script.lathe.json("estimate", "--preset", "977m", "--gpu", gpu, "--vram", limit, *flags(settings))
        name = f"{recompute}, chunk {chunk}, micro-batch {micro_batch}"
        if estimate["process_bytes"] > limit:
            script.say(f"{budget} GiB, {name}: does not fit ({gib(estimate['process_bytes'])})")
        else:
            fitting.append((name, settings, estimate["predicted"]["tokens_per_s"]))
    fastest = max([predicted for _, _, predicted in fitting] + [best["tokens_per_s"]])
    auto = [timer.speed(chosen)]
    measured = {}
    if script.quick:
        fitting = sorted(fitting, key=lambda one: -one[2])[:2]
    for name, settings, predicted in fitting:
        if predicted < 0.85 * fastest:
            script.say(f"{budget} GiB, {name}: not timed, predicted {100 * (1 - predicted / fastest):.0f}% slower than the best")
            continue
        measured[name] = (auto if settings == chosen else [timer.speed(settings)], settings)
        script.say(f"{budget} GiB, {name}: {mean(measured[name][0]):.0f} tokens/s (predicted {predicted:.0f})")
    if not script.quick:
        auto.append(timer.speed(chosen))
    script.say(f"{budget} GiB, auto: " + " and ".join(f"{speed:.0f}" for speed in auto) + " tokens/s")
    if not measured:
        script.check(f"{budget} GiB", not fitting, f"{mean(auto):.0f} tokens/s; no hand-made configuration is near")
        return
    leader = max(measured, key=lambda name: mean(measured[name][0]))
    values, settings = measured[leader]
    if values is not auto and mean(auto) < 0.99 * mean(values):
        values.append(timer.speed(settings))
        auto.append(timer.speed(chosen))
    ratio = mean(auto) / mean(values)
    text = f"auto {mean(auto):.0f} tokens/s ({best['words']}), {ratio:.3f} times the best of {len(measured)} timed by hand ({leader})"
    script.judge(f"{budget} GiB", ratio >= 0.99, text)


def unlimited(script, timer, gpu):
    maths = MATHS[15]
    limited, best = plan(script, gpu, maths, 15 * GIB, micro_batch=False)
    whole = [plan(script, gpu, other, 130 * GIB, micro_batch=False)[0] for other in (maths, MATHS[24])]
    first = timer.speed(limited)
    speeds = [timer.speed(settings) for settings in whole]
    at_15 = mean([first, timer.speed(limited)])
    ratio = at_15 / max(speeds)
    script.judge("15 GiB of unlimited", ratio >= 0.98, f"{at_15:.0f} tokens/s ({best['words']}), unlimited {speeds[0]:.0f} with the same states, "
                 f"{speeds[1]:.0f} with FP32 states and master: {ratio:.3f}")


def main():
    script = Script(__doc__, gpu=dict(default="H200", help="this GPU as the table calls it"), no_calibrate=dict(action="store_true"))
    gpu, timer = script.options.gpu, Timer(script)
    if not (script.options.no_calibrate or script.cpu):
        for budget in (15, 24):
            settings = settings_of(MATHS[budget], "norms" if budget == 15 else "block", 1024 if budget == 15 else 0, 1)
            script.lathe.json("profile", "--preset", "977m", "--repetitions", 3, *flags(settings))
        script.lathe.json("profile", "--preset", "977m", "--repetitions", 3, *flags(settings_of(MATHS[11], "block", 512, 1)))
        script.say("calibrated")
    for budget in MATHS:
        if script.wanted(str(budget)):
            one_budget(script, timer, gpu, budget)
    if script.wanted("unlimited"):
        unlimited(script, timer, gpu)
    script.end()


main()
