"""Pure text work: sentences, words, chunking, citations, verification, and one lexicon of English."""
