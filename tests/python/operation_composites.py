"""Composite operations: activations, normalisations and their gradients. They extend `CASES`."""

import torch
from nvf import DType
from operation_cases import CASES, case, simple
from operation_dtypes import WIDE, in_full, sample

# Composites.

simple("softmax", lambda b, t: b.op("softmax", t), lambda x: in_full(x).softmax(-1).to(x.dtype), domain="finite")
simple("softmax", lambda b, t: b.op("softmax", t, 0), lambda x: x.softmax(0))
simple("log_softmax", lambda b, t: b.op("log_softmax", t), lambda x: x.log_softmax(-1))
simple("gelu", lambda b, t: b.op("gelu", t), torch.nn.functional.gelu)
simple("tanh_gelu", lambda b, t: b.op("tanh_gelu", t), lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
simple("leaky_relu", lambda b, t: b.op("leaky_relu", t), torch.nn.functional.leaky_relu)
simple("leaky_relu", lambda b, t: b.op("leaky_relu", t, 0.3), lambda x: torch.nn.functional.leaky_relu(x, 0.3))
simple("softplus", lambda b, t: b.op("softplus", t), torch.nn.functional.softplus)
simple("softplus", lambda b, t: b.op("softplus", t, 2.0, 1.0), lambda x: torch.nn.functional.softplus(x, 2.0, 1.0))


def gradient(function, x, grad):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(function(x), x, grad)[0]


def backward(name, function, from_output):
    """Of (grad, input) or (grad, output)."""

    def run(b, dtype):
        x, grad = sample(dtype, "finite", 0), sample(dtype, "finite", 1)
        saved = function(x) if from_output else x
        b.expect(b.op(name, b.input(grad), b.input(saved)), gradient(function, x, grad))

    CASES.setdefault(name, []).append((name, WIDE, run))


backward("softmax_backward", lambda x: x.softmax(-1), True)
backward("log_softmax_backward", lambda x: x.log_softmax(-1), True)
backward("tanh_backward", torch.tanh, True)
backward("gelu_backward", torch.nn.functional.gelu, False)
backward("tanh_gelu_backward", lambda x: torch.nn.functional.gelu(x, approximate="tanh"), False)


def affine(dtype):
    return sample(dtype, "finite", 5)[0].contiguous(), sample(dtype, "finite", 6)[0].contiguous()


@case("layer_norm")
def layer_norm_(b, dtype):
    x = sample(dtype, "finite", 0)
    weight, bias = affine(dtype)
    expected = torch.native_layer_norm(x, [6], weight, bias, 1e-5)
    values = b.fusion.ops("layer_norm", b.input(x), [6], b.input(weight), b.input(bias), 1e-5)
    for value, one in zip(values, expected, strict=True):
        b.expect(value, one)
    b.expect(b.fusion.ops("layer_norm", b.input(x), [-1])[0], torch.nn.functional.layer_norm(x, [6]))


@case("layer_norm_backward")
def layer_norm_backward_(b, dtype):
    x, grad = sample(dtype, "finite", 0), sample(dtype, "finite", 1)
    weight, bias = affine(dtype)
    _, mean, invstd = torch.native_layer_norm(x, [6], weight, bias, 1e-5)
    leaves = [v.clone().requires_grad_() for v in (x, weight, bias)]
    expected = torch.autograd.grad(torch.nn.functional.layer_norm(leaves[0], [6], *leaves[1:]), leaves, grad)
    tensors = [b.input(v) for v in (grad, x, mean, invstd, weight, bias)]
    grad_t, x_t, mean_t, invstd_t, weight_t, bias_t = tensors
    values = b.fusion.ops("layer_norm_backward", grad_t, x_t, [6], mean_t, invstd_t, weight_t, bias_t)
    for value, one in zip(values, expected, strict=True):
        b.expect(value, one)
    masked = b.fusion.ops(
        "layer_norm_backward", grad_t, x_t, [6], mean_t, invstd_t, weight_t, bias_t, [False, True, False]
    )
    assert masked[0] is None and masked[2] is None
    b.expect(masked[1], expected[1])


@case("rms_norm")
def rms_norm_(b, dtype):
    x = sample(dtype, "finite", 0)
    weight, _ = affine(dtype)
    output, invstd = b.fusion.ops("rms_norm", b.input(x), [6], b.input(weight), 1e-5)
    b.expect(output, torch.nn.functional.rms_norm(x, [6], weight, 1e-5))
    b.expect(invstd, torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5))


@case("rms_norm_backward")
def rms_norm_backward_(b, dtype):
    x, grad = sample(dtype, "finite", 0), sample(dtype, "finite", 1)
    weight, _ = affine(dtype)
    leaves = [v.clone().requires_grad_() for v in (x, weight)]
    expected = torch.autograd.grad(torch.nn.functional.rms_norm(leaves[0], [6], leaves[1], 1e-5), leaves, grad)
    invstd = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
    grad_t, x_t, invstd_t, weight_t = (b.input(v) for v in (grad, x, invstd, weight))
    values = b.fusion.ops("rms_norm_backward", grad_t, x_t, [6], invstd_t, weight_t)
    for value, one in zip(values, expected, strict=True):
        b.expect(value, one)


@case("batch_norm")
def batch_norm_(b, dtype):
    x = sample(dtype, "finite", 0).reshape(2, 3, 4)
    weight, bias = (v[:3].contiguous() for v in affine(dtype))
    output, mean, invstd = b.fusion.ops("batch_norm", b.input(x), b.input(weight), b.input(bias), training=True)
    expected, expected_mean, expected_invstd = torch.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)
    b.expect(output, expected)
    b.expect(mean, expected_mean)
    b.expect(invstd, expected_invstd)
    running_mean, running_var = sample(dtype, "finite", 7)[0, :3], sample(dtype, "positive", 8)[0, :3]
    frozen = b.fusion.ops(
        "batch_norm", b.input(x), None, None, b.input(running_mean), b.input(running_var), training=False
    )
    b.expect(frozen[0], torch.nn.functional.batch_norm(x, running_mean, running_var))


@case("instance_norm")
def instance_norm_(b, dtype):
    x = sample(dtype, "finite", 0).reshape(2, 3, 4)
    weight, bias = (v[:3].contiguous() for v in affine(dtype))
    output = b.fusion.ops("instance_norm", b.input(x), b.input(weight), b.input(bias))[0]
    b.expect(output, torch.nn.functional.instance_norm(x, None, None, weight, bias))


@case("dropout_backward")
def dropout_backward_(b, dtype):
    grad, mask = sample(dtype, "finite", 0), sample(DType.Bool, "any", 1)
    b.expect(b.op("dropout_backward", b.input(grad), b.input(mask), 1.25), grad * mask * 1.25)
