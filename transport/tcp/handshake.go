package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Version is the version of the protocol that this package speaks: of the
// handshake's meaning, of the frames and of the messages in them. Both sides
// must have the same.
const Version = 1

// magic opens both halves of the handshake.
var magic = [4]byte{'T', 'M', 'R', 'K'}

// Hello is what the side that dials says about itself.
//
// On the wire: magic, version (2 bytes), length of the rest (2 bytes), node and
// wanted node (4 bytes each), then cluster id, address and software, each as a
// length byte and the bytes. All numbers are big endian.
type Hello struct {
	ClusterID string         // empty: any cluster (clients only)
	Node      message.NodeID // NoNode: a client
	Want      message.NodeID // the node that should answer; NoNode: any
	Address   string         // where a node itself can be reached
	Software  string         // name and version, for the other side's log

	version uint16
}

// Welcome is what the side that was dialled says about itself.
//
// On the wire: magic, version (2), length of the rest (2), code (2), node (4),
// largest frame (4), then cluster id and detail as in Hello. A code other than
// None refuses the connection, and the detail says why.
type Welcome struct {
	ClusterID string
	Node      message.NodeID
	MaxFrame  int32 // the largest frame that it takes, in bytes

	version uint16
	code    message.Code
	detail  string
}

// maxHandshake is more than either half needs: three texts and some numbers.
const maxHandshake = 1024

var errMagic = errors.New("the first bytes are not those of this protocol")

func (h Hello) encode() []byte {
	b := opening(h.version)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Node))
	b = binary.BigEndian.AppendUint32(b, uint32(h.Want))
	b = appendText(b, h.ClusterID)
	b = appendText(b, h.Address)
	b = appendText(b, h.Software)
	return closing(b)
}

func (w Welcome) encode() []byte {
	b := opening(w.version)
	b = binary.BigEndian.AppendUint16(b, uint16(w.code))
	b = binary.BigEndian.AppendUint32(b, uint32(w.Node))
	b = binary.BigEndian.AppendUint32(b, uint32(w.MaxFrame))
	b = appendText(b, w.ClusterID)
	b = appendText(b, w.detail)
	return closing(b)
}

// readHello reads the dialling side's half. A version other than ours is not
// looked into any further: only its number is set.
func readHello(r io.Reader) (Hello, error) {
	version, rest, err := readHalf(r)
	h := Hello{version: version}
	if err != nil || version != Version {
		return h, err
	}
	p := parser{b: rest}
	h.Node, h.Want = message.NodeID(p.uint32()), message.NodeID(p.uint32())
	h.ClusterID, h.Address, h.Software = p.text(), p.text(), p.text()
	if err := p.end(); err != nil {
		return h, err
	}
	if h.Node < 0 || h.Want < 0 {
		return h, fmt.Errorf("node ids %d and %d: they must not be negative", h.Node, h.Want)
	}
	return h, nil
}

// readWelcome reads the other half. That of another version is read as far as
// it can be understood, since it says why it refuses.
func readWelcome(r io.Reader) (Welcome, error) {
	version, rest, err := readHalf(r)
	w := Welcome{version: version}
	if err != nil {
		return w, err
	}
	p := parser{b: rest}
	w.code = message.Code(p.uint16())
	w.Node, w.MaxFrame = message.NodeID(p.uint32()), int32(p.uint32())
	w.ClusterID, w.detail = p.text(), p.text()
	if err := p.end(); err != nil && version == Version {
		return w, err
	}
	if version != Version && w.code == message.None {
		w.code, w.detail = message.UnsupportedVersion, fmt.Sprintf("it speaks version %d, this side %d", version, Version)
	}
	return w, nil
}

func opening(version uint16) []byte {
	b := append(make([]byte, 0, 128), magic[:]...)
	if version == 0 {
		version = Version
	}
	b = binary.BigEndian.AppendUint16(b, version)
	return append(b, 0, 0)
}

func closing(b []byte) []byte {
	binary.BigEndian.PutUint16(b[6:], uint16(len(b)-8))
	return b
}

// appendText cuts what is longer than a length byte can say.
func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), math.MaxUint8)]
	return append(append(b, byte(len(s))), s...)
}

// readHalf reads magic, version and the rest.
func readHalf(r io.Reader) (version uint16, rest []byte, err error) {
	var first [8]byte
	if _, err := io.ReadFull(r, first[:]); err != nil {
		return 0, nil, fmt.Errorf("no handshake: %w", err)
	}
	if [4]byte(first[:4]) != magic {
		return 0, nil, errMagic
	}
	n := binary.BigEndian.Uint16(first[6:])
	if n > maxHandshake {
		return 0, nil, fmt.Errorf("a handshake of %d bytes: more than %d make no sense", n, maxHandshake)
	}
	rest = make([]byte, n)
	if _, err := io.ReadFull(r, rest); err != nil {
		return 0, nil, fmt.Errorf("half a handshake: %w", err)
	}
	return binary.BigEndian.Uint16(first[4:]), rest, nil
}

// parser reads fields and remembers whether any was missing.
type parser struct {
	b     []byte
	short bool
}

func (p *parser) take(n int) []byte {
	if len(p.b) < n {
		p.b, p.short = nil, true
		return make([]byte, n)
	}
	taken := p.b[:n]
	p.b = p.b[n:]
	return taken
}

func (p *parser) uint16() uint16 { return binary.BigEndian.Uint16(p.take(2)) }
func (p *parser) uint32() uint32 { return binary.BigEndian.Uint32(p.take(4)) }
func (p *parser) text() string   { return string(p.take(int(p.take(1)[0]))) }

func (p *parser) end() error {
	if p.short || len(p.b) > 0 {
		return errors.New("the handshake's fields do not fit its length")
	}
	return nil
}

// judge answers a hello on behalf of the node that w describes.
func (w Welcome) judge(h Hello) Welcome {
	refuse := func(code message.Code, format string, args ...any) Welcome {
		w.code, w.detail = code, fmt.Sprintf(format, args...)
		return w
	}
	switch {
	case h.version != Version:
		return refuse(message.UnsupportedVersion, "you speak version %d, node %d speaks %d: run the same release on both sides", h.version, w.Node, Version)
	case h.ClusterID != w.ClusterID && (h.ClusterID != "" || h.Node != message.NoNode):
		return refuse(message.ClusterIDMismatch, "you asked for cluster %q, node %d belongs to %q: check the address and the cluster id", h.ClusterID, w.Node, w.ClusterID)
	case h.Want != message.NoNode && h.Want != w.Node:
		return refuse(message.InvalidRequest, "you asked for node %d, this is node %d: check the addresses", h.Want, w.Node)
	case h.Node != message.NoNode && h.Node == w.Node:
		return refuse(message.InvalidRequest, "you say that you are node %d, and so am I: give each node its own id", w.Node)
	}
	return w
}
