"""Mails: which part says what, who is quoted, and in which character sets; mailboxes; calendars that come with them."""

from base64 import b64encode

import pytest
from support.files import document_of, load, shown
from support.hostile import SENTENCE

HEAD = "From: Nadia Oduya <nadia@example.org>\nSubject: Re: Pump\nMIME-Version: 1.0\n"
PLAIN, PAGE = "Content-Type: text/plain; charset=utf-8\n\n", "Content-Type: text/html; charset=utf-8\n\n"
STUB = "Your mail program shows no HTML. Please take another one for this message."
EVENT = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Review\nDTSTART:20260310T090000Z\nEND:VEVENT\nEND:VCALENDAR\n"


def mail(path, *parts, kind="mixed"):
    """A message of parts, each with its own header; of one part alone, that."""
    cut = "".join(f"--b\n{part}\n" for part in parts) + "--b--\n"
    text = parts[0] if len(parts) == 1 else f"Content-Type: multipart/{kind}; boundary=b\n\n{cut}"
    path.write_text(HEAD + text, "utf-8")
    return path


def body(path):
    """What is known of the text of a mail behind its headers, its headings with it."""
    return shown(document_of(path)).partition("Subject: Re: Pump\nFrom: Nadia Oduya <nadia@example.org>")[2].strip()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.eml"


@pytest.mark.parametrize(
    ("kind", "parts", "text"),
    [
        ("alternative", (PLAIN + STUB, PAGE + "<p>Cabin 14 is yours.</p>"), f"Cabin 14 is yours.\n\n{STUB}"),
        ("alternative", (PLAIN + "Cabin 14", PAGE + "<p>Dear Ann, cabin 14 is yours from May.</p>"),
         "Dear Ann, cabin 14 is yours from May."),
        ("alternative", (PLAIN + "Cabin 14 is yours.", PAGE + "<p>Cabin 14 is <b>yours</b></p>"), "Cabin 14 is yours."),
        ("mixed", (PAGE + "<p>The key is in the barn.</p>", PLAIN + "Garden"), "The key is in the barn.\n\nGarden"),
        ("related", (PAGE + "<p>Hello</p>", "Content-Type: image/png\n\n1"), "Hello"),
    ],
)  # fmt: skip
def test_the_part_that_says_most_is_read(path, kind, parts, text):
    assert body(mail(path, *parts, kind=kind)) == text
    assert not load(path).warnings


@pytest.mark.parametrize("kind", ["alternative", "mixed"])
def test_parts_without_a_name_are_files_of_their_own(path, kind):
    calendar, table = (
        f"Content-Type: text/calendar; method=REQUEST\n\n{EVENT}",
        "Content-Type: text/csv\n\nItem,Price\nPump,420\n",
    )
    members = {
        member.name: member.documents[0].text for member in load(mail(path, PLAIN + "Hi", calendar, table)).members
    }
    assert members == {
        "attachment.ics": "Review\nWhen: 2026-03-10 09:00 UTC",
        "attachment.csv": "Item | Price\nPump | Price: 420",
    }


def test_quotes_in_quotes_without_end_are_read(path):
    quotes = "".join(f"<blockquote><p>{number}</p>" for number in range(3_000))
    assert "2999" in body(mail(path, PAGE + quotes))


WHO = "<1 Kit Marlow, quoted in Re: Pump>"
BACK = "<1 Nadia Oduya <nadia@example.org>>"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (PLAIN + "Yes.\n\nOn 3 March 2026 at 10:00, Kit Marlow <kit@example.org>\nwrote:\n\n"
         "> It is broken.\n> Come soon.\n>> Old.\n\nI come.",
         f"Yes.\n\nOn 3 March 2026 at 10:00, Kit Marlow <kit@example.org>\nwrote:\n\n{WHO}It is broken.\nCome soon.\n\n"
         f"<1 quoted in Re: Pump>Old.\n\n{BACK}I come."),
        (PLAIN + "Gut.\n\nAm 3. März 2026 um 10:00 schrieb Kit Marlow:\n> Kaputt.",
         f"Gut.\n\nAm 3. März 2026 um 10:00 schrieb Kit Marlow:\n\n{WHO}Kaputt."),
        (PLAIN + "Paid.\n\nVon: Kit Marlow <kit@example.org>\nGesendet: Dienstag\nBetreff: Pump\n\nIt is open.",
         f"Paid.\n\n{WHO}Von: Kit Marlow <kit@example.org>\nGesendet: Dienstag\nBetreff: Pump\n\nIt is open."),
        (PAGE + "<p>Fixed.</p><div>On Tue, Mar 3, 2026 at 10:00 AM Kit Marlow &lt;kit@example.org&gt; wrote:</div>"
         "<blockquote><div>It leaks.</div></blockquote><p>Bye</p>",
         "Fixed.\n\nOn Tue, Mar 3, 2026 at 10:00 AM Kit Marlow <kit@example.org> wrote:\n\n"
         f"{WHO}It leaks.\n\n{BACK}Bye"),
    ],
)  # fmt: skip
def test_what_is_quoted_names_who_wrote_it(path, part, text):
    assert body(mail(path, part)) == text


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [("windows-874", "cp874", "ปั๊มน้ำ"), ("x-sjis", "cp932", "ポンプの値段"), ("iso-8859-8-i", "iso8859-8", "המשאבה"),
     ("koi8-r", "koi8-r", "Насос")],
)  # fmt: skip
def test_old_character_sets_are_read(path, label, codec, text):
    encoded = b64encode(text.encode(codec)).decode()
    head = f"Subject: =?{label}?B?{encoded}?=\nContent-Type: text/plain; charset={label}\nKeywords: ".encode()
    path.write_bytes(head + text.encode(codec) + b"\n\n" + text.encode(codec))
    document = document_of(path)
    assert (document.title, document.subject) == (text, text)
    assert document.text.endswith(f"\n\n{text}")


def test_headers_in_bare_latin_1_are_read(path):
    path.write_bytes("From: Zoë Köhler <z@example.org>\nSubject: Entwürfe\n\nHi".encode("latin-1"))
    assert (document_of(path).author, document_of(path).title) == ("Zoë Köhler <z@example.org>", "Entwürfe")


def test_a_line_of_a_text_that_begins_with_from_cuts_no_mailbox(tmp_path):
    path = tmp_path / "a.mbox"
    lines = [
        "From Monday on it opens at 7:15.",
        "",
        ">From here on.",
        "From 10:15 in 2026",
        "x: y",
        "From",
        "From Kit",
        "Bye",
    ]
    path.write_text(
        "From kit@example.org Tue Mar  3 10:00:00 2026\nSubject: One\n\n" + "\n".join(lines)
        + "\nFrom 17@xxx Tue Mar 03 10:00:00 +0000 2026\nSubject: Two\n\nEnd"
    )  # fmt: skip
    texts = [document.text for document in load(path).documents]
    assert texts == ["\n".join(["Subject: One", "", *lines]).replace(">From", "From"), "Subject: Two\n\nEnd"]


# --- calendars


MOVED = """\
BEGIN:VCALENDAR
BEGIN:VEVENT
UID:choir
SUMMARY:Choir
DTSTART;TZID=Europe/Berlin:20210302T190000
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU;UNTIL=20210413T215959Z
EXDATE;TZID=Europe/Berlin:20210330T190000
RDATE;TZID=Europe/Berlin:20210320T100000
END:VEVENT
BEGIN:VEVENT
UID:choir
RECURRENCE-ID;TZID=Europe/Berlin:20210316T190000
SUMMARY:Choir
DTSTART;TZID=Europe/Berlin:20210317T200000
END:VEVENT
END:VCALENDAR
"""


def test_the_days_of_an_event_are_listed_with_what_was_left_out_added_and_moved(tmp_path):
    (tmp_path / "a.ics").write_text(MOVED)
    assert (
        document_of(tmp_path / "a.ics").text
        == """\
Choir
When: 2021-03-02 19:00 Europe/Berlin
Repeats: every 2 weeks, on Tuesday, until 2021-04-13 21:59 UTC
Not on: Tuesday 30 March 2021

Tuesday 2 March 2021, 19:00: Choir.
Saturday 20 March 2021, 10:00: Choir.
Tuesday 13 April 2021, 19:00: Choir.

Choir
When: 2021-03-17 20:00 Europe/Berlin
Instead of: Tuesday 16 March 2021

Wednesday 17 March 2021, 20:00: Choir."""
    )


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("FREQ=MONTHLY;BYDAY=2TH,-1FR;COUNT=2", "every month, on the second Thursday, the last Friday, 2 times"),
        ("FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30;COUNT=5", "every month, on day 30, in 2, 5 times"),
        ("FREQ=SECONDLY;COUNT=100000000", "every second, 100000000 times"),
        ("FREQ=DAILY;INTERVAL=0", "every 0 days"),
        ("FREQ=WEEKLY;BYDAY=TU;BYSETPOS=-1;UNTIL=00010101", "every week"),
        ("RUBBISH\nRECURRENCE-ID:rubbish\nEXDATE:rubbish\nRDATE:20269999", ""),
    ],
)
def test_a_rule_is_said_in_words_and_one_without_an_end_does_no_harm(tmp_path, rule, said):
    (tmp_path / "a.ics").write_text(EVENT.replace("END:VEVENT", f"RRULE:{rule}\nDESCRIPTION:{SENTENCE}\nEND:VEVENT"))
    text = document_of(tmp_path / "a.ics").text
    assert SENTENCE in text and (f"Repeats: {said}" in text if said else "Repeats" not in text)
