// Package report draws a run as one page: a file that holds all it needs and
// works from disk, without a network. What the page shows is packed into it by
// columns; the page unpacks it and draws only what is in view.
package report

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/tamarack-mq/tamarack/witness"
)

//go:embed page.html page.css model.js draw.js page.js
var files embed.FS

// page is what the template needs. The heading and the story are in the page as
// plain text, too, for readers without scripts and for those who search files.
type page struct {
	Title    string
	Verdict  string
	Sentence string
	Story    *witness.Story
	Lines    []line
	Style    template.CSS
	Script   template.JS
	Data     template.HTML
}

type line struct {
	Row   int
	Event uint64
	Time  string
	Text  string
}

// Write writes the page of a run. story is what to highlight; nil: the one that
// the run's failure is about, if it failed.
func Write(w io.Writer, run *witness.Run, story *witness.Story) error {
	if story == nil {
		story = run.Why()
	}
	t, err := template.ParseFS(files, "page.html")
	if err != nil {
		return err
	}
	data, err := pack(run, story)
	if err != nil {
		return err
	}
	p := page{Title: run.Title, Verdict: "passed", Story: story, Data: template.HTML(data)}
	if run.Failure != nil {
		p.Verdict, p.Sentence = run.Failure.Invariant, run.Failure.Sentence
	}
	if story != nil {
		for _, s := range story.Steps {
			row := &run.Rows[s.Row]
			p.Lines = append(p.Lines, line{s.Row, row.Event, fmt.Sprintf("%.6f s", time.Duration(row.Time).Seconds()), s.Text})
		}
	}
	for _, name := range []string{"model.js", "draw.js", "page.js"} {
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		p.Script += template.JS(text)
	}
	style, err := files.ReadFile("page.css")
	if err != nil {
		return err
	}
	p.Style = template.CSS(style)
	return t.Execute(w, &p)
}

// columns is a run as the page unpacks it. Events and times are differences to
// the row before; texts are numbers into Texts, of which 0 is empty.
type columns struct {
	Title   string            `json:"title"`
	End     int64             `json:"end"`
	Events  uint64            `json:"events"`
	Nodes   int               `json:"nodes"`
	Clients []witness.Client  `json:"clients"`
	Topics  map[string]string `json:"topics"`
	Whats   []string          `json:"whats"`
	Texts   []string          `json:"texts"`
	Event   []uint64          `json:"event"`
	Time    []int64           `json:"time"`
	Place   []int32           `json:"place"`
	Peer    []int32           `json:"peer"`
	What    []int             `json:"what"`
	Name    []int             `json:"name"`
	Code    []int             `json:"code"`
	Group   []int             `json:"group"`
	Text    []int             `json:"text"`
	Cause   []int32           `json:"cause"`
	Begin   []int32           `json:"begin"`
	Parts   []int             `json:"parts"` // how many each row has
	Part    []int             `json:"part"`  // "11/1"
	Epoch   []int32           `json:"epoch"`
	From    []int64           `json:"from"`
	To      []int64           `json:"to"`
	Start   []int64           `json:"start"`
	LogEnd  []int64           `json:"logEnd"`
	Flushed []int64           `json:"flushed"`
	High    []int64           `json:"high"`
	PCode   []int             `json:"pcode"`
	Leader  []int32           `json:"leader"`
	ISR     []int             `json:"isr"`
	Story   []int             `json:"story"`
	Chain   []int             `json:"chain"`
	Subject string            `json:"subject"` // the partition to begin with
	Failed  int               `json:"failed"`  // the row that broke; -1: none
}

// pack makes the columns of a run: JSON, compressed, in base64.
func pack(run *witness.Run, story *witness.Story) (string, error) {
	c := fill(run, story)
	var b bytes.Buffer
	to64 := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(to64)
	if err := json.NewEncoder(zip).Encode(c); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	if err := to64.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// texts gives each text a number, and each number once.
type texts struct {
	list  []string
	known map[string]int
}

func (t *texts) at(s string) int {
	n, ok := t.known[s]
	if !ok {
		n = len(t.list)
		t.list, t.known[s] = append(t.list, s), n
	}
	return n
}

func fill(run *witness.Run, story *witness.Story) *columns {
	c := &columns{
		Title: run.Title, End: run.End, Events: run.Events, Nodes: run.Nodes, Clients: run.Clients,
		Topics: map[string]string{}, Whats: append([]string{""}, witness.Whats()...), Failed: witness.None,
	}
	for id, name := range run.Topics {
		c.Topics[fmt.Sprint(id)] = name
	}
	words := &texts{list: []string{""}, known: map[string]int{"": 0}}
	var event uint64
	var now int64
	for i := range run.Rows {
		r := &run.Rows[i]
		c.Event, c.Time = append(c.Event, r.Event-event), append(c.Time, r.Time-now)
		event, now = r.Event, r.Time
		c.Place, c.Peer, c.What = append(c.Place, int32(r.Place)), append(c.Peer, int32(r.Peer)), append(c.What, int(r.What))
		c.Name, c.Code = append(c.Name, words.at(r.Name)), append(c.Code, words.at(r.Code))
		c.Group, c.Text = append(c.Group, words.at(r.Group)), append(c.Text, words.at(r.Text))
		c.Cause, c.Begin, c.Parts = append(c.Cause, r.Cause), append(c.Begin, r.Begin), append(c.Parts, len(r.Parts))
		for k := range r.Parts {
			c.part(&r.Parts[k], words)
		}
		if r.What == witness.Broken {
			c.Failed = i
		}
	}
	c.Texts = words.list
	if story != nil {
		for _, s := range story.Steps {
			c.Story = append(c.Story, s.Row)
		}
	}
	if c.Failed >= 0 {
		for _, s := range run.Led(c.Failed).Steps {
			c.Chain = append(c.Chain, s.Row)
		}
	}
	if story != nil && story.About.Topic != 0 {
		c.Subject = story.About.String()
	}
	return c
}

func (c *columns) part(p *witness.Part, words *texts) {
	c.Part, c.Epoch = append(c.Part, words.at(p.ID.String())), append(c.Epoch, p.Epoch)
	c.From, c.To, c.Start = append(c.From, p.From), append(c.To, p.To), append(c.Start, p.Start)
	c.LogEnd, c.Flushed, c.High = append(c.LogEnd, p.End), append(c.Flushed, p.Flushed), append(c.High, p.High)
	isr := ""
	if len(p.Nodes) > 0 {
		isr = fmt.Sprint(p.Nodes)
	}
	c.PCode, c.Leader, c.ISR = append(c.PCode, words.at(p.Code)), append(c.Leader, p.Leader), append(c.ISR, words.at(isr))
}
