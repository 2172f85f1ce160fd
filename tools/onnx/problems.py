# SPDX-License-Identifier: MIT
"""What the importer says when it cannot go on."""


class Refused(Exception):
    """The whole model cannot be imported. The text is one sentence with a remedy; exit code 2."""


class Unsupported(Exception):
    """One node cannot be mapped. Its recorded outputs stand in; the text says why."""
