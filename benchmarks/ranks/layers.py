"""An MLP, attention and a transformer block in training: by columns and heads, on whole tokens or on parts of them."""

import torch
import torch.nn.functional as F
from nvfuser_direct import DataType

from . import peers
from .program import Input, Program, Work, dtype_of, gradients, share, share_all, transposed

EPSILON = 1e-5


def _feed(fd, x, w_up, w_down):
    """w_down relu(w_up x) and what its gradients need."""
    wide = fd.ops.linear(x, w_up)
    active = fd.ops.relu(wide)
    return fd.ops.linear(active, w_down), wide, active


def _feed_backward(fd, grad, x, w_up, w_down, wide, active):
    """Gradients of x, w_up and w_down, and the two tensors between."""
    of_active = fd.ops.matmul(grad, w_down)
    of_wide = fd.ops.where(fd.ops.gt(wide, fd.define_scalar(0.0)), of_active, fd.define_scalar(0.0))
    of_x = fd.ops.matmul(of_wide, w_up)
    of_up = fd.ops.matmul(transposed(fd, of_wide), x)
    of_down = fd.ops.matmul(transposed(fd, grad), active)
    return of_x, of_up, of_down, of_active


def mlp(sizes, sequences):
    rows = 0 if sequences else None

    def define(fd, mesh, grad, x, w_up, w_down):
        y, wide, active = _feed(fd, x, w_up, w_down)
        of_x, of_up, of_down, of_active = _feed_backward(fd, grad, x, w_up, w_down, wide, active)
        for output in (y, of_x, of_up, of_down):
            fd.add_output(output)
        share_all(mesh, (grad, rows), (x, rows), (y, rows), (of_x, rows))
        share_all(mesh, (w_up, 0), (of_up, 0), (w_down, 1), (of_down, 1))
        if sequences:
            share_all(mesh, (wide, 1), (of_active, 1))

    def eager(grad, x, w_up, w_down):
        return gradients(lambda x, up, down: F.linear(torch.relu(F.linear(x, up)), down), [x, w_up, w_down], grad)

    tokens, width, hidden = sizes.tokens, sizes.width, sizes.hidden
    inputs = [
        Input((tokens, width)),
        Input((tokens, width)),
        Input((hidden, width), width**-0.5),
        Input((width, hidden), hidden**-0.5),
    ]
    return Program(
        f"MLP, {'sequence' if sequences else 'tensor'}-parallel",
        inputs,
        define,
        eager,
        {"DTensor": lambda place: peers.mlp(place, sequences)},
        Work(12 * tokens * width * hidden, 8 * tokens * hidden * sizes.bytes_each),
    )


class _Heads:
    """Attention between its four products, whose weights are cut by heads."""

    def __init__(self, fd, sizes):
        self.fd, self.sizes = fd, sizes
        self.none, self.causal = fd.define_scalar(0.0), fd.define_scalar(True)

    def apart(self, rows):
        sizes = self.sizes
        heads = self.fd.ops.reshape(rows, [1, sizes.tokens, sizes.heads, sizes.width // sizes.heads])
        return self.fd.ops.permute(heads, [0, 2, 1, 3])

    def joined(self, heads):
        return self.fd.ops.reshape(self.fd.ops.permute(heads, [0, 2, 1, 3]), [self.sizes.tokens, self.sizes.width])

    def forward(self, x, weights, w_out):
        self.rows = [self.fd.ops.linear(x, weight) for weight in weights]  # cut by columns, as their weights are
        self.heads = [self.apart(rows) for rows in self.rows]
        self.seen, *self.state = self.fd.ops.sdpfa_fwd(*self.heads, dropout_p=self.none, is_causal=self.causal)
        self.mixed = self.joined(self.seen)
        return self.fd.ops.linear(self.mixed, w_out)

    def backward(self, grad, x, weights, w_out):
        """Gradients of x (a sum of three, in Float), of the weights, and of the last one."""
        fd = self.fd
        self.rows.append(fd.ops.matmul(grad, w_out))
        of_seen = self.apart(self.rows[-1])
        log_sum_exp, seed, offset = self.state
        of_heads = fd.ops.sdpfa_bwd(of_seen, *self.heads, self.seen, log_sum_exp, self.none, self.causal, seed, offset)
        rows = [self.joined(part) for part in of_heads]
        of_x = None
        for part, weight in zip(rows, weights, strict=True):
            product = fd.ops.matmul(part, weight)
            of_x = product if of_x is None else fd.ops.add(of_x, product)
        of_weights = [fd.ops.matmul(transposed(fd, part), x) for part in rows]
        return of_x, of_weights, fd.ops.matmul(transposed(fd, grad), self.mixed)


def _attend(x, wq, wk, wv, wo, heads):
    def apart(rows):
        return rows.reshape(1, rows.shape[0], heads, -1).permute(0, 2, 1, 3)

    q, k, v = (apart(F.linear(x, weight)) for weight in (wq, wk, wv))
    seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.linear(seen.permute(0, 2, 1, 3).reshape(x.shape), wo)


def attention(sizes):
    def define(fd, mesh, grad, x, wq, wk, wv, wo):
        heads = _Heads(fd, sizes)
        y = heads.forward(x, (wq, wk, wv), wo)
        of_x, of_weights, of_out = heads.backward(grad, x, (wq, wk, wv), wo)
        of_x = fd.ops.cast(of_x, dtype_of(sizes))
        for output in (y, of_x, *of_weights, of_out):
            fd.add_output(output)
        share_all(mesh, *((tensor, None) for tensor in (grad, x, y, of_x)))
        share_all(mesh, *((tensor, 0) for tensor in (wq, wk, wv, *of_weights)), (wo, 1), (of_out, 1))

    def eager(grad, x, *weights):
        return gradients(lambda x, *weights: _attend(x, *weights, sizes.heads), [x, *weights], grad)

    tokens, width = sizes.tokens, sizes.width
    inputs = [Input((tokens, width)), Input((tokens, width)), *[Input((width, width), width**-0.5)] * 4]
    return Program(
        "attention, by heads",
        inputs,
        define,
        eager,
        {"DTensor": peers.attention},
        Work(24 * tokens * width * width + 7 * tokens * tokens * width, 12 * tokens * width * sizes.bytes_each),
    )


class _Norm:
    """Root mean squares of rows: forward in Float, and the gradients."""

    def __init__(self, fd, x, weight, sizes):
        self.fd, self.sizes, self.weight = fd, sizes, weight
        self.x = fd.ops.cast(x, DataType.Float)
        squares = fd.ops.sum(fd.ops.mul(self.x, self.x), [1])
        mean = fd.ops.mul(squares, fd.define_scalar(1.0 / sizes.width))
        self.scale = fd.ops.broadcast(fd.ops.rsqrt(fd.ops.add(mean, fd.define_scalar(EPSILON))), [False, True])
        self.normed = fd.ops.mul(self.x, self.scale)

    def result(self):
        weight = self.fd.ops.broadcast(self.weight, [True, False])
        return self.fd.ops.cast(self.fd.ops.mul(self.normed, weight), dtype_of(self.sizes))

    def backward(self, grad):
        """Of x, in Float, and of the weight."""
        fd = self.fd
        grad = fd.ops.cast(grad, DataType.Float)
        of_weight = fd.ops.cast(fd.ops.sum(fd.ops.mul(grad, self.normed), [0]), dtype_of(self.sizes))
        of_normed = fd.ops.mul(grad, fd.ops.broadcast(self.weight, [True, False]))
        along = fd.ops.sum(fd.ops.mul(of_normed, self.normed), [1])
        mean = fd.ops.broadcast(fd.ops.mul(along, fd.define_scalar(1.0 / self.sizes.width)), [False, True])
        return fd.ops.mul(self.scale, fd.ops.sub(of_normed, fd.ops.mul(self.normed, mean))), of_weight


def block(sizes, sequences):
    """Two residual branches, attention and an MLP, each behind its norm; forward, and the gradients of all inputs."""
    rows = 0 if sequences else None

    def define(fd, mesh, grad, x, g1, wq, wk, wv, wo, g2, w_up, w_down):
        dtype, wide_type = dtype_of(sizes), DataType.Float
        first = _Norm(fd, x, g1, sizes)
        n1 = first.result()
        heads = _Heads(fd, sizes)
        attended = heads.forward(n1, (wq, wk, wv), wo)
        middle = fd.ops.cast(fd.ops.add(x, attended), dtype)
        second = _Norm(fd, middle, g2, sizes)
        n2 = second.result()
        fed, wide, active = _feed(fd, n2, w_up, w_down)
        y = fd.ops.cast(fd.ops.add(middle, fed), dtype)
        of_n2, of_up, of_down, of_active = _feed_backward(fd, grad, n2, w_up, w_down, wide, active)
        through_second, of_g2 = second.backward(of_n2)
        of_middle = fd.ops.cast(fd.ops.add(fd.ops.cast(grad, wide_type), through_second), dtype)
        of_n1, of_weights, of_out = heads.backward(of_middle, n1, (wq, wk, wv), wo)
        through_first, of_g1 = first.backward(of_n1)
        of_x = fd.ops.cast(fd.ops.add(fd.ops.cast(of_middle, wide_type), through_first), dtype)
        for output in (y, of_x, of_g1, *of_weights, of_out, of_g2, of_up, of_down):
            fd.add_output(output)
        share_all(mesh, *((tensor, rows) for tensor in (grad, x, y, of_x, middle, of_middle)))
        share_all(mesh, *((tensor, None) for tensor in (g1, g2, of_g1, of_g2)))
        share_all(mesh, *((tensor, 0) for tensor in (wq, wk, wv, *of_weights, w_up, of_up)))
        share_all(mesh, *((tensor, 1) for tensor in (wo, of_out, w_down, of_down)))
        if sequences:
            for tensor in (wide, of_active, *heads.rows):
                share(tensor, mesh, 1)
            for tensor in (attended, fed, of_n1, of_n2, n1, n2):
                share(tensor, mesh, 0)

    def eager(grad, *inputs):
        def forward(x, g1, wq, wk, wv, wo, g2, w_up, w_down):
            middle = x + _attend(F.rms_norm(x, g1.shape, g1, EPSILON), wq, wk, wv, wo, sizes.heads)
            return middle + F.linear(torch.relu(F.linear(F.rms_norm(middle, g2.shape, g2, EPSILON), w_up)), w_down)

        return gradients(forward, inputs, grad)

    tokens, width, hidden = sizes.tokens, sizes.width, sizes.hidden
    square, gain = Input((width, width), width**-0.5), Input((width,))
    inputs = [Input((tokens, width)), Input((tokens, width)), gain, *[square] * 4, gain]
    inputs += [Input((hidden, width), width**-0.5), Input((width, hidden), hidden**-0.5)]
    norms = 16 * tokens * width * sizes.bytes_each
    cut = (12 * tokens * width + 8 * tokens * hidden) * sizes.bytes_each
    return Program(
        f"transformer block, {'sequence' if sequences else 'tensor'}-parallel",
        inputs,
        define,
        eager,
        {"DTensor": lambda place: peers.block(place, sequences)},
        Work(
            24 * tokens * width * width + 7 * tokens * tokens * width + 12 * tokens * width * hidden,
            cut + (norms if sequences else 0),
            0 if sequences else norms,
        ),
    )
