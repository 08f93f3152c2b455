"""Statements of layers, as kinds.py describes them."""

POINTWISE = """
{x} + {y}
{x} * {y}
{x} - {s}
{x}.tanh()
F.gelu({x})
{x}.sigmoid() * {y}
torch.where({m}, {x}, {y})
{x}.sum({r}, keepdim=True) ; x=f1+
{x}.mean({r}) ; x=f1+
{x}.transpose({r}, {q}) ; x=f1+
{x} * ({x} > 0)
{x}.float()
{x}[..., 1:] ; x=f1+
{x} - {x}.amax({r}, keepdim=True) ; x=f1+
torch.cat([{x}, {y}], {r}) ; x=f1+ ; y=F[*x_]
"""

NORMS = """
F.layer_norm({x}, {x}.shape[-1:]) ; x=f1+
F.layer_norm({x}, {x}.shape[-1:], {w}, {b}) ; x=f1+ ; w=F[xl] ; b=F[xl]
F.layer_norm({x}, {x}.shape[-1:], {w}) ; x=f1+ ; w=F[xl]
F.layer_norm({x}, {x}.shape[-2:], {w}, {b}, 1e-3) ; x=f2+ ; w=F[xm, xl] ; b=F[xm, xl]
F.rms_norm({x}, {x}.shape[-1:]) ; x=f1+
F.rms_norm({x}, {x}.shape[-1:], {w}, 1e-6) ; x=f1+ ; w=F[xl]
F.rms_norm({x}, {x}.shape[-2:]) ; x=f2+
F.group_norm({x}, 1) ; x=f2+
F.group_norm({x}, {x}.shape[1]) ; x=f3+
F.group_norm({x}, {x}.shape[1], {w}, {b}) ; x=f3+ ; w=F[x1] ; b=F[x1]
F.group_norm({x}, 2, {w}, {b}, 1e-3) ; x=F[2, 6, 5] ; w=F[6] ; b=F[6]
F.group_norm({x}, 2, None, {b}) ; x=F[2, 4, 3, 3] ; b=F[4]
F.instance_norm({x}) ; x=f3+
F.instance_norm({x}, None, None, {w}, {b}) ; x=f3+ ; w=F[x1] ; b=F[x1]
F.instance_norm({x}, {a}, {v}, use_input_stats=True) ; x=f3+ ; a=G[x1] ; v=Q[x1]
F.batch_norm({x}, None, None, training=True) ; x=f2+
F.batch_norm({x}, None, None, {w}, {b}, True) ; x=f2+ ; w=F[x1] ; b=F[x1]
F.batch_norm({x}, {a}, {v}) ; x=f2+ ; a=G[x1] ; v=Q[x1]
F.batch_norm({x}, {a}, {v}, {w}, {b}) ; x=f2+ ; a=G[x1] ; v=Q[x1] ; w=F[x1] ; b=F[x1]
F.batch_norm({x}, {a}, {v}, {w}, {b}, True, 0.3) ; x=f2+ ; a=G[x1] ; v=Q[x1] ; w=F[x1] ; b=F[x1]
F.batch_norm({x}, {a}, {v}, training=True, momentum=0.0) ; x=f2+ ; a=G[x1] ; v=Q[x1]
F.normalize({x}, dim={r}) ; x=f1+
F.normalize({x}, p=1, dim={r}) ; x=f1+
F.local_response_norm({x}, 3) ; x=f3+
F.softmax({x}, {r}) ; x=f1+
F.softmax({x}, {r}, dtype=torch.float32) ; x=f1+
F.log_softmax({x}, {r}, dtype=torch.float64) ; x=f1+
F.softmin({x}, {r}) ; x=f1+
torch.renorm({x}, 2, 0, 1.0) ; x=f2+
{x}.var({r}, correction=0, keepdim=True) ; x=f1+
{x}.std({r}) ; x=f1+
torch.var_mean({x}, {r})[0] ; x=f1+
torch.var_mean({x}, {r}, correction=2)[1] ; x=f1+
torch.std_mean({x}, keepdim=True)[0] ; x=f1+
{x}.norm(p=1, dim={r}) ; x=f1+
{x}.norm(p=float("inf"), dim={r}) ; x=f1+
{x}.norm(p=3, dim={r}) ; x=f1+
{x}.norm(p=0, dim={r}) ; x=f1+
torch.linalg.vector_norm({x}, 2.5, {r}) ; x=f1+
torch.linalg.vector_norm({x}, 0.5) ; x=f1+
torch.linalg.vector_norm({x}, float("-inf"), {r}, dtype=torch.float64) ; x=f1+
torch.linalg.matrix_norm({x}) ; x=f2+
({x} - {x}.mean({r}, True)) / ({x}.std({r}, keepdim=True) + 1e-5) ; x=f1+
torch._weight_norm({x}, {g}, 0) ; x=f2+ ; g=P[x0, *[1]*(len(x_)-1)]
F.prelu({x}, {w}) ; x=f2+ ; w=F[x1]
F.prelu({x}, {w}) ; w=F[1]
F.glu({x}, {r}) ; x=F[4, 6]
"""

LOSSES = """
F.cross_entropy({x}, {i}) ; x=f2 ; i=I[x0]<x1
F.cross_entropy({x}, {i}, ignore_index=1) ; x=f2 ; i=I[x0]<x1
F.cross_entropy({x}, {i}, weight={w}) ; x=f2 ; i=I[x0]<x1 ; w=P[x1]
F.cross_entropy({x}, {i}, weight={w}, ignore_index=0, reduction="sum") ; x=f2 ; i=I[x0]<x1 ; w=P[x1]
F.cross_entropy({x}, {i}, label_smoothing=0.1) ; x=f2 ; i=I[x0]<x1
F.cross_entropy({x}, {i}, label_smoothing=0.2, weight={w}, ignore_index=2) ; x=f2 ; i=I[x0]<x1 ; w=P[x1]
F.cross_entropy({x}, {i}, reduction="none") ; x=f2 ; i=I[x0]<x1
F.cross_entropy({x}, {i}, reduction="none", ignore_index=1) ; x=f3 ; i=I[x0, x2]<x1
F.cross_entropy({x}, {i}, label_smoothing=0.3, reduction="none") ; x=f3 ; i=I[x0, x2]<x1
F.cross_entropy({x}, {i}) ; x=f4 ; i=I[x0, x2, x3]<x1
F.cross_entropy({x}, {i}, weight={w}) ; x=f4 ; i=I[x0, x2, x3]<x1 ; w=P[x1]
F.cross_entropy({x}, {p}) ; x=f2 ; p=P[*x_]
F.cross_entropy({x}, {p}, label_smoothing=0.1, reduction="sum") ; x=f2+ ; p=P[*x_]
F.cross_entropy({x}, {p}, weight={w}) ; x=f2 ; p=P[*x_] ; w=P[x1]
F.cross_entropy({x}, {i}) ; x=f1 ; i=I[]<x0
F.nll_loss(F.log_softmax({x}, 1), {i}) ; x=f2 ; i=I[x0]<x1
F.nll_loss(F.log_softmax({x}, 1), {i}, weight={w}, ignore_index=0) ; x=f2+ ; i=I[x0, *x_[2:]]<x1 ; w=P[x1]
F.nll_loss({x}, {i}, reduction="none") ; x=f2 ; i=I[x0]<x1
F.binary_cross_entropy({p}, {t}) ; x=f ; p=P[*x_] ; t=P[*x_]
F.binary_cross_entropy({x}.sigmoid(), {t}, weight={w}) ; t=P[*x_] ; w=P[*x_]
F.binary_cross_entropy({x}.sigmoid(), {t}, reduction="none") ; t=P[*x_]
F.binary_cross_entropy_with_logits({x}, {t}) ; t=P[*x_]
F.binary_cross_entropy_with_logits({x}, {t}, pos_weight={w}) ; x=f1+ ; t=P[*x_] ; w=P[xl]
F.binary_cross_entropy_with_logits({x}, {t}, weight={w}, pos_weight={w}, reduction="sum") ; t=P[*x_] ; w=P[*x_]
F.mse_loss({x}, {t}) ; t=F[*x_]
F.mse_loss({x}, {t}, reduction="sum") ; t=F[*x_]
F.l1_loss({x}, {t}) ; t=F[*x_]
F.l1_loss({x}, {t}, reduction="none") ; t=F[*x_]
F.smooth_l1_loss({x}, {t}, beta=0.5) ; t=F[*x_]
F.smooth_l1_loss({x}, {t}, reduction="none", beta=2.0) ; t=F[*x_]
F.smooth_l1_loss({x}, {t}, beta=0.0) ; t=F[*x_]
F.huber_loss({x}, {t}, delta=0.7) ; t=F[*x_]
F.huber_loss({x}, {t}, reduction="none") ; t=F[*x_]
F.kl_div(F.log_softmax({x}, -1), {t}, reduction="batchmean") ; x=f1+ ; t=P[*x_]
F.kl_div({x}, {t}, reduction="none") ; t=P[*x_]
F.kl_div({x}, {t}, reduction="sum", log_target=True) ; t=F[*x_]
F.kl_div(F.log_softmax({x}, -1), F.softmax({t}, -1)) ; x=f1+ ; t=F[*x_]
F.poisson_nll_loss({x}, {t}) ; t=P[*x_]
F.poisson_nll_loss({p}, {t}, log_input=False, full=True) ; x=f ; p=P[*x_] ; t=P[*x_]
F.hinge_embedding_loss({x}, {x}.sign())
F.margin_ranking_loss({x}, {t}, {t}.sign(), margin=0.3) ; t=F[*x_]
F.soft_margin_loss({x}, {x}.sign())
F.soft_margin_loss({x}, {t}.sign(), reduction="none") ; t=F[*x_]
F.multilabel_soft_margin_loss({x}, {t}) ; x=f2 ; t=P[*x_]
F.multi_margin_loss({x}, {i}) ; x=f2 ; i=I[x0]<x1
F.multi_margin_loss({x}, {i}, p=2, weight={w}) ; x=f2 ; i=I[x0]<x1 ; w=P[x1]
F.cosine_embedding_loss({x}, {t}, {s}.sign(), margin=0.1) ; x=f2 ; t=F[*x_] ; s=F[x0]
F.triplet_margin_loss({x}, {t}, {v}) ; x=f2 ; t=F[*x_] ; v=F[*x_]
F.triplet_margin_loss({x}, {t}, {v}, swap=True, reduction="none") ; x=f2 ; t=F[*x_] ; v=F[*x_]
F.pairwise_distance({x}, {t}) ; x=f2 ; t=F[*x_]
-(F.log_softmax({x}, -1) * F.softmax({t}, -1)).sum(-1).mean() ; x=f1+ ; t=F[*x_]
(F.softmax({x}, 0) * {t}).sum(0).log().neg() ; x=f1+ ; t=P[*x_]
F.cross_entropy({x}.flatten(0, 1), {i}.flatten(), ignore_index=-100) ; x=f3 ; i=I[x0, x1]<x2
F.cross_entropy({x}[:-1], {i}[1:]) ; x=f2 ; i=I[x0]<x1
F.cross_entropy({x}.float(), {i}) ; x=f2 ; i=I[x0]<x1
torch.logsumexp({x}, 1) - {x}.gather(1, {i})[:, 0] ; x=f2 ; i=I[x0, 1]<x1
"""

_HEADS = "x=F[5, 2, 8] ; w=F[24, 8] ; o=F[8, 8] ; u=F[8]"
ATTENTION = """
F.scaled_dot_product_attention({x}, {k}, {v}) ; x=f4 ; k=F[x0, x1, 5, x3] ; v=F[x0, x1, 5, x3]
F.scaled_dot_product_attention({x}, {x}, {x}, is_causal=True) ; x=f4
F.scaled_dot_product_attention({x}, {x}, {x}) ; x=f3
F.scaled_dot_product_attention({x}, {k}, {v}, is_causal=True) ; x=f4 ; k=F[x0, x1, 9, x3] ; v=F[x0, x1, 9, 6]
F.scaled_dot_product_attention({x}, {k}, {v}, {b}) ; x=f4 ; k=F[x0, x1, 5, x3] ; v=F[x0, x1, 5, 4] ; b=B[x2, 5]
F.scaled_dot_product_attention({x}, {k}, {v}, {b}) ; x=f4 ; k=F[x0, x1, 5, x3] ; v=F[x0, x1, 5, x3] ; b=F[x0, 1, x2, 5]
F.scaled_dot_product_attention({x}, {k}, {v}, {b}) ; x=f4 ; k=F[x0, x1, 5, x3] ; v=F[x0, x1, 5, x3] ; b=B[x0, 1, 1, 5]
F.scaled_dot_product_attention({x}, {k}, {k}, scale=0.3) ; x=f4 ; k=F[x0, x1, 7, x3]
F.scaled_dot_product_attention({x}.repeat_interleave(2, 1), {x}, {x}, enable_gqa=True) ; x=f4
F.scaled_dot_product_attention({q}, {k}, {k}, is_causal=True, enable_gqa=True) ; q=F[2, 4, 5, 8] ; k=F[2, 2, 5, 8]
F.scaled_dot_product_attention({q}, {k}, {k}, {b}, enable_gqa=True) ; q=F[2, 6, 5, 8] ; k=F[2, 2, 7, 8] ; b=F[5, 7]
F.scaled_dot_product_attention({x}.transpose(1, 2), {x}.transpose(1, 2), {x}.transpose(1, 2)) ; x=f4
F.scaled_dot_product_attention({x}, {x}, {x}).transpose(1, 2).flatten(2) ; x=f4
F.softmax({x} @ {x}.mT / 3, -1) @ {x} ; x=f3+
F.softmax(({x} @ {x}.mT).masked_fill({b}, float("-inf")), -1) ; x=f2+ ; b=B[xm, xm]
F.softmax(({x} @ {x}.mT).masked_fill(torch.ones_like({x} @ {x}.mT).triu(1) > 0, float("-inf")), -1) @ {x} ; x=f2+
F.softmax(({x} @ {x}.mT) + {b}, -1) @ {x} ; x=f2+ ; b=F[xm, xm]
torch.baddbmm({b}, {x}, {x}.mT, beta=0.5, alpha=0.3).softmax(-1) ; x=f3 ; b=F[x0, x1, x1]
({x}.softmax(-1) @ {x}.mT).tanh() * 30 ; x=f3+
{x} * torch.cat([-{x}[..., 1::2], {x}[..., ::2]], -1) ; x=F[2, 3, 8]
{x}.unflatten(-1, (2, -1)).transpose(-3, -2) ; x=F[2, 5, 8]
F.multi_head_attention_forward({x}, {x}, {x}, 8, 2, {w}, None, None, None, False, 0.0, {o}, {u})[0] ; HEADS
F.multi_head_attention_forward({x}, {x}, {x}, 8, 4, {w}, None, None, None, False, 0.0, {o}, {u})[1] ; HEADS
""".replace("HEADS", _HEADS)

POOLS = """
F.max_pool1d({x}, 2) ; x=f3
F.max_pool1d({x}, 3, 1, 1) ; x=f3
F.max_pool2d({x}, 2) ; x=f4
F.max_pool2d({x}, 3, 2, 1) ; x=f4
F.max_pool2d({x}, 2, ceil_mode=True) ; x=f4
F.max_pool2d({x}, 2, 1, dilation=2) ; x=f4
F.max_pool2d({x}, (2, 3), (1, 2), (1, 1)) ; x=f4
F.max_pool2d({x}, 2, return_indices=True)[1] ; x=f4
F.max_pool2d({x}, 5, 1, 2) ; x=f4
F.max_pool2d({x}, 2) ; x=f3
F.max_pool3d({x}, 2) ; x=F[2, 3, 4, 5, 6]
F.avg_pool1d({x}, 2) ; x=f3
F.avg_pool1d({x}, 3, 2, 1) ; x=f3
F.avg_pool2d({x}, 2) ; x=f4
F.avg_pool2d({x}, 3, 1, 1) ; x=f4
F.avg_pool2d({x}, 3, 2, 1, count_include_pad=False) ; x=f4
F.avg_pool2d({x}, 2, ceil_mode=True) ; x=f4
F.avg_pool2d({x}, 3, 2, 1, True, False) ; x=f4
F.avg_pool2d({x}, 2, divisor_override=3) ; x=f4
F.avg_pool2d({x}, (1, 3)) ; x=f4
F.avg_pool3d({x}, 2) ; x=F[1, 2, 4, 5, 6]
F.adaptive_avg_pool1d({x}, 2) ; x=f3
F.adaptive_avg_pool2d({x}, 1) ; x=f4
F.adaptive_avg_pool2d({x}, (2, 3)) ; x=f4
F.adaptive_avg_pool2d({x}, (None, 2)) ; x=f4
F.adaptive_max_pool1d({x}, 2) ; x=f3
F.adaptive_max_pool2d({x}, (3, 2)) ; x=f4
F.lp_pool2d({x}, 2, 2) ; x=f4
F.lp_pool1d({x}, 2.0, 3, 2) ; x=f3
F.max_unpool2d(*F.max_pool2d({x}, 2, return_indices=True), 2) ; x=F[2, 3, 4, 6]
F.unfold({x}, 2) ; x=f4
F.unfold({x}, (2, 3), 1, 1, 2) ; x=f4
F.fold({x}, (4, 5), 2) ; x=F[2, 12, 12]
{x}.unfold({r}, 2, 1) ; x=f1+
{x}.unfold({r}, 2, 2).amax(-1) ; x=f1+
{x}.unfold({r}, 3, 2).mean(-1) ; x=f1+
F.interpolate({x}, scale_factor=0.5, mode="area") ; x=f4
F.pixel_shuffle({x}, 2) ; x=F[2, 8, 3, 4]
F.pixel_unshuffle({x}, 2) ; x=F[2, 3, 4, 6]
F.channel_shuffle({x}, 2) ; x=F[2, 6, 3]
"""

PRODUCTS = """
torch.einsum("ij,jk->ik", {x}, {w}) ; x=f2 ; w=F[x1, 4]
torch.einsum("ij->ji", {x}) ; x=f2
torch.einsum("ij->i", {x}) ; x=f2
torch.einsum("ii->i", {w}) ; w=F[4, 4]
torch.einsum("ij,ij->", {x}, {w}) ; x=f2 ; w=F[*x_]
torch.einsum("bij,bjk->bik", {x}, {w}) ; x=f3 ; w=F[x0, x2, 3]
torch.einsum("bij,kj->bik", {x}, {w}) ; x=f3 ; w=F[4, x2]
torch.einsum("bhid,bhjd->bhij", {x}, {w}) ; x=f4 ; w=F[x0, x1, 5, x3]
torch.einsum("...i,i->...", {x}, {w}) ; x=f1+ ; w=F[xl]
torch.einsum("i,j->ij", {a}, {b}) ; a=F[4] ; b=F[5]
torch.einsum("i,j,k->ijk", {a}, {b}, {a}) ; a=F[4] ; b=F[5]
torch.einsum("bij,bi->bj", {x}, {w}) ; x=f3 ; w=F[x0, x1]
torch.einsum("abcd,cd->ab", {x}, {w}) ; x=f4 ; w=F[x2, x3]
{x} @ {w} ; x=f2+ ; w=F[xl, 3]
{x} @ {w} ; x=f1+ ; w=F[xl]
{w} @ {x} ; x=f2+ ; w=F[xm]
torch.matmul({x}, {w}) ; x=f2 ; w=F[3, x1, 4]
torch.matmul({x}, {w}) ; x=f3 ; w=F[2, 1, x2, 4]
torch.mm({x}, {x}.t()) ; x=f2
torch.mv({x}, {w}) ; x=f2 ; w=F[x1]
torch.dot({x}, {w}) ; x=f1 ; w=F[x0]
torch.vdot({x}, {w}) ; x=f1 ; w=F[x0]
torch.inner({x}, {w}) ; x=f1+ ; w=F[3, xl]
torch.outer({x}, {w}) ; x=f1 ; w=F[3]
torch.kron({x}, {w}) ; x=f2 ; w=F[2, 2]
torch.tensordot({x}, {w}, 1) ; x=f1+ ; w=F[xl, 2, 2]
torch.tensordot({x}, {w}, ([0], [1])) ; x=f1+ ; w=F[3, x0]
torch.addmm({b}, {x}, {w}, beta=0.5, alpha=2.0) ; x=f2 ; w=F[x1, 4] ; b=F[4]
torch.addmm({b}, {x}, {w}, beta=0) ; x=f2 ; w=F[x1, 4] ; b=F[4]
torch.addmv({b}, {x}, {w}, alpha=0.5) ; x=f2 ; w=F[x1] ; b=F[x0]
torch.addr({b}, {a}, {c}, beta=2.0) ; a=F[3] ; c=F[4] ; b=F[3, 4]
torch.addbmm({b}, {x}, {w}) ; x=f3 ; w=F[x0, x2, 3] ; b=F[x1, 3]
torch.baddbmm({b}, {x}, {w}, beta=0.5) ; x=f3 ; w=F[x0, x2, 3] ; b=F[x0, x1, 3]
F.linear({x}, {w}, {b}) ; x=f1+ ; w=F[3, xl] ; b=F[3]
F.bilinear({x}, {y}, {w}) ; x=F[3, 4] ; y=F[3, 5] ; w=F[2, 4, 5]
torch.cdist({x}, {w}) ; x=f2 ; w=F[4, x1]
torch.cdist({x}, {w}, p=1.0) ; x=f2 ; w=F[4, x1]
torch.linalg.multi_dot([{x}, {w}, {v}]) ; x=f2 ; w=F[x1, 3] ; v=F[3, 4]
torch.cross({x}, {w}, dim=-1) ; x=F[4, 3] ; w=F[4, 3]
F.conv1d({x}, {w}) ; x=f3 ; w=F[2, x1, 2]
F.conv1d({x}, {w}, {b}, 2, 1) ; x=f3 ; w=F[2, x1, 3] ; b=F[2]
F.conv2d({x}, {w}, {b}, stride=2, padding=1) ; x=f4 ; w=F[3, x1, 3, 3] ; b=F[3]
F.conv2d({x}, {w}, padding="same", dilation=2) ; x=f4 ; w=F[2, x1, 3, 3]
F.conv2d({x}, {w}, {b}, groups={x}.shape[1], padding=1) ; x=f4 ; w=F[x1, 1, 3, 3] ; b=F[x1]
F.conv_transpose2d({x}, {w}, {b}, stride=2) ; x=f4 ; w=F[x1, 2, 2, 2] ; b=F[2]
F.conv_transpose1d({x}, {w}, padding=1, output_padding=1, stride=2) ; x=f3 ; w=F[x1, 2, 3]
F.conv3d({x}, {w}, padding=1) ; x=F[1, 2, 3, 4, 5] ; w=F[2, 2, 3, 3, 3]
torch.lstm_cell({x}, ({h}, {c}), {w}, {u})[0] ; x=F[3, 4] ; h=F[3, 5] ; c=F[3, 5] ; w=F[20, 4] ; u=F[20, 5]
torch.gru_cell({x}, {h}, {w}, {u}, {b}, {b}) ; x=F[3, 4] ; h=F[3, 5] ; w=F[15, 4] ; u=F[15, 5] ; b=F[15]
torch.rnn_tanh_cell({x}, {h}, {w}, {u}) ; x=F[3, 4] ; h=F[3, 5] ; w=F[5, 4] ; u=F[5, 5]
torch.matrix_power({w}, 3) ; w=F[4, 4]
torch.linalg.det({w}) ; w=F[3, 3]
torch.linalg.inv({w} + 5 * torch.eye(3, dtype={w}.dtype)) ; w=F[3, 3]
"""

LOWER = """
F.linear({x}, {w}) ; x=f1+ ; w=F[4, xl]
F.linear({x}, {w}, {b}) ; x=f1+ ; w=F[5, xl] ; b=F[5]
{x} @ {w} ; x=f2+ ; w=F[xl, 3]
{x} @ {x}.mT ; x=f2+
torch.bmm({x}, {w}) ; x=f3 ; w=F[x0, xl, 4]
F.conv2d({x}, {w}, padding=1) ; x=f4 ; w=F[2, x1, 3, 3]
F.softmax({x}, {r}) ; x=f1+
F.log_softmax({x}, {r}) ; x=f1+
F.layer_norm({x}, {x}.shape[-1:]) ; x=f1+
F.layer_norm({x}, {x}.shape[-1:], {w}, {b}) ; x=f1+ ; w=F[xl] ; b=F[xl]
F.gelu({x})
F.silu({x}) * {y}
{x}.sum({r}) ; x=f1+
{x}.mean({r}) ; x=f1+
{x}.exp()
{x}.pow(2)
{x}.norm(dim={r}) ; x=f1+
F.mse_loss({x}, {y}) ; y=F[*x_]
F.cross_entropy({x}, {i}) ; x=f2 ; i=I[x0]<x1
F.group_norm({x}, 1) ; x=f3+
{x}.prod({r}) ; x=f1+
{x}.cumsum({r}) ; x=f1+
torch.einsum("ij,kj->ik", {x}, {w}) ; x=f2 ; w=F[3, x1]
torch.addmm({b}, {x}, {w}) ; x=f2 ; w=F[x1, 4] ; b=F[4]
F.scaled_dot_product_attention({x}, {x}, {x}) ; x=f3+
F.binary_cross_entropy_with_logits({x}, {p}) ; p=P[*x_]
{x}.bfloat16() + {y}
torch.cat([{x}, {y}], {r}) ; x=f1+ ; y=F[*x_]
torch.stack([{x}, {x}.bfloat16()])
{x}.log_softmax(-1).sum() ; x=f1+
F.cosine_similarity({x}, {y}, dim=-1) ; x=f1+ ; y=F[*x_]
torch.outer({a}, {a}) ; a=F[5]
F.huber_loss({x}, {y}) ; y=F[*x_]
F.rms_norm({x}, {x}.shape[-1:]) ; x=f1+
"""
