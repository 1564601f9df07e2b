"""Tables in HTML."""

from html.parser import HTMLParser

from sam.support.html import Markup, table


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.found = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.found.append(data)


def test_heads_and_rows():
    read = Cells(table("Blocks", ("name", "busy"), [("scan", 1234), ("sum", 0.5)], kind="wide"))
    assert read.found == ["Blocks", "name", "busy", "scan", "1,234", "sum", "0.5"]
    assert [tag for tag, _ in read.tags].count("tr") == 3
    assert ("th", {"scope": "row"}) in read.tags


def test_without_heads_there_is_no_head():
    assert "<thead>" not in table("Blocks", (), [("a", 1)])


def test_text_is_escaped_and_markup_is_not():
    text = table("<b>", ("&",), [("<i>", Markup("<u>x</u>"))])
    assert "<b>" not in text
    assert "<i>" not in text
    assert "<u>x</u>" in text
