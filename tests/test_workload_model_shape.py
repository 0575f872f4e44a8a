"""Bytes of a token's KV entries."""

from __future__ import annotations

import pytest

from blockmark.workload.keys import KEYS, ConfigError
from blockmark.workload.model_shape import SHAPES, bytes_per_token, model_shape


@pytest.mark.parametrize(
    ("name", "size"),
    [
        # 800 KiB, 128 KiB, 320 KiB, 36 KiB, 12 KiB: figures that others have published.
        ("llama-2-13b", 800 << 10),
        ("opt-13b", 800 << 10),
        ("llama-3-8b", 128 << 10),
        ("mistral-7b", 128 << 10),
        ("llama-3-70b", 320 << 10),
        ("opt-125m", 36 << 10),
        ("qwen2.5-0.5b", 12 << 10),
        ("qwen2.5-7b", 56 << 10),
        ("32x8x128x1", 64 << 10),
        (" Llama-3-8B ", 128 << 10),
        ("1x1x1x1", 2),
    ],
)
def test_bytes_of_a_token(name: str, size: int) -> None:
    assert bytes_per_token(name) == size


def test_a_shape_is_its_four_numbers() -> None:
    shape = model_shape("40x10x128x2")
    assert (shape.layers, shape.kv_heads, shape.head_size, shape.value_bytes) == (40, 10, 128, 2)
    assert shape.bytes_per_token == 2 * 40 * 10 * 128 * 2


def test_the_default_of_the_key_is_known() -> None:
    assert KEYS["model_shape"].default in SHAPES
    assert all(shape.head_size in (64, 128) for shape in SHAPES.values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("llama-3-8", 'model_shape = "llama-3-8" is not known; did you mean "llama-3-8b"'),
        ("gpt", "name one of opt-125m, .* or LAYERSxKV_HEADSxHEAD_SIZExBYTES such as"),
        ("", 'model_shape = "" is not known'),
        ("32x8x128", "is not known"),
        ("32x8x128x2x2", "is not known"),
        ("-1x8x128x2", "is not known"),
        ("0x8x128x2", "between 1 and 1,048,576"),
        ("32x8x128x99999999999999999999", "between 1 and 1,048,576"),
        ("32x8x128x0.5", "is not known"),
    ],
)
def test_what_is_no_model_is_told(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        model_shape(text)
