class EngineError(RuntimeError):
    """The engine was asked for something it must not do, or can no longer vouch for what it holds."""


class ResponseError(EngineError):
    """One response cannot be used, for a log-prob that is not a number, say; its draw is over, the others go on."""

    def __init__(self, prompt_id: str, draw: int, fault: str) -> None:
        super().__init__(f"prompt {prompt_id} draw {draw}: {fault}")
        self.prompt_id = prompt_id
        self.draw = draw
