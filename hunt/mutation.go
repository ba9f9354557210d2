package hunt

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Operator is a kind of single edit.
type Operator string

// The operators. Each is small enough that a tired programmer could have made
// the edit.
const (
	Turned     Operator = "comparison turned"      // < becomes >=, == becomes !=
	OffByOne   Operator = "comparison off by one"  // < becomes <=, >= becomes >
	Bound      Operator = "bound off by one"       // a number or the bound of a slice; min and max exchanged
	NoCall     Operator = "call left out"          // a statement that is a call, or a defer
	NoAssign   Operator = "assignment left out"    // =, +=, ++ and their like, not :=
	Swapped    Operator = "arguments swapped"      // two neighbours of one type
	ForceTrue  Operator = "condition always true"  // of an if
	ForceFalse Operator = "condition always false" // of an if or a for
	Logic      Operator = "and for or"             // && and || exchanged
	NoReturn   Operator = "return left out"        // one that is not the end of its function
	Arithmetic Operator = "plus for minus"         // + and -, += and -=, ++ and -- exchanged
	NoBranch   Operator = "branch left out"        // a break, a continue, a goto
)

// Mutation is one single edit of one file.
type Mutation struct {
	File     string   `json:"file" yaml:"file"` // from the root of the module
	Func     string   `json:"func" yaml:"func"` // in which it stands
	Operator Operator `json:"operator" yaml:"-"`
	Line     int      `json:"line" yaml:"-"`
	Before   string   `json:"before" yaml:"before"` // the lines that change, as they stand
	After    string   `json:"after" yaml:"after"`   // and with the edit; empty when nothing is left of them
	// Nth tells apart the edits of one function that read alike; 0: the first.
	Nth int `json:"nth,omitempty" yaml:"nth,omitempty"`

	start, end int    // of the text that is replaced, in bytes
	text       string // that replaces it
}

// same says that two mutations are one edit, also when lines above have moved.
func (m *Mutation) same(o *Mutation) bool {
	return m.File == o.File && m.Func == o.Func && m.Before == o.Before && m.After == o.After && m.Nth == o.Nth
}

// apply returns the text of the file with the edit.
func (m *Mutation) apply(text []byte) string {
	return string(text[:m.start]) + m.text + string(text[m.end:])
}

// mutations lists every single edit of a package, in the order of its files.
func (p *parsed) mutations() []Mutation {
	var out []Mutation
	for i, f := range p.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || leftAlone(fn.Name.Name) || p.recovers(fn) {
				continue
			}
			w := &mutator{p: p, file: i, fn: funcName(fn)}
			ast.PreorderStack(fn.Body, []ast.Node{fn}, w.visit)
			slices.SortStableFunc(w.found, func(a, b Mutation) int { return cmp.Compare(a.start, b.start) })
			number(w.found)
			out = append(out, w.found...)
		}
	}
	return out
}

// number tells apart what reads alike.
func number(found []Mutation) {
	type reads struct{ before, after string }
	seen := map[reads]int{}
	for i := range found {
		r := reads{found[i].Before, found[i].After}
		found[i].Nth = seen[r]
		seen[r]++
	}
}

// recovers tells functions that stop a panic. They must be deferred themselves:
// a copy that such a function calls stops none.
func (p *parsed) recovers(fn *ast.FuncDecl) (yes bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "recover" {
			_, builtin := p.info.Uses[id].(*types.Builtin)
			yes = yes || builtin
		}
		return !yes
	})
	return yes
}

// leftAlone tells functions that do nothing but describe things to people, and
// those that fill in the defaults of settings: any value keeps every promise.
func leftAlone(name string) bool {
	switch name {
	case "String", "Error", "GoString", "Format", "withDefaults":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "describe")
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch index := t.(type) {
	case *ast.IndexExpr:
		t = index.X
	case *ast.IndexListExpr:
		t = index.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// mutator walks one function.
type mutator struct {
	p     *parsed
	file  int
	fn    string
	found []Mutation
}

// visit lists the edits of one node; false: nothing below it is edited.
func (w *mutator) visit(n ast.Node, stack []ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return w.call(n)
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.BasicLit:
		w.literal(n)
	case *ast.SliceExpr:
		w.slice(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !w.speaks(call) {
			w.add(NoCall, n, "")
		}
	case *ast.DeferStmt:
		w.add(NoCall, n, "")
	case *ast.AssignStmt:
		w.assign(n)
	case *ast.IncDecStmt:
		w.step(n, stack)
	case *ast.IfStmt:
		if assertion(n) {
			return false
		}
		w.force(n.Cond, true)
	case *ast.ForStmt:
		w.force(n.Cond, false)
	case *ast.ReturnStmt:
		if !last(n, stack) {
			w.add(NoReturn, n, "")
		}
	case *ast.BranchStmt:
		if n.Tok != token.FALLTHROUGH {
			w.add(NoBranch, n, "")
		}
	}
	return true
}

// assertion tells an if that only stops the program over a fault of our own.
// Code without faults never gets there, so no run can tell it from its edits.
func assertion(n *ast.IfStmt) bool {
	if n.Else != nil || len(n.Body.List) != 1 {
		return false
	}
	s, ok := n.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := s.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// speaks tells calls that only make text for people: what they are given is not
// edited.
func (w *mutator) speaks(n *ast.CallExpr) bool {
	if f, ok := n.Fun.(*ast.Ident); ok {
		return f.Name == "panic"
	}
	path, name := w.imported(n)
	return path == "fmt" || path == "errors" && name == "New"
}

// imported names the package and the function of a call into another package.
func (w *mutator) imported(n *ast.CallExpr) (path, name string) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	id, ok := f.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	pkg, ok := w.p.info.Uses[id].(*types.PkgName)
	if !ok {
		return "", ""
	}
	return pkg.Imported().Path(), f.Sel.Name
}

// symmetric tells calls that give the same however their arguments stand.
func (w *mutator) symmetric(n *ast.CallExpr) bool {
	switch path, name := w.imported(n); path {
	case "slices", "bytes", "maps":
		return name == "Equal"
	case "errors":
		return name == "Join"
	}
	return false
}

func (w *mutator) call(n *ast.CallExpr) bool {
	if w.speaks(n) {
		return false
	}
	if id, ok := n.Fun.(*ast.Ident); ok {
		if _, builtin := w.p.info.Uses[id].(*types.Builtin); builtin {
			switch id.Name {
			case "min":
				w.add(Bound, id, "max")
			case "max":
				w.add(Bound, id, "min")
			}
			return true
		}
	}
	if w.symmetric(n) {
		return true
	}
	for i := range len(n.Args) - 1 {
		a, b := n.Args[i], n.Args[i+1]
		if w.source(a) != w.source(b) && w.alike(a, b) {
			w.replace(Swapped, a.Pos(), b.End(), w.source(b)+", "+w.source(a))
		}
	}
	return true
}

// alike says that two arguments have one type, after what each is used as.
func (w *mutator) alike(a, b ast.Expr) bool {
	ta, tb := w.p.info.Types[a], w.p.info.Types[b]
	return ta.IsValue() && tb.IsValue() && ta.Type != nil && tb.Type != nil && types.Identical(ta.Type, tb.Type)
}

var (
	turned   = map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">"}
	shifted  = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
	logical  = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}
	opposite = map[token.Token]string{token.ADD: "-", token.SUB: "+", token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.INC: "--", token.DEC: "++"}
)

func (w *mutator) binary(n *ast.BinaryExpr) {
	end := n.OpPos + token.Pos(len(n.Op.String()))
	if s, ok := turned[n.Op]; ok {
		w.replace(Turned, n.OpPos, end, s)
	}
	if s, ok := shifted[n.Op]; ok {
		w.replace(OffByOne, n.OpPos, end, s)
	}
	if s, ok := logical[n.Op]; ok {
		w.replace(Logic, n.OpPos, end, s)
	}
	if s, ok := opposite[n.Op]; ok && w.number(n) {
		w.replace(Arithmetic, n.OpPos, end, s)
	}
}

func (w *mutator) number(e ast.Expr) bool {
	t := w.p.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

func (w *mutator) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	v, exact := constant.Int64Val(constant.MakeFromLiteral(n.Value, n.Kind, 0))
	if !exact {
		return
	}
	w.add(Bound, n, fmt.Sprint(v+1))
	if v > 0 {
		w.add(Bound, n, fmt.Sprint(v-1))
	}
}

// slice moves the bounds of a slice that are no literals, inwards.
func (w *mutator) slice(n *ast.SliceExpr) {
	w.inwards(n.Low, "+1")
	w.inwards(n.High, "-1")
}

func (w *mutator) inwards(bound ast.Expr, by string) {
	if _, literal := bound.(*ast.BasicLit); bound != nil && !literal {
		w.add(Bound, bound, w.source(bound)+by)
	}
}

func (w *mutator) assign(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE {
		return
	}
	if s, ok := opposite[n.Tok]; ok && w.number(n.Lhs[0]) {
		w.replace(Arithmetic, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), s)
	}
	if id, ok := n.Lhs[0].(*ast.Ident); len(n.Lhs) == 1 && ok && id.Name == "_" {
		return
	}
	w.add(NoAssign, n, "")
}

// step edits ++ and --, but not those that drive a loop: without them it only
// hangs.
func (w *mutator) step(n *ast.IncDecStmt, stack []ast.Node) {
	if loop, ok := stack[len(stack)-1].(*ast.ForStmt); ok && loop.Post == n {
		return
	}
	w.replace(Arithmetic, n.TokPos, n.TokPos+2, opposite[n.Tok])
	w.add(NoAssign, n, "")
}

// force gives a condition one value; it is still computed, so that what it uses
// stays used.
func (w *mutator) force(cond ast.Expr, both bool) {
	if cond == nil {
		return
	}
	if both {
		w.add(ForceTrue, cond, "("+w.source(cond)+") || true")
	}
	w.add(ForceFalse, cond, "("+w.source(cond)+") && false")
}

// last says that a return is the end of its function.
func last(n *ast.ReturnStmt, stack []ast.Node) bool {
	body, ok := stack[len(stack)-1].(*ast.BlockStmt)
	if !ok || body.List[len(body.List)-1] != n || len(stack) < 2 {
		return false
	}
	switch stack[len(stack)-2].(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

func (w *mutator) offset(pos token.Pos) int { return w.p.fset.Position(pos).Offset }

func (w *mutator) source(n ast.Node) string {
	return string(w.p.texts[w.file][w.offset(n.Pos()):w.offset(n.End())])
}

func (w *mutator) add(op Operator, n ast.Node, text string) { w.replace(op, n.Pos(), n.End(), text) }

// replace notes one edit, and the lines that it changes.
func (w *mutator) replace(op Operator, from, to token.Pos, text string) {
	all := w.p.texts[w.file]
	m := Mutation{
		File: w.p.names[w.file], Func: w.fn, Operator: op, Line: w.p.fset.Position(from).Line,
		start: w.offset(from), end: w.offset(to), text: text,
	}
	first := strings.LastIndexByte(string(all[:m.start]), '\n') + 1
	end := len(all)
	if i := strings.IndexByte(string(all[m.end:]), '\n'); i >= 0 {
		end = m.end + i
	}
	m.Before = strings.TrimSpace(string(all[first:end]))
	m.After = strings.TrimSpace(string(all[first:m.start]) + text + string(all[m.end:end]))
	w.found = append(w.found, m)
}
