// View is what part of a run is in sight, and draws it.
class View {
  constructor(model, canvas, overview) {
    this.m = model; this.canvas = canvas; this.overview = overview;
    this.from = 0; this.to = model.end; this.scroll = 0;
    this.selected = -1; this.found = []; this.foundSet = new Set(); this.partition = model.subject;
    this.special = new Set([...model.story, ...model.chain]);
    this.label = 116;
    this.layout();
    this.colours();
    this.frames = [];
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    this.c = {};
    for (const n of ["back", "panel", "line", "faint", "ink", "soft", "accent", "bad", "good", "warn", "mark", "markInk", "down", "pause", "fault", "dot", "arrow", "reply"]) this.c[n] = style.getPropertyValue("--" + n).trim();
    this.nodeColour = [];
    for (let i = 1; i <= 8; i++) this.nodeColour.push(style.getPropertyValue("--p" + i).trim());
    this.back = null;
  }

  colourOf(node) { return this.nodeColour[(node - 1) % 8]; }

  // layout gives each lane its place from top to bottom.
  layout() {
    let y = 0;
    const tracks = Math.max(1, ...this.m.faults.map(f => f.track + 1));
    this.faultTop = y + 22; y = this.faultTop + tracks * 17 + 6;
    this.laneAt = this.m.places.map(p => { const l = {y, h: p.node ? 54 : 46}; y += l.h; return l; });
    this.lanesEnd = y;
    this.height = y + 8;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    for (const c of [this.canvas, this.overview]) {
      const w = c.clientWidth, h = c.clientHeight;
      if (c.width !== Math.round(w * ratio) || c.height !== Math.round(h * ratio)) { c.width = Math.round(w * ratio); c.height = Math.round(h * ratio); }
      c.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.w = this.canvas.clientWidth; this.h = this.canvas.clientHeight;
    // The partition keeps its place at the bottom; the lanes scroll above it.
    this.panelHeight = Math.min(210, this.h * 0.4); this.lanesBottom = this.panelTop = this.h - this.panelHeight;
    this.back = null;
    this.move(0, 0);
  }

  x(t) { return this.label + (t - this.from) / (this.to - this.from) * (this.w - this.label - 10); }
  timeAt(x) { return this.from + (x - this.label) / (this.w - this.label - 10) * (this.to - this.from); }
  laneY(i) { const l = this.laneAt[i]; return l.y + 20 - this.scroll; }

  show(from, to) {
    const least = 2000, most = this.m.end * 1.04;
    let span = Math.min(Math.max(to - from, least), most), mid = (from + to) / 2;
    this.from = Math.max(-0.02 * this.m.end, Math.min(mid - span / 2, this.m.end * 1.02 - span)); this.to = this.from + span;
    this.want();
  }

  zoom(factor, t = (this.from + this.to) / 2) { this.show(t - (t - this.from) * factor, t + (this.to - t) * factor); }

  move(dx, dy) {
    const span = this.to - this.from, dt = dx / Math.max(this.w - this.label, 1) * span;
    this.scroll = Math.max(0, Math.min(this.scroll + dy, this.height - this.lanesBottom));
    this.show(this.from + dt, this.to + dt);
  }

  // reveal brings a row into view without losing the scale when it need not.
  reveal(i) {
    const t = this.m.time[i], span = this.to - this.from;
    if (t < this.from + span * 0.05 || t > this.to - span * 0.05) this.show(t - span / 2, t + span / 2);
    const lane = this.m.laneOf.get(this.m.place[i]);
    if (lane !== undefined) {
      const l = this.laneAt[lane];
      if (l.y < this.scroll) this.scroll = l.y - 20;
      if (l.y + l.h > this.scroll + this.lanesBottom) this.scroll = l.y + l.h - this.lanesBottom + 20;
    }
    this.move(0, 0);
  }

  want() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => { this.wanted = false; this.draw(); });
  }

  draw() {
    const begun = performance.now(), g = this.canvas.getContext("2d");
    g.fillStyle = this.c.back; g.fillRect(0, 0, this.w, this.h);
    g.font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; g.textBaseline = "middle"; g.lineWidth = 1;
    g.save();
    g.beginPath(); g.rect(this.label, 0, this.w - this.label, this.lanesBottom); g.clip();
    this.named = [];
    this.drawPhases(g); this.drawFaults(g); this.drawLanes(g); this.drawRows(g);
    g.restore(); g.save();
    g.beginPath(); g.rect(this.label, this.panelTop, this.w - this.label, this.panelHeight); g.clip();
    this.drawPartition(g);
    g.restore();
    this.drawFailure(g);
    this.drawLabels(g); this.drawAxis(g); this.drawOverview();
    this.frames.push(performance.now() - begun);
    if (this.frames.length > 200) this.frames.shift();
  }

  drawPhases(g) {
    this.m.phases.forEach((p, i) => {
      const x = this.x(p.from), next = this.m.phases[i + 1];
      const to = this.x(next ? next.from : this.m.end);
      if (to < this.label || x > this.w) return;
      g.strokeStyle = this.c.line; g.setLineDash([3, 4]); g.beginPath(); g.moveTo(x, 18); g.lineTo(x, this.h); g.stroke(); g.setLineDash([]);
    });
  }

  drawFaults(g) {
    for (const f of this.m.faults) {
      const x = this.x(f.from), to = Math.max(this.x(f.to), x + 3), y = this.faultTop + f.track * 17 - this.scroll;
      if (to < this.label || x > this.w) continue;
      g.globalAlpha = 0.35; g.fillStyle = this.c.fault; g.fillRect(x, y, to - x, 15); g.globalAlpha = 1;
      g.fillStyle = this.c.fault; g.fillRect(x, y, 2, 15);
      if (to - x > 8) { // and a shade over what it strikes
        const lane = this.m.laneOf.get(this.m.place[f.row]);
        const top = lane === undefined ? this.laneAt[0].y : this.laneAt[lane].y, h = lane === undefined ? this.lanesEnd - top : this.laneAt[lane].h;
        g.globalAlpha = 0.07; g.fillRect(x, top - this.scroll, to - x, h); g.globalAlpha = 1;
      }
    }
    // Names where there is room for them, from the left.
    g.fillStyle = this.c.ink;
    const taken = [];
    for (const f of this.m.faults) {
      const x = Math.max(this.x(f.from), this.label) + 5;
      if (this.x(f.to) < this.label - 1 && this.x(f.from) < this.label - 1 || x > this.w) continue;
      const y = this.faultTop + f.track * 17 - this.scroll + 8, width = g.measureText(f.label).width;
      if (taken[f.track] > x) continue;
      const next = this.m.faults.find(o => o !== f && o.track === f.track && o.from > f.from);
      if (next && this.x(next.from) < x + width && this.x(next.from) - x < 60) continue;
      const room = (next ? Math.min(this.x(next.from), this.w) : this.w) - x - 4;
      const text = fit(g, f.label, room);
      g.fillText(text, x, y); taken[f.track] = x + g.measureText(text).width + 6;
    }
  }

  drawLanes(g) {
    this.m.places.forEach((p, i) => {
      const l = this.laneAt[i], top = l.y - this.scroll, y = this.laneY(i);
      if (top > this.h || top + l.h < 0) return;
      g.strokeStyle = this.c.faint; g.beginPath(); g.moveTo(this.label, top + l.h); g.lineTo(this.w, top + l.h); g.stroke();
      g.strokeStyle = p.node ? this.colourOf(p.place) : this.c.line; g.lineWidth = p.node ? 2 : 1;
      g.beginPath(); g.moveTo(this.label, y); g.lineTo(this.x(this.m.end), y); g.stroke(); g.lineWidth = 1;
      if (!p.node) this.drawOps(g, i, top);
    });
    for (const d of this.m.downs) {
      const l = this.laneAt[d.lane], x = Math.max(this.x(d.from), this.label), to = Math.min(this.x(d.to), this.w);
      if (!l || to <= x || l.y - this.scroll > this.h) continue;
      g.fillStyle = d.kind === "pause" ? this.c.pause : this.c.down; g.globalAlpha = 0.75;
      g.fillRect(x, l.y - this.scroll + 8, to - x, 24); g.globalAlpha = 1;
      const label = d.kind === "pause" ? "paused" : d.label ? "down: " + d.label : d.row === undefined ? "not started" : "down";
      if (to - x > 40) { g.fillStyle = this.c.ink; g.fillText(fit(g, label, to - x - 10), x + 5, l.y - this.scroll + 20); }
    }
    for (const lead of this.m.states(this.partition).leads) { // who leads the partition that is looked at
      const lane = this.m.laneOf.get(lead.at), x = Math.max(this.x(lead.from), this.label), to = Math.min(this.x(lead.to), this.w);
      if (lane === undefined || to <= x) continue;
      const y = this.laneAt[lane].y - this.scroll + 38;
      g.fillStyle = this.colourOf(lead.at); g.globalAlpha = 0.25; g.fillRect(x, y, to - x, 13); g.globalAlpha = 1;
      if (to - x > 30) { g.fillStyle = this.c.ink; g.fillText(fit(g, `leads ${this.partition}, epoch ${lead.epoch}`, to - x - 8), x + 4, y + 7); }
    }
  }

  drawOps(g, lane, top) {
    const colours = {ok: this.c.good, unknown: this.c.warn, open: this.c.warn};
    const room = (this.w - this.label) / (this.to - this.from);
    let edge = [];
    for (const o of this.m.opsByLane[lane]) {
      if (o.to < this.from || o.from > this.to) continue;
      const x = Math.max(this.x(o.from), this.label), to = Math.max(Math.min(this.x(o.to), this.w), x + 1.5);
      if (to <= edge[o.track]) continue; // hidden behind another
      edge[o.track] = to - 0.5;
      const y = top + 26 + o.track * 6;
      g.fillStyle = colours[o.out] || this.c.bad; g.globalAlpha = 0.8; g.fillRect(x, y, to - x, 5); g.globalAlpha = 1;
    }
  }

  // drawRows draws what happened: each event as a dot while they can be told
  // apart, else how many there are.
  drawRows(g) {
    const m = this.m, lo = m.after(this.from), hi = m.after(this.to);
    const few = hi - lo < 4000;
    if (!few) this.drawDensity(g, lo, hi);
    const messages = [];
    const far = Math.max(0, lo - 3000);
    for (let i = far; few && i < hi; i++) if (m.arrival[i] >= 0 && (m.time[i] >= this.from || m.time[m.arrival[i]] >= this.from)) messages.push(i);
    if (messages.length < 1500) for (const i of messages) this.drawMessage(g, i, false);
    if (few) {
      let last = "";
      for (let i = lo; i < hi; i++) {
        const lane = m.lane[i];
        if (lane < 0) continue;
        const x = this.x(m.time[i]), at = lane + ":" + Math.round(x);
        if (at === last) continue;
        last = at;
        g.fillStyle = this.c.dot; g.beginPath(); g.arc(x, this.laneY(lane), 2.6, 0, 7); g.fill();
      }
    }
    const marked = (i, colour, r) => {
      const lane = m.laneOf.get(m.place[i]), x = this.x(m.time[i]);
      if (lane === undefined || x < this.label || x > this.w) return;
      g.fillStyle = colour; g.strokeStyle = this.c.back; g.beginPath(); g.arc(x, this.laneY(lane), r, 0, 7); g.fill(); g.stroke();
    };
    let column = -1;
    for (let k = lowerBound(this.found, lo); k < this.found.length && this.found[k] < hi; k++) {
      const x = Math.round(this.x(m.time[this.found[k]]));
      if (!few && x === column) continue;
      column = x; marked(this.found[k], this.c.warn, 4);
    }
    for (const i of this.special) {
      if (m.arrival[i] >= 0) this.drawMessage(g, i, true);
      if (m.cause[i] >= 0 && m.arrival[m.cause[i]] === i) this.drawMessage(g, m.cause[i], true);
    }
    for (const i of m.chain) marked(i, this.c.bad, 4);
    for (const i of m.story) marked(i, this.c.accent, 5);
    if (this.selected >= 0) {
      const i = this.selected, lane = m.laneOf.get(m.place[i]), x = this.x(m.time[i]);
      if (lane !== undefined) {
        const c = m.arrival[i] >= 0 ? i : m.cause[i];
        if (c >= 0 && m.arrival[c] >= 0) this.drawMessage(g, c, true);
        g.strokeStyle = this.c.ink; g.lineWidth = 2; g.beginPath(); g.arc(x, this.laneY(lane), 8, 0, 7); g.stroke(); g.lineWidth = 1;
      }
    }
  }

  drawDensity(g, lo, hi) {
    const m = this.m, wide = 3, columns = Math.ceil((this.w - this.label) / wide) + 1;
    const counts = m.places.map(() => new Uint16Array(columns));
    const scale = (this.w - this.label - 10) / (this.to - this.from) / wide;
    for (let i = lo; i < hi; i++) {
      const lane = m.lane[i];
      if (lane >= 0) counts[lane][Math.max(0, Math.floor((m.time[i] - this.from) * scale))]++;
    }
    let most = 1;
    for (const c of counts) for (const n of c) most = Math.max(most, n);
    g.fillStyle = this.c.dot;
    counts.forEach((c, lane) => {
      const y = this.laneY(lane);
      if (y < -20 || y > this.h + 20) return;
      for (let k = 0; k < columns; k++) if (c[k]) {
        const h = 3 + 11 * Math.sqrt(c[k] / most);
        g.fillRect(this.label + k * wide, y - h / 2, wide - 1, h);
      }
    });
  }

  // drawMessage draws the way of a message from the row that sent it.
  drawMessage(g, i, strong) {
    const m = this.m, j = m.arrival[i], a = m.laneOf.get(m.place[i]), b = m.laneOf.get(m.place[j]);
    if (a === undefined || b === undefined) return;
    const x1 = this.x(m.time[i]), x2 = this.x(m.time[j]);
    if (x2 < this.label || x1 > this.w) return;
    const y1 = this.laneY(a), y2 = this.laneY(b), lost = m.what[j] === m.kind.lost;
    g.strokeStyle = lost ? this.c.bad : strong ? this.c.accent : m.what[i] === m.kind.reply ? this.c.reply : this.c.arrow;
    g.globalAlpha = strong ? 1 : 0.6; g.lineWidth = strong ? 2 : 1;
    if (lost) g.setLineDash([4, 3]);
    g.beginPath(); g.moveTo(x1, y1); g.lineTo(x2, y2); g.stroke(); g.setLineDash([]);
    const angle = Math.atan2(y2 - y1, x2 - x1), size = strong ? 8 : 5;
    g.beginPath();
    if (lost) { g.moveTo(x2 - 4, y2 - 4); g.lineTo(x2 + 4, y2 + 4); g.moveTo(x2 + 4, y2 - 4); g.lineTo(x2 - 4, y2 + 4); }
    else { g.moveTo(x2 - size * Math.cos(angle - 0.4), y2 - size * Math.sin(angle - 0.4)); g.lineTo(x2, y2); g.lineTo(x2 - size * Math.cos(angle + 0.4), y2 - size * Math.sin(angle + 0.4)); }
    g.stroke(); g.globalAlpha = 1; g.lineWidth = 1;
    if (strong && this.to - this.from < 2e8 && Math.hypot(x2 - x1, y2 - y1) > 70) {
      const text = m.texts[m.name[i]], w = g.measureText(text).width, x = (x1 + x2) / 2, y = (y1 + y2) / 2;
      if (this.named.some(o => Math.abs(o.y - y) < 16 && Math.abs(o.x - x) < (o.w + w) / 2 + 6)) return;
      this.named.push({x, y, w});
      g.fillStyle = this.c.back; g.globalAlpha = 0.85; g.fillRect(x - w / 2 - 3, y - 8, w + 6, 16); g.globalAlpha = 1;
      g.fillStyle = this.c.accent; g.fillText(text, x - w / 2, y);
    }
  }

  // drawPartition draws how far the logs of one partition are, and who leads.
  drawPartition(g) {
    const s = this.m.states(this.partition), top = this.panelTop - 14, y0 = top + 46, h = this.panelHeight - 46;
    g.fillStyle = this.c.faint; g.fillRect(this.label, top + 20, this.w, 16);
    for (const l of s.leads) {
      const x = Math.max(this.x(l.from), this.label), to = Math.min(this.x(l.to), this.w);
      if (to < this.label || x > this.w) continue;
      g.fillStyle = this.colourOf(l.at); g.globalAlpha = 0.35; g.fillRect(x, top + 20, Math.max(to - x, 2), 16); g.globalAlpha = 1;
      g.fillStyle = this.colourOf(l.at); g.fillRect(x, top + 20, 2, 16);
      if (to - x > 24) { g.fillStyle = this.c.ink; g.fillText(fit(g, `epoch ${l.epoch}, node ${l.at}`, to - x - 8), x + 5, top + 28); }
    }
    let least = Infinity, most = 1;
    for (const [, list] of s.nodes) eachIn(list, this.from, this.to, p => { if (!p.gone) { least = Math.min(least, p.high < 0 ? p.start : Math.min(p.high, p.end)); most = Math.max(most, p.end, p.high); } });
    if (least === Infinity) least = 0;
    if (most - least < 4) most = least + 4;
    const y = v => y0 + h - (v - least) / (most - least) * h;
    g.strokeStyle = this.c.faint; g.fillStyle = this.c.soft;
    for (const v of steps(least, most, 4)) { g.beginPath(); g.moveTo(this.label, y(v)); g.lineTo(this.w, y(v)); g.stroke(); }
    for (const [node, list] of s.nodes) {
      g.strokeStyle = this.colourOf(node);
      this.stairs(g, list, p => p.end, y, 1.2, []);
      this.stairs(g, list, p => p.high, y, 2.4, [1.5, 3]);
    }
    for (const t of s.truncations) {
      const x = this.x(t.t);
      if (x < this.label || x > this.w) continue;
      g.fillStyle = this.c.bad; g.beginPath(); g.moveTo(x - 5, y(t.to) - 9); g.lineTo(x + 5, y(t.to) - 9); g.lineTo(x, y(t.to)); g.fill();
    }
    this.scale = {least, most, y};
  }

  stairs(g, list, of, y, width, dash) {
    g.lineWidth = width; g.setLineDash(dash); g.beginPath();
    let on = false, last = 0, column = NaN;
    const room = this.w - this.label - 10, scale = room / (this.to - this.from);
    eachIn(list, this.from, this.to, p => {
      const x = Math.max(this.label - 5, Math.min(this.label + (p.t - this.from) * scale, this.w + 5)), v = of(p);
      if (p.gone || v < 0) { if (on) g.lineTo(x, last); on = false; return; }
      if (on && Math.round(x) === column) { last = y(v); return; } // one step for a column is enough
      column = Math.round(x);
      if (on) g.lineTo(x, last);
      last = y(v);
      if (on) g.lineTo(x, last); else g.moveTo(x, last);
      on = true;
    });
    if (on) g.lineTo(Math.min(this.x(this.m.end), this.w + 5), last);
    g.stroke(); g.setLineDash([]); g.lineWidth = 1;
  }

  drawFailure(g) {
    if (this.m.failed < 0) return;
    const x = this.x(this.m.time[this.m.failed]);
    if (x < this.label || x > this.w) return;
    g.strokeStyle = this.c.bad; g.lineWidth = 2; g.beginPath(); g.moveTo(x, 18); g.lineTo(x, this.h); g.stroke(); g.lineWidth = 1;
    const text = "broken: " + this.m.texts[this.m.name[this.m.failed]], w = g.measureText(text).width + 12;
    const left = x + w > this.w ? x - w : x;
    g.fillStyle = "#c4212c"; g.fillRect(left, 20, w, 17); g.fillStyle = "#fff"; g.fillText(text, left + 6, 29);
  }

  drawLabels(g) {
    g.fillStyle = this.c.panel; g.fillRect(0, 0, this.label, this.h);
    g.strokeStyle = this.c.line; g.beginPath(); g.moveTo(this.label + 0.5, 0); g.lineTo(this.label + 0.5, this.h); g.stroke();
    g.fillStyle = this.c.soft; g.fillText("faults", 10, this.faultTop - this.scroll + 8);
    this.m.places.forEach((p, i) => {
      const l = this.laneAt[i], top = l.y - this.scroll;
      if (top > this.lanesBottom || top + l.h < 0) return;
      if (p.node) { g.fillStyle = this.colourOf(p.place); g.fillRect(10, top + 15, 9, 9); }
      if (top + 44 > this.lanesBottom) return;
      g.fillStyle = this.c.ink; g.font = "600 13px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; g.fillText(p.label, p.node ? 25 : 10, top + 20);
      g.font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; g.fillStyle = this.c.soft;
      if (p.about) g.fillText(fit(g, p.about, this.label - 16), 10, top + 35);
    });
    const top = this.panelTop - 14;
    g.fillStyle = this.c.panel; g.fillRect(0, this.panelTop, this.label, this.panelHeight);
    g.strokeStyle = this.c.line; g.beginPath(); g.moveTo(0, this.panelTop + 0.5); g.lineTo(this.w, this.panelTop + 0.5); g.stroke();
    if (this.scale) {
      g.fillStyle = this.c.ink; g.font = "600 13px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; g.fillText(fit(g, this.partition, this.label - 16), 10, top + 28);
      g.font = "12px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; g.fillStyle = this.c.soft;
      for (const v of steps(this.scale.least, this.scale.most, 4)) { const t = String(v); g.fillText(t, this.label - 8 - g.measureText(t).width, this.scale.y(v)); }
    }
  }

  drawAxis(g) {
    g.fillStyle = this.c.panel; g.fillRect(0, 0, this.w, 18); g.fillStyle = this.c.soft; g.strokeStyle = this.c.line;
    const list = steps(this.from, this.to, Math.max(2, Math.floor((this.w - this.label) / 130)));
    for (const t of list) {
      const x = this.x(t);
      if (x < this.label || t < 0) continue;
      g.beginPath(); g.moveTo(x, 12); g.lineTo(x, 18); g.stroke(); g.fillText(timeText(t, list.step), x + 4, 9);
    }
    g.fillText("time", 10, 9);
    g.beginPath(); g.moveTo(0, 18.5); g.lineTo(this.w, 18.5); g.stroke();
  }

  // drawOverview draws the whole run on a strip; it is kept, for it is the same
  // each time but for the window.
  drawOverview() {
    const g = this.overview.getContext("2d"), w = this.overview.clientWidth, h = this.overview.clientHeight, m = this.m;
    const x = t => t / m.end * w;
    if (!this.back || this.back.found !== this.found) {
      const o = document.createElement("canvas"); o.width = this.overview.width; o.height = this.overview.height;
      const b = o.getContext("2d"); b.scale(o.width / w, o.height / h);
      b.fillStyle = this.c.panel; b.fillRect(0, 0, w, h);
      const counts = new Uint32Array(Math.ceil(w / 2) + 1);
      for (let i = 0; i < m.n; i++) counts[Math.floor(x(m.time[i]) / 2)]++;
      const most = Math.max(1, ...counts);
      b.fillStyle = this.c.down;
      counts.forEach((n, k) => { if (n) { const t = 3 + 22 * Math.sqrt(n / most); b.fillRect(k * 2, h - t, 1.5, t); } });
      b.fillStyle = this.c.fault; for (const f of m.faults) b.fillRect(x(f.from), 1, Math.max(2, x(f.to) - x(f.from)), 3);
      b.fillStyle = this.c.accent; for (const i of m.story) b.fillRect(x(m.time[i]) - 0.5, 6, 1.5, h - 6);
      b.fillStyle = this.c.warn; for (const i of this.found) b.fillRect(x(m.time[i]) - 0.5, h - 8, 1.5, 8);
      b.fillStyle = this.c.bad; if (m.failed >= 0) b.fillRect(x(m.time[m.failed]) - 1, 0, 2.5, h);
      o.found = this.found; this.back = o;
    }
    g.clearRect(0, 0, w, h); g.drawImage(this.back, 0, 0, w, h);
    const left = x(Math.max(this.from, 0)), right = Math.max(x(Math.min(this.to, m.end)), left + 2);
    g.fillStyle = this.c.accent; g.globalAlpha = 0.18; g.fillRect(left, 0, right - left, h); g.globalAlpha = 1;
    g.strokeStyle = this.c.accent; g.strokeRect(left + 0.5, 0.5, right - left - 1, h - 1);
  }

  // near finds the row that is drawn nearest to a point, or -1.
  near(px, py) {
    const m = this.m;
    let lane = -1;
    this.laneAt.forEach((l, i) => { if (Math.abs(this.laneY(i) - py) < 18) lane = i; });
    if (lane < 0 || py > this.lanesBottom) return -1;
    const list = m.byLane[lane], t = this.timeAt(px);
    let lo = 0, hi = list.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (m.time[list[mid]] < t) lo = mid + 1; else hi = mid; }
    let best = -1, least = 12;
    for (let k = Math.max(0, lo - 60); k < Math.min(list.length, lo + 60); k++) {
      const i = list[k], far = Math.abs(this.x(m.time[i]) - px) - (this.special.has(i) || this.foundSet.has(i) ? 3 : 0);
      if (far < least) { least = far; best = i; }
    }
    return best;
  }
}

// eachIn visits the points of a list in order of time that matter between two
// times: those between, the one before and the one behind.
function eachIn(list, from, to, visit) {
  let lo = 0, hi = list.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (list[mid].t < from) lo = mid + 1; else hi = mid; }
  for (let i = Math.max(0, lo - 1); i < list.length; i++) { visit(list[i]); if (list[i].t > to) break; }
}

function lowerBound(list, v) {
  let lo = 0, hi = list.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (list[mid] < v) lo = mid + 1; else hi = mid; }
  return lo;
}

// steps are some round numbers between two.
function steps(least, most, count) {
  const raw = (most - least) / Math.max(count, 1), ten = Math.pow(10, Math.floor(Math.log10(Math.max(raw, 1)))), step = [1, 2, 5, 10].map(f => f * ten).find(s => s >= raw) || 1;
  const list = [];
  for (let v = Math.ceil(least / step) * step; v <= most; v += step) list.push(v);
  list.step = step;
  return list;
}

// timeText is a time in seconds with as many digits as a step needs.
function timeText(t, step) { return (t / 1e9).toFixed(Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(step, 1)))))) + " s"; }

// fit cuts a text to a width.
function fit(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  let n = Math.max(0, Math.floor(text.length * room / Math.max(g.measureText(text).width, 1)) - 1);
  return n > 1 ? text.slice(0, n) + "…" : "";
}
