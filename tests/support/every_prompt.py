"""Make the prompts of all texts."""

from dataclasses import replace

from local_rag.core.documents import Catalog
from local_rag.core.protocols import Attempt, Shape, Turn
from local_rag.engines.language_model import prompts
from local_rag.engines.language_model.passages import Passages
from support.fakes import passage


def every_prompt(ours, text):
    """Return the messages of each prompt by the name of its text: those about a passage, and the others.

    `text` stands wherever files, people or models write.
    """
    about = {"source": f"/notes/{text}", "title": f"On {text}", "heading": text, "author": text, "date": text}
    document, said = passage(1, text, **about), f"It is {text}."
    texts = dict.fromkeys("titles terms headings folders kinds topics".split(), (text,))
    catalog = Catalog(1, 1, **texts, allowed=("vectorstore", "direct"), about=text, passages=(document,))
    files, shown = prompts.files_in_words(catalog), Passages.plain([document])
    of_passages = {
        "system": ours.grade_task(1),
        "retrieval_grader": ours.grade_task(1),
        "hallucination_grader": ours.check_task(said, shown, "support"),
        "answer_grader": ours.check_task(said, shown, "usefulness"),
        "both graders": ours.check_task(said, shown),
        "generator": ours.answer_task(Attempt(2, ((text, text),))),
        "generator_part": ours.answer_task(Attempt(written=text)),
        "continuation": ours.next_task(said),
        "reasoner": ours.reason_task([text]),
        "propose": ours.propose_task(True),
        "propose_missing": ours.propose_task(False),
    }
    others = {
        "router": (ours.route_task(catalog), files),
        "router_steps": (ours.route_task(replace(catalog, multi=True)), files),
        "retrieval_decision": (ours.need_task(), files),
        "direct": (ours.direct_task(Shape()), ""),
        "rewriter": (ours.rewrite_task([text], "vectorstore"), ""),
        "rewriter_web": (ours.rewrite_task([text], "web"), ""),
        "standalone": (ours.standalone_task(), prompts.chat_so_far([Turn(text, text)])),
        "table_query": (ours.texts.filled("table_query"), ""),
        "judge": (ours.judge_task([text], text), ""),
    }
    return (
        {name: ours.chat(task, text, [document], [0]) for name, task in of_passages.items()},
        {name: ours.chat(task, text, before=before) for name, (task, before) in others.items()},
    )
