#!/usr/bin/env python3
"""Lathe on the GPU against transformers' LlamaForCausalLM: gradients of one step in FP32 and BF16, and a training run.

    against_transformers.py step  RUN PRESET.json [--tokens FILE]   loss and every gradient, FP32 and BF16, at initialisation
    against_transformers.py train RUN PRESET.json --tokens FILE     300 updates beside PyTorch twice (two attention
                                                                    backends), then gradients at the trained weights

RUN is the built lathe_reference_run; PRESET.json a settings file; --tokens a file of int32 token ids (real text; random
ids without it). Exits 1 when a bound of the comparison is missed. Needs torch, transformers, numpy, a GPU; matplotlib draws
the picture of the curves (--picture FILE)."""
import argparse, copy, gc, json, math, os, subprocess, sys, tempfile
import numpy as np, torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import LlamaConfig, LlamaForCausalLM

torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
failures = []


def check(what, value, bound, good):
    print(f"  {'ok  ' if good else 'FAIL'} {what}: {value:.3g} (bound {bound:.3g})", flush=True)
    if not good:
        failures.append(what)


def settings_of(path, changes):
    settings = json.load(open(path))
    for section in ("model", "batch", "schedule", "optimizer"): settings.setdefault(section, {})
    for key, value in changes.items():
        section, name = key.split(".")
        settings.setdefault(section, {})[name] = value
    return settings


def run_lathe(run, settings, windows, folder, *options):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "settings.json")
    json.dump(settings, open(path, "w"))
    subprocess.run([run, path, windows, folder, *map(str, options)], check=True)


def read_tensors(folder, name):
    index = json.load(open(os.path.join(folder, "index.json")))
    data, at, tensors = np.memmap(os.path.join(folder, name), np.float32, "r"), 0, {}
    for entry in index:
        count = math.prod(entry["shape"])
        tensors[entry["name"]] = torch.from_numpy(np.array(data[at:at + count])).view(entry["shape"])
        at += count
    return tensors


def to_transformers(tensors, m):
    """Lathe's fused tensors under transformers' names: projections split by rows, nothing transposed."""
    heads, dim, out = m.num_attention_heads, m.head_dim, {}
    for name, tensor in tensors.items():
        name = name.replace("layer.", "model.layers.")
        if name == "embed.weight": out["model.embed_tokens.weight"] = tensor
        elif name == "final_norm.weight": out["model.norm.weight"] = tensor
        elif name == "head.weight": out["lm_head.weight"] = tensor
        elif name.endswith("attn.qkv.weight"):
            base = name[:-len("attn.qkv.weight")] + "self_attn."
            q, k, v = tensor.split([heads * dim, m.num_key_value_heads * dim, m.num_key_value_heads * dim])
            out |= {base + "q_proj.weight": q, base + "k_proj.weight": k, base + "v_proj.weight": v}
        elif name.endswith("attn.o.weight"): out[name.replace("attn.o.", "self_attn.o_proj.")] = tensor
        elif name.endswith("ffn.gate_up.weight"):
            base = name[:-len("ffn.gate_up.weight")] + "mlp."
            gate, up = tensor.chunk(2)
            out |= {base + "gate_proj.weight": gate, base + "up_proj.weight": up}
        elif name.endswith("ffn.down.weight"): out[name.replace("ffn.down.", "mlp.down_proj.")] = tensor
        elif name.endswith("attn_norm.weight"): out[name.replace("attn_norm.", "input_layernorm.")] = tensor
        elif name.endswith("ffn_norm.weight"): out[name.replace("ffn_norm.", "post_attention_layernorm.")] = tensor
        else: raise KeyError(name)
    return out


def build(settings):
    m = settings["model"]
    config = LlamaConfig(vocab_size=m.get("vocab", 32000), hidden_size=m.get("hidden", 1792), intermediate_size=m.get("ffn", 4736),
                         num_hidden_layers=m.get("layers", 24), num_attention_heads=m.get("heads", 16),
                         num_key_value_heads=m.get("kv_heads") or m.get("heads", 16), head_dim=m.get("head_dim") or None,
                         max_position_embeddings=m.get("context", 4096), rms_norm_eps=m.get("norm_eps", 1e-5), attention_dropout=0.0,
                         rope_theta=m.get("rope_theta", 10000.0), tie_word_embeddings=m.get("tied_embeddings", True), use_cache=False)
    config._attn_implementation = "sdpa"
    model = LlamaForCausalLM(config).cuda()
    # Under autocast the residual stream is BF16 from the embedding on, as PyTorch users who train in BF16 have it.
    model.model.embed_tokens.register_forward_hook(lambda module, args, y: y.bfloat16() if torch.is_autocast_enabled() else y)
    return model


def load(model, folder, name):
    state = to_transformers(read_tensors(folder, name), model.config)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all("lm_head" in x for x in missing), (missing, unexpected)


def loss_of(model, window):
    logits = model(window[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), window[:, 1:].flatten())


def gradients(model, window, bf16=False):
    model.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
        loss = loss_of(model, window)
    loss.backward()
    return loss.item(), {name: p.grad.detach() for name, p in model.named_parameters()}


def cosine(a, b):
    a, b = a.double().flatten(), b.double().flatten()
    return (a @ b / (a.norm() * b.norm())).item()


def whole(grads, reference):
    dot = sum((grads[n].double() * reference[n].double()).sum() for n in reference)
    norm = math.sqrt(sum(g.double().square().sum() for g in grads.values()))
    ref = math.sqrt(sum(g.double().square().sum() for g in reference.values()))
    return (dot / (norm * ref)).item(), norm / ref - 1


def compare_gradients(run, preset, windows, scratch, weights=None, fp32=True):
    fp = {"precision.compute": "fp32", "precision.weights": "fp32", "precision.gradients": "fp32"}
    rows = settings_of(preset, {})["batch"].get("micro_batch", 1)
    settings = settings_of(preset, {"run.updates": 1})
    model = build(settings)
    context = settings["model"].get("context", 4096)
    window = torch.from_numpy(np.fromfile(windows, np.int32)[:rows * (context + 1)].astype(np.int64)).view(rows, context + 1).cuda()
    options = ["--weights", weights] if weights else []
    reference = None
    for kind, changes in (("fp32", fp), ("bf16", {"precision.gradients": "fp32"})):
        if kind == "fp32" and not fp32:
            continue
        folder = os.path.join(scratch, kind)
        run_lathe(run, settings_of(preset, changes), windows, folder, *options)
        load(model, folder, "before.bin")
        if reference is None:
            ref_loss, reference = gradients(model, window)
            reference = {n: g.clone() for n, g in reference.items()}
        ours = {n: g.cuda() for n, g in to_transformers(read_tensors(folder, "gradients.bin"), model.config).items()}
        ours_loss = json.load(open(os.path.join(folder, "losses.json")))["micro_batch"]
        if kind == "fp32":
            check("FP32 |loss difference|", abs(ours_loss - ref_loss), 1e-5, abs(ours_loss - ref_loss) <= 1e-5)
            worst = min((cosine(ours[n], reference[n]), n) for n in reference)
            check(f"FP32 lowest gradient cosine ({worst[1]}), 1 - cosine", 1 - worst[0], 1e-4, worst[0] >= 0.9999)
            continue
        _, torch_bf16 = gradients(model, window, bf16=True)
        c, n = whole(ours, reference)
        ct, nt = whole(torch_bf16, reference)
        print(f"  BF16 loss {ours_loss:.6f}, FP32 reference {ref_loss:.6f}; whole gradient: ours 1-cos {1 - c:.2e} norm {n:+.2e}, PyTorch 1-cos {1 - ct:.2e} norm {nt:+.2e}")
        check("BF16 whole gradient, 1 - cosine", 1 - c, 1e-3, c >= 0.999)
        check("BF16 whole gradient norm, relative", abs(n), 0.01, abs(n) <= 0.01)
        ratios = sorted(((1 - cosine(ours[n], reference[n])) / max(1 - cosine(torch_bf16[n], reference[n]), 1e-12), n) for n in reference)
        print("  BF16 per tensor (1-cos) over PyTorch's: median %.2f, worst three %s" % (ratios[len(ratios) // 2][0], [(round(r, 2), n) for r, n in ratios[-3:]]))
        check(f"BF16 worst tensor over PyTorch's ({ratios[-1][1]})", ratios[-1][0], 1.5, ratios[-1][0] <= 1.5)
    del model, reference
    gc.collect(); torch.cuda.empty_cache()


def learning_rate(s, step, total):
    peak, warmup, final = s.get("lr", 3e-4), s.get("warmup", 100), s.get("final_fraction", 0.1)
    if step + 1 < warmup: return peak * (step + 1) / warmup
    q = min(max((step + 1 - warmup) / max(total - warmup, 1), 0), 1)
    return peak * (final + (1 - final) * (1 + math.cos(math.pi * q)) / 2)


def train_torch(settings, windows, folder, updates, backend):
    model = build(settings)
    load(model, folder, "before.bin")
    o, b = settings.get("optimizer", {}), settings["batch"]
    decay = [p for n, p in model.named_parameters() if p.dim() > 1]
    rest = [p for n, p in model.named_parameters() if p.dim() == 1]
    opt = torch.optim.AdamW([dict(params=decay, weight_decay=o.get("weight_decay", 0.1)), dict(params=rest, weight_decay=0.0)], lr=1.0,
                            betas=(o.get("beta1", 0.9), o.get("beta2", 0.95)), eps=o.get("eps", 1e-8), fused=True)
    context = settings["model"].get("context", 4096)
    data = torch.from_numpy(np.fromfile(windows, np.int32).astype(np.int64)).view(-1, context + 1).cuda()
    at, losses = 0, []
    for step in range(updates):
        total = 0.0
        for _ in range(b["accumulation"]):
            rows = torch.stack([data[(at + i) % len(data)] for i in range(b["micro_batch"])])
            at += b["micro_batch"]
            with sdpa_kernel(backend), torch.autocast("cuda", torch.bfloat16):
                loss = loss_of(model, rows) / b["accumulation"]
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), o.get("clip", 1.0))
        for group in opt.param_groups: group["lr"] = learning_rate(settings.get("schedule", {}), step, updates)
        opt.step(); opt.zero_grad(set_to_none=True)
        losses.append(total)
    losses = [float(x) for x in losses]
    del model, opt
    gc.collect(); torch.cuda.empty_cache()
    return losses


def compare_curves(a, settings, windows, folder, total):
    ours = json.load(open(os.path.join(folder, "losses.json")))["updates"]
    cudnn = train_torch(settings, windows, folder, total, SDPBackend.CUDNN_ATTENTION)
    flash = train_torch(settings, windows, folder, total, SDPBackend.FLASH_ATTENTION)
    last = slice(-100, None)
    mean = lambda x, y: float(np.mean(np.abs(np.array(x[last]) - np.array(y[last]))))
    spread, difference = mean(cudnn, flash), mean(ours, cudnn)
    print(f"last losses: ours {ours[-1]:.4f}, PyTorch cuDNN {cudnn[-1]:.4f}, flash {flash[-1]:.4f}; mean |difference| of the last 100: ours {difference:.5f}, between the two {spread:.5f}")
    check("mean |loss difference| over PyTorch's own spread", difference / spread, 1.5, difference <= 1.5 * spread)
    if a.curves: json.dump(dict(ours=ours, pytorch_cudnn=cudnn, pytorch_flash=flash), open(a.curves, "w"))
    if a.picture:
        import matplotlib; matplotlib.use("Agg"); import matplotlib.pyplot as plt
        figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 7), height_ratios=(2, 1), sharex=True)
        for name, curve in (("PyTorch, cuDNN attention", cudnn), ("PyTorch, flash attention", flash), ("Lathe", ours)): top.plot(curve, label=name, lw=1)
        top.set_ylabel("training loss (nats/token)"); top.legend()
        bottom.plot(np.array(flash) - np.array(cudnn), lw=1, label="flash - cuDNN"); bottom.plot(np.array(ours) - np.array(cudnn), lw=1, label="Lathe - cuDNN")
        bottom.set_ylabel("difference"); bottom.set_xlabel("update"); bottom.legend(); figure.tight_layout(); figure.savefig(a.picture, dpi=110)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["step", "train"]); p.add_argument("run"); p.add_argument("preset")
    p.add_argument("--tokens"); p.add_argument("--updates", type=int, default=300); p.add_argument("--picture"); p.add_argument("--curves")
    p.add_argument("--only-gradients", action="store_true", help="train: without the two PyTorch runs")
    a = p.parse_args()
    scratch = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    settings = settings_of(a.preset, {})
    context, vocab = settings["model"].get("context", 4096), settings["model"].get("vocab", 32000)
    ids = np.fromfile(a.tokens, np.int32) if a.tokens else np.random.default_rng(1).integers(0, vocab, 16 * (context + 1), dtype=np.int32)
    # Windows overlap by one token: every token is a target once.
    count = (len(ids) - 1) // context
    order = np.random.default_rng(2).permutation(count)
    windows = os.path.join(scratch, "windows.bin")
    np.stack([ids[i * context:i * context + context + 1] for i in order]).astype(np.int32).tofile(windows)
    if a.what == "step":
        print(f"{os.path.basename(a.preset)}: one step at initialisation", flush=True)
        compare_gradients(a.run, a.preset, windows, scratch)
    else:
        total = a.updates
        settings = settings_of(a.preset, {"run.updates": total, "schedule.warmup": 50, "precision.compute": "bf16", "precision.weights": "bf16",
                                          "precision.master": "fp32", "precision.gradients": "fp32", "batch.micro_batch": 8, "batch.accumulation": 2})
        folder = os.path.join(scratch, "train")
        run_lathe(a.run, settings, windows, folder, "--updates", total)
        if not a.only_gradients: compare_curves(a, settings, windows, folder, total)
        print("gradients at the weights after these updates", flush=True)
        trained = os.path.join(scratch, "trained.json"); json.dump(settings, open(trained, "w"))
        compare_gradients(a.run, trained, windows, scratch, weights=folder)
    print("FAILED: " + ", ".join(failures) if failures else "all bounds held")
    sys.exit(1 if failures else 0)


main()
