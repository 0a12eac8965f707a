"""Made-up pairs of documents: some disagree about one fact, the others differ without harm. All texts are our own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Sort = Literal[
    "version", "told anew", "same value", "other subject", "unnamed subject", "other matter", "several right"
]
"""How two documents differ. In the first two sorts they disagree, in the others they do not."""

DISAGREE: frozenset[Sort] = frozenset({"version", "told anew"})


@dataclass(frozen=True)
class File:
    """A document as it would be indexed."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class Pair:
    """A question and two files; `scene` names what it is made from, so that no scene is in both halves."""

    question: str
    first: File
    second: File
    sort: Sort
    scene: str

    @property
    def disagree(self) -> bool:
        return self.sort in DISAGREE


@dataclass(frozen=True)
class Scene:
    """What pairs are made from. `{s}` is the subject, `{v}` the value of the fact.

    `fact` is a document's sentence about the fact, `anew` another document's; `near` states the `wrong` value of
    something else about the same subject. `same` are ways to write `value` that do no harm, `changed` other values.
    """

    name: str
    subject: str
    other: str
    question: str
    unnamed: str
    title: str
    before: str
    fact: str
    after: str
    memo: str
    anew: str
    end: str
    near: str
    value: str
    changed: tuple[str, str]
    same: tuple[str, str]


def pairs(scene: Scene) -> Iterator[Pair]:
    """All pairs of a scene: four that disagree, five that do not."""
    value, subject = scene.value, scene.subject

    def pair(sort: Sort, first: File, second: File, question: str = scene.question) -> Pair:
        return Pair(question.format(s=subject), first, second, sort, scene.name)

    old = _document(scene, subject, value, "v1")
    for changed in scene.changed:
        yield pair("version", old, _document(scene, subject, changed, "v2"))
        yield pair("told anew", old, _memo(scene, subject, changed))
    same, again = scene.same
    yield pair("same value", old, _document(scene, subject, same, "v2"))
    yield pair("same value", old, _memo(scene, subject, again))
    yield pair("other subject", old, _document(scene, scene.other, scene.changed[0], "other"))
    yield pair("unnamed subject", old, _document(scene, scene.other, scene.changed[1], "other"), scene.unnamed)
    near = File(f"{scene.name} letter.txt", "", f"{scene.memo} {scene.near} {scene.end}".format(s=subject, v=""))
    yield pair("other matter", old, near)


def _document(scene: Scene, subject: str, value: str, version: str) -> File:
    issued = _ISSUED.get(version, _ISSUED["v1"])
    text = f"{issued} {scene.before} {scene.fact} {scene.after}".format(s=subject, v=value)
    name = f"{subject.lower() if version == 'other' else scene.name} {version}.md".replace(" other", "")
    return File(name, scene.title.format(s=subject), text)


_ISSUED = {"v1": "Version 1, signed in 2019.", "v2": "Version 2, signed in 2023."}
"""What versions say of themselves: numbers that differ and do not matter."""


def _memo(scene: Scene, subject: str, value: str) -> File:
    text = f"{scene.memo} {scene.anew} {scene.end}".format(s=subject, v=value)
    return File(f"{scene.name} memo.txt", "", text)


def several_right() -> Iterator[Pair]:
    """Questions with more than one right answer, of which each document gives another."""
    for number, (question, first, second) in enumerate(_SEVERAL):
        yield Pair(
            question,
            File(f"notes {number}a.md", "", first),
            File(f"notes {number}b.md", "", second),
            "several right",
            f"several {number}",
        )


def all_pairs() -> list[Pair]:
    """Every pair."""
    return [pair for scene in SCENES for pair in pairs(scene)] + list(several_right())


def halves() -> tuple[list[Pair], list[Pair]]:
    """(tune, report): every other scene, so that neither half shares a text with the other one."""
    names = list(dict.fromkeys(pair.scene for pair in all_pairs()))
    tuned = set(names[::2])
    every = all_pairs()
    return [pair for pair in every if pair.scene in tuned], [pair for pair in every if pair.scene not in tuned]


SCENES = (
    Scene(
        "lease", "Harbour Street 12", "Mill Lane 7",
        "What is the monthly rent for {s}?", "What is the monthly rent?", "Lease of {s}",
        "This lease is made for the office at {s}. The landlord keeps the roof and the heating in repair.",
        "The monthly rent for {s} is {v}, payable in advance on the third working day.",
        "The tenant pays for water and electricity by meter. Subletting needs the landlord's consent in writing.",
        "Dear all, a short summary of what we agreed with the landlord of {s} last week.",
        "We will be paying {v} in rent every month for the office at {s}.",
        "Please pass this on to accounting, and keep the signed copy in the blue folder.",
        "The deposit for {s} is 7,500 euros, and the parking space costs 85 euros extra.",
        "2,400 euros", ("2,650 euros", "1,980 euros"), ("EUR 2,400", "2400 €"),
    ),
    Scene(
        "notice", "Brightwell Catering", "Oakham Logistics",
        "What is the notice period in the contract with {s}?", "What is the notice period?",
        "Service contract with {s}",
        "The agreement with {s} begins in the spring and covers the canteen on both floors.",
        "Either party may end the contract with {s} with a notice period of {v} in writing.",
        "Invoices are sent at the end of a quarter. Complaints are answered by the site manager.",
        "I looked through the papers about {s} again before our call.",
        "If we want to leave the contract with {s} the notice period is {v}.",
        "Nobody has asked for a change so far, and the canteen is popular.",
        "Invoices from {s} are due within 14 days, and late payment costs 2 percent.",
        "three months", ("six months", "four weeks"), ("3 months", "a notice of 3 months"),
    ),
    Scene(
        "director", "Northgate Museum", "Eastvale Museum",
        "Who is the director of the {s}?", "Who is the director of the museum?", "About the {s}",
        "The {s} opened its new wing with a show of river maps and early photographs.",
        "The director of the {s} is {v}, who also looks after the print collection.",
        "The shop sells postcards and books. School classes have free entry on weekdays.",
        "Minutes of the friends' evening at the {s}, held in the reading room.",
        "{v} welcomed the guests as director of the {s} and spoke about the coming season.",
        "Tea and cake were served afterwards, and the cloakroom stayed open late.",
        "The gardener of the {s}, Tom Birch, showed the roses, and Lucy Hale sang two songs.",
        "Helen Marsh", ("Robert Quayle", "Ingrid Solberg"), ("Dr. Helen Marsh", "H. Marsh"),
    ),
    Scene(
        "opening", "Weir Bridge", "Castle Bridge",
        "When was the {s} opened to traffic?", "When was the bridge opened?", "History of the {s}",
        "The {s} was planned for many years before the council found the money for it.",
        "The {s} was opened to traffic on {v} in the presence of the mayor.",
        "It carries two lanes and a footpath. Its lamps were replaced by brighter ones later.",
        "My grandfather often told us about the {s}, which he helped to build.",
        "He stood in the crowd when the {s} was opened to traffic on {v}.",
        "There was a band, and boats went under the arches until it was dark.",
        "A flood damaged the {s} on 11 November 1968, and the repairs took a year.",
        "4 June 1957", ("4 June 1961", "19 September 1957"), ("June 4, 1957", "4 June 1957, a Tuesday,"),
    ),
    Scene(
        "deadline", "Larkfield grant", "Tennant grant",
        "What is the deadline for applications to the {s}?", "What is the deadline for applications?",
        "{s}: guide for applicants",
        "The {s} supports small orchestras and choirs in the county.",
        "The deadline for applications to the {s} is {v}, and late forms are returned unread.",
        "A jury of five reads them. Budgets are stated on the second page of the form.",
        "Hello Priya, about the {s} that you mentioned at the rehearsal:",
        "Applications to the {s} have to arrive by {v}, which is the deadline.",
        "I can help with the budget, and Jo still has last year's letters.",
        "The jury of the {s} meets on 2 July 2024, and results are posted online.",
        "15 April 2024", ("30 April 2024", "15 May 2024"), ("15 April", "2024-04-15"),
    ),
    Scene(
        "firmware", "Kestrel router", "Heron router",
        "Which firmware version does the {s} need for mesh mode?", "Which firmware version is needed for mesh mode?",
        "{s}: manual",
        "The {s} is set up with a browser or with the telephone app.",
        "Mesh mode on the {s} needs firmware version {v} or later.",
        "Hold the button for ten seconds to reset it. The lamp blinks twice when it is ready.",
        "Support note about the {s}, for the second line.",
        "Customers who want mesh mode on their {s} must install firmware version {v} first.",
        "If the lamp stays red, ask them for the serial number on the label.",
        "The app for the {s} needs Android 9, and its charger gives 12 volts.",
        "4.2", ("4.6", "5.1"), ("v4.2", "4.2.0"),
    ),
    Scene(
        "dose", "Velorin", "Cadrexil",
        "What is the maximum daily dose of {s} for adults?", "What is the maximum daily dose for adults?",
        "{s}: package leaflet",
        "{s} is taken with a glass of water, before or after a meal.",
        "The maximum daily dose of {s} for adults is {v}, spread over the day.",
        "Do not use it after the date on the box. Keep it away from children.",
        "Ward handbook, page on pain relief, entry for {s}.",
        "Adults must not take more than {v} of {s} a day, which is the maximum daily dose.",
        "Write every dose into the chart and sign it.",
        "Children over six take 50 mg of {s} at night, and a box holds 20 tablets.",
        "400 mg", ("600 mg", "300 mg"), ("0.4 g", "400 milligrams"),
    ),
    Scene(
        "attendance", "Riverside Fair", "Hilltop Fair",
        "How many people visited the {s}?", "How many people visited the fair?", "Report on the {s}",
        "The {s} lasted three days and had more stalls than ever before.",
        "According to the ticket office {v} people visited the {s}.",
        "The best cake won a copper kettle. Rain fell on the last afternoon only.",
        "From the newsletter of the tradesmen, on the {s}:",
        "The {s} was visited by {v} people, and most of them came by train.",
        "Next year there will be a second ferry and more benches.",
        "The {s} had 140 stalls, and 36 helpers cleaned the meadow.",
        "12,480", ("15,200", "9,870"), ("about 12,500", "12 480"),
    ),
    Scene(
        "capacity", "Hall B", "Hall D",
        "How many seats does {s} have?", "How many seats does the hall have?", "Rooms for hire: {s}",
        "{s} lies on the ground floor and has a stage with curtains.",
        "{s} has {v} seats, and wheelchairs fit into the last row.",
        "The kitchen can be used by arrangement. Music must end at eleven.",
        "Fire inspection, notes on {s}.",
        "We counted {v} seats in {s}, all of them fixed to the floor.",
        "Both exits were free, and the signs above them are lit.",
        "{s} has 6 exits and 14 lamps, and its stage is 9 metres wide.",
        "320", ("280", "350"), ("three hundred and twenty", "320 upholstered"),
    ),
    Scene(
        "warranty", "Arbor chair", "Linden chair",
        "How long is the warranty on the {s}?", "How long is the warranty?", "{s}: care and warranty",
        "The {s} is made of oiled ash and stands on felt pads.",
        "The warranty on the {s} lasts {v} from the day of purchase.",
        "Wipe it with a damp cloth. Scratches can be sanded and oiled again.",
        "Answer to a customer who asked about an {s}:",
        "Thank you for your message. Our warranty on the {s} is {v}.",
        "Please send us a picture of the leg and a copy of the bill.",
        "Delivery of the {s} takes 10 days, and it can be returned within 30 days.",
        "two years", ("five years", "three years"), ("24 months", "2 years"),
    ),
    Scene(
        "architect", "Salt Market Library", "Corn Market Library",
        "Who was the architect of the {s}?", "Who was the architect of the library?", "The {s}",
        "The {s} has a round reading room under a dome of green glass.",
        "The architect of the {s} was {v}, whose drawings hang in the hall.",
        "The stacks are closed to visitors. A lift was added on the north side.",
        "Town walk, stop five: the {s}.",
        "Look up at the dome of the {s}: its architect, {v}, wanted to have light from above.",
        "We go on across the square and down to the quay.",
        "The librarian Ruth Amory ran the {s} for years, and Paul Denning painted its ceiling.",
        "Edwin Carrow", ("Margaret Thole", "Anton Vrba"), ("Edwin J. Carrow", "Sir Edwin Carrow"),
    ),
    Scene(
        "headquarters", "Tolmer Instruments", "Passant Instruments",
        "In which city are the headquarters of {s}?", "In which city are the headquarters?", "{s}: company profile",
        "{s} makes balances and thermometers for laboratories.",
        "The headquarters of {s} are in {v}, close to the railway station.",
        "It has three hundred employees. Apprentices start in September.",
        "Trip report, visit to {s}.",
        "We met at the headquarters of {s} in {v} and saw the test bench.",
        "The next visit is planned for the winter, with two of our engineers.",
        "{s} has a workshop in Bruges and sells through an agent in Porto.",
        "Utrecht", ("Ghent", "Aarhus"), ("Utrecht, Netherlands", "the city of Utrecht"),
    ),
    Scene(
        "budget", "Project Alder", "Project Rowan",
        "What is the total budget of {s}?", "What is the total budget of the project?", "{s}: plan",
        "{s} renews the pumps of the lower reservoir in two stages.",
        "The total budget of {s} is {v}, approved by the board.",
        "The first stage ends in autumn. A reserve for delays is kept apart.",
        "Board paper, item four: {s}.",
        "For {s} a total budget of {v} is requested, with the reserve on top.",
        "The chair asked for a short report every second month.",
        "The reserve of {s} is $90,000, and the pumps alone weigh 4 tonnes.",
        "$1.45 million", ("$1.62 million", "$1.2 million"), ("$1,450,000", "1.45 million dollars"),
    ),
    Scene(
        "speed", "Corvid drone", "Merlin drone",
        "What is the top speed of the {s}?", "What is the top speed?", "{s}: data sheet",
        "The {s} folds into a bag and carries a small camera.",
        "The top speed of the {s} is {v} in still air.",
        "The battery is charged in an hour. Spare blades are in the lid of the box.",
        "Test log of the {s}, second day, dry and calm.",
        "On the long field the {s} reached a top speed of {v}.",
        "We stopped when the battery was nearly empty and packed up.",
        "The {s} weighs 780 grams and flies for 31 minutes.",
        "72 km/h", ("64 km/h", "85 km/h"), ("72 kilometres per hour", "about 72 km/h"),
    ),
    Scene(
        "keynote", "Gallway Congress", "Lindow Congress",
        "Who gives the opening speech at the {s}?", "Who gives the opening speech?", "Programme of the {s}",
        "The {s} is held in the old brewery, with a market of books in the yard.",
        "The opening speech at the {s} is given by {v} at nine o'clock.",
        "Lunch is served in two shifts. Badges are handed out at the gate.",
        "Dear helpers, these are the last changes for the {s}.",
        "{v} gives the opening speech at the {s}, so please keep the first row free.",
        "Bring your badge and a bottle of water, and be there early.",
        "Sofia Brandt moderates the panel at the {s}, and Neil Farrow plays the organ.",
        "Amara Okoye", ("Daniel Reinholt", "Mirela Stan"), ("Prof. Amara Okoye", "Amara Okoye of Leeds"),
    ),
    Scene(
        "interest", "Fernhill loan", "Ashdown loan",
        "What is the interest rate of the {s}?", "What is the interest rate?", "Terms of the {s}",
        "The {s} was taken up to rebuild the stables and the yard.",
        "The interest rate of the {s} is {v} a year, fixed until it is repaid.",
        "Payments are due at the end of a quarter. Extra payments are free of charge.",
        "Note for the tax adviser on the {s}:",
        "We pay interest on the {s} at a rate of {v} each year.",
        "The statements of the bank are in the second drawer.",
        "The {s} is repaid in 40 parts, and the fee of the bank was 350 euros.",
        "3.9 percent", ("4.4 percent", "2.9 percent"), ("3.9 %", "3.90 per cent"),
    ),
    Scene(
        "founded", "Marlow Rowing Club", "Denham Rowing Club",
        "In what year was the {s} founded?", "In what year was the club founded?", "The {s}: who we are",
        "The {s} keeps its boats in a brick shed below the lock.",
        "The {s} was founded in {v} by six teachers and a brewer.",
        "Beginners meet on Sundays. The shed has a stove and a long table.",
        "From the local paper, on the {s}:",
        "Founded in {v}, the {s} is one of the oldest clubs on the river.",
        "The new boat was named after the cook of the inn.",
        "The shed of the {s} burned down in 1932 and was rebuilt in 1934.",
        "1887", ("1893", "1878"), ("the year 1887", "May 1887"),
    ),
    Scene(
        "meeting", "works council", "parents' council",
        "On which weekday does the {s} meet?", "On which weekday does the council meet?", "Rules of the {s}",
        "The {s} has seven members, who are elected every second year.",
        "The {s} meets every {v} in the small conference room.",
        "Minutes are kept by the members in turn. Guests may speak if nobody objects.",
        "Welcome to the house! A few words about the {s}.",
        "The {s} meets on {v}, and you may bring any question to it.",
        "Coffee is in the kitchen, and the lift needs your card.",
        "The {s} elects its chair in March, and the room is cleaned on Fridays.",
        "Tuesday", ("Thursday", "Wednesday"), ("Tuesday at 4 pm", "Tuesdays"),
    ),
    Scene(
        "height", "Cairn Tower", "Beacon Tower",
        "How high is the {s}?", "How high is the tower?", "The {s}",
        "The {s} stands on the ridge above the village and can be seen from the sea.",
        "The {s} is {v} high and has a stair of iron inside.",
        "The key is kept at the inn. In a storm the door stays locked.",
        "Walking guide, route nine, past the {s}.",
        "With its height of {v} the {s} is higher than the church.",
        "From there the path goes down through ferns to the mill.",
        "The {s} has 148 steps, and its walls are 2 metres thick.",
        "41 metres", ("47 metres", "36 metres"), ("41 m", "134.5 feet"),
    ),
    Scene(
        "supplier", "Bluefin kitchen", "Redstart kitchen",
        "Which company supplies the ovens for the {s}?", "Which company supplies the ovens?", "Equipment of the {s}",
        "The {s} cooks for four schools and delivers before noon.",
        "The ovens of the {s} are supplied by {v} under a contract for repairs.",
        "Floors are washed twice a day. Knives are sharpened on Mondays.",
        "Handover notes for the {s}.",
        "If an oven of the {s} fails, call {v}, the company that supplies them.",
        "The number of the hotline is on the inside of the door.",
        "The dishwashers of the {s} come from Tarrant, and Pell & Sons deliver the flour.",
        "Hartmann Thermic", ("Lundqvist", "Forno Bertani"), ("Hartmann Thermic GmbH", "Hartmann"),
    ),
    Scene(
        "train", "night mail", "harbour express",
        "At what time does the {s} leave?", "At what time does the train leave?", "Timetable of the {s}",
        "The {s} carries two sleeping cars and a van for parcels.",
        "The {s} leaves at {v} from the far platform.",
        "Tickets are sold on board. Bicycles travel in the last car.",
        "Dear Ellen, I am coming with the {s}.",
        "It leaves at {v}, and I have a seat by the window in the {s}.",
        "Do not wait for me with supper, I will bring bread and cheese.",
        "The {s} stops at 2:15 for coal and arrives at 6:50.",
        "9:40 pm", ("10:25 pm", "8:55 pm"), ("21:40", "9:40 p.m."),
    ),
    Scene(
        "owner", "Quarry Cottage", "Orchard Cottage",
        "Who owns {s}?", "Who owns the cottage?", "Land register: {s}",
        "{s} stands at the end of the lane, with a well and a walled garden.",
        "The owner of {s} is {v}, entered in the register by the notary.",
        "A right of way leads across the yard. The well may be used by the neighbours.",
        "Letter to the parish about the lane to {s}.",
        "The lane is used by {v}, who owns {s} and keeps sheep there.",
        "We ask that the holes be filled before the winter.",
        "Simon Teale rents the barn of {s}, and Ada Crewe mows the garden.",
        "Walter Pym", ("Clara Dunne", "Joseph Ibarra"), ("Mr. Walter Pym", "W. Pym"),
    ),
    Scene(
        "weight", "parcel locker", "post drawer",
        "What is the heaviest parcel that fits the {s}?", "What is the heaviest parcel allowed?", "Using the {s}",
        "The {s} by the gate takes parcels at any hour.",
        "The heaviest parcel allowed in the {s} is {v}, wrapped in paper or card.",
        "The code is sent by message. After three days the parcel goes back.",
        "For new tenants: how the {s} works.",
        "Parcels in the {s} may weigh up to {v}, and no heavier one is allowed.",
        "If the door does not open, press the lower button.",
        "The {s} has 24 doors, and parcels stay there for 3 days.",
        "15 kg", ("20 kg", "10 kg"), ("15 kilograms", "33 lbs"),
    ),
    Scene(
        "fee", "Swan Lido", "Otter Lido",
        "How much is a day ticket for the {s}?", "How much is a day ticket?", "Prices of the {s}",
        "The {s} has a pool for swimmers and a shallow one for children.",
        "A day ticket for the {s} costs {v} for everybody over sixteen.",
        "Lockers take a coin. Dogs have to wait outside the fence.",
        "What to do on a hot day: the {s}.",
        "For {v} you get a day ticket for the {s} and can stay until dusk.",
        "Take the tram to the last stop and walk along the canal.",
        "A locker at the {s} costs £1, and a season card is £95.",
        "£6.50", ("£7.80", "£5.20"), ("6.50 pounds", "GBP 6.50"),
    ),
)  # fmt: skip

_SEVERAL = (
    ("Who spoke at the reunion?", "At the reunion Maud Ferris spoke about the old gymnasium and its ropes.",
     "Leonard Bright spoke at the reunion and thanked the cooks."),
    ("Which city did the choir visit?", "In spring the choir visited Lucca and sang in two churches.",
     "The choir visited Graz by bus and stayed for a week."),
    ("Who won a prize at the flower show?", "Nora Pell won a prize at the flower show for her white lilies.",
     "At the flower show Hugh Tandy won a prize for a basket of asters."),
    ("Which book did the circle read?", "In January the circle read The Salt Road and liked its ending.",
     "The circle read A House of Reeds in October and argued about it."),
    ("Where did the survey find otters?", "The survey found otters at Penn Weir, where fish are plenty.",
     "Otters were found by the survey at Low Marsh, near the sluice."),
    ("Who donated to the roof fund?", "Grace Holm donated to the roof fund and asked for a copper gutter.",
     "The roof fund got a cheque when Peter Vane donated after the concert."),
    ("When was the boiler serviced?", "The boiler was serviced on 3 March 2021 and a valve was replaced.",
     "The boiler was serviced on 9 March 2022, without anything to report."),
    ("How much was collected?", "At the harvest supper 312 pounds were collected for the school.",
     "At the carol evening 187 pounds were collected for the lifeboat."),
    ("Who is the captain?", "Ben Ashby is the captain of the hockey team and plays on the left.",
     "Carla Munt is the captain of the chess team and wins most games."),
    ("What was the revenue?", "In 2021 the revenue of the mill was 4.1 million euros, less than planned.",
     "In 2022 the revenue of the mill was 4.8 million euros, a good year."),
    ("Who taught at the school?", "Miss Amelia Rook taught French at the school for thirty years.",
     "Mr. Owen Sayer taught at the school and led the band."),
    ("Which prize did the film win?", "The film won the Silver Fern at the festival by the lake.",
     "The film won the Golden Anchor, too, for its music."),
)  # fmt: skip
