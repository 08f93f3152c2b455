"""Names of nvFuser's interface to several GPUs. None of it is supported: each raises NotImplementedError."""

_WHY = "fusions run on one device; several GPUs are not supported"


class _Unsupported:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__}: {_WHY}")


class DeviceMesh(_Unsupported):
    pass


class Sharding(_Unsupported):
    pass


class MultiDeviceExecutorParams(_Unsupported):
    pass


class MultiDeviceExecutor(_Unsupported):
    pass


class Communicator(_Unsupported):
    @staticmethod
    def instance():
        raise NotImplementedError(f"Communicator.instance: {_WHY}")


def shard_tensor(tensor, tv):
    raise NotImplementedError(f"shard_tensor: {_WHY}")


def execute_with_dtensors(fd, in_dtensors):
    raise NotImplementedError(f"execute_with_dtensors: {_WHY}")
