"use strict";

// unpack turns the packed data into columns that are quick to look through.
async function unpack() {
  const holder = document.getElementById("data");
  const packed = atob(holder.textContent.trim());
  holder.remove();
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Model(await new Response(plain).json());
}

// Model is one run. Rows are numbered; at(i) of a column is a typed array.
class Model {
  constructor(d) {
    Object.assign(this, {title: d.title, texts: d.texts, whats: d.whats, topics: d.topics,
      story: d.story || [], chain: d.chain || [], failed: d.failed, end: Math.max(d.end, 1), events: d.events});
    const n = this.n = (d.event || []).length;
    this.event = new Float64Array(n); this.time = new Float64Array(n);
    for (let i = 0, e = 0, t = 0; i < n; i++) { this.event[i] = e += d.event[i]; this.time[i] = t += d.time[i]; }
    this.place = Int16Array.from(d.place || []); this.peer = Int16Array.from(d.peer || []);
    this.what = Uint8Array.from(d.what || []); this.cause = Int32Array.from(d.cause || []); this.begin = Int32Array.from(d.begin || []);
    for (const c of ["name", "code", "group", "text"]) this[c] = Uint32Array.from(d[c] || []);
    this.partAt = new Uint32Array(n + 1);
    for (let i = 0; i < n; i++) this.partAt[i + 1] = this.partAt[i] + d.parts[i];
    for (const c of ["part", "pcode", "isr"]) this[c] = Uint32Array.from(d[c] || []);
    for (const c of ["from", "to", "start", "logEnd", "flushed", "high", "epoch", "leader"]) this[c] = Float64Array.from(d[c] || []);
    this.kind = {};
    this.whats.forEach((name, i) => { this.kind[name] = i; });
    this.lanes(d.nodes, d.clients || []);
    this.links();
    this.spans();
    this.subject = d.subject || this.busiest();
  }

  lanes(nodes, clients) {
    this.places = [];
    for (let id = 1; id <= nodes; id++) this.places.push({place: id, label: "node " + id, node: true});
    for (const c of clients) this.places.push({place: -c.ID, label: "client " + c.ID, about: [c.Role, c.Group].filter(Boolean).join(" "), node: false});
    this.laneOf = new Map(this.places.map((p, i) => [p.place, i]));
    this.byLane = this.places.map(() => []);
    this.lane = new Int16Array(this.n);
    for (let i = 0; i < this.n; i++) {
      const l = this.laneOf.get(this.place[i]);
      const astray = this.what[i] === this.kind.lost || this.what[i] === this.kind.late || this.what[i] === this.kind.held;
      this.lane[i] = l === undefined || astray ? -1 : l; // what is lost happens to nobody
      if (l !== undefined) this.byLane[l].push(i);
    }
  }

  // links finds where each message arrives and what follows from each row.
  links() {
    const k = this.kind, n = this.n;
    this.arrival = new Int32Array(n).fill(-1);
    const counts = new Uint32Array(n + 1);
    for (let i = 0; i < n; i++) {
      const c = this.cause[i], w = this.what[i];
      if (c < 0) continue;
      counts[c + 1]++;
      if (w === k.recv || w === k.request || w === k.answer || w === k.lost) if (this.arrival[c] < 0) this.arrival[c] = i;
    }
    for (let i = 0; i < n; i++) counts[i + 1] += counts[i];
    this.effectAt = counts;
    this.effect = new Int32Array(counts[n]);
    const next = counts.slice();
    for (let i = 0; i < n; i++) if (this.cause[i] >= 0) this.effect[next[this.cause[i]]++] = i;
  }

  // spans finds everything that lasts: processes, faults, operations, leaderships.
  spans() {
    const k = this.kind;
    this.downs = []; this.faults = []; this.ops = []; this.phases = []; this.lost = [];
    const open = new Map(), fault = new Map(), asked = new Map();
    const close = (at, t) => { const s = open.get(at); if (s) { s.to = t; open.delete(at); } };
    for (const p of this.places) { const s = {lane: this.laneOf.get(p.place), from: 0, to: this.end, kind: "down"}; this.downs.push(s); open.set(p.place, s); }
    for (let i = 0; i < this.n; i++) {
      const t = this.time[i], at = this.place[i];
      switch (this.what[i]) {
      case k.down: case k["client-down"]: case k.pause: case k["client-pause"]: {
        close(at, t);
        const s = {lane: this.laneOf.get(at), from: t, to: this.end, row: i,
          kind: this.what[i] === k.pause || this.what[i] === k["client-pause"] ? "pause" : "down", label: this.texts[this.name[i]]};
        this.downs.push(s); open.set(at, s);
        break;
      }
      case k.start: case k["client-start"]: case k.wake: case k["client-wake"]: close(at, t); break;
      case k.fault: { const s = {from: t, to: t, row: i, label: this.texts[this.text[i]]}; this.faults.push(s); fault.set(i, s); break; }
      case k["fault-end"]: { const s = fault.get(this.cause[i]); if (s) s.to = t; break; }
      case k.phase: this.phases.push({from: t, label: this.texts[this.name[i]]}); break;
      case k.ask: { const s = {lane: this.laneOf.get(at), from: t, to: this.end, row: i, label: this.texts[this.name[i]], out: "open"}; this.ops.push(s); asked.set(i, s); break; }
      case k.done: { const s = asked.get(this.begin[i]); if (s) { s.to = t; s.out = this.texts[this.code[i]]; s.done = i; } break; }
      }
    }
    // Pack what overlaps into tracks.
    const pack = (list, key, most) => {
      const ends = new Map();
      for (const s of list) {
        const e = ends.get(key(s)) || []; ends.set(key(s), e);
        let track = e.findIndex(end => end <= s.from);
        if (track < 0) track = e.length < most ? e.length : e.indexOf(Math.min(...e));
        e[track] = Math.max(s.to, s.from + this.end / 400); s.track = track;
      }
    };
    pack(this.faults, () => 0, 4);
    pack(this.ops, s => s.lane, 3);
    this.opsByLane = this.places.map(() => []);
    for (const o of this.ops) if (o.lane !== undefined) this.opsByLane[o.lane].push(o);
  }

  // partitions are all that any replica was ever told of.
  partitions() {
    const seen = new Map();
    for (let i = 0; i < this.n; i++) if (this.what[i] === this.kind.state) {
      const p = this.part[this.partAt[i]];
      seen.set(p, (seen.get(p) || 0) + 1);
    }
    return [...seen].map(([p, count]) => ({id: this.texts[p], count})).sort((a, b) => a.id.localeCompare(b.id, "en", {numeric: true}));
  }

  busiest() { return this.partitions().sort((a, b) => b.count - a.count).map(p => p.id)[0] || ""; }

  title_of(id) { const [t, i] = id.split("/"); return this.topics[t] ? `${this.topics[t]}/${i} (${id})` : id; }

  // states is how the replicas of a partition stood, by node, and who led it.
  states(id) {
    if (this.cached && this.cached.id === id) return this.cached;
    const s = {id, nodes: new Map(), leads: [], top: 1, truncations: []}, k = this.kind, led = new Map();
    const stop = (at, t) => { const l = led.get(at); if (l) { l.to = t; led.delete(at); } };
    for (let i = 0; i < this.n; i++) {
      const w = this.what[i], t = this.time[i], at = this.place[i];
      if (w === k.down) { stop(at, t); const list = s.nodes.get(at); if (list) list.push({t, gone: true}); continue; }
      if (w !== k.state && w !== k.truncate) continue;
      const p = this.partAt[i];
      if (this.texts[this.part[p]] !== id) continue;
      if (w === k.truncate) { s.truncations.push({t, at, to: this.from[p], row: i}); continue; }
      if (!s.nodes.has(at)) s.nodes.set(at, []);
      s.nodes.get(at).push({t, end: this.logEnd[p], high: this.high[p], start: this.start[p], row: i});
      const role = this.texts[this.name[i]], now = led.get(at);
      if (role !== "leading" || now && now.epoch !== this.epoch[p]) stop(at, t);
      if (role === "leading" && !led.get(at)) { const l = {at, epoch: this.epoch[p], from: t, to: this.end, row: i}; s.leads.push(l); led.set(at, l); }
    }
    return this.cached = s;
  }

  // after is the first row at or behind a time.
  after(t) {
    let lo = 0, hi = this.n;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (this.time[mid] < t) lo = mid + 1; else hi = mid; }
    return lo;
  }

  where(place) { return place > 0 ? "node " + place : place < 0 ? "client " + -place : "the run"; }

  // say tells a row in a few words.
  say(i) {
    const k = this.kind, w = this.what[i], name = this.texts[this.name[i]], peer = this.where(this.peer[i]);
    let text = this.whats[w];
    switch (w) {
    case k.recv: text = `receives ${name} from ${peer}`; break;
    case k.request: text = `is asked by ${peer}: ${name}`; break;
    case k.send: text = `sends ${name} to ${peer}`; break;
    case k.reply: text = `answers ${peer}: ${name}`; break;
    case k.call: text = `asks ${peer}: ${name}`; break;
    case k.answer: text = `is answered by ${peer}: ${name}`; break;
    case k.lost: return `${name} from ${peer} to ${this.where(this.place[i])} is lost` + this.sayParts(i);
    case k.tick: text = "acts because its time has come"; break;
    case k.append: text = "appends"; break;
    case k.truncate: text = "cuts its log"; break;
    case k.appended: text = "has written"; break;
    case k.flushed: text = "has flushed"; break;
    case k.meta: text = "commits as controller"; break;
    case k.ask: text = `begins: ${name}`; break;
    case k.done: text = `ends: ${name} ${this.texts[this.code[i]]}`; break;
    case k.state: text = `is ${name}`; break;
    case k.fault: case k["fault-end"]: case k.phase: case k.mark: case k.down: text += name ? ": " + name : ""; break;
    case k.broken: return "broken: " + name;
    }
    const code = this.texts[this.code[i]];
    return this.where(this.place[i]) + " " + text + (code && w !== k.done ? " " + code : "") + this.sayParts(i);
  }

  sayParts(i) {
    const parts = [];
    for (let p = this.partAt[i]; p < this.partAt[i + 1]; p++) {
      if (parts.length === 4) { parts.push("…"); break; }
      let t = this.texts[this.part[p]];
      if (this.from[p] >= 0 && this.to[p] >= 0) t += ` [${this.from[p]}, ${this.to[p]})`;
      else if (this.from[p] >= 0) t += ` at ${this.from[p]}`;
      else if (this.to[p] >= 0) t += ` up to ${this.to[p]}`;
      if (this.logEnd[p] >= 0) t += ` log [${this.start[p]}, ${this.logEnd[p]})`;
      if (this.flushed[p] >= 0) t += ` flushed ${this.flushed[p]}`;
      if (this.high[p] >= 0) t += ` hw ${this.high[p]}`;
      if (this.epoch[p] >= 0) t += ` epoch ${this.epoch[p]}`;
      if (this.isr[p]) t += ` isr ${this.texts[this.isr[p]]}`;
      if (this.pcode[p]) t += " " + this.texts[this.pcode[p]];
      parts.push(t);
    }
    return parts.length ? "; " + parts.join(", ") : "";
  }

  // search finds rows: a place ("node 2", "n2", "c7"), a record
  // ("orders/0@22"), a partition ("11/1"), or any text. Words must all hold.
  search(query) {
    const tests = [];
    let q = query.trim().toLowerCase();
    q = q.replace(/\b(?:node ?|n)(\d+)\b/g, (_, id) => { tests.push(i => this.place[i] === +id || this.peer[i] === +id); return " "; });
    q = q.replace(/\b(?:client ?|c)(\d+)\b(?![.\d-])/g, (_, id) => { tests.push(i => this.place[i] === -id || this.peer[i] === -id); return " "; });
    q = q.replace(/(\S+)\/(\d+)(?:@(\d+))?/g, (_, topic, index, at) => {
      const ids = new Set();
      for (const [id, name] of Object.entries(this.topics)) if (id === topic || name.toLowerCase() === topic) ids.add(this.texts.indexOf(`${id}/${index}`));
      tests.push(i => {
        for (let p = this.partAt[i]; p < this.partAt[i + 1]; p++) {
          if (ids.has(this.part[p]) && (at === undefined || this.from[p] >= 0 && this.from[p] <= +at && (this.to[p] > +at || this.to[p] < 0 && this.from[p] === +at))) return true;
        }
        return false;
      });
      return " ";
    });
    for (const word of q.split(/\s+/).filter(Boolean)) {
      const hit = new Uint8Array(this.texts.length);
      this.texts.forEach((t, j) => { if (t.toLowerCase().includes(word)) hit[j] = 1; });
      const kinds = this.whats.map(w => w.includes(word));
      tests.push(i => kinds[this.what[i]] || hit[this.name[i]] || hit[this.code[i]] || hit[this.text[i]] || hit[this.group[i]]);
    }
    const found = [];
    if (tests.length) for (let i = 0; i < this.n; i++) if (tests.every(t => t(i))) found.push(i);
    return found;
  }
}
