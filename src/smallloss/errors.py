"""Errors are sentences: what was wrong, where, and what to do about it."""


class SmallLossError(Exception):
    """Something smallloss could not do. The command line prints it as one sentence, exit status 1."""

    exit_status = 1


class InputError(SmallLossError, ValueError):
    """The input or an option is wrong; the message names the culprit. Exit status 2."""

    exit_status = 2


class TooFewError(InputError):
    """So few examples were selected that nothing can be learnt from them; they are judged all the same."""
