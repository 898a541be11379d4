"""Formats of the numbers on the pages."""

from __future__ import annotations

from fractions import Fraction


def format_amount(value: Fraction | float) -> str:
    """Format an amount of money with thousands separators, and cents only if there are any.

    >>> format_amount(Fraction(-12500)), format_amount(Fraction(7, 3)), format_amount(0.0)
    ('−12,500', '2.33', '0')
    """
    exact = Fraction(value).limit_denominator(10**12) if isinstance(value, float) else value
    formatted = f"{int(exact):,}" if exact == int(exact) else f"{float(exact):,.2f}"
    return formatted.replace("-", "−")


def format_chance(value: Fraction | float) -> str:
    """Format a probability as a percentage, or a small one as "1 in n".

    >>> format_chance(Fraction(1, 4)), format_chance(Fraction(1, 20_000))
    ('25.0000 %', '1 in 20,000')
    >>> format_chance(0), format_chance(1)
    ('0 %', '100 %')
    """
    if value in (0, 1):
        return f"{int(value) * 100} %"
    if value < 0.001:
        odds = 1 / float(value) if float(value) else 0
        return f"1 in {odds:,.0f}" if 0 < odds < 1e9 else f"{float(value):.3g}"
    return f"{float(value) * 100:.4f} %"


def format_share(share: Fraction) -> str:
    """Format a round share, such as the one of a quantile, as a percentage.

    >>> format_share(Fraction(1, 1000))
    '0.1 %'
    """
    return f"{float(share) * 100:g} %"


def format_signed_percent(share: Fraction) -> str:
    """Format a share of the stakes, which may be negative, as a percentage."""
    return f"{float(share) * 100:,.3f} %".replace("-", "−")
