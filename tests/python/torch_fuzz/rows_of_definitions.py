"""Statements of a FusionDefinition, and behind "|" what PyTorch does. x is a tensor, y one of the same sizes and dtype,
m a mask of them; r is an axis of x, k a small number, s a number. Behind ";" what x is: f floating point, i an integer,
b a truth value, and how many axes it has at least."""

POINTWISE = """
ops.add({x}, {y}) | {x} + {y} ; fi
ops.sub({x}, {y}) | {x} - {y} ; fi
ops.mul({x}, {y}) | {x} * {y} ; fi
ops.add({x}, {k}) | {x} + {k} ; fi
ops.mul({x}, {s}) | {x} * {s} ; f
ops.div({x}, ops.add(ops.abs({y}), 1.0)) | {x} / ({y}.abs() + 1.0) ; f
ops.neg({x}) | -{x} ; fi
ops.abs({x}) | {x}.abs() ; fi
ops.tanh({x}) | {x}.tanh() ; f
ops.sigmoid({x}) | {x}.sigmoid() ; f
ops.exp(ops.minimum({x}, {y})) | torch.minimum({x}, {y}).exp() ; f
ops.gelu({x}) | F.gelu({x}) ; f
ops.relu({x}) | F.relu({x}) ; fi
ops.silu({x}) | F.silu({x}) ; f
ops.sqrt(ops.abs({x})) | {x}.abs().sqrt() ; f
ops.sin({x}) | {x}.sin() ; f
ops.floor({x}) | {x}.floor() ; f
ops.erf({x}) | {x}.erf() ; f
ops.maximum({x}, {y}) | torch.maximum({x}, {y}) ; fi
ops.where(ops.gt({x}, {y}), {x}, {y}) | torch.where({x} > {y}, {x}, {y}) ; fi
ops.where({m}, {x}, {y}) | torch.where({m}, {x}, {y}) ; fib
ops.gt({x}, {y}) | {x} > {y} ; fi
ops.eq({x}, {k}) | {x} == {k} ; fi
ops.logical_not({x}) | ~{x} ; b
ops.logical_and({x}, {y}) | {x} & {y} ; b
ops.bitwise_xor({x}, {y}) | {x} ^ {y} ; ib
ops.bitwise_and({x}, {k}) | {x} & {k} ; i
ops.remainder({x}, {k}) | torch.remainder({x}, {k}) ; i
ops.fmod({x}, {k}) | torch.fmod({x}, {k}) ; i
ops.div({x}, {k}) | torch.div({x}, {k}, rounding_mode="trunc") ; i
ops.truediv({x}, {k}) | {x} / {k} ; i
ops.clamp({x}, -1, {k}) | {x}.clamp(-1, {k}) ; fi
ops.lerp({x}, {y}, 0.25) | torch.lerp({x}, {y}, 0.25) ; f
ops.addcmul({x}, {y}, {y}, 0.5) | torch.addcmul({x}, {y}, {y}, value=0.5) ; f
ops.cast({x}, DataType.Double) | {x}.double() ; fib
ops.cast({x}, DataType.Float) | {x}.float() ; fib
ops.cast(ops.cast({x}, DataType.Half), DataType.Float) | {x}.half().float() ; fib
ops.cast(ops.cast({x}, DataType.BFloat16), DataType.Float) | {x}.bfloat16().float() ; fib
ops.cast({x}, DataType.Int32) | {x}.int() ; fib
ops.cast({x}, DataType.Int) | {x}.long() ; fib
ops.cast({x}, DataType.Bool) | {x}.bool() ; fib
ops.isfinite({x}) | {x}.isfinite() ; f
ops.set({x}) | {x}.clone() ; fib
ops.segment_set({x}) | {x}.clone() ; fib
ops.zeros_like({x}) | torch.zeros_like({x}) ; fib
ops.ones_like({x}) | torch.ones_like({x}) ; fi
ops.full_like({x}, {k}) | torch.full_like({x}, {k}) ; fi
"""

AXES = """
ops.sum({x}, [{r}]) | {x}.sum({r}) ; f1
ops.sum({x}, [{r}], keepdim=True) | {x}.sum({r}, keepdim=True) ; f1
ops.sum({x}) | {x}.sum() ; f1
ops.mean({x}, [{r}]) | {x}.mean({r}) ; f1
ops.max({x}, [{r}], keepdim=True) | {x}.amax({r}, keepdim=True) ; fi1
ops.min({x}, [{r}]) | {x}.amin({r}) ; fi1
ops.prod({x}, [{r}]) | {x}.prod({r}) ; f1
ops.var({x}, [{r}], 0) | {x}.var({r}, correction=0) ; f1
ops.var_mean({x}, [{r}], 0, True)[1] | {x}.mean({r}, keepdim=True) ; f1
ops.sub({x}, ops.max({x}, [{r}], keepdim=True)) | {x} - {x}.amax({r}, keepdim=True) ; f1
ops.div({x}, ops.add(ops.sum(ops.abs({x}), [{r}], keepdim=True), 1.0)) | {x} / ({x}.abs().sum({r}, True) + 1.0) ; f1
ops.softmax({x}, {r}) | {x}.softmax({r}) ; f1
ops.log_softmax({x}, {r}) | {x}.log_softmax({r}) ; f1
ops.cumsum({x}, {r}) | {x}.cumsum({r}) ; f1
ops.argsort({x}, {r}, stable=True) | torch.argsort({x}, dim={r}, stable=True) ; f1
ops.unsqueeze({x}, {r}) | {x}.unsqueeze({r}) ; fib1
ops.squeeze(ops.unsqueeze({x}, {r}), [{r}]) | {x} ; fib1
ops.select({x}, 0, {r}) | {x}.select({r}, 0) ; fib1
ops.flatten({x}) | {x}.flatten() ; fib1
ops.permute({x}, {back}) | {x}.permute({back}) ; fib1
ops.transpose({x}, {r}, 0) | {x}.transpose({r}, 0) ; fib1
ops.add({x}, ops.set(ops.permute(ops.permute({x}, {back}), {back}))) | {x} + {x} ; f1
ops.cat([{x}, {y}], {r}) | torch.cat([{x}, {y}], {r}) ; fib1
ops.cat([{y}, {x}, {x}], {r}) | torch.cat([{y}, {x}, {x}], {r}) ; fi1
ops.pad({x}, [1, 2]) | F.pad({x}, (1, 2)) ; f1
ops.pad({x}, [2, 0], {s}) | F.pad({x}, (2, 0), value={s}) ; f1
ops.slice({x}, start_indices={zeros}, end_indices={ones}) | {x}[{first}] ; fib1
ops.repeat({x}, {twos}) | {x}.repeat({twos}) ; fib1
ops.expand(ops.unsqueeze({x}, 0), [3, {minus}]) | {x}.expand(3, {minus}) ; fib1
ops.broadcast(ops.sum({x}, [0]), [True, {others}]) | {x}.sum(0)[None] ; f2
ops.mul({x}, ops.broadcast(ops.mean({x}, [0]), [True, {others}])) | {x} * {x}.mean(0)[None] ; f2
ops.reshape({x}, [-1]) | {x}.reshape(-1) ; fib1
ops.reshape({x}, [ops.size({x}, 0), -1]) | {x}.reshape({x}.shape[0], -1) ; fib2
ops.reshape(ops.reshape({x}, [-1]), ops.shape({x})) | {x} ; fib1
ops.triu(ops.unsqueeze({x}, 0)) | {x}[None].triu() ; f1
ops.matmul({x}, ops.transpose({x}, 0, 1)) | {x} @ {x}.mT ; f22
ops.take_along_axis({x}, ops.argsort({x}, {r}, stable=True), {r}) | {x}.sort({r})[0] ; f1
ops.index_select({x}, ops.iota(ops.size({x}, {r}), 0, 1, DataType.Int), {r}) | {x} ; f1
ops.add({x}, ops.iota(ops.size({x}, {last}), 0, 1, DataType.Int)) | {x} + torch.arange({x}.shape[-1]) ; fi1
ops.mul({x}, ops.cast(ops.size({x}, {r}), DataType.Double)) | {x} * float({x}.shape[{r}]) ; f1
ops.stride_order({x}, {back}) | {x} ; f1
"""
