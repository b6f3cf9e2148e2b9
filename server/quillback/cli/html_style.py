"""The looks of an exported page: one style sheet, for light and dark screens and for paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --back: #fbfbf9; --text: #1d2125; --dim: #646b73; --line: #dcdcd6; --box: #f2f2ee; --user: #e8eef7; --accent: #2a5db0;
  --add: #dff3e1; --add-text: #145523; --del: #fbe3e1; --del-text: #82211a; --fail: #a8261c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #17191c; --text: #dfe2e5; --dim: #949ba3; --line: #34383d; --box: #202327; --user: #1f2a3a;
    --accent: #86b1f2; --add: #16311d; --add-text: #a5dcb0; --del: #3a1c1b; --del-text: #f0b3ad; --fail: #f08a80;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1.25rem 5rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; }
article h1, article h2, article h3, article h4 { font-size: 1.15rem; line-height: 1.3; margin: 1.2em 0 .4em; }
article > :first-child { margin-top: 0; }
article > :last-child { margin-bottom: 0; }
a { color: var(--accent); }
.meta, .note, summary, .who { color: var(--dim); font-size: .88rem; }
.meta { margin: 0 0 1.5rem; }
nav { margin: 0 0 2rem; }
nav ol { margin: .4rem 0 0; padding-left: 1.6rem; font-size: .92rem; }
section { border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 2rem; }
.who { text-transform: uppercase; letter-spacing: .06em; font-size: .72rem; margin: 0 0 .25rem; }
.user { background: var(--user); border-radius: .5rem; padding: .8rem 1rem; margin: 0 0 1.25rem; }
.user { white-space: pre-wrap; }
.assistant { margin: 1.1rem 0; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .3rem .75rem; }
details[open] > summary { margin-bottom: .4rem; }
summary { cursor: pointer; }
.failed > summary { color: var(--fail); }
.thought > div { color: var(--dim); white-space: pre-wrap; }
pre, code { font: .86rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--box); border-radius: .4rem; padding: .6rem .8rem; margin: .5rem 0; }
pre { overflow-x: auto; tab-size: 4; }
details pre { max-height: 32rem; overflow: auto; }
:not(pre) > code { background: var(--box); border-radius: .25rem; padding: .1em .3em; }
.diff span { display: block; min-height: 1.5em; }
.diff .add { background: var(--add); color: var(--add-text); }
.diff .del { background: var(--del); color: var(--del-text); }
.diff .hunk { color: var(--accent); }
.diff .head { color: var(--dim); }
.plan { list-style: none; padding-left: .3rem; margin: .4rem 0; }
.plan .completed { color: var(--dim); text-decoration: line-through; }
.plan .in_progress { font-weight: 600; }
img { max-width: 100%; border-radius: .4rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
blockquote { border-left: 3px solid var(--line); margin: .8em 0; padding-left: 1em; color: var(--dim); }
@media print { details pre { max-height: none; } main { max-width: none; padding: 0; } }
"""
