package sim

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// hashDigits is how much of a commit hash makes a seed: as much as any reader of
	// JSON keeps exactly (52 bits).
	hashDigits = 13
	// CommitSeeds is how many seeds a commit hash by itself stands for.
	CommitSeeds = 100
	// manySeeds is more than any campaign gets through.
	manySeeds = 1 << 40
)

// ParseSeed reads a seed: a decimal number, or a commit hash, whose first 13 hex
// digits are the number. A shorter hash is refused: it would be another number than
// the whole one.
func ParseSeed(s string) (uint64, error) {
	seed, _, err := parseSeed(s)
	return seed, err
}

func parseSeed(s string) (seed uint64, commit bool, err error) {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n, false, nil
	}
	if s == "" || strings.Trim(s, "0123456789abcdefABCDEF") != "" {
		return 0, false, fmt.Errorf("%q is no seed: give a number or a commit hash", s)
	}
	if len(s) < hashDigits {
		return 0, false, fmt.Errorf("%q is no seed: of a commit hash give all digits, or the first %d at least, of which the seed is made", s, hashDigits)
	}
	n, err := strconv.ParseUint(s[:hashDigits], 16, 64)
	return n, true, err
}

// ParseSeeds reads a range of seeds, both ends included: "1..5000", "7+100" (a
// hundred from 7 on), one number, or a commit hash, which stands for CommitSeeds
// seeds of its own, or for as many as "9ccf0a151add8+500" says. So every commit covers
// new ground.
func ParseSeeds(s string) (from, to uint64, err error) {
	if a, b, ok := strings.Cut(s, ".."); ok {
		if from, err = ParseSeed(a); err != nil {
			return 0, 0, err
		}
		if to, err = ParseSeed(b); err != nil {
			return 0, 0, err
		}
		if to < from {
			return 0, 0, fmt.Errorf("seeds %s: the second is below the first", s)
		}
		return from, to, nil
	}
	a, b, counted := strings.Cut(s, "+")
	from, commit, err := parseSeed(a)
	if err != nil {
		return 0, 0, err
	}
	count := uint64(1)
	switch {
	case counted:
		if count, err = strconv.ParseUint(b, 10, 40); err != nil || count == 0 {
			return 0, 0, fmt.Errorf("seeds %s: how many? Give it as FROM+COUNT", s)
		}
	case commit:
		count = CommitSeeds
	}
	if to = from + count - 1; to < from {
		return 0, 0, fmt.Errorf("seeds %s: there are not so many above %d", s, from)
	}
	return from, to, nil
}

// ParseOpenSeeds reads the seeds of a campaign that something else ends, its budget
// or its plateau: where s names no last seed, there is none. "": all from 1 on.
func ParseOpenSeeds(s string) (from, to uint64, err error) {
	if s == "" {
		return 1, manySeeds, nil
	}
	from, to, err = ParseSeeds(s)
	if _, commit, _ := parseSeed(s); err == nil && commit {
		to = from + manySeeds
	}
	return from, to, err
}
