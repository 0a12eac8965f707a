"""Words that turn a statement round: denials, opposites, and words such as "first" and "only" that narrow it.

General English, not collected from any question set. Other languages simply have none here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from local_rag.text.words import fold
from local_rag.text.words import stem as stem_of

_DENIALS = frozenset(
    """not no never none nobody nothing neither nor without cannot least fail failed fails lack lacks lacked unable
    refuse refused hardly rarely""".split()
)

_PAIRS = """
    most:least:fewest more:less:fewer many:few first:last high:low higher:lower highest:lowest large:small
    larger:smaller largest:smallest big:small increase:decrease increased:decreased rise:fall rose:fell before:after
    north:south east:west northern:southern eastern:western best:worst better:worse early:late earlier:later
    earliest:latest old:new oldest:newest:youngest long:short longer:shorter longest:shortest rich:poor
    allow:prevent:prohibit:ban allowed:prevented:prohibited:banned accept:reject accepted:rejected include:exclude
    included:excluded win:lose won:lost begin:end began:ended start:end:stop started:ended:stopped open:close
    opened:closed simple:complex easy:difficult:hard common:rare:uncommon rare:often always:never:sometimes major:minor
    maximum:minimum public:private male:female men:women man:woman buy:sell bought:sold import:export true:false
    positive:negative strong:weak stronger:weaker strongest:weakest same:different similar:different above:below
    upper:lower inside:outside internal:external left:right success:failure succeed:fail successful:unsuccessful
    support:oppose supported:opposed love:hate like:dislike likely:unlikely possible:impossible able:unable
    known:unknown popular:unpopular hot:cold warm:cool hotter:colder heavy:light fast:slow faster:slower
    fastest:slowest join:leave joined:left add:remove added:removed gain:lose arrive:leave arrived:left
    create:destroy created:destroyed build:destroy built:destroyed expand:contract majority:minority
    natural:artificial direct:indirect dependent:independent legal:illegal ancient:modern past:future birth:death
    born:died near:far closest:farthest nearest:farthest top:bottom full:empty give:take gave:took push:pull
    enter:exit solid:liquid wet:dry safe:dangerous active:passive agree:disagree agreed:disagreed appear:disappear
    attack:defend divide:multiply encourage:discourage permanent:temporary complete:incomplete regular:irregular
    even:odd rural:urban domestic:foreign local:foreign superior:inferior thick:thin deep:shallow wide:narrow
    bright:dark peace:war friend:enemy victory:defeat:loss proponent:opponent worsen:improve worsened:improved
    improve:reduce improved:reduced raise:lower raised:lowered cause:prevent caused:prevented advance:retreat
    hire:fire hired:fired lead:follow led:followed
"""

_NEGATIVE = re.compile(r"(?:un|in|im|ir|il|non|dis|mis|anti|de)(?=\w{4})")
_NARROWING = re.compile(
    r"\b(?:most|least|only|first|last|original|main|primary|final|ever|all|every|never|always|mostly|exclusively"
    r"|solely|(?!(?:for|inter|inv|sugg|cont|prot|requ|hon|mod|harv|arr|manif|conqu)est\b)\w{3,}est)\b"
)


def _opposites() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for pair in _PAIRS.split():
        one, *others = map(stem_of, pair.split(":"))
        for other in others:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return found


_OPPOSITES = _opposites()


def denies(words: Iterable[str]) -> bool:
    """Whether a text says that something is not so; "least", "fail" and "lack" count as well as "not"."""
    return any(word in _DENIALS or word.endswith("n't") for word in words)


def opposite(question: Set[str], sentence: Set[str]) -> bool:
    """Whether a stem of the question stands in the sentence as its opposite, and not as itself."""
    return any(_OPPOSITES.get(stem, set()) & sentence for stem in question - sentence)


def negated(question: Iterable[str], sentence: Iterable[str]) -> bool:
    """Whether one of the two holds a word with a negative prefix, and the other that word only without it."""
    asked, said = list(question), list(sentence)
    return _prefixed(asked, said) or _prefixed(said, asked)


def _prefixed(words: Iterable[str], others: Iterable[str]) -> bool:
    held = {stem_of(word) for word in others}
    for word in words:
        prefix = _NEGATIVE.match(word)
        if prefix and stem_of(word) not in held and stem_of(word[prefix.end() :]) in held:
            return True
    return False


def narrowing(question: str) -> set[str]:
    """The words of a question that admit one case only: "first", "only", "largest"."""
    return set(_NARROWING.findall(fold(question)))
