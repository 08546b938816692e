#!/usr/bin/env python3
"""Times updates of the `tiny` preset in Lathe's CPU backend against the same model in eager PyTorch.

Both train on this machine's CPU in FP32 with the same number of threads, one after the other in turns, so that
a busy moment meets both. Lathe is timed through `lathe train --json` (each update's own tokens/s, data and
history included in the run but not in the number), PyTorch around the whole update: zero_grad, forward,
backward, clip, AdamW. The median of all turns' updates is the result; the first updates of a turn warm up.

    python tests/bench/tiny_vs_pytorch.py build/release/bin/lathe [--threads N] [--turns N] [--append results.md]

Exits with 1 below 0.7 times PyTorch's tokens/s. Needs PyTorch, and an idle machine for more than one thread.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARM_UP = 5
TARGET = 0.7


class Block(nn.Module):
    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.heads = heads
        self.attn_norm, self.ffn_norm = nn.RMSNorm(hidden, eps=1e-5), nn.RMSNorm(hidden, eps=1e-5)
        self.qkv, self.o = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.gate_up, self.down = nn.Linear(hidden, 2 * ffn, bias=False), nn.Linear(ffn, hidden, bias=False)

    def forward(self, x, cosines, sines):
        batch, time_, hidden = x.shape
        q, k, v = self.qkv(self.attn_norm(x)).view(batch, time_, 3, self.heads, -1).permute(2, 0, 3, 1, 4)

        def rotated(part):
            first, second = part.chunk(2, -1)
            return part * cosines + torch.cat([-second, first], -1) * sines

        y = functional.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, time_, hidden))
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class Llama(nn.Module):
    def __init__(self, model):
        super().__init__()
        hidden, dim = model["hidden"], model["hidden"] // model["heads"]
        self.embed = nn.Embedding(model["vocab"], hidden)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(hidden, model["heads"], model["ffn"]) for _ in range(model["layers"]))
        self.norm = nn.RMSNorm(hidden, eps=1e-5)
        angle = torch.arange(model["context"])[:, None] * 10000.0 ** (-torch.arange(0, dim, 2) / dim)
        angle = torch.cat([angle, angle], -1)
        self.register_buffer("cosines", angle.cos())
        self.register_buffer("sines", angle.sin())

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, self.cosines, self.sines)
        logits = functional.linear(self.norm(x), self.embed.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class PyTorchRun:
    """Keeps its model from turn to turn, as a longer training would."""

    def __init__(self, preset):
        self.preset = preset
        torch.manual_seed(1)
        self.model = Llama(preset["model"])
        self.parameters = sum(weight.numel() for weight in self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)

    def turn(self, updates):
        """Tokens per second of each update behind the warm-up."""
        shape = (self.preset["batch"]["micro_batch"], self.preset["model"]["context"])
        speeds = []
        for update in range(updates):
            tokens, targets = (torch.randint(self.preset["model"]["vocab"], shape) for _ in range(2))
            start = time.perf_counter()
            self.optimizer.zero_grad()
            loss = self.model(tokens, targets)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            loss.item()
            seconds = time.perf_counter() - start
            if update >= WARM_UP:
                speeds.append(math.prod(shape) / seconds)
        return speeds


def lathe_turn(lathe, folder, updates, threads):
    """Tokens per second of each update behind the warm-up, and the model's parameter count."""
    command = [lathe, "--home", folder / "home", "--json", "train", "--preset", "tiny", "--data", folder / "data",
               "--set", f"run.updates={updates}", "--set", "run.eval_every=0", "--set", "schedule.warmup=1",
               "--set", f"run.threads={threads}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in text.splitlines()]
    speeds = [line["tokens_per_s"] for line in lines if line["event"] == "update"]
    assert len(speeds) == updates, f"{len(speeds)} of {updates} updates were reported"
    return speeds[WARM_UP:], next(line["parameters"] for line in lines if line["event"] == "start")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lathe", type=pathlib.Path, help="the built command line program")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--updates", type=int, default=25, help="of each turn")
    parser.add_argument("--append", type=pathlib.Path, help="Markdown table to add the result to")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    preset = json.loads((ROOT / "resources/presets/tiny.json").read_text())

    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.lathe, "data", "build", folder / "data", "--input",
                        ROOT / "resources/samples/austen.txt.zst", "--train-vocab", str(preset["model"]["vocab"])],
                       check=True, capture_output=True)
        reference = PyTorchRun(preset)
        for turn in range(arguments.turns):
            speeds, parameters = lathe_turn(arguments.lathe.resolve(), folder, arguments.updates, arguments.threads)
            assert parameters == reference.parameters, f"{parameters} parameters against {reference.parameters}"
            ours += speeds
            theirs += reference.turn(arguments.updates)
            print(f"turn {turn + 1}: Lathe {statistics.median(speeds):.0f}, "
                  f"PyTorch {statistics.median(theirs[-len(speeds):]):.0f} tokens/s", flush=True)

    lathe, pytorch = statistics.median(ours), statistics.median(theirs)
    row = (f"| {datetime.date.today()} | {platform.machine()}, {arguments.threads} threads | {lathe:.0f} | "
           f"{pytorch:.0f} | {lathe / pytorch:.2f} | {torch.__version__.split('+')[0]} |")
    print(f"Lathe {lathe:.0f} tokens/s, PyTorch {pytorch:.0f} tokens/s: {lathe / pytorch:.2f} times "
          f"(best {max(ours):.0f} and {max(theirs):.0f})")
    if arguments.append:
        with arguments.append.open("a") as file:
            file.write(row + "\n")
    return 0 if lathe >= TARGET * pytorch else 1


if __name__ == "__main__":
    sys.exit(main())
