package archtest

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tamarack-mq/tamarack/"

// rooms is the table of DESIGN.md: each room, and the rooms of this module that
// its non-test code may import besides those below itself. A room that is not
// listed here fails.
var rooms = map[string][]string{
	"core/record":       {},
	"core/chance":       {},
	"core/order":        {},
	"core/pack":         {},
	"core/message":      {"core/record"},
	"core/deadline":     {"core/message"},
	"core/effect":       {"core/record", "core/message"},
	"core/metadata":     {"core/record", "core/message", "core/pack"},
	"core/log":          {"core/record", "core/message", "core/effect"},
	"core/settings":     {"core/message"},
	"core/replica":      {"core/log", "core/record", "core/message", "core/effect", "core/chance", "core/order", "core/deadline", "core/verify"},
	"core/quorum":       {"core/message", "core/effect", "core/pack", "core/chance"},
	"core/controller":   {"core/quorum", "core/settings", "core/metadata", "core/record", "core/message", "core/effect", "core/chance"},
	"core/verify":       {"core/record", "core/message", "core/deadline"},
	"core/marker":       {"core/record", "core/message", "core/order"},
	"core/ledger":       {"core/record", "core/message"},
	"core/group":        {"core/ledger", "core/verify", "core/record", "core/message", "core/order", "core/deadline"},
	"core/txn":          {"core/ledger", "core/record", "core/message", "core/order", "core/deadline", "core/pack"},
	"core/client":       {"core/record", "core/message", "core/chance", "core/deadline"},
	"core":              {"core/"},
	"storage":           {"core/record", "core/message", "core/effect", "storage/vfs"},
	"storage/vfs":       {"core/chance"},
	"transport":         {"core/message"},
	"transport/simnet":  {"core/chance", "core/message"},
	"server":            {"core", "core/chance", "core/record", "core/message", "core/effect", "storage", "storage/vfs", "transport/tcp", "tape"},
	"tape":              {"core", "core/", "transport/codec"},
	"client":            {"core/client", "core/chance", "core/record", "core/message", "transport/tcp"},
	"history":           {},
	"models":            {"history"},
	"sim":               {"core", "core/", "storage", "storage/vfs/simdisk", "transport/simnet", "transport/codec", "history", "models", "witness", "topology", "internal/dump", "internal/cputime"},
	"witness":           {"core/record"},
	"shrink":            {"sim", "witness"},
	"hunt":              {},
	"topology":          {},
	"live":              {"client", "core/client", "core/chance", "core/record", "core/message", "transport/tcp", "history", "models", "internal/loopback"},
	"scenarios":         {},
	"internal":          {},
	"internal/cputime":  {},
	"internal/dump":     {},
	"internal/edited":   {},
	"internal/loopback": {},
	"internal/shown":    {},
	"examples/pipeline": {"client"},
	"bench":             {"client", "core/client", "core/message"},
	"cmd/node":          {"server", "client", "bench", "core/client", "core/record", "core/message", "topology", "internal/loopback"},
	"cmd/simrun":        {"sim", "shrink", "witness", "witness/report", "tape", "live", "hunt", "scenarios", "topology", "internal/edited", "internal/cputime"},
}

// roomOf finds the longest listed room that holds a package.
func roomOf(pkg string) string {
	for p := pkg; p != "."; {
		if _, ok := rooms[p]; ok {
			return p
		}
		cut := strings.LastIndexByte(p, '/')
		if cut < 0 {
			break
		}
		p = p[:cut]
	}
	return ""
}

func allowed(pkg, imported string) bool {
	room := roomOf(pkg)
	if imported == room || strings.HasPrefix(imported, room+"/") && room != "core" {
		return true
	}
	for _, a := range rooms[room] {
		if imported == a || strings.HasSuffix(a, "/") && strings.HasPrefix(imported, a) {
			return true
		}
	}
	return false
}

// TestTheTableOfDesignIsTheOneThatIsEnforced keeps the table that people read and the
// one above together: the same rooms, and for each the same imports.
func TestTheTableOfDesignIsTheOneThatIsEnforced(t *testing.T) {
	design, err := os.ReadFile("../../DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"internal": true} // this test; not worth a row
	for line := range strings.Lines(string(design)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 { // room, holds, may import, and what is beside them
			continue
		}
		var row []string
		for i, word := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				named[word] = true
				row = append(row, word)
			}
		}
		if is, want := strings.TrimSpace(cells[3]), mayImport(row); len(row) > 0 && is != want {
			t.Errorf("DESIGN.md says that %s may import %s; what is enforced is: %s", strings.Join(row, ", "), is, want)
		}
	}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		if !named[room] {
			t.Errorf("room %s is not in the table of DESIGN.md: add a row", room)
		}
		delete(named, room)
	}
	for _, room := range slices.Sorted(maps.Keys(named)) {
		t.Errorf("DESIGN.md names a room %s that is not there: take the row out, or add the room here", room)
	}
}

// mayImport is what DESIGN.md says in the last column of a row: all that its rooms may
// import but for themselves and what is open to all of the core, by the last words of
// their paths, or by whole paths where those are of two rooms.
func mayImport(row []string) string {
	var words []string
	for _, room := range row {
		for _, a := range rooms[room] {
			word := path.Base(a)
			switch {
			case a == "core/":
				word = "all of core"
			case a == "core/chance" || a == "core/order" || slices.Contains(row, a) || a == "core" && slices.Contains(rooms[room], "core/"):
				continue
			case rooms[word] != nil:
				word = a
			}
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest {
			continue
		}
		if roomOf(f.pkg) == "" {
			t.Errorf("%s: package %s is in no room: add it to the table in DESIGN.md and here", f.path, f.pkg)
			continue
		}
		for _, imp := range f.imports() {
			inner, ours := strings.CutPrefix(imp, module)
			if ours && !allowed(f.pkg, inner) {
				t.Errorf("%s: %s may not import %s: let core carry a message between them, or move the code", f.path, roomOf(f.pkg), inner)
			}
		}
	}
}

// TestTheTableAllowsNothingThatNobodyUses keeps it from opening a door for good that
// was needed once.
func TestTheTableAllowsNothingThatNobodyUses(t *testing.T) {
	used := map[string][]string{} // by room
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			if inner, ours := strings.CutPrefix(imp, module); ours && !f.isTest {
				used[roomOf(f.pkg)] = append(used[roomOf(f.pkg)], inner)
			}
		}
	}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		for _, a := range rooms[room] {
			opened := func(imp string) bool { return imp == a || strings.HasSuffix(a, "/") && strings.HasPrefix(imp, a) }
			if !slices.ContainsFunc(used[room], opened) {
				t.Errorf("room %s may import %s and does not: take it out of the table", room, a)
			}
		}
	}
}

// coreStd is the whole standard library as far as the core may see it. Clocks,
// locks, files, sockets and random numbers are absent, not forbidden by name.
var coreStd = []string{
	"bytes", "cmp", "encoding/binary", "errors", "fmt", "hash/crc32", "hash/fnv", "iter",
	"maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode/utf8",
}

// coreThird are the libraries that some rooms of the core may use.
var coreThird = map[string][]string{
	"core/quorum": {"go.etcd.io/raft/v3", "go.etcd.io/raft/v3/raftpb", "google.golang.org/protobuf/proto"},
}

func TestCoreUsesOnlyThePureLibrary(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest || !f.inCore() {
			continue
		}
		for _, imp := range f.imports() {
			if strings.HasPrefix(imp, module) || slices.Contains(coreStd, imp) || slices.Contains(coreThird[roomOf(f.pkg)], imp) {
				continue
			}
			t.Errorf("%s: the core may not import %q: what it needs from the world comes in as an input", f.path, imp)
		}
	}
}

func TestModelsNeverSeeTheCore(t *testing.T) {
	for _, f := range sources(t) {
		if roomOf(f.pkg) != "models" {
			continue
		}
		for _, imp := range f.imports() {
			if strings.HasPrefix(imp, module+"core") {
				t.Errorf("%s: a model that knows the core shares its mistakes: judge the history alone", f.path)
			}
		}
	}
}
