package sim

import "strings"

// closedFiles is INV-38 for open files: at rest no node holds a file that has no
// name any more, nor any file twice. What is open for nothing is never closed again.
// And for the file of marks: it has none that are held for logs that are gone. And as many
// files of logs count as in use as are: of too few that count too many stay open, and of
// too many that do appends wait for flushes that nobody needs.
type closedFiles struct{ blind }

func (*closedFiles) Invariant() string { return "INV-38" }

func (*closedFiles) Looks() scope { return 0 }

func (o *closedFiles) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		if n.up {
			names, nameless := n.drive.disk.Opened()
			o.judge(w, n, names, nameless)
			held, logs := n.drive.store.Marked()
			o.marked(w, n, held, logs)
			counted, used := n.drive.store.InUse()
			o.counted(w, n, counted, used)
		}
	}
}

func (*closedFiles) judge(w *World, n *Node, names []string, nameless int) {
	if nameless > 0 {
		w.fail("INV-38", n.id, "a file that is gone is held open", "node %d holds %d files open at rest that have no name any more", n.id, nameless)
		return
	}
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			w.fail("INV-38", n.id, "a file is open twice", "node %d holds %s open %d times at rest", n.id, names[i], strings.Count(strings.Join(names, "\n")+"\n", names[i]+"\n"))
			return
		}
	}
}

func (*closedFiles) marked(w *World, n *Node, held, logs int) {
	if held != logs {
		w.fail("INV-38", n.id, "marks are held for nothing", "node %d has %d logs at rest, and holds %d marks for logs", n.id, logs, held)
	}
}

func (*closedFiles) counted(w *World, n *Node, counted, used int) {
	if counted != used {
		w.fail("INV-38", n.id, "files in use are miscounted", "node %d counts %d files of logs as in use at rest, and %d are", n.id, counted, used)
	}
}
