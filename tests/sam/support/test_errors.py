from sam.support.errors import UserError, nearest, quoted


def test_short_texts_are_quoted_whole():
    assert quoted("x" * 200) == "x" * 200


def test_long_texts_are_quoted_in_part():
    text = "beginning " + "x" * 10**6 + " end"
    assert len(quoted(text)) == 200
    assert quoted(text).startswith("beginning xxx")
    assert quoted(text).endswith("xxx end")


def test_an_error_quotes_200_characters():
    long = "x" * 10**6
    for error in (
        UserError(f'"{long}" is no format'),
        UserError("no format", hint=f'did you mean "{long}"?'),
        UserError("no format", source=long, span=(0, 3)),
        UserError("no format", source=long, span=(500_000, 10**6)),
        UserError("no format", source=long, span=(10**6, 10**6)),
    ):
        assert all(len(line) <= 208 for line in str(error).splitlines())


def test_carets_stay_below_what_they_mark():
    source = "a" * 500 + "HERE" + "b" * 500
    _, shown, carets = str(UserError("wrong", source=source, span=(500, 504))).splitlines()
    assert shown[carets.index("^") : carets.index("^") + 4] == "HERE"
    assert carets.count("^") == 4
    source = "a" * 500 + "HERE"
    _, shown, carets = str(UserError("wrong", source=source, span=(500, 504))).splitlines()
    assert shown[carets.index("^") :] == "HERE"


def test_one_letter_options_are_not_near_each_other():
    assert nearest("-k", ["-v", "-s"]) is None
    assert nearest("--trget", ["-t", "--target"]) == "--target"
