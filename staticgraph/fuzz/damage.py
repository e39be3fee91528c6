"""Damage to the bytes of a file, as steps of a program."""

from __future__ import annotations

import random
from typing import Any

Step = dict[str, Any]


def random_step(choose: random.Random, size: int) -> Step:
    """Some damage to a file of so many bytes."""
    at = choose.randrange(size + 1)
    length = choose.choice((1, 1, 2, 4, 8, 64))
    match choose.randrange(6):
        case 0:
            return {"cut": at}
        case 1:
            return {"flip": at, "bit": choose.randrange(8)}
        case 2:
            return {"set": at, "to": choose.choice((0, 1, 32, 34, 48, 57, 127, 128, 255))}
        case 3:
            return {"insert": at, "bytes": [choose.randrange(256) for _ in range(length)]}
        case 4:
            return {"delete": at, "length": length}
    return {"copy": choose.randrange(size + 1), "to": at, "length": length}


def damaged(content: bytes, steps: list[Step]) -> bytes:
    """The content after all steps; those beyond its end do nothing."""
    data = bytearray(content)
    for step in steps:
        match step:
            case {"cut": at}:
                del data[at:]
            case {"flip": at, "bit": bit} if at < len(data):
                data[at] ^= 1 << bit
            case {"set": at, "to": value} if at < len(data):
                data[at] = value
            case {"insert": at, "bytes": values}:
                data[at:at] = bytes(values)
            case {"delete": at, "length": length}:
                del data[at : at + length]
            case {"copy": start, "to": at, "length": length}:
                data[at : at + length] = data[start : start + length]
    return bytes(data)
