"""Names of nvFuser's hand-written kernels for Blackwell GPUs. None of them is here: each raises NotImplementedError."""


def _unsupported(name):
    def function(*args, **kwargs):
        raise NotImplementedError(f"nvf_cutlass.{name}: kernels for Blackwell GPUs (sm_100) are not included")

    function.__name__ = name
    return function


mxfp8_scaled_mm = _unsupported("mxfp8_scaled_mm")
nvfp4_scaled_mm = _unsupported("nvfp4_scaled_mm")
nvfp4_scaled_mm_blockscale = _unsupported("nvfp4_scaled_mm_blockscale")
grouped_mm = _unsupported("grouped_mm")
nvfp4_scaled_grouped_mm = _unsupported("nvfp4_scaled_grouped_mm")
