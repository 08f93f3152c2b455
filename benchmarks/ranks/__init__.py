"""Programs over several devices beside torch.distributed's own: `./dev bench --ranks N` (docs/multi_device.md)."""
