"""Prompts as text, for servers that take no token ids: one word a token, equal ids equal words."""

from collections.abc import Sequence

# short and common: nearly every tokenizer has each, with its space, as one token
_TEXT = (
    "the and for are but not you all any can her was one our out day get has him his how man new "
    "now old see two way who boy did its let put say she too use air arm art ask bad bag bar bed "
    "big bit box bus buy car cat cup cut dog dry ear eat egg end eye far few fly fun gas god gun "
    "hat hit hot ice job key kid law leg lie lot low map mix oil own pay red run sea set sit six "
    "sky son sun tax tea ten top toy try war win yes able area army away baby back ball bank base "
    "bear beat blue boat body bone book call card care case city club coal cold cook cost crew "
    "dark data date dead deal deep door down draw drop dust east edge face fact fall farm fast "
    "fear feel file film find fire fish five flat food foot form four free full game girl give "
    "glad goal gold good gray hair half hall hand hard head hear heat help hill hold hole home "
    "hope hour idea iron join jump keep kind king lady lake land last late lead left life lift "
    "line list live long look loss love luck mail main"
)
WORDS = tuple(_TEXT.split())


def text_of(tokens: Sequence[int]) -> str:
    """The words of the ids, in order; different ids have different words.

    The server's tokenizer decides how many tokens they are: about one for each id below the number
    of words, two above it.
    """
    return " ".join(map(word, tokens))


def word(token: int) -> str:
    """The word of one id."""
    again, place = divmod(token, len(WORDS))
    return f"{WORDS[place]}{again}" if again else WORDS[place]
