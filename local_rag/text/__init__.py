"""Work on text alone: sentences, words, chunking, citations, verification, and one lexicon of English."""
