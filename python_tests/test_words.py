# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The linter of words, and the list that it reads."""

import pytest

from tools import check_words

RULES = check_words.read_rules(check_words.LIST.read_text(encoding="utf-8"))


def matches(text):
    return [words for _, words, _ in check_words.find(RULES, text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from ._wish cimport x", ["wish"]),
        ("cdef int wished_device()", ["wished"]),
        ("TEST_F(MixedRowsTest, Gathers)", ["MixedRowsTest"]),
        ("struct Cut {", ["Cut"]),
        ("  Cut cut;", ["Cut"]),
        ("desc->key = name;", ["desc->key"]),
        ("if (call.travels())", ["travels"]),
        ("gpukern_plan_text(", ["gpukern_plan_text"]),
        ("mode = GPUKERN_RAISE;", ["GPUKERN_RAISE"]),
        ("1.06 /ns", ["1.06 /ns"]),
        ("a stream of its own", ["of its own"]),
        ("// a stream of\n  // its own", ["of // its own"]),
        ("#: as many, whichever is\n#: sooner", ["sooner", "whichever is #: sooner"]),
        ("Sooner or later", ["Sooner"]),
        ("Whoever waits, as\n# ever", ["Whoever", "as # ever"]),
        ("it is the caller's own words", ["own words"]),
    ],
)
def test_words_that_are_found(text, words):
    assert sorted(matches(text)) == sorted(words)


@pytest.mark.parametrize(
    "text",
    [
        "the wishbone",
        "a lens; an unbounded ferryman",
        "if x is None: return Nonesuch",
        "os.environ['CUDA_HOME'], Path.home()",
        "in the user's home directory",
        "gpukern_stream_wait_event(stream, event)",
        "gpukern_index_mode mode = GPUKERN_INDEX_RAISE;",
        "the loop plan; an explanation",
        "Cut at 5 ns",
        "surprising, comprising",
        "families, believes, relied",
        "desc.cache_key",
    ],
)
def test_words_that_are_allowed(text):
    assert matches(text) == []


def test_the_line_and_the_term_are_named():
    assert list(check_words.find(RULES, "\n\nwish")) == [(3, "wish", "default device, request")]


def test_a_file_with_such_a_word_fails_unless_only_reported(tmp_path, capsys):
    path = tmp_path / "page.md"
    path.write_text("so many\n", encoding="utf-8")
    assert check_words.main([str(path)]) == 1
    assert check_words.main(["--report", str(path)]) == 0
    path.write_text("nothing\n", encoding="utf-8")
    assert check_words.main([str(path)]) == 0
    assert 'page.md:1: "so many": say the number' in capsys.readouterr().out
