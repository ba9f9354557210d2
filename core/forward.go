package core

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// maxForwarded bounds the admin requests that wait for the controller at one
// broker; more are turned away with a retriable error (INV-38).
const maxForwarded = 1000

// forwards carries admin requests of clients to the controller and brings the
// answers back. A request is sent once to a controller that may take it; it is
// sent again only after a NotController, which says that it changed nothing. Each
// sending has a number of its own: a NotController that comes twice, or late, says
// nothing of the sending that came after it, which another controller may be at work on.
type forwards struct {
	patience message.Duration
	last     uint64      // counted from the incarnation: an answer to an earlier run is none to this one
	waiting  []forwarded // by deadline: all wait equally long
}

type forwarded struct {
	request  uint64 // the number of the last sending
	token    message.Token
	body     message.Request
	deadline message.Time
	retry    message.Time // when to send it again; Never while it is with a controller
}

func (f *forwards) send(now message.Time, token message.Token, r message.Request, to message.NodeID, out *effect.Out) {
	if len(f.waiting) >= maxForwarded {
		out.Reply(token, message.Fail(r, message.RequestTimedOut, "too many requests wait for the controller: try again later"))
		return
	}
	f.waiting = append(f.waiting, forwarded{token: token, body: r, deadline: now.Add(f.patience)})
	f.pass(&f.waiting[len(f.waiting)-1], to, out)
}

// pass sends a request under a new number.
func (f *forwards) pass(w *forwarded, to message.NodeID, out *effect.Out) {
	f.last++
	w.request, w.retry = f.last, message.Never
	out.Send(to, &message.Forward{Request: w.request, Body: w.body})
}

// answered takes the controller's answer. pause is how long to wait after a
// controller said that it is none.
func (f *forwards) answered(now message.Time, m *message.Forwarded, pause message.Duration, out *effect.Out) {
	for i := range f.waiting {
		w := &f.waiting[i]
		if w.request != m.Request {
			continue
		}
		if m.Code == message.NotController {
			w.retry = now.Add(pause)
			return
		}
		reply := m.Body
		if m.Code != message.None || reply == nil {
			reply = message.Fail(w.body, cmp.Or(m.Code, message.UnknownServerError), "the controller could not take the request")
		}
		out.Reply(w.token, reply)
		f.waiting = append(f.waiting[:i], f.waiting[i+1:]...)
		return
	}
}

func (f *forwards) wake() message.Time {
	next := message.Never
	for i := range f.waiting {
		next = min(next, f.waiting[i].deadline, f.waiting[i].retry)
	}
	return next
}

func (f *forwards) tick(now message.Time, controller message.NodeID, out *effect.Out) {
	if len(f.waiting) == 0 {
		return
	}
	kept := f.waiting[:0]
	for _, w := range f.waiting {
		if now >= w.deadline {
			out.Reply(w.token, message.Fail(w.body, message.RequestTimedOut,
				"the controller did not answer in time; the request may still take effect"))
			continue
		}
		if now >= w.retry {
			f.pass(&w, controller, out)
		}
		kept = append(kept, w)
	}
	clear(f.waiting[len(kept):])
	f.waiting = kept
}
