# Sounds as torchaudio makes them tensors: resample (in float64, for its float32 kernels are 1e-5 off) and
# MelSpectrogram.
#   /usr/bin/python3 make_audio.py      (Debian's python3-torchaudio; written with 0.13.1)
import json
import math

import torch
import torchaudio


def sound(count, rate):
    """The formula of tests/js/media/audio.test.js: three pitches and something rough."""
    return torch.tensor([0.4 * math.sin(2 * math.pi * 440 * i / rate) + 0.3 * math.sin(2 * math.pi * 1234.5 * i / rate)
                         + 0.2 * math.cos(2 * math.pi * 3000 * i / rate) + 0.1 * ((i * i) % 17 / 8 - 1)
                         for i in range(count)], dtype=torch.float32)


def numbers(tensor):
    return [float(f"{v:.7g}") for v in tensor.flatten().tolist()]


def resampled(count, before, after):
    samples = torchaudio.functional.resample(sound(count, before).double(), before, after)
    return {"count": count, "from": before, "to": after, "samples": numbers(samples)}


def mel(count, rate, options):
    made = torchaudio.transforms.MelSpectrogram(sample_rate=rate, **options)(sound(count, rate))
    names = {"n_fft": "nFft", "win_length": "winLength", "hop_length": "hopLength", "n_mels": "nMels", "f_min": "fMin",
             "f_max": "fMax",
             "power": "power", "center": "center", "mel_scale": "melScale", "norm": "norm"}
    return {"count": count, "rate": rate, "mel": {names[key]: value for key, value in options.items()},
            "dims": list(made.shape), "values": numbers(made)}


golden = {
    "resampled": [resampled(300, 44100, 16000), resampled(100, 16000, 48000), resampled(90, 22050, 44100),
                  resampled(257, 48000, 8000),
                  resampled(60, 8000, 11025), resampled(10, 48000, 16000)],
    "mel": [mel(1600, 16000, {"n_mels": 23}),
            mel(1000, 16000, {"n_fft": 512, "win_length": 400, "hop_length": 160, "n_mels": 20, "f_min": 20.0,
                              "f_max": 7600.0}),
            mel(900, 22050, {"n_fft": 256, "hop_length": 100, "n_mels": 16, "mel_scale": "slaney", "norm": "slaney"}),
            mel(700, 16000, {"n_fft": 200, "hop_length": 64, "n_mels": 12, "power": 1, "center": False}),
            mel(130, 8000, {"n_fft": 15, "hop_length": 7, "n_mels": 3})],
}
with open("../data/samples/audio.json", "w") as file:
    json.dump(golden, file)
    file.write("\n")
