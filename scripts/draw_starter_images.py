"""Draw the images of our synthetic image cases from stated findings: a rhythm strip, a flow-volume loop, an audiogram.

    python scripts/draw_starter_images.py [FOLDER]

The numbers below are the findings; the cases beside the images state the same ones. Each image's SHA-256 is printed
for its case. General medical knowledge and standard symbols only; nothing is copied from a patient.
"""

import hashlib
import sys
from io import BytesIO
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

Numbers = NDArray[np.float64]
FOLDER = Path(__file__).parents[1] / "src" / "openosce" / "cases" / "starter_images"

# Rhythm strip: P waves and QRS complexes each keep their own time.
ATRIAL_RATE, VENTRICULAR_RATE = 94.0, 36.0  # per minute
STRIP_SECONDS, SAMPLES_PER_SECOND = 10.0, 500

# Flow-volume loop: litres, litres per second.
FVC, PLATEAU_OUT, PLATEAU_IN = 3.30, 2.20, 2.10
PREDICTED_FVC, PREDICTED_OUT, PREDICTED_IN = 3.45, 6.8, 5.0

# Audiogram: Hz, dB HL.
FREQUENCIES = (250, 500, 1000, 2000, 4000, 8000)
RIGHT_AIR = (55, 55, 50, 50, 45, 50)
RIGHT_BONE = (10, 10, 15, 30, 15)  # masked; bone conduction is not tested at 8000 Hz
LEFT_AIR = (10, 10, 10, 15, 15, 20)
LEFT_BONE = (5, 10, 10, 10, 15)


def beats(rate: float, first: float) -> Numbers:
    """The times in seconds of regular beats within the strip."""
    return np.arange(first, STRIP_SECONDS, 60 / rate)


def p_times() -> Numbers:
    """When the P waves peak."""
    return beats(ATRIAL_RATE, 0.21)


def r_times() -> Numbers:
    """When the R waves peak."""
    return beats(VENTRICULAR_RATE, 0.55)


def bells(time: Numbers, centres: Numbers, height: float, width: float) -> Numbers:
    """Equal bells at each of the centres; `width`, in seconds, is four standard deviations."""
    bell: Numbers = height * np.exp(-(((time[:, None] - centres) / (width / 4)) ** 2) / 2)
    return bell.sum(axis=1)


def qrs(time: Numbers) -> Numbers:
    """The QRS complexes alone, in mV: wide ones, as from the ventricle."""
    r = r_times()
    return bells(time, r - 0.04, -0.1, 0.06) + bells(time, r, 1.1, 0.09) + bells(time, r + 0.055, -0.4, 0.09)


def ecg() -> tuple[Numbers, Numbers]:
    """Time in seconds, and lead II in mV."""
    time = np.arange(0, STRIP_SECONDS, 1 / SAMPLES_PER_SECOND)
    return time, bells(time, p_times(), 0.18, 0.10) + qrs(time) + bells(time, r_times() + 0.34, -0.28, 0.22)


def loop() -> tuple[Numbers, Numbers, Numbers]:
    """Volume breathed out in litres, flow out and flow in (negative) in litres per second."""
    volume = np.linspace(0, FVC, 1000)
    rise, fall = 1 - np.exp(-volume / 0.05), 1 - np.exp(-(FVC - volume) / 0.12)
    # Towards the end the small airways limit the flow out, as in the predicted loop; the corner is rounded.
    small_airways = PREDICTED_OUT * (FVC - volume) / (0.88 * FVC)
    out = PLATEAU_OUT * rise * small_airways / (PLATEAU_OUT**8 + small_airways**8) ** (1 / 8)
    return volume, out, -PLATEAU_IN * rise * fall


def fev1() -> float:
    """Litres breathed out in the first second: the volume at which the time, the sum of dV / flow, reaches it."""
    volume, out, _ = loop()
    seconds = np.cumsum(np.diff(volume) / np.maximum((out[1:] + out[:-1]) / 2, 1e-3))
    return float(volume[1:][np.searchsorted(seconds, 1.0)])


def draw_ecg() -> Figure:
    """Ten seconds of lead II on millimetre paper, in two rows of five."""
    time, millivolt = ecg()
    figure, rows = plt.subplots(2, 1, figsize=(10.4, 4.7))
    for row, axes in enumerate(rows):
        start = row * STRIP_SECONDS / 2
        here = (time >= start) & (time < start + STRIP_SECONDS / 2)
        axes.plot(time[here] - start, millivolt[here], color="black", linewidth=1.1)
        _paper(axes)
        axes.text(0.04, 1.22, "II" if row == 0 else "II (continued)", fontsize=11, fontweight="bold")
    figure.text(0.5, 0.02, "25 mm/s    10 mm/mV    small square 0.04 s and 0.1 mV", ha="center", fontsize=9)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.06, hspace=0.04)
    return figure


def _paper(axes: Axes) -> None:
    axes.set(xlim=(0, STRIP_SECONDS / 2), ylim=(-0.9, 1.5), aspect=0.4)  # 25 mm/s and 10 mm/mV
    axes.set_xticks(np.arange(0, 5.01, 0.2), labels=[])
    axes.set_yticks(np.arange(-0.5, 1.51, 0.5), labels=[])
    axes.set_xticks(np.arange(0, 5.01, 0.04), minor=True)
    axes.set_yticks(np.arange(-0.9, 1.51, 0.1), minor=True)
    axes.grid(which="minor", color="#f6d5d5", linewidth=0.4)
    axes.grid(which="major", color="#e59a9a", linewidth=0.8)
    axes.tick_params(which="both", length=0)


def draw_loop() -> Figure:
    """The measured loop and the predicted one."""
    volume, out, back = loop()
    figure, axes = plt.subplots(figsize=(6.4, 6.4))
    expected = np.linspace(0, PREDICTED_FVC, 400)
    top = 0.12 * PREDICTED_FVC
    up = PREDICTED_OUT * np.where(expected < top, expected / top, (PREDICTED_FVC - expected) / (PREDICTED_FVC - top))
    down = -PREDICTED_IN * np.sqrt(np.maximum(np.sin(np.pi * expected / PREDICTED_FVC), 0))
    for curve in (up, down):
        axes.plot(expected, curve, color="#777777", linestyle="--", linewidth=1.2)
    axes.plot(np.r_[volume, volume[::-1]], np.r_[out, back[::-1]], color="#0b3d91", linewidth=2)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.plot([], [], color="#777777", linestyle="--", label="predicted")
    axes.plot([], [], color="#0b3d91", linewidth=2, label="measured, best of three")
    axes.set(xlim=(-0.1, 4.4), ylim=(-7, 8), xlabel="Volume breathed out (L)", ylabel="Flow (L/s)")
    axes.set_yticks(range(-7, 9))
    axes.text(4.35, 0.25, "expiration", ha="right", fontsize=9)
    axes.text(4.35, -0.55, "inspiration", ha="right", fontsize=9)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.legend(loc="upper right")
    figure.tight_layout()
    return figure


def draw_audiogram() -> Figure:
    """Thresholds of both ears in the usual symbols."""
    figure, axes = plt.subplots(figsize=(6.6, 6.2))
    place = np.arange(len(FREQUENCIES))
    bone = place[:-1]
    red, blue = "#c00000", "#0b3d91"
    air = {"markersize": 11, "fillstyle": "none", "markeredgewidth": 1.8}
    axes.plot(place, RIGHT_AIR, "o-", color=red, label="right, air", **air)
    axes.plot(place, LEFT_AIR, "x-", color=blue, label="left, air", **air)
    axes.plot(bone - 0.12, RIGHT_BONE, "--", marker="$[$", color=red, markersize=13, label="right, bone (masked)")
    axes.plot(bone + 0.12, LEFT_BONE, "--", marker="$>$", color=blue, markersize=11, label="left, bone")
    axes.set(xlim=(-0.5, 5.5), ylim=(120, -10), xlabel="Frequency (Hz)", ylabel="Hearing level (dB HL)")
    axes.set_xticks(place, labels=[str(frequency) for frequency in FREQUENCIES])
    axes.set_yticks(range(-10, 121, 10))
    axes.grid(color="#cccccc", linewidth=0.6)
    axes.legend(loc="lower left", fontsize=9)
    figure.tight_layout()
    return figure


DRAWINGS = {"ecg-strip-01.png": draw_ecg, "flow-volume-01.png": draw_loop, "audiogram-01.png": draw_audiogram}
"""The file names say the examination, never the diagnosis."""


def save(figure: Figure, file: Path) -> str:
    """Write a PNG of few colors, and give its SHA-256."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    plt.close(figure)
    image = Image.open(drawn).convert("RGB").quantize(48, dither=Image.Dither.NONE)
    image.save(file, optimize=True)
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, draw in DRAWINGS.items():
        print(save(draw(), folder / name), name)
    print(f"FEV1 {fev1():.2f} L, FVC {FVC:.2f} L, ratio {fev1() / FVC:.2f}")
