package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/witness"
	"github.com/tamarack-mq/tamarack/witness/report"
)

var orders = record.PartitionID{Topic: 11, Index: 0}

// made builds a run: a leader and two followers under a stream of produces, and
// in the end, if failed, a record that is cut.
func made(events int, failed bool) *witness.Run {
	run := &witness.Run{
		Title: "seed 7", Seed: 7, Nodes: 3, Topics: map[record.TopicID]string{11: "orders"}, Offsets: "__consumer_offsets",
		Clients: []witness.Client{{ID: 1, Role: "producer"}, {ID: 2, Role: "member", Group: "billing"}},
	}
	var now int64
	event := uint64(0)
	add := func(r witness.Row) int32 {
		r.Event, r.Time = event, now
		if r.Begin == 0 {
			r.Begin = witness.None
		}
		run.Rows = append(run.Rows, r)
		return int32(len(run.Rows) - 1)
	}
	next := func() { event++; now += 150_000 }
	part := func(from, to int64) []witness.Part {
		p := witness.NewPart(orders)
		p.Epoch, p.From, p.To = 0, from, to
		return []witness.Part{p}
	}
	state := func(at int, role string, end, high int64, cause int32) {
		p := witness.NewPart(orders)
		p.Epoch, p.Start, p.End, p.Flushed, p.High, p.Leader = 0, 0, end, end, high, 1
		add(witness.Row{Place: witness.NodeAt(at), What: witness.State, Name: role, Cause: cause, Parts: []witness.Part{p}})
	}
	add(witness.Row{What: witness.Phase, Name: "warm", Cause: witness.None})
	for id := 1; id <= 3; id++ {
		next()
		add(witness.Row{Place: witness.NodeAt(id), What: witness.Start, Cause: witness.None, Text: "run 1"})
	}
	for id := 1; id <= 2; id++ {
		next()
		add(witness.Row{Place: witness.ClientAt(id), What: witness.ClientStart, Cause: witness.None})
	}
	fault := add(witness.Row{Place: witness.NodeAt(3), What: witness.Fault, Name: "isolate", Cause: witness.None, Text: "isolate node 3 for 2s"})
	for n := int64(0); event < uint64(events); n++ {
		next()
		ask := add(witness.Row{Place: witness.ClientAt(1), What: witness.Ask, Name: "publish", Cause: witness.None, Text: fmt.Sprintf("value-%d", n)})
		call := add(witness.Row{Place: witness.ClientAt(1), Peer: 1, What: witness.Call, Name: "Produce", Cause: ask, Text: fmt.Sprintf("Produce{%d}", n)})
		next()
		request := add(witness.Row{Place: 1, Peer: witness.ClientAt(1), What: witness.Request, Name: "Produce", Cause: call})
		add(witness.Row{Place: 1, What: witness.Append, Cause: request, Parts: part(n, n+1)})
		send := add(witness.Row{Place: 1, Peer: 2, What: witness.Send, Name: "ReplicaFetchReply", Cause: request, Parts: part(n, n+1)})
		lost := add(witness.Row{Place: 1, Peer: 3, What: witness.Send, Name: "ReplicaFetchReply", Cause: request, Parts: part(n, n+1)})
		state(1, "leading", n+1, n, request)
		next()
		got := add(witness.Row{Place: 2, Peer: 1, What: witness.Recv, Name: "ReplicaFetchReply", Cause: send, Parts: part(n, n+1)})
		add(witness.Row{Place: 2, What: witness.Append, Cause: got, Parts: part(n, n+1)})
		state(2, "following", n+1, n, got)
		next()
		add(witness.Row{Place: 3, Peer: 1, What: witness.Lost, Name: "ReplicaFetchReply", Cause: lost})
		reply := add(witness.Row{Place: 1, Peer: witness.ClientAt(1), What: witness.Reply, Name: "ProduceReply", Cause: got, Begin: request, Parts: part(n, n+1)})
		state(1, "leading", n+1, n+1, got)
		next()
		answer := add(witness.Row{Place: witness.ClientAt(1), Peer: 1, What: witness.Answer, Name: "ProduceReply", Cause: reply})
		add(witness.Row{Place: witness.ClientAt(1), What: witness.Done, Name: "publish", Code: "ok", Cause: answer, Begin: ask, Parts: part(n, n+1)})
	}
	add(witness.Row{Place: 3, What: witness.FaultEnd, Name: "isolate", Cause: fault})
	if failed {
		next()
		tick := add(witness.Row{Place: 2, What: witness.Tick, Cause: witness.None})
		add(witness.Row{Place: 2, What: witness.Truncate, Cause: tick, Parts: part(5, 9)})
		add(witness.Row{Place: 2, What: witness.Broken, Name: "INV-4", Cause: tick, Text: "node 2 drops record 5 of partition 11/0"})
		run.Failure = &witness.Failure{Invariant: "INV-4", Sentence: "node 2 drops record 5 of partition 11/0, which is <committed>", Event: event, Time: now, Place: 2,
			Subject: witness.Subject{Partition: orders, Offset: 5}}
	}
	run.End, run.Events = now, event
	return run
}

func page(t *testing.T, run *witness.Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, run, nil))
	return b.String()
}

var holder = regexp.MustCompile(`<div id="data" hidden>([A-Za-z0-9+/=]+)</div>`)

// unpacked is the data in a page, as its script sees it.
func unpacked(t *testing.T, html string) map[string]any {
	t.Helper()
	found := holder.FindStringSubmatch(html)
	require.NotNil(t, found, "the page holds no data")
	raw, err := base64.StdEncoding.DecodeString(found[1])
	require.NoError(t, err)
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	data := map[string]any{}
	require.NoError(t, json.NewDecoder(zip).Decode(&data))
	return data
}

func TestAPageHoldsTheWholeRun(t *testing.T) {
	run := made(400, true)
	data := unpacked(t, page(t, run))
	rows := len(run.Rows)
	for _, column := range []string{"event", "time", "place", "peer", "what", "name", "code", "group", "text", "cause", "begin", "parts"} {
		require.Len(t, data[column], rows, column)
	}
	parts := 0
	for i := range run.Rows {
		parts += len(run.Rows[i].Parts)
	}
	for _, column := range []string{"part", "epoch", "from", "to", "start", "logEnd", "flushed", "high", "pcode", "leader", "isr"} {
		require.Len(t, data[column], parts, column)
	}
	require.EqualValues(t, rows-1, data["failed"])
	require.Equal(t, "11/0", data["subject"])
	require.NotEmpty(t, data["story"])
	require.EqualValues(t, []any{float64(rows - 3), float64(rows - 1)}, data["chain"])
	texts, names := data["texts"].([]any), data["name"].([]any)
	require.Equal(t, run.Rows[20].Name, texts[int(names[20].(float64))])
}

func TestAPageNeedsNothingElse(t *testing.T) {
	html := page(t, made(200, true))
	for _, outside := range []string{"http://", "https://", "<link", "<img", "src=", "@import", "url("} {
		require.NotContains(t, html, outside)
	}
	// What broke, and the story of it, stand in the page as text.
	require.Contains(t, html, "drops record 5 of partition 11/0, which is &lt;committed&gt;")
	require.Contains(t, html, "client 1 publishes it: value-5")
	require.Contains(t, html, "node 2 cuts its log at 5 and drops it")
}

func TestAPageStaysSmall(t *testing.T) {
	size := len(page(t, made(50_000, false)))
	require.Less(t, size, 4<<20, "a page of 50,000 events")
}

func TestABrowserShowsWhereItBroke(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(path, []byte(page(t, made(3000, true))), 0o644))
	b := open(t, path)
	b.settle()
	b.shoot("failure")
	const inView = `(() => { const v = report.view, x = v.x(report.model.time[report.model.failed]); return x > v.label && x < v.w ? 1 : 0; })()`
	require.EqualValues(t, 1, b.number(inView), "the failing event is not in view")
	require.EqualValues(t, 1, b.number(`report.view.selected === report.model.failed ? 1 : 0`))
	require.Contains(t, b.eval(`document.getElementById("details").innerText`), "INV-4")
	require.Equal(t, "none", b.eval(`getComputedStyle(document.getElementById("data") || document.createElement("i")).display || "none"`))

	// Something is drawn, in each part of the picture.
	ink := `(y0, y1) => { const c = document.getElementById("timeline"), d = c.getContext("2d").getImageData(130, y0, c.width - 140, y1 - y0).data; let n = 0; for (let i = 0; i < d.length; i += 4) if (d[i] + d[i + 1] + d[i + 2] < 600) n++; return n; }`
	require.Greater(t, b.number(`(`+ink+`)(60, 220)`), 200.0, "no node is drawn")
	require.Greater(t, b.number(`(`+ink+`)(report.view.panelTop + 4, report.view.h - 4)`), 100.0, "no partition is drawn")

	// Zoom by key and wheel, pan by drag, and back to the failure.
	span := b.number(`report.view.to - report.view.from`)
	b.key("+")
	require.InDelta(t, span/2, b.number(`report.view.to - report.view.from`), span*0.01)
	b.mouse("mouseWheel", 600, 400, map[string]any{"deltaX": 0, "deltaY": 400})
	b.settle()
	require.Greater(t, b.number(`report.view.to - report.view.from`), span*0.6)
	before := b.number(`report.view.from`)
	b.mouse("mousePressed", 700, 300, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	b.mouse("mouseMoved", 900, 300, map[string]any{"button": "left", "buttons": 1})
	b.mouse("mouseReleased", 900, 300, map[string]any{"button": "left", "clickCount": 1})
	b.settle()
	require.Less(t, b.number(`report.view.from`), before)
	b.key("0")
	b.shoot("whole")
	require.EqualValues(t, 0, b.number(`report.view.from > 0 ? 1 : 0`))
	b.key("f")
	require.EqualValues(t, 1, b.number(inView))

	// A click on an event shows it, with links to what it follows from.
	b.eval(`report.view.show(report.model.time[200] - 1e6, report.model.time[200] + 1e6)`)
	b.settle()
	x := b.number(`report.view.x(report.model.time[200])`)
	y := b.number(`document.getElementById("timeline").getBoundingClientRect().top + report.view.laneY(report.model.laneOf.get(report.model.place[200]))`)
	b.click(x, y)
	require.Equal(t, b.number(`report.model.event[200]`), b.number(`report.model.event[report.view.selected]`))
	require.Greater(t, b.number(`document.querySelectorAll("#details button").length`), 0.0)
	b.eval(`document.querySelector("#details button").click()`)
	require.NotEqual(t, b.number(`report.model.event[200]`), b.number(`report.model.event[report.view.selected]`))
	b.shoot("details")
}

func TestABrowserFinds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	run := made(3000, true)
	require.NoError(t, os.WriteFile(path, []byte(page(t, run)), 0o644))
	b := open(t, path)
	b.key("/")
	b.typeText("orders/0@17")
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter"})
	b.settle()
	want := 0
	for i := range run.Rows {
		for k := range run.Rows[i].Parts {
			if run.Rows[i].Parts[k].Covers(orders, 17) {
				want++
			}
		}
	}
	require.EqualValues(t, want, b.number(`report.view.found.length`))
	require.Contains(t, b.eval(`document.getElementById("matches").textContent`), fmt.Sprintf("of %d", want))
	b.shoot("search")
	require.EqualValues(t, 1, b.number(`report.model.search("value-420").length`))
	require.Greater(t, b.number(`report.model.search("node 3 lost").length`), 10.0)
	require.EqualValues(t, 0, b.number(`report.model.search("node 3 Produce append").length`))
	require.EqualValues(t, b.number(`report.model.search("ProduceReply c1").length`), b.number(`report.model.search("producereply client 1").length`))
}

func TestABrowserStaysQuickWith50000Events(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(path, []byte(page(t, made(50_000, false))), 0o644))
	b := open(t, path)
	b.shoot("large")
	t.Logf("ready after %.0f ms", b.number(`performance.now()`))
	frames := b.eval(`(async () => {
		const v = report.view, frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
		const measure = async (n, act) => { v.frames.length = 0; for (let i = 0; i < n; i++) { act(i); await frame(); } const f = v.frames.slice().sort((a, b) => a - b); return f[Math.floor(f.length * 0.9)]; };
		const out = {};
		v.show(0, report.model.end); await frame();
		out.whole = await measure(20, i => v.move(i % 2 ? 3 : -3, 0));
		out.zoom = await measure(40, () => v.zoom(0.8, report.model.end * 0.6));
		v.show(report.model.end * 0.5, report.model.end * 0.54); await frame();
		out.pan = await measure(20, () => v.move(40, 0));
		return JSON.stringify(out);
	})()`).(string)
	t.Logf("milliseconds to draw a frame, nine in ten are quicker: %s", frames)
	var took map[string]float64
	require.NoError(t, json.Unmarshal([]byte(frames), &took))
	for what, ms := range took {
		require.Less(t, ms, 250.0, "%s", what) // some 5 to 15 on an idle machine
	}
}
