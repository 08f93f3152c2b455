"""Statements about integers, as kinds.py describes them."""

WHOLE_NUMBERS = """
{x} + {n} ; x=n
{x} * {n} ; x=n
{x} - {k} ; x=n
-{x} ; x=n
{x}.abs() ; x=n
{x} & {n} ; x=n
{x} | {k} ; x=n
{x} ^ {n} ; x=n
~{x} ; x=n
{x} << {k} ; x=n
{x} >> {k} ; x=n
{x} / {k} ; x=n
{x} // {k} ; x=n
{x} % {k} ; x=n
torch.div({x}, {k}, rounding_mode="trunc") ; x=n
torch.remainder({x}, -{k}) ; x=n
torch.fmod({x}, {k}) ; x=n
torch.floor_divide({x}, {k}) ; x=n
{x}.sum({r}) ; x=n1+
{x}.sum({r}, dtype=torch.int32) ; x=n1+
{x}.sum() ; x=n
{x}.prod({r}, keepdim=True) ; x=n1+
{x}.cumsum({r}) ; x=n1+
{x}.cumprod({r}) ; x=n1+
{x}.amax({r}) ; x=n1+
{x}.amin({r}, keepdim=True) ; x=n1+
{x}.max() ; x=n
{x}.min({r})[0] ; x=n1+
{x}.argmax({r}) ; x=n1+
{x}.argmin() ; x=n
{x}.any({r}) ; x=n1+
{x}.all({r}, keepdim=True) ; x=n1+
{x}.any() ; x=n
{x}.count_nonzero({r}) ; x=n1+
{x}.float().mean({r}) ; x=n1+
{x}.mean({r}, dtype=torch.float32) ; x=n1+
{x} > {n} ; x=n
{x} == {k} ; x=n
({x} != {n}).sum({r}) ; x=n1+
torch.where({x} > {k}, {x}, {n}) ; x=n
torch.where({m}, {x}, {k}) ; x=n
torch.maximum({x}, {n}) ; x=n
{x}.clamp({k}, 9) ; x=n
{x}.clamp(min=0.5) ; x=n
{x}.masked_fill({m}, {k}) ; x=n
{x} ** 2 ; x=n
{x} * {s} ; x=n
{x} * 2.5 + {n} ; x=n
{x}.to(torch.int8) ; x=n
{x}.to(torch.uint8) ; x=n
{x}.to(torch.int32) * {n} ; x=n
{x}.bool() ; x=n
{x}.double() ; x=n
{x}.half() + {n} ; x=n
{x}.logical_not() ; x=n
torch.logical_xor({x}, {n}) ; x=n
torch.gcd({x}, {n}) ; x=n
{x}.sign() ; x=n
{x}.sort({r})[0] ; x=n1+
{x}.flip({r}) ; x=n1+
torch.cat([{x}, {n}], {r}) ; x=n1+ ; n=I[*x_]<9
torch.stack([{x}, {x} + 1], {r}) ; x=n
{x}.gather({r}, {i}) ; x=n1+ ; i=I[*x_]<xmin
F.one_hot({i}, 7) ; i=I[4, 3]<7
torch.arange({x}.shape[0]) + {x}.sum() ; x=n1+
{x}.unsqueeze({r}) * {x}.sum() ; x=n
{x}.roll(2, {r}) ; x=n1+
{x}.diff(dim={r}) ; x=n1+
torch.bitwise_left_shift({x}, {n} & 3) ; x=n
{x}.sqrt() ; x=n
{x}.exp() ; x=n
{x}.sigmoid() ; x=n
torch.atan2({x}, {n}) ; x=n
{x}.triu() ; x=n2+
({x} > 0) & ({n} < 3) ; x=n
({x} > 0) + ({n} > 0) ; x=n
({x} > 0) * {f} ; x=n ; f=F[*x_]
{x} + {f} ; x=n ; f=F[*x_]
{f}.long() + {x} ; x=n ; f=F[*x_]
{x} * torch.tensor(2.5) ; x=n
{x} + torch.tensor(300, dtype=torch.int64) ; x=n
torch.rsub({x}, 3, alpha={k}) ; x=n
torch.add({x}, {n}, alpha={k}) ; x=n
{x}.var({r}) ; x=f1+
torch.isin({x}, torch.tensor([1, 2, 3])) ; x=n
{x}.signbit() ; x=n
torch.bitwise_not({x} > 2) ; x=n
torch.isnan({x}) ; x=n
"""

# Arithmetic at the ends of integers' ranges, and the signs of quotients; divisors are not 0, which eager refuses, and
# nothing divides the least number by -1, which no processor can. Shifts are by less than a number has bits.
LIMITS = """
{x} + {n} ; x=n
{x} - {n} ; x=n
{x} * {n} ; x=n
-{x} ; x=n
{x} + 1 ; x=n
{x} - {k} ; x=n
{x} * -{k} ; x=n
{x}.abs() ; x=n
{x} // {k} ; x=n
{x} // -{k} ; x=n
{x} % {k} ; x=n
{x} % -{k} ; x=n
torch.div({x}, {k}, rounding_mode="trunc") ; x=n
torch.div({x}, -3, rounding_mode="floor") ; x=n
torch.fmod({x}, {k}) ; x=n
torch.fmod({x}, -{k}) ; x=n
torch.remainder({x}, ({n} | 1).clamp(min=1)) ; x=n
{x} // ({n} | 1).clamp(min=1) ; x=n
torch.div({x}, ({n} | 1).clamp(max=-3), rounding_mode="trunc") ; x=n
{x} / {k} ; x=n
{x} << {k} ; x=n
{x} >> {k} ; x=n
{x} >> 7 ; x=n
({x} << 3) >> 3 ; x=n
torch.bitwise_right_shift({x}, {n} & 7) ; x=n
torch.bitwise_left_shift({x}, {n} & 7) ; x=n
~{x} ; x=n
{x} ^ {n} ; x=n
{x}.sum({r}) ; x=n1+
{x}.sum({r}, dtype=torch.int32) ; x=n1+
{x}.prod({r}) ; x=n1+
{x}.cumsum({r}) ; x=n1+
{x}.cumsum({r}, dtype={x}.dtype) ; x=n1+
{x}.cumprod({r}) ; x=n1+
{x}.amax({r}) ; x=n1+
{x}.amin({r}) ; x=n1+
{x}.argmax({r}) ; x=n1+
{x} > {n} ; x=n
{x} == {n} ; x=n
{x} > {n}.long() ; x=n
torch.maximum({x}, {n}) ; x=n
{x}.clamp({n}, {n} | 1) ; x=n
{x}.clamp(-{k}, {k}) ; x=n
{x}.to(torch.int8) ; x=n
{x}.to(torch.uint8) ; x=n
{x}.to(torch.int16) + {n} ; x=n
{x}.to(torch.int32) * {n} ; x=n
{x}.long() * {n} ; x=n
{x}.float() ; x=n
{x}.double() + {n} ; x=n
{x}.half().float() ; x=n
{x} ** 2 ; x=n
{x} ** 3 ; x=n
{x}.square() ; x=n
{x}.sign() ; x=n
{x}.bool() ; x=n
{x} & ({n} > 0) ; x=n
{x} + ({n} > 0) ; x=n
({x} > 0) * {n} ; x=n
({x} > 0) * 3 - 1 ; x=n
({x} > {n}).sum() ; x=n
torch.add({x}, {n}, alpha=-{k}) ; x=n
torch.rsub({x}, {n}, alpha={k}) ; x=n
torch.gcd({x} >> 1, {n} >> 1) ; x=n
({x} % 1000).float().to(torch.uint8) ; x=n
torch.where({x} > {n}, {x}, 100) ; x=n
{x}.diff(dim={r}) ; x=n1+
{x}.unsqueeze(-1) * {x}.unsqueeze(-2) ; x=n1
({x} * {n}).sum({r}) ; x=n1+
{x}.dot({n}) ; x=n1
{x} @ {x}.mT ; x=n2+
{x}.view(torch.uint8) ; x=n1+
torch.logical_and({x}, {n}) ; x=n
"""
