#!/usr/bin/env python3
"""Predicted against measured peak memory and tokens/s, over all memory levers, on this GPU.

    prediction_check.py --lathe bin/lathe [--only 125m,977m] [--quick] [--no-calibrate]

First this GPU is calibrated: `lathe profile` times the ops of the 125m and 977m shapes, of the presets wanted. Then 20
configurations run through `lathe bench`, which says before it starts what it will need. Peak memory must be within
max(1%, 64 MiB) of the promise and never above it. Tokens/s must be within 5% where at least 95% of the predicted time
lies in timed shapes, else within 10%.

With --device cpu tiny models are used; the CPU's process holds more than the arena, so only the arena is compared."""
from lathe_tool import *

# name, preset, settings. The levers: level, gradient type, states, master, chunk, micro-batch, document mask.
F8 = {"optimizer.state": "8bit"}
CONFIGURATIONS = [
    ("977m plain", "977m", {"memory.recompute": "norms", "memory.loss_chunk_tokens": 0}),
    ("977m bf16 gradients", "977m", {"memory.recompute": "norms", "memory.loss_chunk_tokens": 0, "precision.gradients": "bf16"}),
    ("977m 15 GiB", "977m", {**F8, "precision.master": "split", "memory.recompute": "norms", "memory.loss_chunk_tokens": 1024}),
    ("977m 14 GiB", "977m", {**F8, "precision.master": "split", "precision.gradients": "bf16", "memory.recompute": "norms", "memory.loss_chunk_tokens": 1024}),
    ("977m keeps all", "977m", {**F8, "memory.recompute": "none", "memory.loss_chunk_tokens": 0}),
    ("977m gate_up", "977m", {"optimizer.state": "bf16", "memory.recompute": "gate_up", "memory.loss_chunk_tokens": 1024}),
    ("977m qkv", "977m", {**F8, "precision.master": "none", "precision.gradients": "bf16", "memory.recompute": "qkv", "memory.loss_chunk_tokens": 1024}),
    ("977m attention_ffn", "977m", {**F8, "precision.master": "split", "precision.gradients": "bf16", "memory.recompute": "attention_ffn", "memory.loss_chunk_tokens": 1024}),
    ("977m block", "977m", {**F8, "precision.master": "none", "precision.gradients": "bf16", "memory.recompute": "block", "memory.loss_chunk_tokens": 1024}),
    ("977m mixed levels", "977m", {**F8, "precision.master": "split", "memory.recompute": "norms*10,gate_up*14", "memory.loss_chunk_tokens": 1024}),
    ("977m micro-batch 2", "977m", {"batch.micro_batch": 2, "batch.accumulation": 8, "memory.recompute": "norms", "memory.loss_chunk_tokens": 0, "precision.gradients": "bf16"}),
    ("977m micro-batch 4", "977m", {"batch.micro_batch": 4, "batch.accumulation": 4, "optimizer.state": "bf16", "memory.recompute": "gate_up", "memory.loss_chunk_tokens": 4096}),
    ("977m chunk 2048", "977m", {**F8, "precision.master": "split", "memory.recompute": "norms", "memory.loss_chunk_tokens": 2048, "optimizer.clip": 0}),
    ("977m document mask", "977m", {**F8, "attention.document_mask": "true", "memory.recompute": "norms", "memory.loss_chunk_tokens": 1024}),
    ("125m plain", "125m", {"memory.recompute": "norms", "memory.loss_chunk_tokens": 0}),
    ("125m keeps all", "125m", {"optimizer.state": "bf16", "precision.gradients": "bf16", "memory.recompute": "none", "memory.loss_chunk_tokens": 0}),
    ("125m block", "125m", {**F8, "precision.master": "none", "memory.recompute": "block", "memory.loss_chunk_tokens": 2048}),
    ("125m micro-batch 1", "125m", {"batch.micro_batch": 1, "batch.accumulation": 64, "memory.recompute": "norms", "memory.loss_chunk_tokens": 0}),
    ("125m micro-batch 32", "125m", {**F8, "precision.master": "split", "batch.micro_batch": 32, "batch.accumulation": 2, "memory.recompute": "qkv", "memory.loss_chunk_tokens": 8192}),
    ("125m document mask", "125m", {"attention.document_mask": "true", "precision.gradients": "bf16", "memory.recompute": "gate_up", "memory.loss_chunk_tokens": 4096}),
]
PROFILES = [
    ("977m", {**F8, "precision.master": "split", "memory.recompute": "norms", "memory.loss_chunk_tokens": 1024}),
    ("977m", {"precision.gradients": "bf16", "memory.recompute": "block", "memory.loss_chunk_tokens": 0}),
    ("125m", {"memory.recompute": "norms", "memory.loss_chunk_tokens": 0}),
]


def on_cpu(preset, settings):
    """The same levers on a model that makes an update in a moment."""
    small = {"run.device": "cpu", "precision.compute": "bf16", "precision.weights": "bf16", "model.layers": 2, "model.hidden": 64, "model.heads": 2, "model.ffn": 128, "model.vocab": 512, "model.context": 32,
             "batch.micro_batch": 2, "batch.accumulation": 2}
    changed = {"precision.gradients": "fp32"}
    changed |= {key: value for key, value in settings.items() if not key.startswith("batch.")}
    if changed.get("memory.loss_chunk_tokens"):
        changed["memory.loss_chunk_tokens"] = 16
    if "*" in changed.get("memory.recompute", ""):
        changed["memory.recompute"] = "norms*1,gate_up*1"
    return "tiny", {**changed, **small}


def main():
    script = Script(__doc__, no_calibrate=dict(action="store_true", help="use the calibration in --home as it is"))
    if not script.options.no_calibrate:
        for preset, settings in PROFILES:
            if not any(preset == of and script.wanted(name) for name, of, _ in CONFIGURATIONS):
                continue
            if script.cpu:
                preset, settings = on_cpu(preset, settings)
            profile = script.lathe.json("profile", "--preset", preset, "--repetitions", 3, "--seconds", 0 if script.cpu else 4, *flags(settings))
            script.result("profile", settings=settings, profile=profile)
            script.say(f"profiled {preset} {settings}: " + ", ".join(f"{s['sequence']} {s['wall_ms']:.2f} ms ({s['sum_ms']:.2f} summed)" for s in profile["sequences"]))
    rows = []
    for name, preset, settings in CONFIGURATIONS:
        if not script.wanted(name):
            continue
        if script.cpu:
            preset, settings = on_cpu(preset, settings)
        try:
            bench = script.lathe.bench(settings, preset, seconds=1 if script.quick else 4, updates=2 if script.quick else 3, warmup=1 if script.quick else 2)
        except Refused as refusal:
            script.check(f"{name}: runs", False, str(refusal).splitlines()[0])
            continue
        script.result(name, settings=settings, bench=bench)
        script.check(f"{name}: arena", bench["arena_bytes"] == bench["planned_arena_bytes"], f"{bench['arena_bytes']} bytes, planned {bench['planned_arena_bytes']}")
        row = [name, gib(bench["planned_process_bytes"]), gib(bench["process_bytes"])]
        if not script.cpu:
            planned, measured = bench["planned_process_bytes"], bench["process_bytes"]
            allowed = max(measured // 100, 64 * MIB)
            script.check(f"{name}: peak", 0 <= planned - measured <= allowed, f"{gib(measured)}, {(planned - measured) / MIB:+.0f} MiB promised (0 to {allowed // MIB})")
        predicted = bench.get("predicted")
        if predicted:
            error = predicted["tokens_per_s"] / bench["tokens_per_s"] - 1
            limit = 0.05 if predicted["timed_share"] >= 0.95 else 0.10
            row += [f"{predicted['tokens_per_s']:.0f}", f"{bench['tokens_per_s']:.0f}", f"{100 * error:+.1f}%", f"{100 * predicted['timed_share']:.0f}%",
                    f"{1000 * (predicted['update_s'] - predicted['optimizer_s']):.1f}/{1000 * bench['micro_steps_s']:.1f}", f"{1000 * predicted['optimizer_s']:.1f}/{1000 * bench['optimizer_s']:.1f}"]
            if script.cpu:  # a busy small machine; what counts here is that there is a prediction
                script.note(f"{name}: tokens/s", f"{100 * error:+.1f}%")
            else:
                script.check(f"{name}: tokens/s", abs(error) <= limit, f"{bench['tokens_per_s']:.0f}, predicted {100 * error:+.1f}% (bound {100 * limit:.0f}%, {100 * predicted['timed_share']:.0f}% timed)")
        elif not script.cpu:
            script.check(f"{name}: tokens/s", False, "nothing was predicted")
        rows.append(row + ["-"] * (9 - len(row)))
    print()
    print_table(["configuration", "promised", "measured", "predicted tok/s", "measured", "error", "timed", "micro-steps ms", "optimizer ms"], rows)
    script.end()


main()
