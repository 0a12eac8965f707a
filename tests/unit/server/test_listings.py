from local_rag.index.path_labels import PathLabels
from local_rag.index.store.values import Root
from local_rag.server.answers import file_id
from local_rag.server.listings import FileListing


def test_files_are_counted_at_the_nearest_root_even_at_the_top_of_a_file_system():
    roots = (Root("/"), Root("/x"), Root("/y.txt"))
    files = dict.fromkeys(["/a.txt", "/b/c.txt", "/x/d.txt", "/x/y/e.txt", "/y.txt"])
    listing = FileListing(None, "", files, roots, PathLabels(["/"]))
    assert listing.counts == {file_id("/"): 2, file_id("/x"): 2, file_id("/y.txt"): 1}
