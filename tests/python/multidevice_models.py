"""What people train over devices, as fusions of whole tensors: forward, and the gradients of all inputs.

Each takes `share(tensor, mesh, axis)` and gives what defines the fusion, its inputs, and what PyTorch computes.
"""

import torch

TOKENS, WIDTH, HIDDEN, HEADS = 12, 24, 48, 12


def _gradients(forward, inputs, grad):
    inputs = [value.detach().requires_grad_() for value in inputs]
    result = forward(*inputs)
    result.backward(grad)
    return [result.detach(), *(value.grad for value in inputs)]


def _transposed(fd, x):
    return fd.ops.permute(x, [1, 0])


def _mlp(share, tokens, columns):
    """y = w2 relu(w1 x), by columns of the weights, by tokens, or both."""

    def define(fd, mesh, grad, x, w1, w2):
        rows, columns_of = (0 if tokens else None), (lambda axis: axis if columns else None)
        wide = fd.ops.linear(x, w1)
        active = fd.ops.relu(wide)
        y = fd.ops.linear(active, w2)
        of_active = fd.ops.matmul(grad, w2)
        of_wide = fd.ops.where(fd.ops.gt(wide, fd.define_scalar(0.0)), of_active, fd.define_scalar(0.0))
        of_x = fd.ops.matmul(of_wide, w1)
        of_w1 = fd.ops.matmul(_transposed(fd, of_wide), x)
        of_w2 = fd.ops.matmul(_transposed(fd, grad), active)
        for output in (y, of_x, of_w1, of_w2):
            fd.add_output(output)
        for tensor in (grad, x, y, of_x):
            share(tensor, mesh, rows)
        for tensor in (w1, of_w1):
            share(tensor, mesh, columns_of(0))
        for tensor in (w2, of_w2):
            share(tensor, mesh, columns_of(1))
        if tokens and columns:
            share(wide, mesh, 1)
            share(of_active, mesh, 1)

    def reference(grad, x, w1, w2):
        linear = torch.nn.functional.linear
        return _gradients(lambda x, w1, w2: linear(torch.relu(linear(x, w1)), w2), [x, w1, w2], grad)

    sizes = [(TOKENS, WIDTH), (TOKENS, WIDTH), (HIDDEN, WIDTH), (WIDTH, HIDDEN)]
    return define, [0.3 * torch.randn(size) for size in sizes], reference


def mlp_by_columns(share):
    return _mlp(share, tokens=False, columns=True)


def mlp_by_tokens(share):
    return _mlp(share, tokens=True, columns=True)


def mlp_of_a_shared_batch(share):
    return _mlp(share, tokens=True, columns=False)


def attention_by_heads(share):
    """Attention between its four products, whose weights are cut by heads."""
    numbers = WIDTH // HEADS

    def define(fd, mesh, grad, x, wq, wk, wv, wo):
        def heads(rows):
            apart = fd.ops.reshape(rows, [1, TOKENS, HEADS, numbers])
            return fd.ops.permute(apart, [0, 2, 1, 3])

        def joined(of_heads):
            return fd.ops.reshape(fd.ops.permute(of_heads, [0, 2, 1, 3]), [TOKENS, WIDTH])

        q, k, v = (heads(fd.ops.linear(x, weight)) for weight in (wq, wk, wv))
        no_dropout, is_causal = fd.define_scalar(0.0), fd.define_scalar(True)
        seen, log_sum_exp, seed, offset = fd.ops.sdpfa_fwd(q, k, v, dropout_p=no_dropout, is_causal=is_causal)
        mixed = joined(seen)
        y = fd.ops.linear(mixed, wo)
        of_seen = heads(fd.ops.matmul(grad, wo))
        of_parts = fd.ops.sdpfa_bwd(of_seen, q, k, v, seen, log_sum_exp, no_dropout, is_causal, seed, offset)
        rows = [joined(part) for part in of_parts]
        of_x = None
        for part, weight in zip(rows, (wq, wk, wv), strict=True):
            product = fd.ops.matmul(part, weight)
            of_x = product if of_x is None else fd.ops.add(of_x, product)
        of_weights = [fd.ops.matmul(_transposed(fd, part), x) for part in rows]
        of_wo = fd.ops.matmul(_transposed(fd, grad), mixed)
        for output in (y, of_x, *of_weights, of_wo):
            fd.add_output(output)
        for tensor in (grad, x, y, of_x):
            share(tensor, mesh)
        for tensor in (wq, wk, wv, *of_weights):
            share(tensor, mesh, 0)
        for tensor in (wo, of_wo):
            share(tensor, mesh, 1)

    def forward(x, wq, wk, wv, wo):
        def heads(rows):
            return rows.reshape(1, TOKENS, HEADS, numbers).permute(0, 2, 1, 3)

        q, k, v = (heads(x @ weight.T) for weight in (wq, wk, wv))
        scores = (q @ k.mT / numbers**0.5).masked_fill(
            ~torch.ones(TOKENS, TOKENS, dtype=torch.bool, device=x.device).tril(), float("-inf")
        )
        seen = torch.softmax(scores, -1) @ v
        return seen.permute(0, 2, 1, 3).reshape(TOKENS, WIDTH) @ wo.T

    sizes = [(TOKENS, WIDTH), (TOKENS, WIDTH), *[(WIDTH, WIDTH)] * 4]
    inputs = [0.3 * torch.randn(size) for size in sizes]
    return define, inputs, lambda grad, *values: _gradients(forward, values, grad)


def experts(share):
    """Tokens [groups, experts, places, width]: an expert takes those of all groups and gives them back."""
    sizes = {"groups": 12, "experts": 12, "places": 2}

    def define(fd, mesh, x, weights):
        sent = fd.ops.permute(x, [1, 0, 2, 3])
        share(sent, mesh, 0)
        rows = fd.ops.reshape(sent, [sizes["experts"], sizes["groups"] * sizes["places"], 6])
        done = fd.ops.relu(fd.ops.matmul(rows, weights))
        apart = fd.ops.reshape(done, [sizes["experts"], sizes["groups"], sizes["places"], 4])
        back = fd.ops.permute(apart, [1, 0, 2, 3])
        fd.add_output(back)
        for tensor in (x, weights, back):
            share(tensor, mesh, 0)

    inputs = [torch.randn(12, 12, 2, 6), torch.randn(12, 6, 4)]
    return define, inputs, lambda x, weights: [torch.relu(torch.einsum("gepi,eio->gepo", x, weights))]


MODELS = (mlp_by_columns, mlp_by_tokens, mlp_of_a_shared_batch, attention_by_heads, experts)
