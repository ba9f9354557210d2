package archtest

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"testing"
)

// mapWalkers are the only functions of the core that may range over a map: they
// collect the keys and sort them.
var mapWalkers = map[string]bool{"core/order.Keys": true, "core/order.KeysBy": true}

// walksMap are the functions of package maps that show the order of a map.
var walksMap = map[string]bool{"All": true, "Keys": true, "Values": true, "DeleteFunc": true}

func TestCoreHasNoGoroutineChannelOrSelect(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest || !f.inCore() {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "maps" && walksMap[n.Sel.Name] {
					what = "maps." + n.Sel.Name
				}
			case *ast.GoStmt:
				what = "a go statement"
			case *ast.SelectStmt:
				what = "select"
			case *ast.ChanType:
				what = "a channel"
			case *ast.SendStmt:
				what = "a channel send"
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					what = "a channel receive"
				}
			}
			if what != "" {
				t.Errorf("%s:%d: %s in the core: it is one step of a state machine, drivers do the waiting", f.path, f.line(n.Pos()), what)
			}
			return true
		})
	}
}

func TestCoreWalksOverNoMap(t *testing.T) {
	packages := map[string][]source{}
	var order []string
	for _, f := range sources(t) {
		if f.isTest || !f.inCore() {
			continue
		}
		if packages[f.pkg] == nil {
			order = append(order, f.pkg)
		}
		packages[f.pkg] = append(packages[f.pkg], f)
	}
	compiled := importer.ForCompiler(sources(t)[0].set, "source", nil)
	for _, pkg := range order {
		checkMapRanges(t, pkg, packages[pkg], compiled)
	}
}

func checkMapRanges(t *testing.T, pkg string, files []source, from types.Importer) {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	trees := make([]*ast.File, len(files))
	for i, f := range files {
		trees[i] = f.tree
	}
	config := types.Config{Importer: from}
	if _, err := config.Check(module+pkg, files[0].set, trees, info); err != nil {
		t.Fatalf("type-checking %s: %v", pkg, err)
	}
	for _, f := range files {
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || mapWalkers[pkg+"."+fn.Name.Name] {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				r, ok := n.(*ast.RangeStmt)
				if !ok {
					return true
				}
				if _, isMap := types.Unalias(info.TypeOf(r.X)).Underlying().(*types.Map); isMap {
					t.Errorf("%s:%d: range over a map in the core: walk over order.Keys of it", f.path, f.line(r.Pos()))
				}
				return true
			})
		}
	}
}
