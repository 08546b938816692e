#!/usr/bin/env python3
"""Lathe's 8-bit AdamW against bitsandbytes, and the other storages of weights and moments against each other.

    against_bitsandbytes.py --steps bin/lathe_adamw_steps [--device cuda|cpu] [--wheel bitsandbytes-….whl] [--only maps,codes,…]

maps      the two 256-entry maps, bit for bit
codes     with both betas 0 the moments are the gradient and its square: their codes equal those of bitsandbytes,
          except where the normalised value lies within 4 ulp of the midpoint between the two codes
updates   20 updates, each from bitsandbytes' own state before it: at most 1e-4 of the codes differ, by one, and only
          near midpoints; the weights agree
training  50 updates as bitsandbytes' own test makes them (torch.optim.Adam beside it, states copied over after each
          update), inside that test's tolerances
split     200 updates: the master joined from BF16 weight and remainder equals the FP32 master, bit for bit
rounding  stochastic rounding without a master: the mean error is zero within 4 standard errors, the same seed gives
          the same bits, another seed others

Needs torch and bitsandbytes (a wheel is unpacked into a temporary folder, not installed). bitsandbytes' maps come from
torch.linspace, whose last bits depend on the vector unit torch uses; without one (ATEN_CPU_CAPABILITY=default) they
are others."""
import math
import struct
import warnings
import zipfile
from lathe_tool import *

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
import torch


class Steps:
    """lathe_adamw_steps as a pipe: one record in, one out, an update each."""

    def __init__(self, script, elements, states="8bit", **options):
        self.elements, self.states = elements, states
        words = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), str(value))]
        self.process = subprocess.Popen([script.options.steps, "--elements", str(elements), "--device", script.options.device, "--states", states, *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _read(self, dtype, count):
        size = count * torch.empty(0, dtype=dtype).element_size()
        data = self.process.stdout.read(size)
        if len(data) != size:
            raise RuntimeError("lathe_adamw_steps ended early")
        return torch.frombuffer(bytearray(data), dtype=dtype)

    def update(self, gradient, start=None):
        """`start`: weights, and with 8-bit states m, v, and their scales. Returns weights, m, v, scales of m and v."""
        pipe = self.process.stdin
        if start is None:
            pipe.write(b"c")
        else:
            pipe.write(b"r")
            for tensor in start:
                pipe.write(tensor_bytes(tensor))
        pipe.write(tensor_bytes(gradient.float()))
        pipe.flush()
        result = [self._read(torch.float32, self.elements)]
        dtype = {"8bit": torch.uint8, "bf16": torch.bfloat16, "fp32": torch.float32}[self.states]
        result += [self._read(dtype, self.elements) for _ in range(2)]
        if self.states == "8bit":
            result += [self._read(torch.float32, self.elements // 256) for _ in range(2)]
        return result

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def import_bitsandbytes(wheel):
    if wheel:
        folder = tempfile.mkdtemp(prefix="bitsandbytes-")
        zipfile.ZipFile(wheel).extractall(folder)
        sys.path.insert(0, folder)
    import bitsandbytes
    return bitsandbytes


def near_midpoint(a, b, value, magnitude, table):
    """Whether codes a and b are neighbours and `value` (FP64, normalised) lies within 4 ulp of their midpoint. The ulp is that of
    `magnitude`, the largest term of the sum behind the value: rounding errors have its size."""
    table = table.double()
    midpoint = (table[a.long()] + table[b.long()]) / 2
    ulp = torch.exp2(torch.floor(torch.log2(torch.maximum(midpoint.abs(), magnitude).clamp(min=1e-300))) - 23)
    return ((a.int() - b.int()).abs() == 1) & ((value - midpoint).abs() <= 4 * ulp)


class Codes:
    """Differing codes, over any number of comparisons: the most in one, the largest distance, how many were not explained by a
    midpoint nearby, and how many of ours were farther from the value than theirs (negative values stay negative, so those that
    theirs made zero don't count)."""

    def __init__(self):
        self.most = self.distance = self.away = self.farther = 0

    def compare(self, ours, theirs, value, magnitude, table):
        different = (ours != theirs).nonzero().flatten()
        self.most = max(self.most, len(different))
        if len(different) == 0:
            return
        a, b, x = ours[different], theirs[different], value[different]
        near = near_midpoint(a, b, x, magnitude[different], table)
        self.distance = max(self.distance, (a.int() - b.int()).abs().max().item())
        self.away += int((~near).sum())
        table = table.double()
        farther = (table[a.long()] - x).abs() > (table[b.long()] - x).abs()
        self.farther += int((farther & ~near & ~((x < 0) & (table[b.long()] >= 0))).sum())

    def report(self, script, what, elements, most_allowed):
        text = f"at most {self.most} of {elements} differ ({self.most / elements:.1e}), by at most {self.distance}; {self.away} away from midpoints, ours farther {self.farther} times"
        if script.cpu:
            # bitsandbytes' CPU library quantises by a coarse table: its codes are not the nearest. Ours must be.
            script.check(what, self.farther == 0, text)
        else:
            script.check(what, self.away == 0 and self.most <= most_allowed, text)


def blocks(scale):
    return scale.double().repeat_interleave(256)


def states_of(optimizer, p):
    s = optimizer.state[p]
    return [s[name].detach().cpu().flatten() for name in ("state1", "state2", "absmax1", "absmax2")]


def test_maps(script, bnb):
    out = subprocess.run([script.options.steps, "--maps"], check=True, stdout=subprocess.PIPE).stdout
    for i, signed in enumerate((True, False)):
        ours = out[1024 * i:1024 * (i + 1)]
        theirs = struct.pack("<256f", *bnb.functional.create_dynamic_map(signed=signed).tolist())
        different = sum(ours[4 * k:4 * k + 4] != theirs[4 * k:4 * k + 4] for k in range(256))
        script.check(f"{'signed' if signed else 'unsigned'} map", different == 0, f"{different} of 256 entries differ")


def test_codes(script, bnb, elements):
    device = script.options.device
    for name, gradient in (("normal", torch.randn(elements) * 0.01), ("wide", torch.randn(elements) * torch.exp2(-20 * torch.rand(elements)))):
        p = torch.nn.Parameter(torch.zeros(elements, device=device))
        p.grad = gradient.to(device)
        optimizer = bnb.optim.AdamW8bit([p], lr=1e-3, betas=(0.0, 0.0), weight_decay=0.0)
        optimizer.step()
        m, v, m_scale, v_scale = states_of(optimizer, p)
        steps = Steps(script, elements, beta1=0, beta2=0)
        _, our_m, our_v, our_m_scale, our_v_scale = steps.update(gradient)
        steps.close()
        script.check(f"codes, {name}: scales", torch.equal(our_m_scale, m_scale) and torch.equal(our_v_scale, v_scale), "bit-equal" if torch.equal(our_m_scale, m_scale) else "differ")
        for which, ours, theirs, value, scale, signed in (("m", our_m, m, gradient.double(), m_scale, True), ("v", our_v, v, (gradient * gradient).double(), v_scale, False)):
            normalised = value / blocks(scale)
            codes = Codes()
            codes.compare(ours, theirs, normalised, normalised.abs(), bnb.functional.create_dynamic_map(signed=signed))
            codes.report(script, f"codes, {name}: {which}", elements, elements)


def test_updates(script, bnb, elements):
    device, (beta1, beta2) = script.options.device, (0.9, 0.95)
    p = torch.nn.Parameter((torch.randn(elements) * 0.1).to(device))
    optimizer = bnb.optim.AdamW8bit([p], lr=1e-3, betas=(beta1, beta2), weight_decay=0.1)
    steps = Steps(script, elements, beta1=beta1, beta2=beta2, decay=0.1)
    maps = [bnb.functional.create_dynamic_map(signed=signed) for signed in (True, False)]
    codes = {"m": Codes(), "v": Codes()}
    weight_error = 0.0
    for i in range(20):
        gradient = torch.randn(elements) * 0.01
        start = [s.clone() for s in states_of(optimizer, p)] if i else zero_states(elements)
        weights = p.detach().cpu().clone()
        p.grad = gradient.to(device)
        optimizer.step()
        after = states_of(optimizer, p)
        ours = steps.update(gradient, [weights] + start)
        for k, which in enumerate(("m", "v")):
            old = maps[k].double()[start[k].long()] * blocks(start[2 + k])
            beta, term = ((beta1, gradient.double()), (beta2, gradient.double() ** 2))[k]
            value, scale = beta * old + (1 - beta) * term, blocks(after[2 + k])
            magnitude = torch.maximum((beta * old).abs(), ((1 - beta) * term).abs())
            codes[which].compare(ours[1 + k], after[k], value / scale, magnitude / scale, maps[k])
        weight_error = max(weight_error, (ours[0] - p.detach().cpu()).abs().max().item())
    steps.close()
    for which, seen in codes.items():
        seen.report(script, f"updates: codes of {which}", elements, 1e-4 * elements)
    # Both decay by lr·decay; bitsandbytes decays the updated weight, torch and we the old one: 1e-4 of an update of about lr.
    script.check("updates: weights", weight_error <= 1e-6, f"largest difference {weight_error:.1e}")


def zero_states(elements):
    return [torch.full((elements,), 127, dtype=torch.uint8), torch.zeros(elements, dtype=torch.uint8), torch.zeros(elements // 256), torch.zeros(elements // 256)]


def test_training(script, bnb, elements):
    maps = [bnb.functional.create_dynamic_map(signed=signed) for signed in (True, False)]
    for name, gtype in (("FP32", torch.float32), ("BF16", torch.bfloat16)):
        bf16 = gtype == torch.bfloat16
        p1 = (torch.randn(elements).to(gtype) * 0.1).float()
        reference = torch.optim.Adam([p1], lr=1e-3)
        steps = Steps(script, elements, weights="bf16" if bf16 else "fp32", master="fp32" if bf16 else "none", gradients="bf16" if bf16 else "fp32")
        state, weights = zero_states(elements), p1.clone()
        worst = [0, 0, 0, 0]
        for i in range(50):
            gradient = torch.randn(elements).to(gtype) * 0.01
            p1.grad = gradient.float()
            reference.step()
            weights, *state = steps.update(gradient, [weights] + state)
            p2 = weights.to(gtype).float()
            dequantised = [maps[k][state[k].long()] * blocks(state[2 + k]).float() for k in range(2)]
            not_close = max(int((~torch.isclose(reference.state[p1][key], s, atol=3e-3, rtol=1e-3)).sum()) for key, s in zip(("exp_avg", "exp_avg_sq"), dequantised))
            error = (p1 - p2).abs()
            far = 0
            if i % 10 == 0 and i > 0:
                far = int((~torch.isclose(p1, p2, atol=1e-4 if bf16 else 1e-5, rtol=1e-2 if bf16 else 1e-3)).sum())
            worst = [max(a, b) for a, b in zip(worst, (error.mean().item(), (error / (p1.abs() + 1e-9)).mean().item(), not_close, far))]
            p1.data = p1.data.to(gtype).float()
            weights = p1.clone()
            for key, s in zip(("exp_avg", "exp_avg_sq"), dequantised):
                reference.state[p1][key].copy_(s)
        steps.close()
        limits = (0.00017, 0.0016) if bf16 else (0.00006, 0.0006)
        script.check(f"training, {name}", worst[0] <= limits[0] and worst[1] <= limits[1] and worst[2] < 20 and worst[3] == 0,
                     f"mean error {worst[0]:.1e} (at most {limits[0]}), relative {worst[1]:.1e} ({limits[1]}), moments off {worst[2]} (under 20), weights off {worst[3]} (0)")


def test_split(script, elements):
    for states in ("fp32", "8bit"):
        runs = [Steps(script, elements, states=states, weights="bf16", master=master, decay=0.1, beta2=0.95) for master in ("fp32", "split")]
        start, equal = torch.randn(elements) * 0.05, 0
        for i in range(200):
            gradient = torch.randn(elements) * 0.01
            first = [start] + (zero_states(elements) if states == "8bit" else [])
            a, b = (run.update(gradient, first if i == 0 else None) for run in runs)
            equal += all(torch.equal(x.view(torch.uint8), y.view(torch.uint8)) for x, y in zip(a, b))
        for run in runs:
            run.close()
        moved = (a[0] - start).abs().mean().item()
        script.check(f"split master, {states} states", equal == 200 and moved > 1e-3, f"{equal} of 200 updates bit-equal (weights moved by {moved:.1e} on average)")


def test_rounding(script, elements):
    """Weights at rest (no gradient) only decay: the exact next value is known, and every stored one is one of its two BF16 neighbours."""
    start, decay, rate = (torch.rand(elements) + 1).bfloat16().float(), 0.1, 1e-3
    gradient, exact = torch.zeros(elements), (start.double() * (1 - rate * decay))
    options = dict(weights="bf16", master="none", states="fp32", lr=rate, decay=decay, gradients="fp32")
    results = {}
    for name, seed in (("a", 1), ("again", 1), ("other", 2)):
        steps = Steps(script, elements, seed=seed, **options)
        results[name] = [steps.update(gradient, [start])[0] for _ in range(20)]
        steps.close()
    ulp = 2.0 ** -7  # of BF16 in [1, 2); below 1 half of that
    errors = torch.stack([(w.double() - exact) / ulp for w in results["a"]])
    sure = exact > 1
    fraction = torch.remainder(exact / ulp, 1)
    deviation = math.sqrt((fraction * (1 - fraction))[sure].sum().item() * len(errors)) / (int(sure.sum()) * len(errors))
    mean = errors[:, sure].mean().item()
    script.check("rounding: unbiased", abs(mean) <= 4 * deviation, f"mean error {mean:+.2e} ulp, standard error {deviation:.1e}")
    script.check("rounding: neighbours only", errors[:, sure].abs().max().item() < 1, f"largest error {errors[:, sure].abs().max().item():.4f} ulp")
    each = torch.stack(results["a"])
    script.check("rounding: each update its own bits", all(not torch.equal(each[i], each[0]) for i in range(1, len(each))), "20 updates")
    script.check("rounding: same seed, same bits", all(torch.equal(x, y) for x, y in zip(results["a"], results["again"])), "20 updates")
    script.check("rounding: other seed, other bits", all(not torch.equal(x, y) for x, y in zip(results["a"], results["other"])), "20 updates")


def main():
    script = Script(__doc__, steps=dict(default=str(ROOT / "build/release/bin/lathe_adamw_steps")), wheel=dict(help="bitsandbytes' wheel, where it isn't installed"))
    torch.manual_seed(1)
    elements = 1 << (16 if script.cpu else 20)
    bnb = None
    for name, test in (("maps", lambda: test_maps(script, bnb)), ("codes", lambda: test_codes(script, bnb, elements)), ("updates", lambda: test_updates(script, bnb, elements)),
                       ("training", lambda: test_training(script, bnb, elements)), ("split", lambda: test_split(script, elements // 4)),
                       ("rounding", lambda: test_rounding(script, elements))):
        if not script.wanted(name):
            continue
        if name in ("maps", "codes", "updates", "training"):
            bnb = bnb or import_bitsandbytes(script.options.wheel)
        script.say(name)
        test()
    script.end()


main()
