"""Ordinary programs, no language models, by kind: how fast torch.compile makes them with each backend."""
