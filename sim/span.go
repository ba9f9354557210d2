package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Span is a length of virtual time in nanoseconds, or a point of it counted
// from the start of the run. In files it reads like "250ms".
type Span int64

// Units of Span.
const (
	Microsecond = Span(message.Microsecond)
	Millisecond = Span(message.Millisecond)
	Second      = Span(message.Second)
)

// MarshalText writes the span as Go does: "1.5s".
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes, and plain nanoseconds.
func (s *Span) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*s = Span(n)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("a time must look like 250ms or 1.5s, not %q", text)
	}
	*s = Span(d)
	return nil
}

// String is the span as Go prints it.
func (s Span) String() string { return time.Duration(s).String() }
