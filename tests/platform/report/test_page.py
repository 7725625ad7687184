"""The figures in a table are read by people: a wrong unit or a hidden character misleads them."""

from turncoat.platform.report.page import decimal, interval, percent, visible


def test_shares_are_shown_in_percent_and_what_is_missing_as_a_dash():
    assert percent(0.9421) == "94.2 %"
    assert percent(0.0) == "0.0 %"
    assert percent(None) == "–"
    assert decimal(1234.56) == "1,234.6"
    assert decimal(None) == "–"
    assert interval((0.92, 0.958)) == "[92.0, 95.8]"
    assert interval([30.94, 32.06], scale=1) == "[30.9, 32.1]"
    assert interval(None) == ""


def test_characters_that_hide_or_reorder_text_are_spelt_out():
    assert visible("a\x00b\x1b[31m\u202e\u200b\n\té") == "a\\x00b\\x1b[31m\\u202e\\u200b\n\té"
