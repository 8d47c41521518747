"""Text of any origin, made fit for each place where it is shown."""

import pytest

from orchestrator.texts import bounded, first_line, markdown


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u200f", "\u061c", "\x1b[2J", "\x9b"])
def test_a_text_cannot_reorder_or_control_a_terminal(mark: str) -> None:
    shown = bounded(f"acc {mark}99 %")
    assert mark[0] not in shown
    assert shown.endswith("99 %")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>", "</b>", "<!-- hidden -->", "<https://evil.example>",
        "![pixel](https://evil.example/p.png)", "![pixel][1]", "[1]: https://evil.example/p.png",
        r"[x\\](https://evil.example)", r"!\\[x](u)",
    ],
)  # fmt: skip
def test_nothing_active_is_left_in_markdown(text: str) -> None:
    shown = markdown(text)
    assert not any(active in shown for active in ("<", "![", "](", "][", "]:"))
    assert markdown(shown) == shown


def test_the_documents_own_markdown_stays() -> None:
    text = "**Use a = [1, 2].** loss < 0.5\n\n| a | b |\n| --- | --- |\n- `workers`: 1 <= x"
    assert markdown(text) == text


def test_the_first_line_of_an_error_in_a_worker_has_its_cause() -> None:
    reason = (
        "KeyError: Caught KeyError in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n"
        '  File "train.py", line 3, in __getitem__\n'
        "    return self.rows[index]\n"
        "KeyError: 'weights'\n\nlast lines of output"
    )
    expected = "KeyError: Caught KeyError in DataLoader worker process 0. KeyError: 'weights'"
    assert first_line(reason) == expected
    assert first_line("ValueError: no\noutput") == "ValueError: no"
