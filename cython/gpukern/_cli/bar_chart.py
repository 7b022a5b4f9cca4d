# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Rates as an SVG picture of bars."""

from html import escape

WIDTH, LEFT, LONGEST, BAR, LINE = 720, 90, 500, 16, 22
STYLE = """
text { font: 13px sans-serif; fill: #222 } .title { font-weight: bold }
rect { fill: #0072b2 } .ours { fill: #d55e00 } .paper { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .paper { fill: #1b1b1b } }
"""


def svg(heading, cases):
    """Draws cases (title, unit, {name: rate}), each to its scale; the first name stands out."""
    parts = []
    y = LINE

    def text(x, words, kind=""):
        parts.append(f'<text x="{x}" y="{y}" class="{kind}">{escape(words)}</text>')

    text(10, heading, "title")
    for title, unit, rates in cases:
        y += LINE * 3 // 2
        text(10, f"{title}, {unit}")
        for number, (name, rate) in enumerate(rates.items()):
            y += LINE
            length = LONGEST * rate / max(rates.values())
            kind = "" if number else "ours"
            text(20, name)
            parts.append(
                f'<rect x="{LEFT}" y="{y - BAR + 3}" width="{length:.1f}" height="{BAR}" '
                f'class="{kind}"/>'
            )
            text(f"{LEFT + length + 6:.1f}", f"{rate:.2f}")
    size = f'width="{WIDTH}" height="{y + LINE}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {y + LINE}">',
            f'<style>{STYLE}</style><rect {size} class="paper"/>',
            *parts,
            "</svg>\n",
        ]
    )
