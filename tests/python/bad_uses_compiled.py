"""Wrong programs under torch.compile(backend="nvfuser"): what PyTorch refuses without it.

Each line is an expression over x [4, 6], y [3, 5], w [6] (float), n [4, 6] (int64), u [4, 6] (uint8, 5), m [4, 6]
(bool), h [4, 6] (half), i [3] (an index with 9 in it), j [3] (with -9), z [4, 6] (zeros of int64), e [0, 6].
"""

# Noticed when the program is traced: sizes, dtypes, numbers.
TRACED = """
x + y
x * y
x - w[:5]
torch.where(m, x, y)
torch.addcmul(x, y, y)
torch.lerp(x, y, 0.5)
torch.maximum(x, y)
x @ x
x @ w[:5]
torch.mm(x, w)
torch.bmm(x, x)
torch.addmm(w, x, x)
F.linear(x, y)
F.conv2d(x, x)
F.conv1d(x[None], x[None, :2])
torch.einsum("ij,jk->ik", x, y)
torch.einsum("ij->k", x)
torch.einsum("ijk->i", x)
torch.cat([x, y])
torch.cat([x, w])
torch.stack([x, y])
x.view(5, 5)
x.reshape(7)
x.t().view(-1)
x.reshape(-1, -1)
x.expand(3, 6)
x.expand(4)
x.squeeze(5)
x.unsqueeze(7)
x.transpose(0, 3)
x.permute(0, 0)
x.permute(0)
x.select(0, 4)
x.select(2, 0)
x.narrow(0, 3, 2)
x.split([1, 2], 0)
x.unfold(0, 7, 1)
x.diagonal(0, 1, 1)
x.movedim(0, 3)
x.flatten(1, 0)
x.unflatten(0, (3, 2))
x.as_strided((4, 6), (-1, 1))
x.sum(2)
x.sum((0, 0))
x.mean(-3)
n.mean()
n.var()
x.amax((1, 1))
x.argmax(2)
e.amax(0)
e.argmax(0)
e.max()
x.max(3)
x.cumsum(2)
x.cumprod(-3)
x.sort(2)
x.topk(7)
x.kthvalue(9, 1)
x.var(4)
torch.logsumexp(x, 3)
F.softmax(x, 2)
F.layer_norm(x, (5,))
F.layer_norm(x, (6,), w[:5])
F.group_norm(x, 4)
F.batch_norm(x, w[:5], w[:5])
F.batch_norm(x[:1], None, None, training=True)
F.rms_norm(x, (5,))
F.instance_norm(x)
F.glu(x[:, :5])
F.prelu(x, w[:5])
F.pad(x, (1,))
F.pad(x, (-5, -5))
F.pad(x, (9, 9), "reflect")
F.max_pool2d(x, 2)
F.max_pool2d(x[None], 9)
F.avg_pool2d(x[None], 0)
F.interpolate(x, scale_factor=2)
F.pixel_shuffle(x[None], 2)
F.cross_entropy(x, n)
F.cross_entropy(x, n[:3, 0])
F.nll_loss(x, n)
F.mse_loss(x, y)
F.l1_loss(x, y)
F.kl_div(x, y)
F.binary_cross_entropy(x.sigmoid(), y)
F.embedding(x, x)
F.embedding(n, w)
F.one_hot(x)
F.scaled_dot_product_attention(x, y, y)
x[5]
x[:, 6]
x[0, 0, 0]
x[m.t()]
x[x]
x.index_select(0, n)
x.index_select(0, x[0])
x.gather(2, n)
x.gather(0, x)
x.gather(0, n[:, :, None])
x.scatter(2, n, x)
x.scatter(0, x, x)
x.scatter_add(0, n, h)
x.index_add(0, n[0], y)
x.index_copy(0, n[0, :3], y)
x.index_fill(0, x[0], 1.0)
x.scatter_reduce(0, n, x, "median")
torch.take_along_dim(x, n[:, :, None], 1)
x.masked_fill(n, 1.0)
x.masked_fill(m[:3], 1.0)
x & x
x | 1
~x
x << 1
m - m
-m
n ** -1
n.add_(0.5)
m.add_(1)
x.add_(y)
x.copy_(y)
x.view(torch.int64).view(7)
h.view(torch.int32).view(9)
x.to("nowhere")
x.sum(dtype="float")
torch.zeros(-1) + x
torch.full((2, -3), 1.0) + 1
torch.arange(0, 5, -1) + 1
torch.linspace(0, 1, -1) + 1
torch.eye(-1) + 1
torch.tril(w)
torch.diag(x[None])
torch.outer(x, w)
torch.dot(x, x)
torch.dot(w, w[:5])
torch.mv(x, w[:5])
torch.cross(x, x, dim=1)
torch.kron(x, None)
torch.complex(n, n)
torch.view_as_complex(x[:, :5])
torch.clamp(x)
torch.roll(x, (1, 2), 0)
torch.flip(x, (0, 0))
torch.repeat_interleave(x, n[:, 0], 1)
torch.nn.functional.gelu(x, approximate="cubic")
torch.div(x, x, rounding_mode="up")
F.dropout(x, 1.5)
x.repeat(2)
x.tile("two")
x.no_such_method()
torch.no_such_function(x)
x + "one"
x + None
x[1:2:-1]
torch.broadcast_to(x, (3, 4))
torch.chunk(x, 0)
torch.tensor_split(x, 0)
torch.bucketize(x, x)
torch.searchsorted(x, y)
torch.linalg.inv(x)
torch.linalg.det(x)
torch.cdist(x, y)
torch.trace(w)
torch.unbind(x, 2)
torch.vstack([x, y])
torch.addcdiv(n, n, n)
torch.gcd(x, x)
torch.bitwise_and(x, 1)
torch.logical_not("x")
"""

# Noticed in the call alone: the values of indices and of divisors, numbers that a dtype does not have.
CALLED = """
x[i] + 1
x[j] + 1
x[:, i] * 2
x[i, i] * 2
x.index_select(0, i) + 1
x.index_select(1, i) + 1
x.gather(0, n + 9) + 1
x.gather(1, n - 99) + 1
F.embedding(i, x) * 2
F.embedding(j, x) * 2
torch.take(x, i * 99) + 1
x.scatter(0, n + 9, x) + 1
x.scatter_add(0, n + 9, x) * 2
x.scatter_reduce(1, n + 99, x, "amax") + 1
x.index_add(0, i, y[:, :1].expand(3, 6)) + 1
x.index_copy(0, i, x[:3]) + 1
x.index_put((i,), w) + 1
x.index_put((i,), w, accumulate=True) + 1
torch.zeros(4, 6).index_add(0, i, x[:3]) * x
F.cross_entropy(x, n[:, 0] + 9)
F.cross_entropy(x, n[:, 0] - 9)
F.nll_loss(x.log_softmax(1), n[:, 0] + 6)
F.one_hot(n - 9, 6) + 1
n // z + 1
n % z + 1
torch.fmod(n, z) + 1
torch.div(n, z, rounding_mode="trunc") + 1
torch.div(n, z, rounding_mode="floor") + 1
n % 0 + 1
n // 0 + 1
u % 256 + 1
u.masked_fill(m, 300) + 1
u.clamp(max=1000) + 1
torch.full_like(u, -300) + u
h.clamp(-70000.0, 1.0) + 1
torch.full_like(h, 1e6) + h
F.pad(u, (1, 1), value=256) + 1
torch.add(u, u, alpha=300) + 1
m - m.flip(0)
u - m
torch.linalg.inv(x[:, :4] * 0) + 1
torch.linalg.cholesky(-torch.eye(3)) + 1
x.view(-1)[i * 9] + 1
(x * 2)[i].sum()
(x * 2).sum(1)[i].exp()
F.layer_norm(F.embedding(i, x), (6,))
torch.bincount(n[0] - 9)
x.index_fill(0, i, 1.0) * 2
torch.cat([x[i], x]).sum(0)
"""


def uses():
    for text in (TRACED, CALLED):
        yield from filter(None, text.splitlines())
