"""What a rank does when its memory runs out in the middle of a pass, forward or backward.

Under ZeRO the other ranks wait for it at every layer, so it may neither stop nor start again. It goes on through what is left of the pass,
and of the update, without computing anything: a module hands on what it was given, and its gradients are zero, so that every gather and
reduction takes place. What comes out is worthless, on all ranks, and is thrown away by all of them (ada/trainer/actor.py).

To this end each module that computes has a graph of its own. In the graph of the whole pass, which DeepSpeed's hooks are on, it is a single
function of its input and its weights: one that always has a gradient, whatever became of the module's own graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import deepspeed
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from ada.trainer.policy import Policy

T = TypeVar("T")
Step = Callable[[torch.Tensor], Any]  # of a pass: what a module is given -> the tensor or tuple of tensors that it hands on


class Detour:
    """Around the modules of policies that compute with weights. It acts only inside `allowed`."""

    def __init__(self, *policies: Policy, recompute: bool = False):
        """`recompute`: decoder layers keep only their input for the backward pass (gradient checkpointing)."""
        self.failed = False  # since the last `allowed` began
        self._allowed = False
        self._graphs: list[_Graph] = []
        for policy in policies:
            for layer in decoder_layers(policy):
                self._around(layer, torch.detach, recompute)
            for module in policy.model.base_model.children():
                if any(True for _ in module.parameters(recurse=False)):
                    self._around(module, partial(_embedded, module) if isinstance(module, nn.Embedding) else torch.detach)
            self._around(policy.head, lambda states_TH: (_zeros(states_TH, len(states_TH)), _zeros(states_TH, len(states_TH))))

    @contextmanager
    def allowed(self) -> Iterator[None]:
        self.failed, self._allowed = False, True
        try:
            yield
        finally:
            self._allowed = False
            self._graphs.clear()

    def attempt(self, compute: Callable[[], T]) -> T | None:
        """None where memory runs out, or has run out before: from then on nothing is computed."""
        if self.failed and self._allowed:
            return None
        try:
            return compute()
        except torch.OutOfMemoryError:
            if not self._allowed:
                raise
        # Here, and not in the clause above, which holds on to the tensors of what failed.
        self.failed = True
        for graph in self._graphs:
            graph.forget()
        return None

    def hold(self, graph: _Graph) -> None:
        if self._allowed:
            self._graphs.append(graph)

    def _around(self, module: nn.Module, instead: Step, recompute: bool = False) -> None:
        inner = module.forward

        def forward(states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            def compute(own: torch.Tensor) -> Any:
                return inner(own, *args, **kwargs)

            def compute_again_later(own: torch.Tensor) -> Any:
                return checkpoint(compute, own, use_reentrant=False, preserve_rng_state=False)

            if torch.is_grad_enabled():
                return _Apart.apply(self, compute_again_later if recompute else compute, instead, states, *module.parameters())
            found = self.attempt(lambda: compute(states))
            return instead(states) if found is None else found

        module.forward = forward  # type: ignore[method-assign]


class _Graph:
    """A module's own, from what it was given and its weights to what it handed on."""

    def __init__(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]):
        self._ends = (inputs, outputs)

    def forget(self) -> tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]:
        ends, self._ends = self._ends, ((), ())
        return ends

    def gradients(self, of_outputs: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor | None]:
        """Of the inputs that have one, in their order. The graph is then forgotten."""
        inputs, outputs = self.forget()
        given = [(output, gradient) for output, gradient in zip(outputs, of_outputs, strict=True) if gradient is not None]
        asked = [t for t in inputs if t.requires_grad]
        return torch.autograd.grad([output for output, _ in given], asked, [gradient for _, gradient in given], allow_unused=True)


class _Apart(torch.autograd.Function):
    """A module with a graph of its own."""

    @staticmethod
    def forward(ctx: Any, detour: Detour, compute: Step, instead: Step, states: torch.Tensor, *weights: torch.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        ctx.detour, ctx.graph = detour, None
        ctx.inputs = [(t.shape, t.dtype, t.device) if t.requires_grad else None for t in (states, *weights)]
        own = states.detach().requires_grad_(states.requires_grad)
        with torch.enable_grad():
            found = detour.attempt(lambda: compute(own))
        if found is None:
            return instead(states)
        outputs = found if isinstance(found, tuple) else (found,)
        ctx.graph = _Graph((own, *weights), outputs)
        detour.hold(ctx.graph)
        handed_on = tuple(output.detach() for output in outputs)
        ctx.mark_non_differentiable(*(ours for ours, output in zip(handed_on, outputs, strict=True) if not output.requires_grad))
        return handed_on if isinstance(found, tuple) else handed_on[0]

    @staticmethod
    def backward(ctx: Any, *of_outputs: torch.Tensor | None) -> Any:
        found = None if ctx.graph is None else ctx.detour.attempt(lambda: ctx.graph.gradients(of_outputs))
        each = iter(found or ())
        of_inputs = [None if kind is None else _or_zero(next(each, None), *kind) for kind in ctx.inputs]
        return None, None, None, *of_inputs


def _or_zero(gradient: torch.Tensor | None, shape: torch.Size, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A zero takes no memory until it is added to something."""
    return torch.zeros((), dtype=dtype, device=device).expand(shape) if gradient is None else gradient


def _embedded(embedding: nn.Embedding, tokens: torch.Tensor) -> torch.Tensor:
    return embedding.weight.new_zeros(()).expand(*tokens.shape, embedding.embedding_dim).detach()


def _zeros(beside: torch.Tensor, number: int) -> torch.Tensor:
    return torch.zeros(number, device=beside.device)


def decoder_layers(policy: Policy) -> list[nn.Module]:
    """Of a Hugging Face model: the modules of its one list of layers."""
    lists = [list(m) for m in policy.model.modules() if isinstance(m, nn.ModuleList)]
    return max(lists, key=len)


def whole_layers(policy: Policy) -> None:
    """Under ZeRO-3 each decoder layer is gathered and released as a whole, so that a rank can go around it."""
    deepspeed.utils.set_z3_leaf_modules(policy, [type(decoder_layers(policy)[0])])
