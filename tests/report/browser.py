"""Opens report pages in Chromium: each in frames of a phone's width and a desktop's, where a script of the test looks at them."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
WIDTHS = (390, 1440)

# In each page, before its own scripts.
_WATCH = """<script>
window.faults = [];
window.requestAnimationFrame = (act) => setTimeout(() => act(performance.now()), 0);  // a browser without a screen may give no frame
window.addEventListener("error", (event) => window.faults.push(event.message));
window.addEventListener("unhandledrejection", (event) => window.faults.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => window.faults.push("blocked: " + event.blockedURI));
for (const kind of ["error", "warn"]) console[kind] = (...told) => window.faults.push(told.join(" "));
</script>"""

_HARNESS = """<!doctype html><meta charset="utf-8"><body><script>
const look = %(look)s;
async function main() {
  const found = {};
  for (const [name, text] of Object.entries(%(pages)s)) for (const width of %(widths)s) {
    const frame = document.createElement("iframe");
    frame.style = `width:${width}px;height:900px;border:0`;
    const loaded = new Promise((resolve) => (frame.onload = resolve));
    frame.srcdoc = text;
    document.body.append(frame);
    await loaded;
    await new Promise((resolve) => setTimeout(resolve, 300));
    try { found[`${name} ${width}`] = await look(frame.contentWindow); }
    catch (error) { found[`${name} ${width}`] = {faults: [`${error} ${error.stack}`]}; }
    frame.remove();
  }
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(found);
  document.body.replaceChildren(result);
}
main();
</script>"""


def look_at(pages: Mapping[str, str], look: str, folder: Path) -> dict[str, Any]:
    """What the JavaScript function `look` (of a window) returns in each page at each width, by "name width"."""
    pages = {name: page.replace("<head>", f"<head>{_WATCH}", 1) for name, page in pages.items()}
    texts = json.dumps(pages).replace("<", "\\u003c")
    harness = folder / "harness.html"
    harness.write_text(_HARNESS % {"look": look, "pages": texts, "widths": json.dumps(WIDTHS)}, encoding="utf-8")
    assert CHROMIUM
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=60000",
            "--window-size=1500,1000",
            "--dump-dom",
            harness.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    result = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert result, done.stderr[-3000:]
    return json.loads(html.unescape(result[1]))
