"""What the program itself says in an answer, in German, French and Spanish."""

# ruff: noqa: RUF012  (the base class annotates them)

from __future__ import annotations

from local_rag.text.answer_texts import AnswerTexts


class German(AnswerTexts):
    """Hold the texts in German."""

    code = "de"
    refusal = "Die Textstellen enthalten keine Antwort."
    out_of_time = "Zeit abgelaufen"
    out_of_time_after = "Zeit abgelaufen nach {seconds:g} s"
    engine_failed = "die Engine ist ausgefallen"
    nothing_found = "nichts gefunden"
    not_in_passages = "in den gefundenen Textstellen steht die Antwort nicht"
    passages_gone = "Textstellen, auf denen die Antwort beruht, stehen nicht mehr im Index"
    not_answered = "was in den Textstellen steht, beantwortet die Frage nicht"
    the_web = "das Web"
    fallback_corpus = "das Ersatzkorpus"
    source_not_asked = "{name} wurde nicht befragt"
    source_gave_nothing = "{name} lieferte nichts"
    not_in_source = "was {name} lieferte, beantwortet die Frage nicht"
    and_also = ", und "
    either = "oder"
    unread = (
        "zu {n} Textstelle kam kein brauchbares Urteil, und keine andere beantwortet die Frage",
        "zu {n} Textstellen kam kein brauchbares Urteil, und keine andere beantwortet die Frage",
    )
    none_relevant = (
        "die gefundene Textstelle beantwortet die Frage nicht",
        "keine der {n} gefundenen Textstellen beantwortet die Frage",
    )
    without_passages = "ohne Textstellen kann diese Engine nicht antworten"
    without_files = "beantwortet ohne Blick in die Dateien"
    checks_unfinished = "die Prüfung ließ sich nicht abschließen"
    unchecked = "eine Prüfung war nicht möglich"
    sentences_unchecked = (
        "{left} von {n} Satz ließ sich nicht prüfen",
        "{left} von {n} Sätzen ließen sich nicht prüfen",
    )
    usefulness_unchecked = "belegt, aber ob die Frage damit beantwortet ist, ließ sich nicht prüfen"
    not_useful = "belegt, aber vielleicht nicht das, wonach gefragt ist"
    partly_supported = "durch die Textstellen nur teilweise belegt"
    not_supported = "durch die Textstellen nicht belegt"
    no_verdict = "eine Prüfung war nicht möglich: es kam kein brauchbares Urteil"
    taken_out = ("{n} Satz ohne bestätigten Beleg entfernt", "{n} Sätze ohne bestätigten Beleg entfernt")
    unverified = ("{n} Zitat ließ sich nicht bestätigen", "{n} Zitate ließen sich nicht bestätigen")
    uncited = ("{n} Satz ohne Quelle", "{n} Sätze ohne Quelle")
    files_disagree = "die Dateien widersprechen sich"
    grounded = {
        (True, True): "Aus den Dateien zitiert",
        (True, False): "Aus den Quellen zitiert",
        (False, True): "Durch die Dateien belegt",
        (False, False): "Durch die Quellen belegt",
    }
    leads = {
        "abstained": "Dazu steht nichts in den Dateien",
        "ungrounded": "Durch die Dateien nicht belegt",
        "direct": "Nicht aus den Dateien",
    }
    not_told = "Aus den Dateien ging es nicht hervor"
    doubtful = {"probably": "Wahrscheinlich", "in doubt": "Zweifelhaft"}
    advice = {
        "probably": "Das beantwortet die Frage wahrscheinlich. Das Zitat zeigt es.",
        "in doubt": "Das beantwortet die Frage vielleicht nicht. Das Zitat zeigt es.",
    }
    no_answer = "Keine Antwort"
    understood = "verstanden als: {question}"
    removed = "(entfernt, weil es nicht in den Textstellen steht: {sentences})"
    lacks = "Keine zitierte Textstelle nennt {names}: das handelt vielleicht von etwas anderem."
    positions = "Was darin steht, das Neueste zuerst:"
    positions_of_a_day = "Was darin steht:"
    changed = "Datei geändert {date}"
    nearest = "Am nächsten kommt:"
    nothing_near = "Keine Textstelle kommt der Frage nahe."
    about = "Der Index handelt von: {titles}."
    unrecorded = "Diese Frage ist nicht aufgezeichnet: Markierte Wörter, nächste Textstellen und Zeiten fehlen."
    similarity = "Ähnlichkeit {score:.2f}"
    page = "S. {page}"
    ocr = "durch OCR gelesen ({confidence})"
    unsure_ocr = "OCR war sich einer zitierten Zeile nicht sicher"
    cites_changed = "eine zitierte Datei ist nicht mehr so, wie sie indexiert wurde; das nächste Update liest sie"
    became = {"changed": "seit dem Indexieren geändert", "gone": "nicht mehr da"}
    of_pages, of_words, of_rows = ("{n} Seite", "{n} Seiten"), ("{n} Wort", "{n} Wörter"), ("{n} Zeile", "{n} Zeilen")
    and_more = ("und {n} weitere", "und {n} weitere")
    stand_out = {"table": "Tabelle", "names": "Namen", "dates": "Daten", "amounts": "Beträge"}
    files_hold = ("{n} Datei enthält „{wanted}“", "{n} Dateien enthalten „{wanted}“")
    files_made = (
        "{n} Datei hat „{wanted}“ als Verfasser oder Datum",
        "{n} Dateien haben „{wanted}“ als Verfasser oder Datum",
    )
    quoted_instead = "die Dateien werden zitiert, weil ihre Worte sicherer antworten als der Text des Modells"
    by_property = (
        "eine Datei ohne genannten Verfasser fehlt, und eine ohne genanntes Datum zählt mit ihrer letzten Änderung"
    )
    files_near = ("{n} Datei kommt „{wanted}“ nahe", "{n} Dateien kommen „{wanted}“ nahe")
    near = "dem Sinn nach"
    more_places = ("und {n} weitere Stelle", "und {n} weitere Stellen")
    file_silent = "steht nicht darin"
    parts_read = "aus {n} von {all} Textstellen, dem Anfang jedes Teils"
    web = "Web"
    web_page = "Webseite"
    from_fallback_corpus = "aus dem Ersatzkorpus {name}"
    in_index = "Index {name}"
    doubts = {
        "no": "steht nicht in den Textstellen",
        "partially": "steht nur zum Teil in den Textstellen",
        "unparsed": "nicht geprüft",
    }
    located = {
        "exact": "wörtlich",
        "words": "nach gemeinsamen Wörtern",
        "evaluator": "mit anderen Worten",
        "property": "eine Eigenschaft der Datei",
        "computed": "aus diesen Zeilen berechnet",
    }
    stands = "steht wörtlich in der Datei"
    record = "ein Datensatz, als Text ausgeschrieben"
    table_not_read = "aus der Tabelle wurde nichts berechnet; ihre Zeilen stehen hier wie gefunden"
    not_verified = "nicht bestätigt"
    may_answer = "sie antwortet vielleicht: {span!r}"
    unsure = "das Modell ist nicht sicher, ob {span!r} die Frage beantwortet"
    about_the_matter = "sie handelt davon und sagt die Antwort nicht"
    about_something_else = "sie handelt von etwas anderem"
    properties = {
        "author": "{file} nennt {value} als Verfasser.",
        "date": "{file} trägt das Datum {value}.",
        "title": "Der Titel von {file} lautet {value}.",
    }


class French(AnswerTexts):
    """Hold the texts in French."""

    code = "fr"
    refusal = "Les passages ne contiennent pas la réponse."
    out_of_time = "Temps écoulé"
    out_of_time_after = "Temps écoulé après {seconds:g} s"
    engine_failed = "le moteur est tombé en panne"
    nothing_found = "rien n'a été trouvé"
    not_in_passages = "les passages trouvés ne contiennent pas la réponse"
    passages_gone = "des passages sur lesquels repose la réponse ne sont plus dans l'index"
    not_answered = "ce que disent les passages ne répond pas à la question"
    the_web = "le Web"
    fallback_corpus = "le corpus de secours"
    source_not_asked = "{name} n'a pas été interrogé"
    source_gave_nothing = "{name} n'a rien donné"
    not_in_source = "ce que {name} a donné ne répond pas à la question"
    and_also = ", et "
    either = "ou"
    unread = (
        "aucun verdict utilisable sur {n} passage, et aucun autre ne répond à la question",
        "aucun verdict utilisable sur {n} passages, et aucun autre ne répond à la question",
    )
    none_relevant = (
        "le seul passage trouvé ne répond pas à la question",
        "aucun des {n} passages trouvés ne répond à la question",
    )
    without_passages = "le moteur ne peut pas répondre sans passages"
    without_files = "répondu sans consulter les fichiers"
    checks_unfinished = "la vérification n'a pas pu être achevée"
    unchecked = "aucune vérification n'a été possible"
    sentences_unchecked = ("phrases non vérifiées : {left} sur {n}", "phrases non vérifiées : {left} sur {n}")
    usefulness_unchecked = "étayé, mais rien n'a permis de vérifier que cela répond à la question"
    not_useful = "étayé, mais ce n'est peut-être pas ce qui est demandé"
    partly_supported = "étayé en partie seulement par les passages"
    not_supported = "non étayé par les passages"
    no_verdict = "aucune vérification n'a été possible : pas de verdict utilisable"
    taken_out = ("{n} phrase non étayée retirée", "{n} phrases non étayées retirées")
    unverified = ("{n} citation n'a pas pu être confirmée", "{n} citations n'ont pas pu être confirmées")
    uncited = ("{n} phrase sans source", "{n} phrases sans source")
    files_disagree = "les fichiers se contredisent"
    grounded = {
        (True, True): "Cité des fichiers",
        (True, False): "Cité des sources",
        (False, True): "Étayé par les fichiers",
        (False, False): "Étayé par les sources",
    }
    leads = {
        "abstained": "Les fichiers n'en disent rien",
        "ungrounded": "Non étayé par les fichiers",
        "direct": "Ne vient pas des fichiers",
    }
    not_told = "Les fichiers n'ont pas permis de répondre"
    doubtful = {"probably": "Probable", "in doubt": "Douteux"}
    advice = {
        "probably": "Cela répond probablement à la question. Vérifiez la citation.",
        "in doubt": "Cela ne répond peut-être pas à la question. Vérifiez la citation.",
    }
    no_answer = "Pas de réponse"
    understood = "compris comme : {question}"
    removed = "(retiré, car absent des passages : {sentences})"
    lacks = "Aucun passage cité ne mentionne {names} : il s'agit peut-être d'autre chose."
    positions = "Ce qui y est dit, du plus récent au plus ancien :"
    positions_of_a_day = "Ce qui y est dit :"
    changed = "fichier modifié le {date}"
    nearest = "Au plus près :"
    nothing_near = "Aucun passage n'est proche de la question."
    about = "L'index porte sur : {titles}."
    unrecorded = "Cette question n'est pas enregistrée : mots marqués, passages les plus proches et durées manquent."
    similarity = "similarité {score:.2f}"
    page = "p. {page}"
    ocr = "lu par OCR ({confidence})"
    unsure_ocr = "l'OCR n'était pas sûre d'une ligne citée"
    cites_changed = "un fichier cité n'est plus tel qu'il a été indexé ; la prochaine mise à jour le relit"
    became = {"changed": "modifié depuis l'indexation", "gone": "n'existe plus"}
    of_pages, of_words, of_rows = ("{n} page", "{n} pages"), ("{n} mot", "{n} mots"), ("{n} ligne", "{n} lignes")
    and_more = ("et {n} de plus", "et {n} de plus")
    stand_out = {"table": "Tableau", "names": "Noms", "dates": "Dates", "amounts": "Montants"}
    files_hold = ("{n} fichier contient « {wanted} »", "{n} fichiers contiennent « {wanted} »")
    files_made = ("{n} fichier a « {wanted} » pour auteur ou date", "{n} fichiers ont « {wanted} » pour auteur ou date")
    quoted_instead = "les fichiers sont cités, car leurs mots répondent plus sûrement que le texte du modèle"
    by_property = "un fichier sans auteur indiqué manque, et un fichier sans date compte par sa dernière modification"
    files_near = ("{n} fichier est proche de « {wanted} »", "{n} fichiers sont proches de « {wanted} »")
    near = "par le sens"
    more_places = ("et {n} autre endroit", "et {n} autres endroits")
    file_silent = "n'en dit rien"
    parts_read = "établi à partir de {n} des {all} passages, le début de chaque partie"
    web = "Web"
    web_page = "page Web"
    from_fallback_corpus = "du corpus de secours {name}"
    in_index = "index {name}"
    doubts = {
        "no": "absent des passages",
        "partially": "en partie seulement dans les passages",
        "unparsed": "non vérifié",
    }
    located = {
        "exact": "mot pour mot",
        "words": "d'après les mots communs",
        "evaluator": "en d'autres termes",
        "property": "une propriété du fichier",
        "computed": "calculé à partir de ces lignes",
    }
    stands = "figure mot pour mot dans le fichier"
    record = "un enregistrement, mis en texte"
    table_not_read = "rien n'a été calculé à partir du tableau ; ses lignes sont montrées telles quelles"
    not_verified = "non confirmé"
    may_answer = "il répond peut-être : {span!r}"
    unsure = "le modèle n'est pas sûr que {span!r} réponde à la question"
    about_the_matter = "il en parle sans donner la réponse"
    about_something_else = "il parle d'autre chose"
    properties = {
        "author": "{file} a pour auteur {value}.",
        "date": "{file} porte la date {value}.",
        "title": "Le titre de {file} est {value}.",
    }


class Spanish(AnswerTexts):
    """Hold the texts in Spanish."""

    code = "es"
    refusal = "Los pasajes no contienen la respuesta."
    out_of_time = "Tiempo agotado"
    out_of_time_after = "Tiempo agotado tras {seconds:g} s"
    engine_failed = "el motor ha fallado"
    nothing_found = "no se encontró nada"
    not_in_passages = "los pasajes encontrados no contienen la respuesta"
    passages_gone = "algunos pasajes en los que se basa la respuesta ya no están en el índice"
    not_answered = "lo que dicen los pasajes no responde a la pregunta"
    the_web = "la web"
    fallback_corpus = "el corpus de reserva"
    source_not_asked = "no se consultó {name}"
    source_gave_nothing = "{name} no dio nada"
    not_in_source = "lo que dio {name} no responde a la pregunta"
    and_also = ", y "
    either = "o"
    unread = (
        "no hubo un veredicto útil sobre {n} pasaje, y ningún otro responde a la pregunta",
        "no hubo un veredicto útil sobre {n} pasajes, y ningún otro responde a la pregunta",
    )
    none_relevant = (
        "el único pasaje encontrado no responde a la pregunta",
        "ninguno de los {n} pasajes encontrados responde a la pregunta",
    )
    without_passages = "el motor no puede responder sin pasajes"
    without_files = "respondido sin consultar los archivos"
    checks_unfinished = "la comprobación no pudo terminarse"
    unchecked = "no fue posible comprobarlo"
    sentences_unchecked = ("frases sin comprobar: {left} de {n}", "frases sin comprobar: {left} de {n}")
    usefulness_unchecked = "respaldado, pero no se pudo comprobar si responde a la pregunta"
    not_useful = "respaldado, pero quizá no sea lo que se pregunta"
    partly_supported = "respaldado solo en parte por los pasajes"
    not_supported = "no respaldado por los pasajes"
    no_verdict = "no fue posible comprobarlo: no hubo un veredicto útil"
    taken_out = ("{n} frase sin respaldo retirada", "{n} frases sin respaldo retiradas")
    unverified = ("{n} cita no pudo confirmarse", "{n} citas no pudieron confirmarse")
    uncited = ("{n} frase sin fuente", "{n} frases sin fuente")
    files_disagree = "los archivos se contradicen"
    grounded = {
        (True, True): "Citado de los archivos",
        (True, False): "Citado de las fuentes",
        (False, True): "Respaldado por los archivos",
        (False, False): "Respaldado por las fuentes",
    }
    leads = {
        "abstained": "Los archivos no lo dicen",
        "ungrounded": "No respaldado por los archivos",
        "direct": "No procede de los archivos",
    }
    not_told = "Los archivos no permitieron responder"
    doubtful = {"probably": "Probable", "in doubt": "Dudoso"}
    advice = {
        "probably": "Esto probablemente responde a la pregunta. Compruebe la cita.",
        "in doubt": "Quizá esto no responda a la pregunta. Compruebe la cita.",
    }
    no_answer = "Sin respuesta"
    understood = "entendido como: {question}"
    removed = "(retirado, porque no está en los pasajes: {sentences})"
    lacks = "Ningún pasaje citado menciona {names}: puede tratarse de otra cosa."
    positions = "Lo que dicen, de lo más reciente a lo más antiguo:"
    positions_of_a_day = "Lo que dicen:"
    changed = "archivo modificado el {date}"
    nearest = "Lo más próximo:"
    nothing_near = "Ningún pasaje se acerca a la pregunta."
    about = "El índice trata de: {titles}."
    unrecorded = "Esta pregunta no está registrada: faltan palabras marcadas, pasajes más próximos y tiempos."
    similarity = "similitud {score:.2f}"
    page = "pág. {page}"
    ocr = "leído por OCR ({confidence})"
    unsure_ocr = "el OCR no estaba seguro de una línea citada"
    cites_changed = "un archivo citado ya no es como se indexó; la próxima actualización lo lee"
    became = {"changed": "modificado desde que se indexó", "gone": "ya no existe"}
    of_pages, of_words, of_rows = (
        ("{n} página", "{n} páginas"),
        ("{n} palabra", "{n} palabras"),
        ("{n} fila", "{n} filas"),
    )
    and_more = ("y {n} más", "y {n} más")
    stand_out = {"table": "Tabla", "names": "Nombres", "dates": "Fechas", "amounts": "Importes"}
    files_hold = ("{n} archivo contiene «{wanted}»", "{n} archivos contienen «{wanted}»")
    files_made = (
        "{n} archivo tiene «{wanted}» como autor o fecha",
        "{n} archivos tienen «{wanted}» como autor o fecha",
    )
    quoted_instead = "se citan los archivos, porque sus palabras responden con más seguridad que el texto del modelo"
    by_property = "falta un archivo sin autor indicado, y uno sin fecha cuenta por su último cambio"
    files_near = ("{n} archivo se acerca a «{wanted}»", "{n} archivos se acercan a «{wanted}»")
    near = "por el sentido"
    more_places = ("y {n} lugar más", "y {n} lugares más")
    file_silent = "no lo dice"
    parts_read = "hecho con {n} de {all} pasajes, el comienzo de cada parte"
    web = "web"
    web_page = "página web"
    from_fallback_corpus = "del corpus de reserva {name}"
    in_index = "índice {name}"
    doubts = {
        "no": "no está en los pasajes",
        "partially": "está solo en parte en los pasajes",
        "unparsed": "sin comprobar",
    }
    located = {
        "exact": "palabra por palabra",
        "words": "por las palabras comunes",
        "evaluator": "con otras palabras",
        "property": "una propiedad del archivo",
        "computed": "calculado a partir de estas líneas",
    }
    stands = "está palabra por palabra en el archivo"
    record = "un registro, escrito como texto"
    table_not_read = "no se calculó nada a partir de la tabla; sus filas se muestran tal como están"
    not_verified = "sin confirmar"
    may_answer = "quizá responda: {span!r}"
    unsure = "el modelo no está seguro de que {span!r} responda a la pregunta"
    about_the_matter = "trata de ello y no da la respuesta"
    about_something_else = "trata de otra cosa"
    properties = {
        "author": "{file} nombra a {value} como autor.",
        "date": "{file} lleva la fecha {value}.",
        "title": "El título de {file} es {value}.",
    }
