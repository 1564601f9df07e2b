"""Programs as notebooks show them."""

import custard


def test_a_program_is_shown_as_a_table_of_its_request_and_decisions():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "CSR"}, ["reorder(i,j)"], dims={"i": 3})
    html = program._repr_html_()
    for text in ("y(i) = A(i,j) * x(j)", "A:ds:0,1", "reorder(i,j)", "sam", "forall(i) forall(j)"):
        assert text in html
    for note in program.notes:
        assert note.partition(":")[0] in html


def test_text_is_escaped():
    assert "<b>" not in custard.compile("y = 1 * 2")._repr_html_()
