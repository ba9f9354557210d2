package settings

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/message"
)

// unit is a name for a number of the smallest thing.
type unit struct {
	name string
	size int64
}

// The units, largest first.
var (
	spans = []unit{
		{"h", int64(message.Hour)}, {"m", int64(message.Minute)}, {"s", int64(message.Second)},
		{"ms", int64(message.Millisecond)}, {"us", int64(message.Microsecond)}, {"ns", 1},
	}
	sizes = []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
)

var (
	errSpan = errors.New("give a span of time as a whole number with a unit, as in 250ms, 30s, 15m or 36h")
	errSize = errors.New("give a size as a number of bytes, or with KiB, MiB or GiB behind it")
)

func number(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// ParseDuration reads a span of time: whole numbers with the units h, m, s, ms,
// us and ns, one after the other, as in 1h30m.
func ParseDuration(text string) (message.Duration, error) {
	total, rest := int64(0), text
	for rest != "" || text == "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if digits < 1 {
			return 0, errSpan
		}
		letters := strings.IndexFunc(rest[digits:], func(r rune) bool { return r >= '0' && r <= '9' })
		if letters < 0 {
			letters = len(rest) - digits
		}
		n, ok := times(rest[:digits], rest[digits:digits+letters], spans)
		if total += n; !ok || total < 0 {
			return 0, errSpan
		}
		rest = rest[digits+letters:]
	}
	return message.Duration(total), nil
}

// ParseBytes reads a size in bytes, as 1048576, 1MiB, 512KiB or 2GiB.
func ParseBytes(text string) (int64, error) {
	digits := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		text, digits = text+"B", len(text)
	}
	n, ok := times(text[:digits], text[digits:], sizes)
	if !ok {
		return 0, errSize
	}
	return n, nil
}

// times is a count of units; ok is false when there is no such unit or the
// product does not fit.
func times(count, name string, units []unit) (product int64, ok bool) {
	n, err := number(count)
	for _, u := range units {
		if u.name == name && err == nil && n >= 0 && n*u.size/u.size == n {
			return n * u.size, true
		}
	}
	return 0, false
}

// FormatDuration writes a span of time with the largest unit that leaves it
// whole.
func FormatDuration(d message.Duration) string { return format(int64(d), spans) }

// FormatBytes writes a size with the largest unit that leaves it whole.
func FormatBytes(n int64) string { return format(n, sizes) }

func format(n int64, units []unit) string {
	for _, u := range units {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return "0" + units[len(units)-1].name
}
