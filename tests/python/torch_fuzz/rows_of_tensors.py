"""Statements about tensors of any kind, as kinds.py describes them."""

PLACES = """
{x}.clone().add_({y})
{x}.clone().mul_({s})
{c}[..., ::2].mul_({s}) ; c=o1+
{c}[..., 1:].add_({c}[..., :-1]) ; c=o1+
{c}.narrow({r}, 0, 1).copy_({x}.narrow({r}, 0, 1)) ; x=f1+ ; c=O[*x_]
{c}.select({r}, 0).zero_() ; x=f1+ ; c=O[*x_]
{c}.t().mul_({s}) ; c=o2
{c}.view(-1)[:3].fill_({s}) ; c=o
{c}.unsqueeze(0).add_(1) ; c=o
{c}.relu_() ; c=o
{c}.clamp_(-1, 1) ; c=o
{c}.copy_({y}) ; x=o ; c=o
{c}.masked_fill_({c} > 0.5, {s}) ; c=o
{c}.sigmoid_() ; c=o
{c}.add_({x}, alpha=2) ; x=f ; c=O[*x_]
{c}.addcmul_({x}, {x}, value=0.5) ; x=f ; c=O[*x_]
{c}.lerp_({x}, 0.3) ; x=f ; c=O[*x_]
{c}.div_(({x}.abs() + 1)) ; x=f ; c=O[*x_]
{c}.index_add_({r}, {i}, {x}) ; x=f1+ ; c=O[*x_] ; i=I[xr]<xr
{c}.index_copy_({r}, torch.arange({x}.shape[{r}]), {x}) ; x=f1+ ; c=O[*x_]
{c}.index_fill_({r}, {i}, {s}) ; x=f1+ ; c=O[*x_] ; i=I[2]<xr
{c}.scatter_({r}, torch.zeros_like({x}, dtype=torch.int64)[..., :1], {s}) ; x=f1+ ; c=O[*x_]
{c}.scatter_add_({r}, {i}, {x}) ; x=f1+ ; c=O[*x_] ; i=I[*x_]<xr
{c}.index_put_(({i},), {x}[:1].clone(), accumulate=True) ; x=f1+ ; c=O[*x_] ; i=I[3]<x0
{c}.index_put_(({i},), torch.tensor({s}, dtype={c}.dtype)) ; c=o1+ ; i=I[2]<c0
{c}.fill_diagonal_({s}) ; c=o2
{c}.diagonal().add_({s}) ; c=o2
{c}.detach().mul_(2) ; c=o
{c}.transpose(0, -1)[1:].neg_() ; c=o2+
{c}.chunk(2, -1)[0].exp_() ; c=o1+
{c}.unbind(0)[-1].add_(1) ; c=o1+
{c}.expand(2, *{c}.shape)[1].add_(1) ; c=o
{c}.flatten().mul_(3) ; c=o1+
{c}.reshape(-1, 1).add_(1) ; c=o
{c}.permute(*range({c}.dim())[::-1]).mul_({s}) ; c=o1+
{c}[..., -1:].zero_() ; c=o1+
{c}.tril_() ; c=o2
{c}.cumsum_(-1) ; c=o1+
{c}.fill_(0).add_({x}) ; x=f ; c=O[*x_]
{c}.zero_() ; c=o
{c}.squeeze().add_(1) ; c=o1+
{c}.as_strided((2,), (1,)).mul_(2) ; c=o1+
torch.add({x}, {x}, out={c}) ; x=O[3, 4] ; c=O[3, 4]
{c}.bernoulli_(1.0) ; c=o
{c}.pow_(2) ; c=o
{c}.round_() ; c=o
{c}.sub_({c}.mean()) ; c=o
{c}.sub_({c}.sum(-1, keepdim=True)) ; c=o1+
{c}.set_({c}.clone()) ; c=o
{c}.swapaxes(0, -1).copy_({x}.swapaxes(0, -1)) ; x=f2+ ; c=O[*x_]
{c}.view(torch.int32).bitwise_and_(-2) ; c=o
{n}.add_(1) ; n=w
{n}.bitwise_xor_({k}) ; n=w
{n}[..., 1:].copy_({n}[..., :-1].clone()) ; n=w1+
{c}.add_({n}) ; c=o ; n=w
{c} * 2 ; c=o
{c}.sum(-1) ; c=o1+
{c}[..., 1:] ; c=o1+
{c}.view(-1) ; c=o
"""

LOOKUPS = """
F.embedding({i}, {w}) ; i=I[3, 4]<11 ; w=F[11, 6]
F.embedding({i}, {w}, padding_idx=2) ; i=I[7]<5 ; w=F[5, 3]
F.embedding({i}, {w}, scale_grad_by_freq=True) ; i=I[7]<5 ; w=F[5, 3]
F.embedding({i}.int(), {w}) ; i=I[2, 2, 3]<9 ; w=F[9, 17]
F.embedding_bag({i}, {w}, mode="sum") ; i=I[4, 3]<7 ; w=F[7, 5]
F.embedding_bag({i}, {w}, mode="mean") ; i=I[4, 3]<7 ; w=F[7, 5]
F.embedding_bag({i}, {w}, mode="max") ; i=I[4, 3]<7 ; w=F[7, 5]
F.embedding_bag({i}, {w}, torch.tensor([0, 2, 2, 5])) ; i=I[8]<7 ; w=F[7, 5]
{x}[{i}] ; x=f1+ ; i=I[4]<x0
{x}[{i}] ; x=f1+ ; i=I[2, 3]<x0
{x}[:, {i}] ; x=f2+ ; i=I[4]<x1
{x}[..., {i}] ; x=f1+ ; i=I[3]<xl
{x}[{i}, {j}] ; x=f2+ ; i=I[4]<x0 ; j=I[4]<x1
{x}[{i}, :, {j}] ; x=f3+ ; i=I[4]<x0 ; j=I[4]<x2
{x}[{i}[:, None], {j}] ; x=f2+ ; i=I[4]<x0 ; j=I[3]<x1
{x}[-1 - {i}] ; x=f1+ ; i=I[4]<x0
{x}[{i}, 1:] ; x=f2+ ; i=I[4]<x0
{x}[None, {i}] ; x=f1+ ; i=I[4]<x0
{x}[[0, -1]] ; x=f1+
{x}.index_select({r}, {i}) ; x=f1+ ; i=I[5]<xr
{x}.index_select({r}, {i}.int()) ; x=f1+ ; i=I[5]<xr
{x}.gather({r}, {i}) ; x=f1+ ; i=I[*x_]<xr
{x}.gather({r}, {i}[..., :1]) ; x=f1+ ; i=I[*x_]<xr
torch.take({x}, {i}) ; x=f1+ ; i=I[3, 3]<xall
torch.take_along_dim({x}, {i}, {r}) ; x=f1+ ; i=I[*x_]<xr
{x}.take_along_dim({x}.argsort({r}), {r}) ; x=f1+
{x}.index_select(0, {i}).sum(0) ; x=f1+ ; i=I[6]<x0
{x}[{i}] + {x}[{j}] ; x=f1+ ; i=I[4]<x0 ; j=I[4]<x0
({x}[{i}] * {x}[{j}]).sum(-1) ; x=f2+ ; i=I[4]<x0 ; j=I[4]<x0
{x}[torch.arange({x}.shape[0]), {i}] ; x=f2+ ; i=I[x0]<x1
{x}[{m}.any(tuple(range(1, {x}.dim()))).long()] ; x=f1+
{x}.flip(0)[{i}] ; x=f1+ ; i=I[4]<x0
{x}[::2][{i} // 2] ; x=f1+ ; i=I[4]<x0
{x}.expand(3, *{x}.shape)[{i}] ; i=I[4]<3
{x}.t()[{i}] ; x=f2 ; i=I[4]<x1
F.layer_norm({x}[{i}], {x}.shape[-1:]) ; x=f2+ ; i=I[4]<x0
F.softmax({x}[{i}], -1) ; x=f1+ ; i=I[4]<x0
torch.index_select({x}.unsqueeze(0), 1, {i}) ; x=f1+ ; i=I[4]<x0
{w}[{i}] * {v}[{i}] ; i=I[5]<6 ; w=F[6, 4] ; v=F[6, 1]
{x}[0] ; x=f1+
{x}[-1] * {x}[0] ; x=f1+
"""

SCATTERS = """
torch.zeros(4, {x}.shape[1], dtype={x}.dtype).index_add(0, {i}, {x}) ; x=f2 ; i=I[x0]<4
{x}.index_add({r}, {i}, {v}) ; x=f1+ ; i=I[xr]<xr ; v=F[*x_]
{x}.index_add({r}, {i}, {v}, alpha=0.5) ; x=f1+ ; i=I[xr]<xr ; v=F[*x_]
{x}.scatter_add({r}, {i}, {v}) ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_add({r}, {i}[..., :2], {v}) ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter({r}, {i}[..., :1], {s}) ; x=f1+ ; i=I[*x_]<xr
{x}.scatter({r}, {x}.argsort({r}), {v}) ; x=f1+ ; v=F[*x_]
{x}.scatter({r}, {x}.argmax({r}, keepdim=True), {s}) ; x=f1+
{x}.scatter_reduce({r}, {i}, {v}, "sum") ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "prod") ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "mean") ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "amax") ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "amin", include_self=False) ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "sum", include_self=False) ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "mean", include_self=False) ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.scatter_reduce({r}, {i}, {v}, "amax", include_self=False) ; x=f1+ ; i=I[*x_]<xr ; v=F[*x_]
{x}.index_reduce(0, {i}, {v}, "amax") ; x=f1+ ; i=I[x0]<x0 ; v=F[*x_]
{x}.index_put(({i},), {v}, accumulate=True) ; x=f1+ ; i=I[5]<x0 ; v=F[5, *x_[1:]]
{x}.index_put(({i}, {j}), {v}, accumulate=True) ; x=f2+ ; i=I[5]<x0 ; j=I[5]<x1 ; v=F[5, *x_[2:]]
{x}.index_put((torch.arange({x}.shape[0]).flip(0),), {v}) ; x=f1+ ; v=F[*x_]
{x}.index_put(({i},), torch.tensor({s}, dtype={x}.dtype)) ; x=f1+ ; i=I[3]<x0
{x}.index_put((torch.arange({x}.shape[0])[:, None], {i}), {v}, accumulate=True) ; x=f2 ; i=I[x0, 2]<x1 ; v=F[x0, 2]
{x}.index_copy({r}, torch.arange({x}.shape[{r}]), {v}) ; x=f1+ ; v=F[*x_]
{x}.index_fill({r}, {i}, {s}) ; x=f1+ ; i=I[2]<xr
{x}.masked_scatter({m}, {v}) ; x=f1+ ; v=F[*x_]
{x}.select_scatter({v}, {r}, 0) ; x=f1+ ; v=F[*x_[:xrp], *x_[xrp+1:]]
{x}.slice_scatter({v}, 0, 1) ; x=f1+ ; v=F[x0-1, *x_[1:]]
{x}.diagonal_scatter({v}) ; x=f2 ; v=F[min(x0, x1)]
torch.zeros(5, dtype={x}.dtype).scatter_add(0, {i}, {x}) ; x=f1 ; i=I[x0]<5
torch.full((3, {x}.shape[-1]), -1e3, dtype={x}.dtype).scatter_reduce(0, {i}, {x}, "amax") ; x=f2 ; i=I[*x_]<3
torch.zeros(6, {x}.shape[-1], dtype={x}.dtype).index_add(0, {i}, {x}).relu() ; x=f2 ; i=I[x0]<6
{x}[{i}].sum(0) ; x=f1+ ; i=I[7]<x0
{n}.scatter_add(0, {i}, {n}) ; n=w1+ ; i=I[*n_]<n0
{n}.index_add(0, {i}, {n}) ; n=w1+ ; i=I[n0]<n0
torch.zeros_like({x}).scatter_(0, {i}, {v}) ; x=f1+ ; i=I[*x_]<x0 ; v=F[*x_]
torch.where({m}, {x}, 0).index_add(0, {i}, {v}) ; x=f1+ ; i=I[x0]<x0 ; v=F[*x_]
torch.segment_reduce({x}, "sum", lengths=torch.tensor([1, {x}.shape[0] - 1])) ; x=f1
torch.histc({x}.detach(), 5, -2, 2)
"""

EDGES = """
F.pad({x}, (1, 2)) ; x=f1+
F.pad({x}, (-1, 1)) ; x=f1+
F.pad({x}, (1, 0, 0, 2), value={s}) ; x=f2+
F.pad({x}, (1, -1, -1, 1)) ; x=f2+
F.pad({x}, (1, 1), "reflect") ; x=f2
F.pad({x}, (1, 2), "reflect") ; x=f3
F.pad({x}, (2, 1, 1, 0), "reflect") ; x=f4
F.pad({x}, (1, 1), "replicate") ; x=f3
F.pad({x}, (2, 1, 0, 3), "replicate") ; x=f4
F.pad({x}, (1, 1), "circular") ; x=f3
F.pad({x}, (1, 2, 1, 0), "circular") ; x=f4
F.pad({x}, (1, 1, 0, 2, 1, 1), "replicate") ; x=F[1, 2, 3, 4, 5]
F.interpolate({x}, scale_factor=2) ; x=f3+
F.interpolate({x}, scale_factor=1.7) ; x=f3+
F.interpolate({x}, size=7) ; x=f3
F.interpolate({x}, size=(5, 3)) ; x=f4
F.interpolate({x}, scale_factor=2, mode="nearest-exact") ; x=f3+
F.interpolate({x}, size=7, mode="nearest-exact") ; x=f3
F.interpolate({x}, scale_factor=2, mode="linear") ; x=f3
F.interpolate({x}, size=9, mode="linear", align_corners=True) ; x=f3
F.interpolate({x}, scale_factor=2, mode="bilinear") ; x=f4
F.interpolate({x}, scale_factor=0.6, mode="bilinear") ; x=f4
F.interpolate({x}, size=(7, 4), mode="bilinear", align_corners=True) ; x=f4
F.interpolate({x}, size=(3, 4), mode="bilinear", antialias=True) ; x=f4
F.interpolate({x}, scale_factor=2, mode="bicubic") ; x=f4
F.interpolate({x}, size=(4, 9), mode="bicubic", align_corners=True) ; x=f4
F.interpolate({x}, scale_factor=(1.0, 2.0, 1.5), mode="trilinear") ; x=F[1, 2, 3, 4, 5]
F.interpolate({x}, size=(2, 2), mode="area") ; x=f4
F.grid_sample({x}, {g}) ; x=f4 ; g=F[x0, 3, 4, 2]
F.grid_sample({x}, {g}, "nearest", "border", True) ; x=f4 ; g=F[x0, 3, 4, 2]
F.grid_sample({x}, {g}, "bicubic", "reflection", False) ; x=f4 ; g=F[x0, 2, 3, 2]
F.affine_grid({g}, (2, 1, 3, 4), False) ; g=F[2, 2, 3]
{x}.roll(1, {r}) ; x=f1+
{x}.roll((1, -2), (0, -1)) ; x=f2+
{x}.flip(0, -1) ; x=f2+
{x}.rot90() ; x=f2+
{x}.repeat(2, *[1] * {x}.dim()) ; x=f
{x}.tile(2) ; x=f1+
{x}.repeat_interleave(3, {r}) ; x=f1+
{x}.repeat_interleave(torch.tensor([2] * {x}.shape[0]), 0, output_size=2 * {x}.shape[0]) ; x=f1+
torch.block_diag({x}, {w}) ; x=f2 ; w=F[2, 3]
torch.cartesian_prod({a}, {b}) ; a=F[3] ; b=F[4]
torch.vander({a}, 3) ; a=F[4]
torch.hstack([{x}, {x}]) ; x=f1+
torch.dstack([{x}, {x}]) ; x=f2
torch.cat([{x}, {x}[..., :1], {x}[..., 1:]], -1) ; x=f1+
torch.cat([{x}[:0], {x}]) ; x=f1+
torch.stack([{x}, {x}.flip(0)], -1).flatten(-2) ; x=f1+
torch.diag_embed({x}) ; x=f1+
torch.diagonal({x}, 1, 0, -1) ; x=f2+
torch.diag({x}) ; x=f1
torch.tril({x}, -1) ; x=f2+
torch.triu({x}, 1) ; x=f2+
{x}.trace() ; x=f2
torch.tensor_split({x}, 3, {r})[1] ; x=f1+
{x}.split([1, {x}.shape[-1] - 1], -1)[1] ; x=f1+
{x}.unflatten(-1, (-1, 2)) ; x=F[3, 8]
torch.trapezoid({x}) ; x=f1+
torch.cumulative_trapezoid({x}) ; x=f1+
torch.gradient({x}, dim=-1)[0] ; x=f1+
"""

RUNNING = """
{x}.cumsum({r}) ; x=f1+
{x}.cumsum({r}, dtype=torch.float64) ; x=f1+
{x}.cumprod({r}) ; x=f1+
{x}.cummax({r})[0] ; x=f1+
{x}.cummin({r})[1] ; x=f1+
{x}.logcumsumexp({r}) ; x=f1+
{x}.flip({r}).cumsum({r}).flip({r}) ; x=f1+
{x}.cumsum({r}) - {x} ; x=f1+
{x}.cumsum({r}) / {x}.abs().sum({r}, keepdim=True).clamp(min=0.1) ; x=f1+
({x} > 0).cumsum({r}) ; x=f1+
({x} > 0).long().cumprod({r}) ; x=f1+
{x}.cumsum({r}).cumsum({q}) ; x=f1+
{x}.softmax({r}).cumsum({r}) ; x=f1+
{x}.cumsum({r})[..., ::2] ; x=f1+
{x}.diff(dim={r}) ; x=f1+
{x}.diff(dim={r}, n=2) ; x=f1+
{x}.diff(dim={r}, prepend={x}.narrow({r}, 0, 1)) ; x=f1+
{x}.sort({r})[0] ; x=f1+
{x}.sort({r}, descending=True)[1] ; x=f1+
{x}.sort(stable=True, dim={r})[0] ; x=f1+
{x}.argsort({r}) ; x=f1+
{x}.msort() ; x=f1+
{x}.topk(1, {r})[0] ; x=f1+
{x}.topk(1, {r}, largest=False)[1] ; x=f1+
{x}.topk({x}.shape[{r}], {r})[0] ; x=f1+
{x}.kthvalue(1, {r})[0] ; x=f1+
{x}.median({r})[0] ; x=f1+
{x}.median() ; x=f1+
{x}.mode({r})[0] ; x=f1+
{x}.nanmedian() ; x=f1+
{x}.quantile(0.3, {r}) ; x=f1+
{x}.argmax({r}) ; x=f1+
{x}.argmax({r}, keepdim=True) ; x=f1+
{x}.argmin() ; x=f1+
{x}.max({r})[0] ; x=f1+
{x}.max({r}, keepdim=True)[1] ; x=f1+
{x}.min({r})[0] ; x=f1+
{x}.min() ; x=f1+
torch.aminmax({x}, dim={r})[1] ; x=f1+
torch.searchsorted({a}.cumsum(0), {x}.detach()) ; a=P[6]
torch.bucketize({x}.detach(), torch.tensor([-1.0, 0.0, 0.5, 2.0]))
{x}.sort({r})[0].cumsum({r}) ; x=f1+
({x}.sort(-1)[0] * torch.arange({x}.shape[-1])).sum(-1) ; x=f1+
{x}.logsumexp({r}) ; x=f1+
{x}.logsumexp((0, -1)) ; x=f2+
{x}.sum((0, -1)) ; x=f2+
{x}.sum((0, -1), keepdim=True) * {x} ; x=f2+
{x}.mean((0, 1), dtype=torch.float64) ; x=f2+
{x}.prod() ; x=f1+
{x}.prod({r}, keepdim=True) ; x=f1+
{x}.nansum({r}) ; x=f1+
{x}.nanmean({r}) ; x=f1+
{x}.amax((0, -1)) ; x=f2+
{x}.amin() ; x=f1+
{x}.all({r}) ; x=f1+
({x} > 0).any({r}, keepdim=True) ; x=f1+
{x}.count_nonzero() ; x=f1+
{x}.var((0, -1)) ; x=f2+
{x}.std() ; x=f1+
({x} * {y}).sum({r}) ; x=f1+
({x} - {y}).abs().amax({r}) ; x=f1+
{x}.sum({r}, dtype=torch.int64) ; x=f1+
{x}.sum({r}, dtype=torch.float64) ; x=f1+
{x}.sum_to_size({x}.shape[-1:]) ; x=f1+
"""

COMPLEX = """
{x} * {z} ; x=c ; z=C[*x_]
{x} + {z} ; x=c ; z=C[*x_]
{x} / ({z} + 3) ; x=c ; z=C[*x_]
{x}.abs() ; x=c
{x}.angle() ; x=c
{x}.real ; x=c
{x}.imag * 2 ; x=c
{x}.conj() ; x=c
{x}.conj() * {x} ; x=c
torch.view_as_real({x}) ; x=c
torch.view_as_real({x}).sum(-1) ; x=c
torch.complex({a}, {a}) ; a=F[3, 4]
torch.polar({p}, {a}) ; p=P[3, 4] ; a=F[3, 4]
torch.view_as_complex({a}) ; a=F[5, 2]
{x}.exp() ; x=c
{x}.sin() ; x=c
{x} * {s} ; x=c
{x} * 2j ; x=c
{x} + {a} ; x=c ; a=F[*x_]
{x}.sum({r}) ; x=c1+
{x}.mean() ; x=c
{x} @ {x}.mH ; x=c2+
torch.fft.fft({x}) ; x=c1+
torch.fft.rfft({a}) ; a=F[3, 8]
torch.fft.irfft(torch.fft.rfft({a}) * 2) ; a=F[3, 8]
torch.fft.fft2({a}).abs() ; a=F[3, 4, 5]
{x}.transpose(0, -1) ; x=c1+
torch.cat([{x}, {x}.conj()]) ; x=c1+
torch.where({m}, {x}, 0) ; x=c
{x}.reshape(-1) ; x=c
{x}[..., 1:] ; x=c1+
{x}.sigmoid() ; x=c
{x} ** 2 ; x=c
{x}.sqrt() ; x=c
{x}.real.sum() + {x}.imag.amax() ; x=c
{x}.resolve_conj() ; x=c
{x}.to(torch.complex128) ; x=c
{x} == {x} ; x=c
torch.view_as_complex(torch.view_as_real({x}) * 2) ; x=c
{x}.clone().mul_(2) ; x=c
({x}.abs() + 1).log() ; x=c
"""

VIEWS = """
{x}.view(-1)
{x}.reshape(-1)
{x}.reshape(-1, {x}.shape[-1]) ; x=f1+
{x}.transpose({r}, {q}) ; x=f1+
{x}.permute(*range({x}.dim())[::-1])
{x}.mT ; x=f2+
{x}.t() ; x=f2
{x}.unsqueeze({r})
{x}.unsqueeze(-1)
{x}.squeeze()
{x}.squeeze({r}) ; x=f1+
{x}.squeeze((0, -1)) ; x=f2+
{x}.expand(3, *{x}.shape)
{x}.unsqueeze(-1).expand(*{x}.shape, 2)
{x}.select({r}, 0) ; x=f1+
{x}.select({r}, -1) ; x=f1+
{x}.narrow({r}, 0, 1) ; x=f1+
{x}[1:] ; x=f1+
{x}[..., ::2] ; x=f1+
{x}[:, None] ; x=f1+
{x}[..., -2:] ; x=f1+
{x}[5:] ; x=f1+
{x}.chunk(2, {r})[-1] ; x=f1+
{x}.split(2, {r})[0] ; x=f1+
{x}.unbind({r})[0] ; x=f1+
{x}.unfold({r}, 2, 1) ; x=f1+
{x}.diagonal() ; x=f2+
{x}.diagonal(-1, 0, -1) ; x=f2+
{x}.movedim(0, -1) ; x=f1+
{x}.swapaxes(0, -1) ; x=f1+
{x}.flatten() ; x=f1+
{x}.flatten(0, 1) ; x=f2+
{x}.unflatten({r}, (1, -1)) ; x=f1+
{x}.view_as({x})
{x}.expand_as({x})
{x}.contiguous()
{x}.clone()
{x}.clone(memory_format=torch.contiguous_format)
{x}.contiguous(memory_format=torch.channels_last) ; x=f4
{x}.to(memory_format=torch.channels_last) * 2 ; x=f4
{x}.detach()
{x}.alias() if hasattr({x}, "alias") else {x}.view_as({x})
{x}.as_strided((2, 2), (1, 0)) ; x=O[4, 3]
{x}.as_strided((2, 3), (3, 1), 1) ; x=O[4, 3]
{x}.view(torch.int32) ; x=O[4, 3]
{x}.view(torch.uint8) ; x=O[4, 3]
{x}.ravel()
{x}.adjoint() ; x=f2+
{x}.real
{x}.data
{x}.to({x}.dtype)
{x}.float()
{x}.type_as({x})
torch.broadcast_to({x}, (2, *{x}.shape))
torch.broadcast_tensors({x}, {y})[0]
torch.atleast_2d({x})
torch.meshgrid({a}, {b}, indexing="ij")[0] ; a=F[3] ; b=F[4]
{x}.hsplit(2)[0] ; x=F[3, 4]
torch.zeros_like({x})
torch.ones_like({x}.mT) ; x=f2+
torch.empty_like({x}).copy_({x})
{x}.new_zeros(3) + {x}.sum()
torch.full_like({x}, {s}) * {x}
{x} + 1
{x} * {y}
{x} * {x}.mT.mT ; x=f2+
{x}.mT + {y}.mT ; x=f2+ ; y=F[*x_]
{x}.sum({r}, keepdim=True) ; x=f1+
{x}.softmax({r}) ; x=f1+
{x}.mT.contiguous() ; x=f2+
{x}.view({x}.shape[0], -1) ; x=f1+
{x}.resize(1) if False else {x}.reshape({x}.shape)
"""

FACTORIES = """
torch.arange({x}.shape[0], dtype={x}.dtype) + {x}.sum() ; x=f1+
torch.arange(0, 10, 3) * {x}.sum()
torch.arange({x}.shape[-1], 0, -1) * {x} ; x=f1+
torch.arange(0.5, 3.0, 0.25) + {x}.mean()
torch.linspace(0, 1, 7) * {x}.sum()
torch.linspace(-1, 1, {x}.shape[-1]) * {x} ; x=f1+
torch.logspace(0, 1, 5) * {x}.sum()
torch.eye({x}.shape[0]) * {x}.sum() ; x=f1+
torch.eye(3, {x}.shape[-1]) + {x}.sum(0) ; x=f2
torch.tril(torch.ones({x}.shape[-1], {x}.shape[-1])) * {x} ; x=f1+
torch.ones({x}.shape[0], 1) * {x} ; x=f2
torch.full((2, 3), {s}) + {x}.amax()
torch.full({x}.shape, 2) * {x}
torch.zeros(3, dtype=torch.int64) + {x}
torch.tensor([1.0, 2.0, 3.0]) * {x}.sum()
torch.tensor([[1, 2], [3, 4]]).sum() * {x}
torch.scalar_tensor(2.5) * {x}
F.one_hot({i}, 5).to({x}.dtype) @ {w} ; i=I[4]<5 ; w=F[5, 3]
torch.tril_indices(3, 3)
{x}.new_ones(4) * {x}.sum()
{x}.new_full((2, 2), 7.0) - {x}.mean()
torch.where({x} > 0, 1.0, 0.0)
torch.where({x} > 0, 1, 0) * {x}
torch.where({x} > 0, {x}, 2)
torch.where({x} > 0, torch.tensor(1.5), {x})
{x} * torch.tensor(3)
{x} + torch.tensor(1.0, dtype=torch.float64)
{x} * torch.tensor([2], dtype=torch.float64)
torch.maximum({x}, torch.tensor(0.0, dtype={x}.dtype))
{x} + True
{x} * False
{x} // 2
{x} % 1.5
2 ** {x}
{x} ** {y}.clamp(-1, 2)
{x}.clamp(min={y}) ; y=F[*x_]
{x}.clamp({s}, None)
{x}.clamp(max=torch.tensor(0.5))
torch.clamp({x}, {s}, {s})
torch.heaviside({x}, {y}.detach())
torch.nan_to_num({x} / ({x} - {x}), {s}, 2.0, -2.0)
torch.isclose({x}, {y})
torch.ldexp({x}, {k} * torch.ones_like({x}))
torch.frexp({x}.detach())[0]
torch.special.xlog1py({x}, {y}.abs())
torch.special.entr({x}.abs())
torch.special.ndtr({x})
torch.special.erfcx({x})
torch.special.i0({x})
torch.special.zeta({x}.detach().abs() + 2, 2.0)
torch.digamma({x}.abs() + 0.5)
torch.polygamma(1, {x}.abs() + 0.5)
torch.lgamma({x}.abs() + 0.5)
torch.special.log_ndtr({x})
torch.sinc({x})
torch.logit({x}.sigmoid(), 0.1)
torch.deg2rad({x})
torch.float_power({x}.abs(), 1.5)
torch.copysign({x}, {y})
torch.nextafter({x}.detach(), {y}.detach())
torch.hypot({x}, {y})
torch.logaddexp({x}, {y})
torch.logaddexp2({x}, {y})
torch.fmod({x}, 1.5)
torch.remainder({x}, {y}.abs() + 0.5)
torch.div({x}, {y}.abs() + 0.5, rounding_mode="floor")
torch.trunc({x} * 3)
torch.frac({x})
torch.sgn({x})
torch.positive({x})
torch.addcdiv({x}, {y}, {y}.abs() + 1, value={s})
torch.xlogy({x}, {y}.abs() + 0.1)
torch.erfinv({x}.tanh())
torch.acosh({x}.abs() + 1.5)
torch.atanh({x}.tanh() * 0.9)
torch.asin({x}.tanh())
torch.tan({x}.tanh())
torch.log10({x}.abs() + 0.1)
torch.exp2({x}.tanh())
torch.sign({x}) * {x}
torch.bitwise_and(({x} > 0), ({y} > 0))
torch.dist({x}, {y}) ; y=F[*x_]
F.threshold({x}, 0.1, -2.0)
F.hardtanh({x}, -0.5, 0.5)
F.rrelu({x})
F.softshrink({x}, 0.3)
F.hardshrink({x}, 0.3)
F.tanhshrink({x})
F.softsign({x})
F.celu({x}, 0.7)
F.selu({x})
F.elu({x}, 1.3)
F.softplus({x}, 2.0, 1.0)
F.logsigmoid({x})
F.mish({x})
F.hardswish({x})
F.relu6({x} * 5)
F.leaky_relu({x}, -0.2)
F.gelu({x}, approximate="tanh")
F.alpha_dropout({x}, 0.3, False)
"""
