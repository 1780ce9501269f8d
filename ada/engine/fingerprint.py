"""A cheap fingerprint of a set of named tensors: equal sets, in whatever order they come, have equal fingerprints."""

from __future__ import annotations

import hashlib

import torch

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Fingerprint:
    def __init__(self) -> None:
        self.parameters = 0  # numbers seen, over all tensors
        self._sum = 0

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Takes in the tensor's name, shape, dtype and the sum of its elements' bit patterns (exact, in 64-bit integers)."""
        bits = tensor.detach().contiguous().view(BITS[tensor.element_size()]).sum(dtype=torch.int64).item()
        identity = f"{name} {tuple(tensor.shape)} {tensor.dtype} {bits}"
        self._sum += int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=16).digest(), "big")
        self.parameters += tensor.numel()

    def hexdigest(self) -> str:
        return f"{self._sum % 2**128:032x}"
