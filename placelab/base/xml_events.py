"""Read untrusted XML element by element, within limits: no document types, no entities, no other files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.parsers import expat

from placelab.base.errors import FormatError
from placelab.base.fields import one_line

MAX_DEPTH = 100  # of nested elements
MAX_ATTRIBUTES = 100  # of an element
MAX_TOKEN = 1 << 20  # bytes of one tag or comment, which the parser buffers
CHUNK = 1 << 16
BLANKS_FIRST = re.compile(rb"(\xef\xbb\xbf)?(\s++)(<\?xml\b[^>]{0,200}\?>)")


def declared_first(data: bytes) -> bytes:
    r"""The XML with its declaration before the blanks that stand in front of it, which XML forbids; lines keep their numbers.

    >>> declared_first(b"\n <?xml version='1.0'?><a/>")
    b"<?xml version='1.0'?>\n <a/>"
    """
    found = BLANKS_FIRST.match(data)
    if not found:
        return data
    mark, blanks, declaration = found.groups(b"")
    return mark + declaration + blanks + data[found.end() :]


def parse_xml(
    data: bytes,
    start: Callable[[str, dict[str, str], int], None],
    end: Callable[[int], None] = lambda line: None,
    text: Callable[[str], None] = lambda text: None,
) -> None:
    """Parse XML; FormatError if it is none, nests too deeply, or declares a document type, and with it entities of any kind.

    Parameters
    ----------
    start
        Called with the name of each element without its namespace, its attributes, and the line.
    end
        Called with the line where each element ends.
    text
        Called with the text between tags, in pieces.
    """
    data = declared_first(data)
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def begun(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH or len(attributes) > MAX_ATTRIBUTES:
            raise FormatError(
                f"line {parser.CurrentLineNumber} nests more than {MAX_DEPTH} elements or has more than "
                f"{MAX_ATTRIBUTES} attributes"
            )
        start(tag.rpartition(" ")[2], attributes, parser.CurrentLineNumber)

    def ended(tag: str) -> None:
        nonlocal depth
        depth -= 1
        end(parser.CurrentLineNumber)

    parser.StartElementHandler = begun
    parser.EndElementHandler = ended
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        for at in range(0, len(data), CHUNK):
            parser.Parse(data[at : at + CHUNK], False)
            if at - parser.CurrentByteIndex > MAX_TOKEN:
                raise FormatError(f"line {parser.CurrentLineNumber} has a tag of more than {MAX_TOKEN:,} bytes")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise FormatError(f"it is not XML: {error}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"it is not XML: {one_line(str(error)):.80}") from None


def _refuse(*_: Any) -> None:
    raise FormatError("it declares a document type or entities, which no graph needs; such files are not read")
