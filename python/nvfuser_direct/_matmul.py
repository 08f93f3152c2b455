"""Parameters of hand-tuned matrix products and of communication, under their public names.

Matrix products run through the GPU's library here, so these are data that programs may build and compare; no scheduler
reads them.
"""

import dataclasses
import enum


class CommunicatorBackend(enum.Enum):
    nccl = 0
    ucc = 1
    cuda = 2


class MatmulTilingStrategy(enum.Enum):
    one_tile_per_cta = 0
    distribute_tiles_across_sms = 1
    distribute_stages_across_sms = 2


class MatmulBufferingLoopLevel(enum.Enum):
    cta_tiles = 0
    warp_tiles = 1


class MatmulCircularBufferingStrategy(enum.Enum):
    pipelined = 0
    warp_specialized = 1


class MatmulTileRasterizationOrder(enum.Enum):
    column_major = 0
    row_major = 1


class MmaMacroArch(enum.Enum):
    no_mma = 0
    volta = 1
    turing = 2
    ampere = 3
    hopper = 4
    blackwell_1cta = 5
    blackwell_2cta = 6


@dataclasses.dataclass
class GemmTile:
    m: int = 0
    n: int = 0
    k: int = 0


@dataclasses.dataclass
class MatMulTileOptions:
    cta_tile: GemmTile = dataclasses.field(default_factory=lambda: GemmTile(128, 128, 32))
    warp_tile: GemmTile = dataclasses.field(default_factory=lambda: GemmTile(64, 64, 32))


@dataclasses.dataclass
class CircularBufferOptions:
    circular_buffer_smem_write: bool = False
    circular_buffer_smem_read: bool = False
    smem_circular_buffer_stage: int = 2
    smem_circular_buffer_prefetch_gap: int = 1


@dataclasses.dataclass
class SupportedVectorization:
    a: int = 8
    b: int = 8
    epilogue: int = 4


@dataclasses.dataclass
class ClusterDims:
    m: int = 1
    n: int = 1
    cga_swizzle: int = 1


@dataclasses.dataclass
class MmaMacroEncode:
    arch: MmaMacroArch = MmaMacroArch.no_mma
    m: int = 0
    n: int = 0
    k: int = 0


@dataclasses.dataclass(frozen=True)
class MmaMacro:
    encode: MmaMacroEncode = dataclasses.field(default_factory=MmaMacroEncode)


@dataclasses.dataclass
class MatmulParams:
    tile_sizes: MatMulTileOptions = dataclasses.field(default_factory=MatMulTileOptions)
    circular_buffer_options: CircularBufferOptions = dataclasses.field(default_factory=CircularBufferOptions)
    supported_vec_size: SupportedVectorization = dataclasses.field(default_factory=SupportedVectorization)
    grid_traversal_factor: tuple = (1, 1)
    use_smem_epilogue: bool = False
    use_ldst_matrix: bool = True
    promote_prologue_smem_reuse: bool = False
    splitk_factor: int = 1
    tiling_strategy: MatmulTilingStrategy = MatmulTilingStrategy.one_tile_per_cta
    buffering_loop_level: MatmulBufferingLoopLevel = MatmulBufferingLoopLevel.cta_tiles
    circular_buffering_strategy: MatmulCircularBufferingStrategy = MatmulCircularBufferingStrategy.pipelined
    cta_order: MatmulTileRasterizationOrder = MatmulTileRasterizationOrder.row_major
    cluster_dims: ClusterDims = dataclasses.field(default_factory=ClusterDims)
    mma_macro: MmaMacro = dataclasses.field(default_factory=MmaMacro)
