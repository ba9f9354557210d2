// The page: what is clicked, typed and shown beside the timeline.
(async () => {
  const $ = id => document.getElementById(id), root = document.documentElement;
  if (window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches) root.dataset.theme = "dark";
  let m;
  try { m = await unpack(); } catch (e) { $("loading").textContent = "This browser cannot unpack the run: " + e.message; return; }
  $("loading").remove();
  const view = new View(m, $("timeline"), $("overview"));

  function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  // details shows all that happened in the event of a row.
  function details(i) {
    const box = $("details"), head = element("div", undefined, "head");
    head.append(element("strong", "event " + m.event[i]), element("span", (m.time[i] / 1e9).toFixed(9) + " s", "when"));
    box.replaceChildren(head);
    let lo = i, hi = i;
    while (lo > 0 && m.event[lo - 1] === m.event[i]) lo--;
    while (hi + 1 < m.n && m.event[hi + 1] === m.event[i]) hi++;
    const link = (words, j) => {
      const b = element("button", `${words} ${m.event[j]}: ${m.say(j)}`);
      b.dataset.go = j; b.onclick = () => select(j, true);
      return b;
    };
    for (let r = lo; r <= Math.min(hi, lo + 60); r++) {
      const row = element("div", undefined, "row" + (r === i ? " on" : ""));
      row.append(element("div", m.say(r), "what"));
      const text = m.texts[m.text[r]];
      if (text) row.append(element("code", text));
      const links = element("div", undefined, "links");
      if (m.cause[r] >= 0 && m.event[m.cause[r]] !== m.event[i]) links.append(link("↖ caused by", m.cause[r]));
      for (let k = m.effectAt[r], shown = 0; k < m.effectAt[r + 1] && shown < 6; k++) {
        const j = m.effect[k];
        if (m.event[j] !== m.event[i]) { if (links.childNodes.length) links.append(element("br")); links.append(link("↘ leads to", j)); shown++; }
      }
      if (links.childNodes.length) row.append(links);
      box.append(row);
    }
    if (hi - lo > 60) box.append(element("p", `and ${hi - lo - 60} more`, "about"));
  }

  function select(i, reveal) {
    if (i < 0 || i >= m.n) return;
    view.selected = i;
    details(i);
    for (const li of document.querySelectorAll("#story li")) {
      const on = +li.dataset.row === i;
      li.classList.toggle("on", on);
      if (on && reveal) li.scrollIntoView({block: "nearest"});
    }
    if (reveal) view.reveal(i); else view.want();
  }

  function failure() {
    const at = m.failed >= 0 ? m.failed : m.n - 1;
    if (at < 0) return;
    // As much of what led there as can be told apart.
    const first = Math.max(0, at - 300), near = m.chain.filter(i => i >= first);
    const from = Math.min(m.time[near.length ? near[0] : first], m.time[at] - 2e6), span = m.time[at] - from;
    view.show(m.time[at] - span * 1.15, m.time[at] + span * 0.35);
    select(at, true);
  }

  let at = -1;
  function search(q) {
    view.found = m.search(q); view.foundSet = new Set(view.found);
    at = -1;
    $("matches").textContent = q.trim() ? view.found.length + (view.found.length === 1 ? " match" : " matches") : "";
    view.want();
  }
  function step(by) {
    const list = view.found;
    if (!list.length) return;
    if (at < 0) { at = lowerBound(list, view.selected >= 0 ? view.selected : m.after(view.from)) - (by > 0 ? 1 : 0); if (list[at + by] === view.selected) at += by; }
    at = (at + by + list.length) % list.length;
    $("matches").textContent = `${at + 1} of ${list.length}`;
    select(list[at], true);
  }

  // neighbour is the next event of the lane of the selected one.
  function neighbour(by) {
    const list = m.byLane[m.laneOf.get(m.place[view.selected])];
    if (!list) return;
    let k = lowerBound(list, view.selected);
    const e = m.event[view.selected];
    while (list[k] !== undefined && m.event[list[k]] === e) k += by;
    if (list[k] !== undefined) select(list[k], true);
  }

  // Things to press.
  $("in").onclick = () => view.zoom(0.5);
  $("out").onclick = () => view.zoom(2);
  $("all").onclick = () => view.show(0, m.end);
  $("failure").onclick = failure;
  if (m.failed < 0) $("failure").textContent = "end";
  $("theme").onclick = () => { root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; view.colours(); legend(); view.want(); };
  let typing;
  $("search").oninput = e => { clearTimeout(typing); typing = setTimeout(() => search(e.target.value), 150); };
  $("search").onkeydown = e => {
    if (e.key === "Enter") { clearTimeout(typing); if (view.found.query !== e.target.value) { search(e.target.value); view.found.query = e.target.value; } step(e.shiftKey ? -1 : 1); }
    if (e.key === "Escape") { e.target.value = ""; search(""); $("timeline").focus(); }
    e.stopPropagation();
  };
  $("next").onclick = () => step(1);
  $("previous").onclick = () => step(-1);
  for (const p of m.partitions()) { const o = element("option", m.title_of(p.id)); o.value = p.id; $("partition").append(o); }
  $("partition").value = view.partition;
  $("partition").onchange = e => { view.partition = e.target.value; view.want(); };
  $("story").onclick = e => { const li = e.target.closest("li"); if (li) select(+li.dataset.row, true); };
  for (const li of document.querySelectorAll("#story li")) if (+li.dataset.row === m.failed) li.classList.add("broke");

  // The mouse.
  const canvas = $("timeline");
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) view.move(e.deltaX || e.deltaY, 0);
    else view.zoom(Math.exp(e.deltaY * 0.0016), view.timeAt(e.offsetX));
  }, {passive: false});
  let held = null;
  canvas.onpointerdown = e => { held = {x: e.offsetX, y: e.offsetY, moved: false}; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = e => {
    if (held) {
      const dx = held.x - e.offsetX, dy = held.y - e.offsetY;
      if (!held.moved && Math.hypot(dx, dy) < 4) return;
      held = {x: e.offsetX, y: e.offsetY, moved: true}; canvas.classList.add("moving");
      view.move(dx, dy);
      return;
    }
    const i = view.near(e.offsetX, e.offsetY), tip = $("tip");
    tip.hidden = i < 0;
    if (i >= 0) {
      tip.textContent = `${m.event[i]}: ${m.say(i)}`;
      tip.style.left = Math.min(e.offsetX + 14, view.w - 330) + "px"; tip.style.top = e.offsetY + 50 + "px";
    }
  };
  canvas.onpointerup = e => {
    canvas.classList.remove("moving");
    if (held && !held.moved) { const i = view.near(e.offsetX, e.offsetY); if (i >= 0) select(i, false); }
    held = null;
  };
  canvas.onpointerleave = () => { $("tip").hidden = true; };
  const jump = e => { if (e.buttons & 1) { const t = e.offsetX / $("overview").clientWidth * m.end, s = view.to - view.from; view.show(t - s / 2, t + s / 2); } };
  $("overview").onpointerdown = jump;
  $("overview").onpointermove = jump;

  const keys = {
    "+": () => view.zoom(0.5), "=": () => view.zoom(0.5), "-": () => view.zoom(2), "0": () => view.show(0, m.end),
    ArrowLeft: () => view.move(-view.w / 5, 0), ArrowRight: () => view.move(view.w / 5, 0),
    ArrowUp: () => view.move(0, -60), ArrowDown: () => view.move(0, 60),
    f: failure, n: () => step(1), N: () => step(-1), ".": () => neighbour(1), ",": () => neighbour(-1),
    "/": () => { $("search").focus(); $("search").select(); },
    c: () => { for (let i = view.selected; i >= 0; i = m.cause[i]) if (m.event[i] !== m.event[view.selected]) { select(i, true); break; } },
    e: () => { const s = view.selected; for (let r = s; r >= 0 && r < m.n && m.event[r] === m.event[s]; r++) for (let k = m.effectAt[r]; k < m.effectAt[r + 1]; k++) if (m.event[m.effect[k]] !== m.event[s]) { select(m.effect[k], true); return; } },
  };
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });

  function legend() {
    const c = view.c, box = $("legend");
    box.replaceChildren();
    for (const [text, colour] of [["what became of it", c.accent], ["what led to the failure", c.bad], ["matches of a search", c.warn], ["events", c.dot],
      ["messages", c.arrow], ["replies", c.reply], ["a fault", c.fault], ["down", c.down], ["paused", c.pause],
      ["operation: ok", c.good], ["operation: unknown", c.warn], ["operation: failed", c.bad]]) {
      const s = element("span"), i = element("i"); i.style.background = colour; s.append(i, text); box.append(s);
    }
    const note = element("span", "Below the lanes: who leads the partition in which epoch; solid lines are log ends, dotted ones high watermarks, a red wedge a cut.");
    note.style.gridColumn = "1 / 3"; box.append(note);
  }

  window.onresize = () => view.resize();
  legend();
  view.resize();
  if (m.failed >= 0) failure(); else view.show(0, m.end);
  if (m.failed < 0 && m.n) select(m.n - 1, false);
  // For tests and for the curious.
  window.report = {model: m, view, select, search, step, failure};
  root.dataset.ready = "yes";
})();
