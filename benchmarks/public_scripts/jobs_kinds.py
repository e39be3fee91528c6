"""What a public script or model is given in place of its data."""

from __future__ import annotations

from dataclasses import dataclass, field

STEPS = 12


@dataclass(frozen=True)
class Job:
    """One script of a repository, or a model that `drive` makes from its modules.

    `files` are written into the folder that it runs in; `data` says what was replaced, `kind`
    which of several jobs with one path it is.
    """

    repository: str
    path: str
    args: tuple[str, ...] = ()
    drive: str = ""
    files: tuple[str, ...] = ()
    data: str = "-"
    steps: int = STEPS
    cwd: str = ""
    roots: tuple[str, ...] = field(default=())
    kind: str = ""

    @property
    def title(self) -> str:
        """Where it is, and how it is called where that matters."""
        kinds = [one for one in self.args if one in _KINDS] + [self.kind] * bool(self.kind)
        return " ".join([f"{self.repository}/{self.path}", *kinds])


_KINDS = ("Transformer", "transformer", "bigram", "mlp", "rnn", "gru", "bow")
IMAGES = "images of torchvision"
NUMBERS = "driver: made-up inputs, mean of squares as the loss"


def model(repository: str, path: str, make: str, inputs: str, *, roots: tuple[str, ...] = (),
          steps: int = 4, more: str = "", kind: str = "", module: str = "") -> Job:  # fmt: skip
    """A job that trains `make`, made from a module `m` of the repository, which its path names."""
    module = module or path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    code = (
        f"import importlib\nm = importlib.import_module({module!r})\n"
        f"{more}\nmodel = {make}\nrandn, randint = torch.randn, torch.randint\n"
        f"inputs = [{inputs}]\n"
    )
    return Job(repository, path, drive=code, data=NUMBERS, steps=steps, roots=roots, kind=kind)


def driven(repository: str, module: str, code: str, *roots: str, data: str = NUMBERS,
           steps: int = 200, kind: str = "") -> Job:  # fmt: skip
    """A job that runs `code`, which has a module of the repository as `m`."""
    code = f"import importlib\nm = importlib.import_module({module!r})\n{code}"
    return Job(repository, module.replace(".", "/") + ".py", drive=code, data=data, steps=steps,
               roots=roots, kind=kind)  # fmt: skip
