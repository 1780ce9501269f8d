"""A recipe that cannot fit, as a user starts it."""

from __future__ import annotations

import pytest

from tests.run.launch import start


@pytest.mark.slow
def test_a_run_that_cannot_fit_is_refused_before_anything_is_written(tmp_path):
    process = start(tmp_path / "runs", "engine.cpu_kv_cache_gib=100000.0")
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "error: memory: a step needs about" in said and "KV cache 100000.0" in said and "a smaller engine.cpu_kv_cache_gib" in said
    assert "Traceback" not in said
    assert not (tmp_path / "runs").exists()
