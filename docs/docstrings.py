"""Docstrings as the reference shows them: examples as code, names of other things without roles."""

import re

import griffe

_EXAMPLE = re.compile(
    r"(?:^[ ]*(?:>>>|\.\.\.) .*\n?(?:^[ ]*(?!>>>|\.\.\.)\S.*\n?)*)+", re.MULTILINE
)
_ROOM = re.compile(r"^Owns: (?:.+\n?)+", re.MULTILINE)  # for those who change calibrant
_ROLE = re.compile(r":[a-z]+:`(~?)([\w.]+)`")


class Docstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj, **kwargs):
        """Rewrite the docstring of an object, if it has one."""
        if obj.docstring is not None:
            text = _ROOM.sub("", obj.docstring.value)
            obj.docstring.value = _ROLE.sub(_name, _EXAMPLE.sub(_fence, text))


def _fence(found):
    return f"```pycon\n{found[0].rstrip()}\n```\n"


def _name(found):
    return f"`{found[2].rpartition('.')[2] if found[1] else found[2]}`"
