#!/usr/bin/env python3
"""PyTorch's attention timed as attention_check times ours: a CUDA graph of 16 calls over four sets of buffers,
q, k, v interleaved as a fused projection leaves them. One line a shape and backend, microseconds a call."""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def graph_us(calls, replays=10, warm=4):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    for _ in range(warm):
        graph.replay()
    times = []
    for _ in range(replays):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / len(calls) * 1e3)
    return sorted(times)[len(times) // 2]


def main():
    torch.manual_seed(1)
    for batch, context, heads, dim in [(1, 4096, 16, 112), (4, 4096, 16, 112), (1, 4096, 14, 128), (1, 4096, 28, 64)]:
        qkv = [torch.randn(batch, context, 3, heads, dim, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
        grad = torch.randn(batch, heads, context, dim, device="cuda", dtype=torch.bfloat16)
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
            for deterministic in (False, True):
                torch.use_deterministic_algorithms(deterministic, warn_only=True)

                def forward(i):
                    q, k, v = qkv[i % 4].permute(2, 0, 3, 1, 4).unbind(0)
                    return F.scaled_dot_product_attention(q, k, v, is_causal=True)

                def both(i):
                    q, k, v = (t.detach().requires_grad_() for t in qkv[i % 4].permute(2, 0, 3, 1, 4).unbind(0))
                    return torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v), grad)

                try:
                    with sdpa_kernel(backend):
                        with torch.no_grad():
                            forward_us = graph_us([lambda i=i: forward(i) for i in range(16)])
                        both_us = graph_us([lambda i=i: both(i) for i in range(16)])
                    print(f"sdpa {backend.name} deterministic={deterministic} B{batch} T{context} H{heads} D{dim}: "
                          f"forward {forward_us:.1f} us, both {both_us:.1f}", flush=True)
                except RuntimeError as error:
                    print(f"sdpa {backend.name} D{dim}: {str(error)[:120]}", flush=True)
                torch.cuda.empty_cache()
    torch.use_deterministic_algorithms(False)


if __name__ == "__main__":
    main()
