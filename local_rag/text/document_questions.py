"""Recognise questions about a document itself: its content, author, date, title, another line of its head, or its view
of a topic.

The forms of English, German, French and Spanish questions are regular expressions over the whole question.
`index.named_documents` finds the document that is meant; a name that no document has makes the question an ordinary
one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from local_rag.text.names import head
from local_rag.text.words import collapsed, content_words, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

Asks = Literal["content", "author", "date", "title", "field", "topic"]
"""The thing that a question asks of a document: `field` is any other line of its head ("Status: Final"), `topic` its
statement about a topic.
"""


class DocumentQuestion(NamedTuple):
    """Hold the parts of a question about a document.

    `name` is the part that names the document, without articles. `topic` is the topic that the document is asked about,
    as words to search with. `field` is the name of the line that holds the answer, folded.
    """

    asks: Asks
    name: str
    topic: str = ""
    field: str = ""


_X = r"(?P<name>.{1,120}?)"
_X2 = _X.replace("name", "name2")
_Y = r"(?P<topic>.+?)"
_CLAUSE = r"(?P<topic>(?:what|which|how|where|when|who|why|is|are|does|do|can|must|may)\b.+?)"
_SAY = r"(?:say|said|write|written|state|claim|argue|mention|recommend|require|suggest|propose|specify|explain|tell us)"
_WRITTEN = r"(?:written|authored|composed|drafted|created|prepared|sent|posted|published)"
_DATED = r"(?:written|created|published|released|sent|posted|dated|issued|drafted|updated|modified|revised|changed)"
_GESCHRIEBEN = r"(?:geschrieben|verfasst|verfaßt|erstellt|geschickt|verschickt|gesendet|gesandt|veröffentlicht)"
_DATIERT = rf"(?:{_GESCHRIEBEN}|aktualisiert|geändert|datiert|ausgestellt|unterschrieben)"
_VON = r"(?:von(?: der| dem)?|vom|des|der)"
_LE = r"(?:(?:les?|la|une?|mon|ma|mes|cet?|cette|el|los|las|una|mis?|este|esta) |l')?"
_FIELD = r"(?P<field>[^\W\d_][\w-]*(?: [\w-]+)?)"

_FORMS: tuple[tuple[Asks, str], ...] = (
    ("topic", rf"what (?:does|do|did|has|have) {_X} {_SAY} (?:about|on|of|regarding|concerning|for|to|as) {_Y}"),
    ("topic", rf"what (?:is|was) (?:said|written|stated) (?:about|on|of) {_Y} in {_X}"),
    ("topic", rf"(?:according to|as per) {_X}, ?{_Y}"),
    ("topic", rf"{_CLAUSE},? according to {_X}"),
    ("topic", rf"in {_X}, ?{_CLAUSE}"),
    ("topic", rf"how (?:does|do|did) {_X} (?P<topic>(?:treat|handle|define|describe|explain|deal with|solve) .+)"),
    ("topic", rf"was (?:sagt|sagen|schreibt|meint|empfiehlt) {_X} (?:über|zu|zum|zur|von) {_Y}"),
    ("topic", rf"was steht (?:in|im) {_X} (?:über|zu|zum|zur|von) {_Y}"),
    ("topic", rf"(?:laut|gemäß|nach) {_X}, ?{_Y}"),
    ("author", r"who (?:has |had )?(?:wrote|written|took|taken|authored|composed|drafted|created|prepared|sent|posted) "
               rf"{_X}"),
    ("author", rf"who(?: is|'s| are| was| were) the (?:\w+ )?(?:author|writer|sender|editor)s? of {_X}"),
    ("author", rf"(?:by whom|from whom|who) (?:is|was|are|were) {_X} {_WRITTEN}(?: by)?"),
    ("author", rf"(?:who(?: is|'s| was)|whom is) {_X} (?:by|from)"),
    ("author", rf"(?:what (?:is|are) |name |list |give )?the (?:names? of the )?authors? of {_X}"),
    ("author", rf"wer hat {_X} {_GESCHRIEBEN}"),
    ("author", rf"wer schrieb {_X}"),
    ("author", rf"von wem (?:ist|sind|stammt|stammen|kommt|wurde|wurden) {_X}(?: {_GESCHRIEBEN})?"),
    ("author", rf"wer (?:ist|sind|war|waren) (?:der|die) (?:autor|verfasser|absender)(?:in|en|innen)? {_VON} {_X}"),
    ("date", rf"when (?:is|was|were|has|have|did) {_X} (?:been |last )?{_DATED}"),
    ("date", rf"(?:when|from when) is {_X} from|from when is {_X2}"),
    ("date", rf"what (?:is|was) the (?:\w+ )?date of {_X}|how old is {_X2}"),
    ("date", rf"wann (?:ist|wurde|wurden|war) {_X} (?:zuletzt )?{_DATIERT}(?: worden)?"),
    ("date", rf"von wann (?:ist|stammt) {_X}|welches datum (?:hat|trägt) {_X2}"),
    ("title", rf"what(?: is|'s) the (?:full )?title of {_X}|what is {_X2} (?:called|titled)"),
    ("title", rf"(?:wie (?:lautet|heißt) der titel|was ist der titel) {_VON} {_X}"),
    ("content", rf"what(?: is|'s|s| was| are| were) {_X} (?:all |mainly )?about"),
    ("content", rf"what (?:does|do|did) {_X} {_SAY}"),
    ("content", rf"(?:please |can you )?(?:summari[sz]e|outline|sum up|tl;?dr:?(?: of)?) {_X}"
                r"(?: briefly| in (?:\w+ ){1,3}(?:sentences?|words?|points?|paragraphs?))?(?: for me)?(?:,? please)?"),
    ("content", rf"(?:what(?: is|'s| are) |give (?:me |us )?)?(?:an?|the) (?:\w+ )?"
                rf"(?:summary|overview|outline|abstract|topic|gist|contents?"
                rf"|(?:main|key) (?:points?|ideas?)) of {_X}"),
    ("content", rf"what(?: is|'s) in {_X}|(?:please )?(?:find|show|open)(?: me)? {_X2}"),
    ("content", rf"(?:worum|um was) geht(?: es|'?s) (?:in|im|bei) {_X}|wovon handelt {_X2}"),
    ("content", rf"was steht (?:in|im) {_X}|(?:bitte )?fass(?:e|en sie)? {_X2} zusammen"),
    ("content", rf"(?:was ist )?(?:eine |die |der |das )?(?:kurze )?"
                rf"(?:zusammenfassung|überblick|inhalt|thema) {_VON} {_X}"),
    ("author", rf"(?:qui a (?:écrit|rédigé|envoyé|signé)|quién (?:escribió|redactó|envió|firmó)) {_LE}{_X}"),
    ("date", rf"(?:de quand (?:date|est)|de cuándo es) {_LE}{_X}"),
    ("content", rf"(?:de quoi (?:parle|traite)|que dit|de qué (?:trata|habla)|qué dice) {_LE}{_X}"),
    ("content", rf"(?:résume[rz]?|resume|resúmeme|resumir) {_LE}{_X}(?:,? (?:s'il (?:te|vous) plaît|por favor))?"),
    ("field", rf"what (?:is|was|are|were) the {_FIELD} of {_X}"),
    ("field", rf"(?:was|wie) (?:ist|sind|lautet|lauten) (?:der|die|das) {_FIELD} {_VON} {_X}"),
)  # fmt: skip

_PATTERNS = [(asks, re.compile(pattern, re.IGNORECASE)) for asks, pattern in _FORMS]
_ARTICLE = re.compile(
    r"\A(?:the|a|an|my|our|your|this|that|these|der|die|das|dem|den|des|ein|eine|einen|einem|mein|meine|meinen|unser"
    r"|unsere|unseren|dieser|diese|dieses)\s+",
    re.IGNORECASE,
)
LONGEST_QUESTION = 400
"""The most characters of a question that is examined; a longer one is hardly about a document itself."""


def document_question(question: str) -> DocumentQuestion | None:
    """Read a question as one about a document; return None if it has no such form."""
    plain = collapsed(question).strip(" ¿¡").rstrip("?.! ").replace("’", "'")
    if len(plain) > LONGEST_QUESTION:
        return None
    for asks, pattern in _PATTERNS:
        if match := pattern.fullmatch(plain):
            parts = {key.removesuffix("2"): value for key, value in match.groupdict("").items() if value}
            name = _ARTICLE.sub("", parts["name"]).strip(" \"'“”„‚‘»«")
            if name:
                return DocumentQuestion(asks, name, parts.get("topic", ""), parts.get("field", "").casefold())
    return None


def whole_document(question: str) -> str:
    """Return the name of the document that a question asks for as a whole, else ""."""
    form = document_question(question)
    return form.name if form and form.asks == "content" else ""


def question_to_read(question: str, documents: Sequence[Document]) -> str:
    """Return the question that an evaluator reads with these passages; every other reader that works for it must read
    the same one.

    A question for the view of a person or document on a topic is reduced to the topic, if a passage names that person
    or document or the search `named` the document: the author of a text stands in its head, not in its sentences.
    """
    form = document_question(question)
    if form is None or form.asks != "topic":
        return question
    who = set(content_words(form.name))
    named = any(document.metadata.get("named") for document in documents)
    if not named and not (who and any(who <= set(words(f"{head(d)} {d.page_content}")) for d in documents)):
        return question
    return f"{form.topic}?" if re.match(_CLAUSE, form.topic, re.IGNORECASE) else f"What about {form.topic}?"
