package live

import (
	"io"
	"net"
	"sync"
)

// proxy stands before a node: clients and other nodes reach it through here, so
// that its connections can be cut from outside. What it carries is not looked
// at.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	broken bool
	open   map[net.Conn]bool
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, open: map[net.Conn]bool{}}
	go p.serve()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.carry(in)
	}
}

func (p *proxy) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer out.Close()
	if !p.hold(in, out) {
		return
	}
	defer p.release(in, out)
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go pipe(out, in)
	go pipe(in, out)
	<-done
}

func (p *proxy) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		return false
	}
	for _, c := range conns {
		p.open[c] = true
	}
	return true
}

func (p *proxy) release(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

// cut ends all connections and lets no new one through until mend.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	for c := range p.open {
		c.Close()
	}
	clear(p.open)
}

func (p *proxy) mend() {
	p.mu.Lock()
	p.broken = false
	p.mu.Unlock()
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut()
}
