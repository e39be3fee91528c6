"""The page docs/scripts.md: a row for each public script."""

from __future__ import annotations

from collections import Counter
from typing import Any

_HEAD = """# Public scripts, beside PyTorch

Written by `benchmarks/public_scripts/run.py`. Scripts and models of {authors} public authors run as
they are, with `dynamic` as `torch` and with PyTorch 2.13, in float64; each loss that `backward` is
called on is compared, for so many steps (of a script without one, the numbers that it prints).
Random numbers are the same on both sides: PyTorch's functions are made to draw from NumPy's stream
as ours do. Data sets and networks of torchvision are stand-ins with made-up numbers, loaders read
in the script's own process, `float` means float64, and a script ends when enough steps are
compared; its text is untouched. A model without a script is trained by a driver. The sources are no
part of this project: clone the repositories as `SOURCES/owner/name`, and run

    python benchmarks/public_scripts/run.py SOURCES --torch PYTHON --write

where PYTHON is an interpreter with PyTorch, NumPy, SciPy, gymnasium, einops, tqdm, pillow,
matplotlib, scikit-learn, pandas, tensorboard, tensorboardX, tyro, autograd, opencv, ttach,
tiktoken, ml_collections, pytorch_ranger, reformer_pytorch and jaxtyping; the one that runs it has
the same without PyTorch.

"""


def page(found: list[dict[str, Any]]) -> str:
    """The whole page, of the results of all jobs."""
    counts = Counter(one["verdict"] for one in found)
    stopping = ("stops as PyTorch does", "runs where PyTorch fails")
    usable = [one for one in found if one["verdict"] not in stopping]
    agreeing = counts["agrees"]
    authors = len({one["name"].partition("/")[0] for one in found})
    lines = [
        _HEAD.format(authors=authors),
        f"- {len(found)} scripts and models; {len(usable)} run in PyTorch 2.13, and {agreeing} of",
        f"  these ({100 * agreeing / len(usable):.1f} %) here, with losses that agree within 1e-6.",
        f"- {counts['stops as PyTorch does']} stop in PyTorch 2.13 itself (they are written for",
        "  older versions, or for a GPU), and here with the same class of error after the same",
        f"  losses; {counts['runs where PyTorch fails']} more runs here, and not there.",
        "- What differs may do so by rounding that training amplifies: `attention.py` by 1e-13 at",
        "  its first loss, and 2,000 times that at each next one.",
        "  EfficientNet is given four images of 64 x 64: of two of 32 x 32 batch norm sees two",
        "  numbers a channel, and PyTorch's own second loss moves by 2e-5 if inputs do by 1e-15.",
        "- Tried and not in the table: GammaVAE (differs by 2e-3: PyTorch's gamma samples are",
        "  drawn otherwise), LogCoshVAE (inf or nan in both), a2c and mnist_hogwild (several",
        "  processes), local_vit, sep_vit and five models of labml (stop in both, or gave",
        "  nothing), nanoGPT's lecture `gpt.py` (not finished), time_sequence_prediction",
        "  (made-up data does not fit), three of MorvanZhou's (no losses), sixteen of games",
        "  with gym's interface of before 2022 (stop in both), pixelcnn (Python 2), geoopt (of",
        "  which TorchScript compiles what is replaced here), kazuto1011's grad-cam (a Python of",
        "  before 3.10). Of those in it that run in PyTorch alone, torch-scan needs",
        "  TorchDispatchMode, which is refused here; ptflops puts functions of its own into",
        "  `nn.functional`, which modules here do not look up at each call. The runs are of a few",
        "  states of the project, not of one.",
        "",
        "| script | outcome | steps | largest relative difference | replaced |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        outcome = one["verdict"] + (f": `{one['ours']}`" if one["ours"] else "")
        steps = f"{one['steps']} numbers" if one["printed"] and one["steps"] else one["steps"]
        outcome = outcome.replace("|", "/")
        lines.append(
            f"| {one['name']} | {outcome} | {steps} | {one['difference']:.0e} | {one['data']} |"
        )
    return "\n".join([*lines, ""])
