// Package tape records what went into the core of a real node and what came out
// of it, and plays it to a fresh core, which must do the same: the bridge between
// simulation and reality. A driver that hands the core a time, a message or a
// completion that the tape does not have, or a core that draws on anything but
// its inputs, shows as a difference.
//
// A tape is one file of one run of a process:
//
//	magic    8 bytes: "TAMTAPE" and the number of the format
//	frames   each: length (4 bytes, big endian), CRC-32C of the body (4 bytes), body
//
// The first byte of a body tells what it is:
//
//	H  what the core was made of: a Header, as JSON
//	R  what storage had found: an effect.Recovered
//	S  one step: time since the step before (monotonic, of day), the input, the effects
//	E  the end, and why
//
// Inputs are kept whole. Of effects, all fields are kept but long bytes (records,
// frames of the journal, checkpoints), of which the length and a CRC-32C stand
// there: enough to name the first field that differs, at a fraction of the size.
// Messages are in the form of the wire (transport/codec), all else is msgpack.
//
// A process that is killed leaves a tape without an end, perhaps with half a frame;
// it is read up to there. A whole frame whose sum is wrong is damage.
package tape

import (
	"hash/crc32"
	"runtime/debug"
	"time"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Format is the number of the format that this package writes and reads.
const Format = 1

const magic = "TAMTAPE"

// Suffix ends the names of tapes.
const Suffix = ".tape"

// What a frame holds.
const (
	frameHeader    = 'H'
	frameRecovered = 'R'
	frameStep      = 'S'
	frameEnd       = 'E'
)

// frameHead is the size of a frame's length and sum.
const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header says which core was run.
type Header struct {
	Code    string      // the commit it was built from; see Code
	Started time.Time   // of the process, on the wall clock
	Config  core.Config // as the core was given it
	Seed    uint64      // of the core's stream of numbers
	Now     message.Now // when the core was made
}

// Code is the commit that this program was built from, with a note when the tree
// had changes; "unknown" when the build did not stamp it.
func Code() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownCode
	}
	version, dirty := unknownCode, ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			version = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = " with changes"
			}
		}
	}
	return version + dirty
}

const unknownCode = "unknown"
