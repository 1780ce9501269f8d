"""The vLLM engine, in the trainer's own process: one per rank, or a share of one, beside that rank's shard of the actor."""

from __future__ import annotations

import gc
import importlib.util
import os
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal
from unittest import mock

import torch
from pydantic import Field

from ada.config import config
from ada.engine.base import Ended, GuardedEngine, Key, Tokens
from ada.engine.errors import EngineError
from ada.engine.folder import ModelFolder, read_folder, require_room
from ada.engine.generation import Generation
from ada.engine.isolation import compiling, own_process_state, own_random_state
from ada.engine.lockstep import Lockstep
from ada.sampling.seeds import seed_of
from ada.types import Draw

if TYPE_CHECKING:
    from vllm import LLMEngine, SamplingParams

    from ada.memory.model import ModelSize


@config
class VLLM:
    name: Literal["vllm"] = "vllm"
    max_concurrent: Annotated[int, Field(gt=0, description="draws decoded together; more wait their turn")] = 256
    tensor_parallel: Annotated[
        int, Field(ge=1, description="ranks that hold one engine together, each a share of every weight; divides the number of ranks")
    ] = 1
    gpu_memory_utilization: Annotated[float, Field(gt=0, lt=1, description="share of a GPU's memory for weights and KV cache")] = 0.4
    cpu_kv_cache_gib: Annotated[float, Field(gt=0, description="GiB of KV cache where there is no GPU")] = 1.0
    enforce_eager: Annotated[bool | None, Field(description="true: compile nothing; null: so on a CPU only")] = None
    max_batched_tokens: Annotated[int | None, Field(gt=0, description="tokens in one forward pass; null leaves it to vLLM")] = None

    sleep_level: Annotated[
        Literal[0, 1, 2],
        Field(
            description="GPU only: what vLLM frees during the update. 0: nothing; 1: the cache, and its weights move to host memory; "
            "2: both are dropped, as the sync brings the weights anew"
        ),
    ] = 0

    @property
    def ranks(self) -> int:
        return self.tensor_parallel

    def memory(self, size: ModelSize, longest: int, device_bytes: int, gpu: bool) -> dict[str, int]:
        """A copy of the weights, or this rank's part of it, and the cache: what it is given on a CPU, what vLLM's share has left on a GPU;
        at least what the longest sequence takes."""
        weights = size.parameters * size.parameter_bytes // self.tensor_parallel
        least = longest * size.kv_numbers * size.parameter_bytes // self.tensor_parallel
        given = int(self.gpu_memory_utilization * device_bytes) - weights if gpu else int(self.cpu_kv_cache_gib * 2**30)
        return {"engine": weights, "KV cache": max(least, given)}

    def start(
        self, model_folder: str, generation: Generation, dtype: str, seed: int, evaluation: Generation | None = None
    ) -> VLLMEngine | Lockstep:
        """Needs torch.distributed to be initialised, and all ranks to call it together."""
        folder = read_folder(model_folder)
        engine = VLLMEngine(folder, generation, require_room(folder, generation, evaluation), self, dtype, seed)
        return engine if self.tensor_parallel == 1 else Lockstep(engine, self.tensor_parallel)


class VLLMEngine(GuardedEngine):
    def __init__(self, folder: ModelFolder, generation: Generation, room: int, settings: VLLM, dtype: str, seed: int) -> None:
        super().__init__(folder, generation, room)
        _require_vllm()
        if not torch.distributed.is_initialized():
            raise EngineError(
                "engine: vllm needs torch.distributed to be initialised first, with one rank too: started before it, vLLM makes a "
                "process group of one rank, which DeepSpeed then refuses"
            )
        self._sleep_level = settings.sleep_level if torch.cuda.is_available() else 0
        if self._sleep_level and "expandable_segments:True" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
            raise EngineError(
                f"engine.sleep_level = {self._sleep_level}, but PYTORCH_CUDA_ALLOC_CONF asks for expandable_segments, which vLLM's sleep "
                "does not work with: unset it, or set engine.sleep_level=0"
            )
        self._eager = not torch.cuda.is_available() if settings.enforce_eager is None else settings.enforce_eager
        with own_process_state(), compiling(not self._eager), mock.patch.dict(os.environ, _launcher_environment()):
            os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
            os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
            with mock.patch("vllm.v1.executor.uniproc_executor.ExecutorWithExternalLauncher._distributed_args", _place):
                self._vllm = self._build(settings, dtype, seed)
        self._requests: dict[Key, str] = {}  # vLLM's id of each running draw
        self._keys: dict[str, Key] = {}
        self._submissions = 0

    def _build(self, settings: VLLM, dtype: str, seed: int) -> LLMEngine:
        from vllm import EngineArgs, LLMEngine

        on_cpu = not torch.cuda.is_available()
        self._max_model_len = min(self.room + 1, self.folder.context or self.room + 1)  # vLLM scores a sequence only if one more token fits
        return LLMEngine.from_engine_args(
            EngineArgs(
                model=self.folder.path,
                dtype=dtype,  # type: ignore[arg-type]
                seed=seed,
                max_model_len=self._max_model_len,
                max_num_seqs=settings.max_concurrent,
                max_num_batched_tokens=settings.max_batched_tokens or (max(8192, self._max_model_len) if on_cpu else None),
                enable_chunked_prefill=False if on_cpu else None,  # vLLM cannot rewind a seeded draw after half a prompt on a CPU
                gpu_memory_utilization=settings.gpu_memory_utilization,
                kv_cache_memory_bytes=int(settings.cpu_kv_cache_gib * 2**30) if on_cpu else None,
                enforce_eager=self._eager,
                enable_prefix_caching=True,
                enable_sleep_mode=self._sleep_level > 0,
                tensor_parallel_size=settings.tensor_parallel,
                distributed_executor_backend="external_launcher",  # the rank's own device; "uni" would put every rank on cuda:0
                skip_tokenizer_init=True,  # ids in, ids out
                generation_config="vllm",  # the folder's sampling defaults stay out
                logprobs_mode="processed_logprobs",  # of the law that is drawn from, not of the bare logits
                disable_log_stats=True,
                use_tqdm_on_load=False,
            )
        )

    def _sampling(self, draw: Draw) -> SamplingParams:
        """vLLM's generator begins anew with a request: one that goes on has numbers of its own, so that none decides two tokens."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        law = self.generation
        return SamplingParams(
            temperature=law.temperature,
            top_p=law.top_p,
            top_k=law.top_k,
            seed=seed_of(draw.seed, "continued", len(draw.begun)) if draw.begun.token_ids else draw.seed,
            max_tokens=law.max_response_tokens - len(draw.begun),
            stop_token_ids=list(self.folder.end_ids),
            logprobs=0,  # of the sampled token only
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _start(self, draw: Draw) -> None:
        key = (draw.prompt.id, draw.index)
        self._submissions += 1  # vLLM silently accepts an id twice, so none is ever used twice
        request = f"{draw.prompt.id}/{draw.index}#{self._submissions}"
        self._keys[self._add(request, draw.prompt.token_ids + draw.begun.token_ids, self._sampling(draw))] = key
        self._requests[key] = request

    def _add(self, request: str, token_ids: Sequence[int], params: SamplingParams) -> str:
        self._vllm.add_request(request, {"prompt_token_ids": list(token_ids)}, params)
        return request

    def _decode(self) -> list[Ended]:
        with own_random_state(), compiling(not self._eager):
            outputs = self._vllm.step()
        return [self._ended_by(output) for output in outputs]

    def _ended_by(self, output: Any) -> Ended:
        key = self._keys.pop(output.request_id)
        del self._requests[key]
        completion, draw = output.outputs[0], self._running[key]
        if tuple(output.prompt_token_ids) != draw.prompt.token_ids + draw.begun.token_ids:
            raise EngineError(
                f"prompt {key[0]} draw {key[1]}: vLLM read {len(output.prompt_token_ids)} prompt ids that are not the ones given"
            )
        token_ids = list(completion.token_ids)
        return Ended(draw, token_ids, logprobs_of(token_ids, completion.logprobs), completion.finish_reason)

    def _end(self, keys: Collection[Key]) -> dict[Key, Tokens]:
        requests = {key: self._requests.pop(key) for key in keys if key in self._requests}
        had = {key: self._since_submitted(request) for key, request in requests.items()}
        with own_random_state(), compiling(not self._eager):
            for request in requests.values():  # one by one: of several, vLLM frees the cache in the order of a set, unlike on other ranks
                self._vllm.abort_request([request])
        for request in requests.values():
            del self._keys[request]
        return had

    def _since_submitted(self, request: str) -> Tokens:
        """Of a request that has not ended. vLLM puts its own number behind a request's name."""
        processor = self._vllm.output_processor
        (state,) = [processor.request_states[name] for name in processor.external_req_ids[request]]
        assert state.detokenizer is not None and state.logprobs_processor is not None
        token_ids = list(state.detokenizer.output_token_ids)
        return Tokens(token_ids, logprobs_of(token_ids, state.logprobs_processor.logprobs or []))

    def _sleep(self) -> bool:
        if self._sleep_level:
            self._drain()
            self._vllm.sleep(self._sleep_level)
        return self._sleep_level > 0

    def _drain(self) -> None:
        """On a GPU vLLM begins a batch before it has read the last one, so one may be under way for draws that were ended since."""
        client: Any = self._vllm.engine_core  # in this process
        while client.engine_core.batch_queue:  # None on a CPU
            self._vllm.step()

    def _wake(self, part: Literal["weights", "kv_cache"]) -> None:
        self._vllm.wake_up([part])

    def _wipe_cache(self) -> None:
        self._vllm.collective_rpc(_zero_cache)

    def _replace(self, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
        with own_random_state(), compiling(not self._eager):
            self._drain()
            self._vllm.collective_rpc(partial(_reload, weights=self._named_for_vllm(weights)))
            if not self._vllm.reset_prefix_cache():
                raise EngineError("vLLM did not reset its prefix cache, so it would go on from the old weights' keys and values")

    def _named_for_vllm(self, weights: Iterator[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in weights:
            kept = tensor.detach().clone()  # vLLM holds a layer's weights until it has them all; the caller may free or reuse its own
            yield name, kept
            for alias in self.folder.aliases.get(name, ()):  # on a CPU the tied head is a packed copy that nothing else refreshes
                yield alias, kept

    def _score(self, sequences: Sequence[tuple[int, ...]]) -> list[list[float]]:
        from vllm import SamplingParams

        if (longest := max(map(len, sequences))) >= self._max_model_len:
            raise EngineError(f"cannot score a sequence of {longest} tokens: vLLM scores up to {self._max_model_len - 1} here")
        params = SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False, ignore_eos=True, seed=0)
        order: dict[str, int] = {}
        for index, sequence in enumerate(sequences):
            self._submissions += 1
            order[self._add(f"score#{self._submissions}", sequence, params)] = index
        scores: list[list[float]] = [[] for _ in sequences]
        with own_random_state(), compiling(not self._eager):
            while self._vllm.has_unfinished_requests():
                output: Any
                for output in self._vllm.step():
                    index = order[output.request_id]
                    scores[index] = logprobs_of(sequences[index][1:], output.prompt_logprobs[1:])
        return scores

    def close(self) -> None:
        """Frees the engine, so that another can start in this process; the caller's process group stays."""
        with own_process_state(), compiling(not self._eager), mock.patch("vllm.v1.engine.core.cleanup_dist_env_and_memory", _forget_groups):
            self._vllm.engine_core.shutdown()
        del self._vllm
        gc.collect()


def logprobs_of(token_ids: Sequence[int], positions: Sequence[Any]) -> list[float]:
    """The log-prob of each token, looked up by its id: a position's map may hold other tokens too, in any order."""
    return [of_position[token].logprob for token, of_position in zip(token_ids, positions, strict=True)]


def _require_vllm() -> None:
    if importlib.util.find_spec("vllm") is None:
        raise EngineError("engine: vllm is asked for, but vllm is not installed: install it, or set `engine: transformers`")


def _launcher_environment() -> dict[str, str]:
    """The variables vLLM reads its place from, where no launcher has set them."""
    rank = str(torch.distributed.get_rank())
    return {name: rank for name in ("RANK", "LOCAL_RANK") if name not in os.environ}


def _place(executor: Any) -> tuple[str, int, int]:
    """vLLM's own answer, but for the name: on a CPU it names the memory that an engine's ranks share, and `env://` is every job's."""
    return f"tcp://{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}", int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])


def _reload(worker: Any, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
    """Runs in vLLM's worker: its layer-by-layer reload, which repacks each layer once all of its weights are there.

    The last step is taken after a failure too: it forgets what was buffered, which the next load would else count as its own.
    """
    from vllm.config import set_current_vllm_config
    from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

    model = worker.get_model()
    needed = {name for name, _ in model.named_parameters()}
    with set_current_vllm_config(worker.vllm_config), torch.device(worker.device):
        initialize_layerwise_reload(model)
        try:
            loaded = model.load_weights(weights)
        finally:
            finalize_layerwise_reload(model, worker.model_config)
    if missing := needed - loaded:
        raise EngineError(f"vLLM's model did not take {len(missing)} of its weights, such as {min(missing)}: it names them otherwise")


def _zero_cache(worker: Any) -> None:
    for kv in worker.model_runner.kv_caches:
        kv.zero_()


def _forget_groups() -> None:
    """vLLM's own clean-up, less its last act: destroying the process group, which is the trainer's."""
    from vllm.distributed import parallel_state

    parallel_state.destroy_model_parallel()
    if parallel_state._WORLD:
        parallel_state._WORLD.destroy()
    parallel_state._WORLD = parallel_state._NODE_COUNT = None
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
