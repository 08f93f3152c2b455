"""Each operator of torchscript/node_table_*.cpp, alone in a group (single node mode), equals eager in values, dtype and
memory order."""

import re

import pytest
import torch
from nvfuser.torchscript._build import SOURCES
from torchscript_support import DEVICE, assert_equal, copies, graphs_of, knob

UNARY = """abs acos asin asinh atan ceil cos cosh erf erfc exp exp2 expm1 floor frac lgamma log log10 log1p log2 neg
reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc isfinite isinf isnan isneginf isposinf signbit
logical_not nan_to_num relu selu celu sum mean prod amax amin max min var std any all zeros_like ones_like clone
triu softmax(x,1) log_softmax(x,0) logsumexp(x,1) norm(x) norm(x,1,[0]) sum(x,[1],True) mean(x,0) prod(x,1) var(x,[1])
var(x,False) var(x,[0],correction=2) std(x,[1]) std(x,[1],correction=0) any(x,1) all(x,0,True) amax(x,[0,1])
clamp(x,-1,1) clamp(x,min=0.5) clamp_min(x,0.25) clamp_max(x,0.25) clamp(x,x-1,x+1) full_like(x,2.5)
threshold(x,0.5,2.0)"""
ATEN = """relu6(x) silu(x) gelu(x) gelu(x,approximate='tanh') hardtanh(x) hardsigmoid(x) hardswish(x) leaky_relu(x,0.1)
elu(x,1.5) softplus(x,2.0,3.0) mish(x) log_sigmoid(x) acosh(x+5) atanh(x*0.1) erfinv(x*0.1) bitwise_not(x>0)
threshold_backward(x,y,0.5) sigmoid_backward(x,y) tanh_backward(x,y) silu_backward(x,y) gelu_backward(x,y)
gelu_backward(x,y,approximate='tanh') hardtanh_backward(x,y,-1.0,1.0) hardsigmoid_backward(x,y)
hardswish_backward(x,y) leaky_relu_backward(x,y,0.1,False) elu_backward(x,1.2,1.1,0.9,False,y)
elu_backward(x,1.2,1.1,0.9,True,y) softplus_backward(x,y,2.0,3.0) mse_loss(x,y,0) mse_loss(x,y,1) l1_loss(x,y,2)
_softmax_backward_data(x,y,1,6) _log_softmax_backward_data(x,y,0,6) native_dropout_backward(x,y>0,2.0)
rsub(x,y,alpha=2) floor_divide(x,y) fmod(x,y) remainder(x,y) maximum(x,y) minimum(x,y) atan2(x,y) xlogy(x,y.abs())
pow(x.abs(),y) lerp(x,y,0.75) lerp(x,y,y) addcmul(x,y,y,value=0.5) addcdiv(x,x,y,value=2.0) logical_and(x,y)
logical_or(x,y) logical_xor(x,y) where(x>y,x,y) where(x>y,x,0.5) masked_fill(x,x>1,7.0) linalg_vector_norm(x,1,[1])
layer_norm(x,[7]) native_layer_norm(x,[7],None,None,1e-5)[1] rms_norm(x,[7]) div(x,y,rounding_mode='floor')
div(x,y,rounding_mode='trunc') sum_to_size(x,[5,1]) cat([x,y],1) type_as(x,y.double()) logsumexp(x,[0],True)"""
OPERATORS = """x+y x-y x*y x/y x+2 x-0.5 3-x x*2.5 1/x x**2 x**-1 x**0.5 2.0**x x==y x!=y x>y x>=y x<y x<=y x>0.5
(x>0)&(y>0) (x>0)|(y>0) (x>0)^(y>0) (x*9).long()<<1 (x*9).long()>>1 (x*9).int()%3 x.half() x.double() x.long()
x.to(torch.bool) x.to(y.half()) x.t().exp() x.view(7,5)*2 x.reshape(-1)+1 x.flatten()+1 x.unsqueeze(1)*x
x.permute(1,0)+1 x[1:3]*2 x.expand(3,5,7)*2 x.sum(0).expand_as(x)+x x.unsqueeze(0).squeeze(0)+1 x.detach()+1
x.contiguous()+1"""
# Overloads that the above do not choose.
OVERLOADS = """aten.__and__((x*9).long(),3) aten.__or__((x*9).long(),3) aten.__xor__((x*9).long(),3)
aten.__lshift__((x*9).long(),(y[:5]*0+2).long()) aten.__rshift__((x*9).long(),(y[:5]*0+2).long())
aten.bitwise_and((x*9).long(),3) aten.bitwise_or((x*9).long(),3) aten.bitwise_xor((x*9).long(),3)
aten.bitwise_and((x*9).long(),(y*9).long()) aten.bitwise_or((x*9).long(),(y*9).long())
aten.bitwise_xor((x*9).long(),(y*9).long()) aten.gcd((x*9).long(),(y*9).long()) aten._softmax(x,1,False)
aten._log_softmax(x,1,False) aten.all(x,[0,1]) aten.any(x,[0,1],True) aten.div(x,2.5)
aten.div(x,2.5,rounding_mode='floor') aten.floor_divide(x,2.5) aten.fmod(x,2.5) aten.eq(x,0.5) aten.ne(x,0.5)
aten.le(x,0.5) aten.lt(x,0.5) aten.ge(x,0.5) aten.rsub(x,3.0,alpha=2) torch.rsub(x,y) aten.max(x,y) aten.min(x,y)
aten.masked_fill(x,x>1,y.sum()) aten.norm(x,1) aten.norm(x,2,[1],True) aten.squeeze(x.unsqueeze(1))*2
torch.squeeze(x.unsqueeze(1),[1])*2 x.transpose(0,1)*2 torch.var_mean(x)[1] torch.var_mean(x,[1])[0]
torch.var_mean(x,[0],correction=0)[0] torch.where(x>0,x,1.0) torch.where(x>0,1.0,y) torch.where(x>y,1.0,2.0)
aten.batch_norm(x,None,None,None,None,True,0.1,1e-3,False)
aten.native_batch_norm(x,None,None,None,None,True,0.1,1e-3)[0]
aten.group_norm(x,7) aten.instance_norm(x[None],None,None,None,None,True,0.1,1e-3,False) x.to(torch.float64,False)
x.to(torch.device('here'),torch.float64) aten._grad_sum_to_size(x*y,[1,7])
aten.native_layer_norm_backward(y,x,[7],x.mean(1,True),x.var(1,keepdim=True),None,None,[True,False,False])[0]
aten.native_batch_norm_backward(y,x,None,None,None,x.mean(0),x.var(0),True,1e-3,[True,False,False])[0]"""
# Operators that draw random numbers or come with autocast: tests of their own hold them to eager.
ELSEWHERE = {
    "aten::bernoulli.p",
    "aten::dropout",
    "aten::native_dropout",
    "aten::rand_like",
    "aten::randn_like",
    "aten::_autocast_to_full_precision",
    "aten::_autocast_to_reduced_precision",
}
# Overloads that the frontend chooses for no expression here; each shares its rule with one that is tried.
SHARED = {
    "aten::rsub.Tensor",
    "aten::to.dtype_layout",
    "aten::to.prim_Device",
    "aten::to.prim_dtype",
    "aten::to.prim_other",
}
EXPRESSIONS = (
    [f"torch.{one}" if "(" in one else f"torch.{one}(x)" for one in UNARY.split()]
    + [f"torch.ops.aten.{one}" for one in ATEN.split()]
    + OPERATORS.split()
    + [one.replace("aten.", "torch.ops.aten.").replace("'here'", repr(DEVICE)) for one in OVERLOADS.split()]
)
# Conversions that return their argument itself, which no group may.
OF_HALF_THEMSELVES = {"x.half()", "x.to(y.half())"}


def values(dtype):
    special = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0], dtype=torch.float64)
    x, y = torch.randn(4, 7, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)
    y = torch.where(y.abs() < 0.1, 0.5, y)  # quotients far from the edge of the next integer
    return [torch.cat([x, special[None]]).to(DEVICE, dtype), y.to(DEVICE, dtype)]


def compiled(expression, names):
    source = f"def f({', '.join(f'{name}: Tensor' for name in names)}):\n    return {expression}\n"
    return torch.jit.CompilationUnit(source).f


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["float", "half"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_operator(expression, dtype):
    names = ["x", "y"] if re.search(r"\by\b", expression) else ["x"]
    arguments = values(dtype)[: len(names)]
    try:
        want = eval(expression, {"torch": torch}, dict(zip(names, copies(arguments), strict=True)))
    except (RuntimeError, NotImplementedError):
        assert dtype == torch.float16, expression  # PyTorch has no such operator for half on the CPU
        return
    function = compiled(expression, names)
    with knob("single_node", True), torch.no_grad(), torch.jit.fuser("fuser2"):
        for _ in range(3):
            got = function(*copies(arguments))
            assert_equal(got, want)
    fused = any("prim::CudaFusionGroup" in text for text in graphs_of(function))
    if dtype == torch.float16 and expression in OF_HALF_THEMSELVES:
        assert not fused and function(*arguments) is arguments[0]
    else:
        assert fused


def rules():
    """Operators of the tables, as PyTorch's schemas spell them."""
    files = sorted(SOURCES.glob("node_table_*.cpp"))
    return [name for file in files for name in re.findall(r'\{"(aten::[\w.]+)"', file.read_text())]


def test_every_rule_is_tried():
    tried = ELSEWHERE | SHARED
    for expression in EXPRESSIONS:
        names = ["x", "y"] if re.search(r"\by\b", expression) else ["x"]
        schemas = [node.schema() for node in compiled(expression, names).graph.nodes()]
        tried |= {schema.partition("(")[0] for schema in schemas}
    assert not set(rules()) - tried


def test_every_rule_is_an_operator_of_pytorch():
    """Names in the tables are spelled as PyTorch's schemas are."""
    known = {
        schema.name + ("." + schema.overload_name if schema.overload_name else "")
        for schema in torch._C._jit_get_all_schemas()
    }
    names = rules()
    assert len(names) > 200 and len(names) == len(set(names))
    assert not [name for name in names if name not in known]
