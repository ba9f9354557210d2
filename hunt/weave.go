package hunt

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// switchboard is the package that tells woven code which edit is on, from the
// root of the module; alias is what that code calls it.
const (
	switchboard = "internal/edited"
	alias       = "edited_"
)

// weave returns the texts of files that hold all mutants of a list at once: a
// build takes seconds, and one for all of them takes little longer than one for
// each.
//
// Of the function around an edit there is a copy with the edit in it, and the
// function itself begins by asking whether to hand over to that copy. Nothing
// else in it changes, so the code does with no edit on what it does unwoven.
// Before the statement that holds the edit it counts that it has come there; with
// an edited condition it counts when that has another value with the edit, as far
// as this can be told without computing anything twice. The edit at index i has
// number i+1.
func (c *Checker) weave(list []Mutant) (map[string]string, error) {
	module, err := modulePath(c.root)
	if err != nil {
		return nil, err
	}
	folders := map[string]*parsed{}
	woven := map[string]*weaver{}
	for i := range list {
		m := &list[i]
		p := folders[path.Dir(m.File)]
		if p == nil {
			if p, err = c.parse(path.Dir(m.File), nil); err != nil {
				return nil, err
			}
			folders[path.Dir(m.File)] = p
		}
		w := woven[m.File]
		if w == nil {
			w = &weaver{p: p, file: slices.Index(p.names, m.File), named: map[*ast.FuncDecl]signature{}}
			w.insert(p.files[w.file].Name.End(), fmt.Sprintf("; import %s %q", alias, module+"/"+switchboard))
			woven[m.File] = w
		}
		if err := w.add(i+1, &m.Mutation); err != nil {
			return nil, err
		}
	}
	texts := map[string]string{}
	for file, w := range woven {
		texts[file] = splice(string(w.p.texts[w.file]), 0, w.all()) + w.copies.String()
	}
	return texts, nil
}

// weaver puts edits into one file.
type weaver struct {
	p       *parsed
	file    int
	named   map[*ast.FuncDecl]signature
	changes []change
	wraps   []wrap
	copies  strings.Builder
}

// change puts a text in the place of another.
type change struct {
	start, end int // bytes of the file
	text       string
}

// splice makes changes of a text that begins at an offset of its file. Those at
// one place come in the order in which they are listed.
func splice(text string, offset int, changes []change) string {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	at := 0
	for _, c := range changes {
		out.WriteString(text[at : c.start-offset])
		out.WriteString(c.text)
		at = c.end - offset
	}
	out.WriteString(text[at:])
	return out.String()
}

// signature is how a function passes all it is given on to a copy of itself.
type signature struct {
	callee  string // the receiver and a dot, or nothing
	args    string
	types   string // in brackets; empty for what is not generic
	answers bool
}

func (w *weaver) offset(pos token.Pos) int { return w.p.fset.Position(pos).Offset }

func (w *weaver) insert(pos token.Pos, text string) {
	at := w.offset(pos)
	w.changes = append(w.changes, change{at, at, text})
}

// add weaves one edit in.
func (w *weaver) add(number int, m *Mutation) error {
	fn := w.around(m.start)
	if fn == nil {
		return fmt.Errorf("%s:%d: no function is there any more", m.File, m.Line)
	}
	s := w.signature(fn)
	name := fmt.Sprintf("%s_edit%d", fn.Name.Name, number)
	call := s.callee + name + s.types + "(" + s.args + ")"
	if s.answers {
		call = "return " + call
	} else {
		call += "; return"
	}
	w.insert(fn.Body.Lbrace+1, fmt.Sprintf(" if %s.On == %d { %s }; ", alias, number, call))
	w.count(number, m, fn.Body)

	from, to := w.offset(fn.Pos()), w.offset(fn.End())
	text := string(w.p.texts[w.file][from:to])
	w.copies.WriteString("\n" + splice(text, from, []change{
		{w.offset(fn.Name.Pos()), w.offset(fn.Name.End()), name},
		{m.start, m.end, m.text},
	}) + "\n")
	return nil
}

// count weaves in what counts how often an edit makes, or could make, a difference.
func (w *weaver) count(number int, m *Mutation, body *ast.BlockStmt) {
	e, ok := w.condition(m, body)
	if !ok {
		w.insert(statement(body, w.p.fset, m.start).Pos(), fmt.Sprintf("%s.Reach(%d); ", alias, number))
		return
	}
	before, after := fmt.Sprintf("%s.Where(%d, ", alias, number), ", true)"
	unlike := func(forced bool) { before, after = fmt.Sprintf("%s.Unlike(%d, %t, ", alias, number, forced), ")" }
	binary, _ := e.(*ast.BinaryExpr)
	switch {
	case m.Operator == ForceTrue, m.Operator == ForceFalse:
		unlike(m.Operator == ForceTrue)
	case m.Operator == Logic: // only where the two sides differ
		unlike(binary.Op == token.LAND)
	case m.Operator == OffByOne && still(binary.X) && still(binary.Y):
		after = fmt.Sprintf(", %s == %s)", w.source(binary.X), w.source(binary.Y))
	}
	w.wraps = append(w.wraps, wrap{w.offset(e.Pos()), w.offset(e.End()), before, after})
}

// wrap puts texts before and behind an expression.
type wrap struct {
	start, end    int
	before, after string
}

// all are the changes of the file. Of wraps that begin or end together the outer
// one begins first and ends last.
func (w *weaver) all() []change {
	slices.SortStableFunc(w.wraps, func(a, b wrap) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	all := slices.Clone(w.changes)
	for _, x := range w.wraps {
		all = append(all, change{x.start, x.start, x.before})
	}
	for _, x := range slices.Backward(w.wraps) {
		all = append(all, change{x.end, x.end, x.after})
	}
	return all
}

// condition finds the expression whose truth an edit changes; false: it changes
// something else, or a truth that is not a plain bool.
func (w *weaver) condition(m *Mutation, body *ast.BlockStmt) (found ast.Expr, ok bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (m.Operator == Turned || m.Operator == OffByOne || m.Operator == Logic) && w.offset(n.OpPos) == m.start {
				found = n
			}
		case *ast.IfStmt:
			if (m.Operator == ForceTrue || m.Operator == ForceFalse) && w.offset(n.Cond.Pos()) == m.start {
				found = n.Cond
			}
		case *ast.ForStmt:
			if m.Operator == ForceFalse && n.Cond != nil && w.offset(n.Cond.Pos()) == m.start {
				found = n.Cond
			}
		}
		return found == nil
	})
	if found == nil {
		return nil, false
	}
	t, plain := w.p.info.Types[found].Type.(*types.Basic)
	return found, plain && t.Info()&types.IsBoolean != 0
}

// still says that an expression can be computed twice: it calls nothing.
func still(e ast.Expr) bool {
	calls := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, named := call.Fun.(*ast.Ident)
			calls = calls || !named || id.Name != "len"
		}
		return !calls
	})
	return !calls
}

func (w *weaver) source(n ast.Node) string {
	return string(w.p.texts[w.file][w.offset(n.Pos()):w.offset(n.End())])
}

// around is the function in which an offset lies.
func (w *weaver) around(offset int) *ast.FuncDecl {
	for _, d := range w.p.files[w.file].Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && w.offset(fn.Pos()) <= offset && offset < w.offset(fn.End()) {
			return fn
		}
	}
	return nil
}

// statement is the innermost one in a list of statements that an offset lies in:
// another one can stand before it.
func statement(body *ast.BlockStmt, fset *token.FileSet, offset int) ast.Stmt {
	var found ast.Stmt
	look := func(list []ast.Stmt) {
		for _, s := range list {
			switch s.(type) {
			case *ast.CaseClause, *ast.CommClause:
				continue
			}
			if fset.Position(s.Pos()).Offset <= offset && offset < fset.Position(s.End()).Offset {
				found = s
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			look(n.List)
		case *ast.CaseClause:
			look(n.Body)
		case *ast.CommClause:
			look(n.Body)
		}
		return true
	})
	return found
}

// signature gives names to what a function is given where it has none.
func (w *weaver) signature(fn *ast.FuncDecl) signature {
	s, ok := w.named[fn]
	if ok {
		return s
	}
	if fn.Recv != nil {
		s.callee = w.names(fn.Recv.List, "receiver_")[0] + "."
	}
	args := w.names(fn.Type.Params.List, "given")
	if n := len(fn.Type.Params.List); n > 0 {
		if _, variadic := fn.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			args[len(args)-1] += "..."
		}
	}
	s.args = strings.Join(args, ", ")
	if fn.Type.TypeParams != nil {
		s.types = "[" + strings.Join(w.names(fn.Type.TypeParams.List, "T"), ", ") + "]"
	}
	s.answers = fn.Type.Results != nil
	w.named[fn] = s
	return s
}

// names are those of the fields of a list, with new ones for those that are
// blank or missing.
func (w *weaver) names(list []*ast.Field, prefix string) []string {
	var out []string
	for _, field := range list {
		if len(field.Names) == 0 {
			name := fmt.Sprintf("%s%d_", prefix, len(out))
			w.insert(field.Type.Pos(), name+" ")
			out = append(out, name)
		}
		for _, id := range field.Names {
			name := id.Name
			if name == "_" {
				name = fmt.Sprintf("%s%d_", prefix, len(out))
				w.changes = append(w.changes, change{w.offset(id.Pos()), w.offset(id.End()), name})
			}
			out = append(out, name)
		}
	}
	return out
}
