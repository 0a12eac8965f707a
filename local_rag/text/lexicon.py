"""List English words that carry a function: one lexicon for the whole program, data only.

The words are general English, not collected from any question set. Numbers, units, abbreviations, negations, contraries
and turns have entries of other languages, too.
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each either else ever few for from further had has have having
    he her here hers him his how i if in into is it its itself just let like many may me might more most much must my
    no nor not now of off on once one only or other our out over own per please shall she should since so some such
    than that the their them then there these they this those through to too under until up upon us very was we were
    what when where whether which while who whom whose why will with within without would you your""".split()
)
"""Function words. They do not count in word coverage."""
CHAT = frozenset(
    """afternoon answer ask ask bad believe bore bored boring bot bye care chat cheers clever computer cool dear die
    dream else evening exactly exist fantastic favorite favourite feel feeling fine friend fun funny glad good goodbye
    great happy hate hear hello help helped helpful hey hi home honest hope hungry human joke know laugh learn live
    lonely lot love lovely machine man mean meet mind mistake moment morning music name nice night ok okay old person
    please poem read real right robot sad say see sick silly sing sleep smart song sorry speak story stupid sure sweet
    talk tell thank thanks think tired together today tomorrow understand want wait weekend welcome well wonderful work
    wow wrong yeah yes yet bit day done let never something nothing anything still there time world""".split()
)
"""Words of small talk. A remark of such words alone names nothing that could be looked up."""
CHAT_PERSONS = frozenset("i me my you your yourself us we".split())
"""The pronouns of small talk."""
PRESENT = frozenset(
    """today tonight tomorrow yesterday now nowadays currently current presently present moment recent recently latest
    newest upcoming""".split()
)
"""Words for the present, which is later than any file."""
LINKING = frozenset(
    """according became become called came come comes contain contains cost costs describe described find found follow
    following follows get gets given goes got include included includes including list listed lists located made make
    makes mean means mention mentioned mentions name named paid passage passages pay pays provide provided provides
    received refer refers say says scheduled stand stands state stated states take takes use used uses went write
    written""".split()
)
"""Words that link the question's subject to the answer and say nothing about either."""
BEFORE_NOUNS = frozenset(
    """a an any at by each every for from his her in its my no of on our some that the their these this those to with
    your""".split()
)
"""Words that no verb follows."""
NUMBER_WORDS = {
    word: str(number)
    for line in (
        "0 zero null,1 one once ein eine eins,2 two twice zwei,3 three drei,4 four vier,5 five funf,6 six sechs,"
        "7 seven sieben,8 eight acht,9 nine neun,10 ten zehn,11 eleven elf,12 twelve zwolf dozen dutzend,13 thirteen,"
        "14 fourteen vierzehn,15 fifteen,16 sixteen,17 seventeen,18 eighteen,19 nineteen,20 twenty zwanzig,"
        "30 thirty dreissig dreiig,40 forty vierzig,50 fifty funfzig,60 sixty,70 seventy,80 eighty,90 ninety,"
        "100 hundred hundert,1000 thousand tausend,1000000 million millions millionen mio,"
        "1000000000 billion billions bn milliarde milliarden,1000000000000 trillion trillions"
    ).split(",")
    for number, *words in [line.split()]
    for word in words
}
"""English and German number words, folded, with their values."""
MAGNITUDES = frozenset(
    """dozen dutzend hundred hundert thousand tausend million millions millionen mio billion billions bn milliarde
    milliarden trillion trillions""".split()
)
UNITS = {
    name: unit[0]
    for line in (
        "% percent prozent|$ dollar dollars usd|€ euro euros eur|£ pound pounds gbp|¥ yen jpy|chf franken francs|"
        "s second seconds sec sekunde sekunden|min minute minutes mins minuten|h hour hours hr hrs stunde stunden|"
        "day days tag tage tagen|week weeks woche wochen|month months monat monate monaten|"
        "year years yr yrs jahr jahre jahren|mm millimetres|cm centimetres centimeters|km kilometres kilometers|"
        "m metre metres meter meters|mile miles|foot feet ft|mg milligram milligrams|g gram grams gramm|"
        "kg kilogram kilograms kilo kilos|"
        "tonne tonnes tons|litre litres liter liters l|ml|kb|mb|gb|tb"
    ).split("|")
    for unit in [line.split()]
    for name in unit
}
"""Signs and words of units and currencies, each with the first of its line."""
ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof sr jr st mt vs etc e.g i.e cf al fig figs eq eqs no nos vol vols pp ed eds ca approx inc ltd co
    corp dept est jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m u.s u.k u.n ph.d gen col lt sgt rev hon
    sec ch art sen rep gov capt maj pres messrs ext tel bzw z.b d.h usw nr inkl zzgl ggf abs str mio mrd""".split()
)
"""Abbreviations whose full stop may stand inside a sentence."""

# Negations. All three kinds deny; which of them count depends on what a mistake costs.

NEGATIONS = frozenset(
    """not no never none nobody nothing neither nor without cannot
    nicht nichts nie niemals niemand nirgends kein keine keinem keinen keiner keines ohne weder
    ne pas jamais rien aucun aucune sans nunca jamas nada nadie ningun ninguna ninguno sin
    nao nem nenhum nenhuma ninguem sem non mai niente nulla nessun nessuna nessuno senza
    niet niets nooit niemand geen zonder inte aldrig ingen inget inga utan ikke nie bez""".split()
)
"""Words that deny outright, as words in n't do; folded, in English, German, French, Spanish, Portuguese, Italian,
Dutch, Scandinavian and Slavic languages. They are enough for support, which is graded by the words that a claim shares.
"""
NEAR_NEGATIONS = frozenset("hardly rarely seldom scarcely barely false falsely untrue".split())
"""Words that deny nearly or from outside. Like the outright ones they keep a citation from being verified."""
CONTRARIES = """
    increase increased rise rises rose risen grow grew grown:decrease decreased fall falls fell fallen shrank
    accept accepted approve approved adopt adopted:reject rejected refuse refused decline declined
    allow allowed permit permitted legal:forbid forbidden forbade prohibit prohibited banned illegal
    buy buys bought:sell sells sold
    win wins won:lose loses lost
    start starts begin begins began:end ends stop stops
    include included includes:exclude excluded excludes
    minimum least mindestens:maximum most hochstens
    high higher highest:low lower lowest
    before vor:after nach
    first:last
    old older:new newer
    left:right
    tenant:landlord
    buyer:seller
    north northern:south southern
    east eastern:west western
    erlaubt zulassig:verboten untersagt unzulassig
    steigt stieg gestiegen erhoht:sinkt sank gesunken gesenkt
"""
"""Two families of opposite words in each line; opposite words in sentence and quote keep a citation from being
verified.
"""

# Small words that turn or limit a sentence.

TURNS = {
    word: group.split()[0]
    for group in (
        "all every each both alle jeder jede jedes,some einige manche,few wenige,most meisten,only nur,before vor,"
        "after nach,until bis,must shall muss mussen,may darf durfen,should soll sollte sollen,"
        "more over above exceeding mehr,less under below fewer weniger,first,second,third,fourth,fifth,last,"
        "if wenn falls sofern,unless except ausser,allegedly supposedly angeblich"
    ).split(",")
    for word in group.split()
}
"""Quantifiers, conditions, times and duties, by meaning, folded; they are too common to count as content."""
CONDITIONS = frozenset("if unless only except allegedly supposedly whether wenn falls nur außer angeblich ob".split())
"""Words whose omission changes the meaning of a quotation."""

OMISSIBLE_TURNS = frozenset("all only first second third fourth fifth last".split())
"""Turns that a sentence may leave out: "every pump" may become "pumps", not the other way round."""
TURN_SYNONYMS = {
    "may": frozenset("can could might kann konnen".split()),
    "if": frozenset("when where whenever whether provided case".split()),
    "must": frozenset("has have had need needs required hat haben".split()),
}
BACK_REFERENCES = frozenset("it its they them their he his she her this these those that such both".split())
"""First words of a sentence that continues the one before it."""
