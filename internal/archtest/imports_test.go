package archtest

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tamarack-mq/tamarack/"

// rooms is the table of DESIGN.md: each room, and the rooms of this module that
// its non-test code may import besides those below itself. A room that is not
// listed here fails.
var rooms = map[string][]string{
	"core/record":      {},
	"core/chance":      {},
	"core/order":       {},
	"core/message":     {"core/record"},
	"core/effect":      {"core/record", "core/message"},
	"core/pack":        {},
	"core/deadline":    {"core/message"},
	"core/metadata":    {"core/record", "core/message", "core/order", "core/pack"},
	"core/log":         {"core/record", "core/message", "core/effect", "core/order"},
	"core/replica":     {"core/deadline", "core/log", "core/record", "core/message", "core/effect", "core/chance", "core/order"},
	"core/quorum":      {"core/pack", "core/record", "core/message", "core/effect", "core/chance", "core/order"},
	"core/controller":  {"core/pack", "core/quorum", "core/metadata", "core/record", "core/message", "core/effect", "core/chance", "core/order"},
	"core/group":       {"core/deadline", "core/record", "core/message", "core/order"},
	"core/client":      {"core/deadline", "core/record", "core/message", "core/chance"},
	"core":             {"core/"},
	"storage":          {"core/record", "core/effect", "core/message", "storage/vfs"},
	"storage/vfs":      {"core/chance"},
	"transport":        {"core/message", "core/record"},
	"transport/simnet": {"core/chance", "core/message", "core/record", "transport"},
	"server":           {"core", "core/", "storage", "storage/vfs", "transport", "transport/tcp", "transport/codec"},
	"client":           {"core/", "transport", "transport/tcp", "transport/codec", "history"},
	"history":          {},
	"models":           {"history"},
	"sim":              {"core", "core/", "storage", "storage/vfs", "storage/vfs/simdisk", "transport", "transport/simnet", "transport/codec", "history", "models", "topology"},
	"live":             {"core/client", "client", "core/message", "core/record", "core/chance", "history", "models", "transport/tcp"},
	"topology":         {},
	"hunt":             {},
	"scenarios":        {},
	"internal":         {},
	"cmd/node":         {"server", "client", "core/", "transport", "transport/tcp", "topology"},
	"cmd/simrun":       {"hunt", "sim", "live", "topology", "scenarios", "history", "models"},
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

// coreStd is the whole standard library as far as the core may see it. Clocks,
// locks, files, sockets and random numbers are absent, not forbidden by name.
var coreStd = []string{
	"bytes", "cmp", "encoding/binary", "errors", "fmt", "hash/crc32", "hash/fnv", "iter",
	"maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode/utf8",
}

// coreThird are the libraries that some rooms of the core may use.
var coreThird = map[string][]string{
	"core/quorum":     {"go.etcd.io/raft/v3", "go.etcd.io/raft/v3/raftpb", "google.golang.org/protobuf/proto"},
	"core/controller": {"github.com/hashicorp/go-msgpack/v2/codec"},
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
