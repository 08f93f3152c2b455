"""What PyTorch gives for each program of reports/: {name: function of its inputs, as they were before it ran}.

A program that updates inputs has two results: its outputs, and what `updated` gives for the inputs.
"""

import math

import torch
import torch.nn.functional as F


def layer_norm_bf16(x, weight, bias):
    wide = x.float()
    var, mean = torch.var_mean(wide, 2, correction=0)
    rstd = torch.rsqrt(var + 1e-5)[..., None]
    out = (wide - mean[..., None]) * rstd * weight.float() + bias.float()
    return mean, rstd, out.bfloat16()


def rms_norm_static_shapes(x, weight):
    wide = x.float()
    return ((wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)) * weight.float()).half()


def rotary_embedding(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return (x.float() * cos.float() + turned.float() * sin.float()).bfloat16()


def sdpa_forward(query, key, value):
    out = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    scores = query.float() @ key.float().transpose(-1, -2) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    return out, scores.logsumexp(-1)


def causal_mask_from_iota():
    mask = torch.ones((12, 12), dtype=torch.bool).tril()
    return mask, torch.zeros((12, 12)).masked_fill(~mask, -math.inf)


def channels_last(x, bias):
    out = F.relu(x + bias[:, None, None])
    return out, out.contiguous(), out, out.sum((2, 3), keepdim=True)


def in_place_update(x, a, b):
    return -(x * (a | b))


def batch_norm_running_statistics(x, weight, bias, mean, var):
    out = F.batch_norm(x, mean.clone(), var.clone(), weight, bias, training=True, momentum=0.1, eps=1e-5)
    batch_var, batch_mean = torch.var_mean(x, (0, 2, 3), correction=0)
    return out, batch_mean, torch.rsqrt(batch_var + 1e-5)


def batch_norm_updates(x, weight, bias, mean, var):
    mean, var = mean.clone(), var.clone()
    F.batch_norm(x, mean, var, weight, bias, training=True, momentum=0.1, eps=1e-5)
    return x, weight, bias, mean, var


def complex_numbers(z):
    product = z * complex(0.5, -2.0)
    return product.abs(), z.real, z.imag, product.sum(1)


def integer_arithmetic(a, b):
    quotients = torch.div(a, b, rounding_mode="trunc"), torch.true_divide(a, b)
    shifts = b << 2, a >> 2
    return torch.remainder(a, b), torch.fmod(a, b), *quotients, a ^ b, *shifts, torch.gcd(a, b), a.int()


def operators_on_tensors(t0):
    t1, t2 = -t0, t0.abs()
    t3 = -t1 * (1 - t0 * t0) / t2 + 1.0**-1.0 - 1
    t5 = (t0 > 1) | (t0 < -1)
    return t1, t2, t3, 2 * t0 - 1.5, t5, torch.where(t5, t0, t0 % 0.5), 1 / (4 * t2 + 3)


def spellings_of_early_2023(a, b, c):
    out = (a + c) * 2 + b
    return out.reshape(48), out.var(1, keepdim=True), out.view(2, 3, 8).sum(-1) * 4


def vector_of_sizes(x):
    wide = x.permute(0, 2, 1)[:, :, None].expand(1, 16, 2, 8).reshape(1, 16, 16).cos()
    return wide, wide.reshape(16, 16) * 16


def pad_with_value(x):
    zeros = F.pad(x, [3, 0, 3, 1])
    return F.pad(x, [1, 2, 0, -1], value=2.5), zeros, zeros.sum(0)


def sort_and_scan(x):
    values, places = x.topk(3, dim=-1, largest=True, sorted=True)
    return places, torch.argsort(x, dim=1, stable=True), x.cumsum(1), values.exp()


def dropout_backward(scale, grad, mask):
    out = mask.float() * (scale * grad.float())
    return out.sum(0).bfloat16(), out.bfloat16(), out.bfloat16().t()


def same_output_twice(x):
    out = x / x.sum()
    return out, out, x, x.sum()


def adam_updates(weight, grad, first, second):
    first = first * 0.9 + grad * (1 - 0.9)
    second = second * 0.999 + grad * grad * (1 - 0.999)
    return weight - first / (second.sqrt() + 1e-8) * 0.001, grad, first, second


def fusion_by_id(x):
    var, mean = torch.var_mean(x.sinh(), 1, keepdim=True)
    return x.sinh() - mean, var


def where_and_compare(x):
    wide = x.float()
    mask = (wide > 0) & x.isfinite()
    return F.leaky_relu(wide, 0.01).half(), mask, wide.clamp(-0.5, 0.5), mask.sum()


def welford_statistics(x):
    var, mean = torch.var_mean(x, 1, correction=0)
    return (
        mean,
        var * x.shape[1],
        torch.full_like(mean, x.shape[1]).long(),
        x.double().prod(-1, keepdim=True),
        x.amin((0, 2)),
    )


def qkv_split_and_rope(x, cos, sin):
    query, key, value = x.reshape(2, 8, 4, 3, 16).permute(3, 0, 2, 1, 4)
    return rotary_embedding(query, cos, sin), key, value


def joins_without_elements(places, empty):
    wrapped = torch.where(places < 0, places + 5, places)
    return torch.cat([empty, empty, wrapped, wrapped + 5])


def shifted_cross_entropy(logits, labels):
    logits, labels = logits[0, :-1].float(), labels[0, 1:]
    return logits.logsumexp(1), F.cross_entropy(logits, labels).bfloat16()


def repeated_heads(x):
    heads = x.reshape(1, 24, 4, 16).permute(0, 2, 1, 3)
    return heads, heads.repeat_interleave(3, dim=1)


def gelu_and_absolute_maximum(bias, x):
    out = F.gelu(x.float() + bias.float(), approximate="tanh")
    most = out.abs().max()
    return most.bfloat16(), (out * (448.0 / most)).clamp(-448.0, 448.0)


def scaled_slices_padded(scale, factor, weights, x):
    x = x * scale
    product = weights * x[..., :4]
    turned = torch.cat([product[..., 2:], -product[..., :2]], -1) * factor
    return torch.cat([turned, x[..., 4:]], -1)


def layer_norm_backward_of_2022(weight, mean, bias, var, x):
    rstd = torch.rsqrt(var + 1e-12)[..., None]
    out = (x - mean[..., None]) * rstd * weight + bias
    return rstd, out, out.view(24, 28)


REFERENCES = {
    "adam_step": lambda *inputs: (),
    "add_with_broadcast_axes": lambda a, b, c: (a + b, c * c),
    "axes_without_elements": lambda a, b: (a.sum(1, keepdim=True), torch.cat([a, b], 1)),
    "axis_of_no_elements_indexed": lambda x: x.permute(1, 2, 0, 3),
    "batch_norm_running_statistics": batch_norm_running_statistics,
    "causal_mask_from_iota": causal_mask_from_iota,
    "channels_last": channels_last,
    "complex_numbers": complex_numbers,
    "cpu_scalar_tensor": lambda a, b: a * b,
    "cross_entropy": F.cross_entropy,
    "debug_output": F.silu,
    "documented_fusion": lambda a, b: ((a + b) * 3).sum(-1),
    "dropout_backward": dropout_backward,
    "embedding_and_index_select": lambda i, w, k, n: (F.embedding(i, w), w.index_select(1, k), w[k] * n),
    "expand_then_reshape": lambda x: x[..., None].expand(4, 5, 6).reshape(40, 3),
    "expanded_inputs": lambda a, b, c: (a * b + c, (a * b + c).sum((0, 1))),
    "fill_of_another_dtype": lambda: (torch.full((4, 4), 3.0, dtype=torch.float64), torch.full((2,), 1.5).bfloat16()),
    "fusion_by_id": fusion_by_id,
    "gather_and_scatter": lambda x, i, s: (x.scatter(1, i, s), x.gather(1, i).relu()),
    "gelu_and_absolute_maximum": gelu_and_absolute_maximum,
    "group_norm_reshape": lambda x, weight, bias: F.group_norm(x, 3, weight, bias),
    "in_place_update": in_place_update,
    "integer_arithmetic": integer_arithmetic,
    "joins_without_elements": joins_without_elements,
    "layer_norm_backward_of_2022": layer_norm_backward_of_2022,
    "layer_norm_bf16": layer_norm_bf16,
    "linear_gelu": lambda x, w, b: F.gelu(F.linear(x, w, b), approximate="tanh"),
    "matmul_transposed": lambda a, b: (a @ b, (a @ b).t().relu()),
    "one_element_found_at_run_time": lambda a, b: a + b,
    "operators_on_tensors": operators_on_tensors,
    "pad_with_value": pad_with_value,
    "profile_and_code": lambda a, b: (a + b).sum(1),
    "qkv_split_and_rope": qkv_split_and_rope,
    "repeated_heads": repeated_heads,
    "rms_norm_static_shapes": rms_norm_static_shapes,
    "rotary_embedding": rotary_embedding,
    "same_output_twice": same_output_twice,
    "scalar_inputs": lambda x, s, n, flag: x * s + 2 * n if flag else x,
    "scaled_slices_padded": scaled_slices_padded,
    "sdpa_forward": sdpa_forward,
    "shifted_cross_entropy": shifted_cross_entropy,
    "sizes_and_strides": lambda a, b, c: (a + b, (a + b) * c),
    "softmax_with_mask": lambda x, mask: F.softmax((x * 0.125).masked_fill(~mask, -math.inf), 3),
    "sort_and_scan": sort_and_scan,
    "spellings_of_early_2023": spellings_of_early_2023,
    "user_schedule_by_heuristic": lambda a, b: (a + b).exp(),
    "user_schedule_merge": F.relu,
    "user_schedule_reduction": lambda a, b: ((a + b) * 3.0).sum(-1),
    "vector_input": lambda x, shape: x.reshape(shape) * shape[0],
    "vector_of_sizes": vector_of_sizes,
    "welford_statistics": welford_statistics,
    "where_and_compare": where_and_compare,
}

UPDATED = {
    "adam_step": adam_updates,
    "batch_norm_running_statistics": batch_norm_updates,
    "in_place_update": lambda x, a, b: (x * (a | b), a | b, b),
}
