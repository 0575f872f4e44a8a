"""How many bytes of KV entries a token has: what a copied or swapped block would move.

The harness moves no KV entries. It counts the copies that a block manager asks for,
and this says how many bytes an engine would have to move for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import ConfigError
from .keys import nearest

_SPELLING = re.compile(r"(\d{1,40})x(\d{1,40})x(\d{1,40})x(\d{1,40})", re.ASCII)
# Beyond this it is a slip of the finger, and no model.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What decides the size of a token's KV entries; `value_bytes` a number.

    `parameters`: of the whole model, which its weights take `value_bytes` each of; 0 where
    nobody said.
    """

    layers: int
    kv_heads: int
    head_size: int
    value_bytes: int
    parameters: int = 0

    @property
    def bytes_per_token(self) -> int:
        """Keys and values of one token, over all layers and KV heads."""
        return 2 * self.layers * self.kv_heads * self.head_size * self.value_bytes

    @property
    def weight_bytes(self) -> int:
        """Memory of the weights; 0 where the number of parameters is not known."""
        return self.parameters * self.value_bytes


# Public figures, in 16-bit values. "config" is the model's published config.json:
# num_hidden_layers, num_key_value_heads (num_attention_heads where there are no fewer),
# head_dim or hidden_size / num_attention_heads. Parameters are those of the published
# checkpoints, to four digits where the checkpoint says them, else as in the model's name.
SHAPES = {
    # Zhang et al., "OPT: Open Pre-trained Transformer Language Models", 2022, table 1:
    # layers, heads, and a model width of heads x head size (768 = 12 x 64 and so on).
    "opt-125m": ModelShape(12, 12, 64, 2, 125_000_000),
    "opt-6.7b": ModelShape(32, 32, 128, 2, 6_700_000_000),
    "opt-13b": ModelShape(40, 40, 128, 2, 13_000_000_000),
    "opt-30b": ModelShape(48, 56, 128, 2, 30_000_000_000),
    # Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, table 2.
    "llama-13b": ModelShape(40, 40, 128, 2, 13_016_000_000),
    # Touvron et al., "Llama 2: Open Foundation and Fine-Tuned Chat Models", 2023; config.
    # Only the 70B model has grouped-query attention.
    "llama-2-7b": ModelShape(32, 32, 128, 2, 6_738_000_000),
    "llama-2-13b": ModelShape(40, 40, 128, 2, 13_016_000_000),
    "llama-2-70b": ModelShape(80, 8, 128, 2, 68_977_000_000),
    # Grattafiori et al., "The Llama 3 Herd of Models", 2024, table 3: layers, attention
    # heads, key/value heads; model width 4,096, 8,192 and 16,384.
    "llama-3-8b": ModelShape(32, 8, 128, 2, 8_030_000_000),
    "llama-3-70b": ModelShape(80, 8, 128, 2, 70_554_000_000),
    "llama-3-405b": ModelShape(126, 8, 128, 2, 405_853_000_000),
    # Qwen team, "Qwen2.5 Technical Report", 2024, table 1: layers, heads (Q / KV);
    # config: hidden sizes 896, 3,584, 5,120 and 8,192.
    "qwen2.5-0.5b": ModelShape(24, 2, 64, 2, 494_000_000),
    "qwen2.5-7b": ModelShape(28, 4, 128, 2, 7_616_000_000),
    "qwen2.5-32b": ModelShape(64, 8, 128, 2, 32_764_000_000),
    "qwen2.5-72b": ModelShape(80, 8, 128, 2, 72_706_000_000),
    # Jiang et al., "Mistral 7B", 2023, table 1: n_layers, n_kv_heads, head_dim.
    "mistral-7b": ModelShape(32, 8, 128, 2, 7_242_000_000),
    # Jiang et al., "Mixtral of Experts", 2024, table 1.
    "mixtral-8x7b": ModelShape(32, 8, 128, 2, 46_703_000_000),
}


def model_shape(text: str) -> ModelShape:
    """A shape by name, or spelled out as LAYERSxKV_HEADSxHEAD_SIZExBYTES.

    Raises ConfigError for an unknown name or a number that is not of a model.
    """
    word = text.strip().lower()
    if word in SHAPES:
        return SHAPES[word]
    if found := _SPELLING.fullmatch(word):
        sizes = [int(number) for number in found.groups()]
        if not all(1 <= size <= _MOST for size in sizes):
            raise ConfigError(
                f'model_shape = "{text}": layers, KV heads, head size and bytes of a value must '
                f"each be between 1 and {_MOST:,}"
            )
        return ModelShape(*sizes)
    raise ConfigError(
        f'model_shape = "{text}" is not known{nearest(word, list(SHAPES))}; name one of '
        f"{', '.join(SHAPES)}, or LAYERSxKV_HEADSxHEAD_SIZExBYTES such as 32x8x128x2"
    )


def bytes_per_token(text: str) -> int:
    """Bytes of a token's KV entries in the named model. Raises ConfigError."""
    return model_shape(text).bytes_per_token
