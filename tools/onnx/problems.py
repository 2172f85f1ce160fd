# SPDX-License-Identifier: MIT
"""What the importer says when it cannot go on."""
import re
from collections.abc import Iterator
from contextlib import contextmanager


class Refused(Exception):
    """The whole model cannot be imported. The text is one sentence with a remedy; exit code 2."""


@contextmanager
def refusing(sentence: str, reason: str = " ({})") -> Iterator[None]:
    """Whatever fails within is refused with this sentence and the reason on one line."""
    try:
        yield
    except Exception as error:  # protobuf, numpy, Pillow and ONNX Runtime have several kinds
        raise Refused(sentence + reason.format(re.sub(r"\s+", " ", str(error)).strip()[:300])) from None


class Unsupported(Exception):
    """One node cannot be mapped. Its recorded outputs stand in; the text says why."""
