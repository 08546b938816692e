#!/usr/bin/env python3
"""Makes the goldens that tests/train/golden_test.cpp compares Lathe with: PyTorch's own numbers.

A plain Llama in PyTorch, written from the published model alone, trains ten updates on random batches in
FP64 on the CPU. One safetensors file a variant holds the settings, the first weights, all batches, the
gradient of the first window, the loss and gradient norm of every window, and the last weights.

    python make_goldens.py                writes them beside this script
    python make_goldens.py --transformers also compares the model's logits with transformers' own classes

Needs PyTorch and NumPy; the second form transformers. Seeds are fixed: the same PyTorch writes the same bytes.
"""
import argparse
import json
import math
import pathlib
import struct

import numpy
import torch
from torch import nn
from torch.nn import functional

ACCUMULATION = 4
UPDATES = 10
MODEL = {"layers": 2, "hidden": 24, "heads": 4, "kv_heads": 2, "head_dim": 8, "ffn": 40, "vocab": 53,
         "vocab_pad": 8, "context": 16, "rope_theta": 500.0, "norm_eps": 1e-5}
OPTIMIZER = {"beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, "clip": 2.5}
VARIANTS = {
    "gqa_untied": {"model": {"tied_embeddings": False}},
    "tied": {"model": {"tied_embeddings": True}},
    "qk_norm_documents_z_loss": {"model": {"qk_norm": True, "kv_heads": 4}, "attention": {"document_mask": True},
                                 "loss": {"z_loss": 1e-2}},
}


class RmsNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, theta):
    """RoPE by split halves. x is [batch, heads, time, dim]."""
    time, dim = x.shape[-2:]
    frequency = theta ** (-torch.arange(0, dim, 2, dtype=x.dtype) / dim)
    angle = torch.arange(time, dtype=x.dtype)[:, None] * frequency
    first, second = x[..., : dim // 2], x[..., dim // 2:]
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], -1)


class Layer(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m
        hidden, query, key = m["hidden"], m["heads"] * m["head_dim"], m["kv_heads"] * m["head_dim"]
        self.attn_norm, self.ffn_norm = RmsNorm(hidden, m["norm_eps"]), RmsNorm(hidden, m["norm_eps"])
        self.q, self.k = nn.Linear(hidden, query, bias=False), nn.Linear(hidden, key, bias=False)
        self.v, self.o = nn.Linear(hidden, key, bias=False), nn.Linear(query, hidden, bias=False)
        if m["qk_norm"]:
            self.q_norm, self.k_norm = RmsNorm(m["head_dim"], m["norm_eps"]), RmsNorm(m["head_dim"], m["norm_eps"])
        self.gate, self.up = nn.Linear(hidden, m["ffn"], bias=False), nn.Linear(hidden, m["ffn"], bias=False)
        self.down = nn.Linear(m["ffn"], hidden, bias=False)

    def forward(self, x, mask):
        batch, time, _ = x.shape
        y = self.attn_norm(x)
        q, k, v = (part(y).view(batch, time, -1, self.m["head_dim"]) for part in (self.q, self.k, self.v))
        if self.m["qk_norm"]:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        q, k = rotate(q, self.m["rope_theta"]), rotate(k, self.m["rope_theta"])
        shared = self.m["heads"] // self.m["kv_heads"]
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.m["head_dim"])
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, time, -1))
        y = self.ffn_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m
        self.embed = nn.Embedding(m["vocab"], m["hidden"])
        self.layers = nn.ModuleList(Layer(m) for _ in range(m["layers"]))
        self.final_norm = RmsNorm(m["hidden"], m["norm_eps"])
        self.head = nn.Linear(m["hidden"], m["vocab"], bias=False)
        if m["tied_embeddings"]:
            self.head.weight = self.embed.weight

    def forward(self, tokens, document_start):
        position = torch.arange(tokens.shape[1])
        mask = (position[None, None, :] <= position[None, :, None]) & (position >= document_start[:, :, None])
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.final_norm(x))


def lathe_tensors(model, value):
    """Lathe's tensors (fused qkv and gate|up, padded vocabulary) from value(parameter) of each of the model's."""
    m = model.m

    def padded(tensor):
        rows = -m["vocab"] % m["vocab_pad"]
        return torch.cat([tensor, tensor.new_zeros(rows, tensor.shape[1])])

    out = {"embed.weight": padded(value(model.embed.weight)), "final_norm.weight": value(model.final_norm.weight)}
    if not m["tied_embeddings"]:
        out["head.weight"] = padded(value(model.head.weight))
    for i, layer in enumerate(model.layers):
        parts = {"attn_norm": [layer.attn_norm], "attn.qkv": [layer.q, layer.k, layer.v], "attn.o": [layer.o],
                 "ffn_norm": [layer.ffn_norm], "ffn.gate_up": [layer.gate, layer.up], "ffn.down": [layer.down]}
        if m["qk_norm"]:
            parts |= {"attn.q_norm": [layer.q_norm], "attn.k_norm": [layer.k_norm]}
        for name, modules in parts.items():
            out[f"layer.{i}.{name}.weight"] = torch.cat([value(module.weight) for module in modules])
    return {name: tensor.detach().to(torch.float32).numpy() for name, tensor in out.items()}


def random_weights(model, generator):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            value = 1 + 0.2 * noise if "norm" in name else noise / math.sqrt(weight.shape[-1])
            weight.copy_(value.to(torch.float32))  # exact in FP32, where Lathe starts


def random_batches(m, batch, masked, generator):
    """Tokens, targets (-1: not counted) and document starts, each [updates, accumulation, batch, context]."""
    shape = (UPDATES, ACCUMULATION, batch, m["context"])
    tokens, targets = (torch.randint(m["vocab"], shape, generator=generator) for _ in range(2))
    # Uneven: micro-step i drops more than micro-step i-1, so a mean of means would differ from the mean.
    drop = torch.rand(shape, generator=generator) < torch.tensor(masked).view(1, -1, 1, 1)
    targets[drop] = -1
    begins = torch.rand(shape, generator=generator) < 0.15
    begins[..., 0] = True
    starts = torch.where(begins, torch.arange(m["context"]), 0).cummax(-1).values
    return tokens, targets, starts


def window_gradient(model, tokens, targets, starts, z_loss):
    """Leaves the gradient of the window's mean loss in the model and returns that loss without z-loss."""
    valid = int((targets >= 0).sum())
    total = 0.0
    for step in range(ACCUMULATION):
        logits = model(tokens[step], starts[step]).flatten(0, 1)
        target = targets[step].flatten()
        loss = functional.cross_entropy(logits, target, ignore_index=-1, reduction="sum")
        z = (logits.logsumexp(-1).square() * (target >= 0)).sum() * z_loss
        ((loss + z) / valid).backward()
        total += loss.item()
    return total / valid


def write_safetensors(path, tensors, metadata):
    kinds = {"float32": "F32", "float64": "F64", "int32": "I32"}
    header, offset = {"__metadata__": metadata}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": kinds[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in tensors.values()))


def make(name, variant, folder, seed):
    generator = torch.Generator().manual_seed(seed)
    settings = {"model": MODEL | {"tied_embeddings": True, "qk_norm": False} | variant["model"],
                "attention": variant.get("attention", {"document_mask": False}),
                "loss": variant.get("loss", {"z_loss": 0.0}),
                "batch": {"micro_batch": 2, "accumulation": ACCUMULATION},
                "precision": {"compute": "fp32", "weights": "fp32", "gradients": "fp32"}, "optimizer": OPTIMIZER}
    m = settings["model"]
    model = Llama(m).double()
    random_weights(model, generator)
    tokens, targets, starts = random_batches(m, 2, [0.0, 0.2, 0.5, 0.8], generator)
    seen = starts if settings["attention"]["document_mask"] else torch.zeros_like(starts)

    norms = [weight for key, weight in model.named_parameters() if "norm" in key]
    others = [weight for key, weight in model.named_parameters() if "norm" not in key]
    optimizer = torch.optim.AdamW(
        [{"params": norms, "weight_decay": 0.0}, {"params": others, "weight_decay": OPTIMIZER["weight_decay"]}],
        betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["eps"])
    rates = [1e-2 * (update + 1) / UPDATES for update in range(UPDATES)]

    out = {"weight." + key: value for key, value in lathe_tensors(model, lambda w: w).items()}
    losses, lengths = [], []
    for update in range(UPDATES):
        optimizer.zero_grad()
        losses.append(window_gradient(model, tokens[update], targets[update], seen[update],
                                      settings["loss"]["z_loss"]))
        if update == 0:
            out |= {"gradient." + key: value for key, value in lathe_tensors(model, lambda w: w.grad).items()}
        lengths.append(float(nn.utils.clip_grad_norm_(model.parameters(), OPTIMIZER["clip"])))
        for group in optimizer.param_groups:
            group["lr"] = rates[update]
        optimizer.step()
    out |= {"updated." + key: value for key, value in lathe_tensors(model, lambda w: w).items()}
    out |= {"loss": numpy.array(losses), "gradient_norm": numpy.array(lengths), "learning_rate": numpy.array(rates)}
    out |= {key: value.to(torch.int32).numpy() for key, value in
            {"tokens": tokens, "targets": targets, "document_start": starts}.items()}
    path = folder / f"{name}.safetensors"
    write_safetensors(path, out, {"settings": json.dumps(settings), "torch": torch.__version__, "seed": str(seed)})
    print(f"{path.name}: {path.stat().st_size} bytes, loss {losses[0]:.6f} to {losses[-1]:.6f}, "
          f"norms {min(lengths):.3f} to {max(lengths):.3f}")


def compare_with_transformers():
    """The plain model's logits against LlamaForCausalLM's, and Qwen3ForCausalLM's for QK-norm."""
    import transformers
    for name, variant in VARIANTS.items():
        m = MODEL | {"tied_embeddings": True, "qk_norm": False} | variant["model"]
        kind = "Qwen3" if m["qk_norm"] else "Llama"
        config = getattr(transformers, kind + "Config")(
            vocab_size=m["vocab"], hidden_size=m["hidden"], intermediate_size=m["ffn"],
            num_hidden_layers=m["layers"], num_attention_heads=m["heads"], num_key_value_heads=m["kv_heads"],
            head_dim=m["head_dim"], rms_norm_eps=m["norm_eps"], tie_word_embeddings=m["tied_embeddings"],
            rope_parameters={"rope_type": "default", "rope_theta": m["rope_theta"]}, attn_implementation="eager")
        other = getattr(transformers, kind + "ForCausalLM")(config).double()
        model = Llama(m).double()
        random_weights(model, torch.Generator().manual_seed(7))
        renamed = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "q": "self_attn.q_proj",
                   "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj",
                   "q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm", "gate": "mlp.gate_proj",
                   "up": "mlp.up_proj", "down": "mlp.down_proj"}
        state = {}
        for key, value in model.state_dict().items():
            if key.startswith("layers."):
                _, index, part, _ = key.split(".")
                key = f"model.layers.{index}.{renamed[part]}.weight"
            else:
                key = {"embed.weight": "model.embed_tokens.weight", "final_norm.weight": "model.norm.weight",
                       "head.weight": "lm_head.weight"}[key]
            state[key] = value
        other.load_state_dict(state)
        tokens = torch.randint(m["vocab"], (2, m["context"]), generator=torch.Generator().manual_seed(8))
        with torch.no_grad():
            ours, theirs = model(tokens, torch.zeros_like(tokens)), other(tokens).logits
        difference = float((ours - theirs).norm() / theirs.norm())
        print(f"{name} against {kind}ForCausalLM: logits differ by {difference:.1e} of their norm")
        assert difference < 1e-6, "the plain model isn't the published one"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transformers", action="store_true", help="also compare with transformers' models")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.transformers:
        compare_with_transformers()
    for seed, (name, variant) in enumerate(VARIANTS.items(), 20261203):
        make(name, variant, arguments.out, seed)


if __name__ == "__main__":
    main()
