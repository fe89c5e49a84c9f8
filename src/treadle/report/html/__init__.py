"""Results as pages: functions from the JSON of a report to HTML and SVG.

`page` puts them together; everything else takes a part of the JSON that `treadle.report.as_json`
makes and returns a part of a page, so that whoever has the JSON can show it. Nothing here reads
results, files of users or options. `page.css` and `page.js` are what a page needs besides.
"""
