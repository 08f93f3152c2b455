"""nvfuser.testing.utils and nvfuser.pytorch_utils: what tests of nvFuser's users import."""

import pytest

torch = pytest.importorskip("torch")

from nvfuser import DataType, FusionCache, FusionDefinition  # noqa: E402
from nvfuser.testing import utils  # noqa: E402
from tested_device import DEVICE, ON_GPU  # noqa: E402


class Case(utils.NVFuserTest):
    def test_exec_nvfuser(self):
        inputs = [torch.ones(2, 4, 8, device=DEVICE), torch.ones(2, 4, 8, device=DEVICE)]

        def fusion_func(fd: FusionDefinition):
            t0, t1 = fd.from_pytorch(inputs[0]), fd.from_pytorch(inputs[1])
            c0 = fd.define_scalar(3.0)
            t2 = fd.ops.add(t0, t1)
            t3 = fd.ops.mul(t2, c0)
            t4 = fd.ops.sum(t3, [-1], False, DataType.Float)
            fd.add_output(t4)

        FusionCache.reset()
        nvf_out, _ = self.exec_nvfuser(fusion_func, inputs)
        nvf_out, fd = self.exec_nvfuser(fusion_func, inputs, new_fusion_expected=False)
        self.assertEqual(torch.sum((inputs[0] + inputs[1]) * 3.0, dim=-1), nvf_out[0])
        self.assertEqual([nvf_out[0]], nvf_out)
        self.assertEqual(fd.id(), 0)
        with self.assertRaises(AssertionError):
            self.exec_nvfuser(fusion_func, inputs)

    def test_outputs_in_an_order(self):
        x = torch.randn(2, 3, 4, device=DEVICE)

        def fusion_func(fd: FusionDefinition):
            fd.add_output(fd.ops.relu(fd.from_pytorch(x)), stride_order=[0, 2, 1])

        nvf_out, _ = self.exec_nvfuser(fusion_func, [x])
        utils.verify_stride_order(nvf_out[0].stride(), [0, 2, 1])
        with self.assertRaisesRegex(AssertionError, "are not in the order"):
            utils.verify_stride_order(nvf_out[0].stride(), [2, 1, 0])


def test_what_the_gpu_can_do():
    asked = [utils.is_pre_volta(), utils.is_pre_ampere(), utils.is_pre_hopper(), utils.is_pre_blackwell()]
    assert asked == sorted(asked) and (ON_GPU or not any(asked))


def test_random_state_of_attention():
    seed, offset = utils.create_sdpa_rng_tensors()
    with FusionDefinition() as fd:
        for each in utils.define_sdpa_rng_state(fd):
            fd.add_output(fd.ops.cast(each, DataType.Int))
    outputs = fd.execute([seed, offset])
    assert outputs[0].tolist() == seed.tolist() and outputs[1].item() == offset.item()
