class EngineError(RuntimeError):
    """The engine was asked for something it must not do, or can no longer vouch for what it holds."""
