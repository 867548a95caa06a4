"""Is somebody speaking? The package silero-vad's default model (TorchScript), on the 32 ms chunks in which a microphone delivers sound."""

import numpy as np
import torch
from silero_vad import load_silero_vad

RATE, CHUNK = 16_000, 512
_seconds = np.arange(RATE) / RATE
_voice = np.sin(2 * np.pi * 140 * _seconds) * (1 + np.sin(2 * np.pi * 4 * _seconds)) + np.random.default_rng(1).normal(0, 0.05, RATE)
chunks = torch.tensor(0.3 * _voice[: RATE // CHUNK * CHUNK], dtype=torch.float32).reshape(-1, CHUNK)
model = load_silero_vad()


def listen() -> float:
    """The highest probability of speech in 31 chunks, which are one second."""
    model.reset_states()
    with torch.inference_mode():
        return max(float(model(chunk, RATE)) for chunk in chunks)
