package sim

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/history"
)

// Outputs is what has become of the records that a group of workers or processors
// was to work on, as a reader of its output finds it when everything is at rest.
type Outputs struct {
	Inputs   int
	Skipped  int // inputs without an output
	Repeated int // inputs with more than one
	Exact    int // inputs with exactly one
	Example  string
}

// OutputsOf counts them. A reader of committed records is asked, where transactions
// are made; else there are no others.
func OutputsOf(p *Plan, group string, ops []history.Operation) Outputs {
	from, into := map[string]bool{}, map[string]bool{}
	for i := range p.Clients {
		c := &p.Clients[i]
		if c.Group != group || c.Role != Worker && c.Role != Processor {
			continue
		}
		for _, name := range c.Topics {
			from[name] = true
		}
		for _, name := range c.Into {
			into[name] = true
		}
	}
	var inputs []string
	made := map[string]int{}
	for i := range ops {
		op := &ops[i]
		if op.Kind != history.Read || op.Client != auditorID || op.Committed != p.transacts() {
			continue
		}
		for j := range op.Records {
			r := &op.Records[j]
			if from[r.Topic] {
				inputs = append(inputs, string(r.Value))
			}
			if copy, input, ok := history.Product(r.Value); ok && copy == 0 && into[r.Topic] {
				made[string(input)]++
			}
		}
	}
	out := Outputs{Inputs: len(inputs)}
	for _, v := range inputs {
		switch made[v] {
		case 0:
			out.Skipped++
		case 1:
			out.Exact++
			continue
		default:
			out.Repeated++
		}
		if out.Example == "" {
			out.Example = fmt.Sprintf("%q has %d", v, made[v])
		}
	}
	return out
}

// unmet says which of the promises were not kept.
func (x *OutputExpect) unmet(p *Plan, ops []history.Operation) (complaints []string) {
	o := OutputsOf(p, x.Group, ops)
	if o.Inputs == 0 {
		return []string{fmt.Sprintf("there was nothing for group %s to work on", x.Group)}
	}
	check := func(what, want string, got int) {
		switch {
		case want == "some" && got == 0:
			complaints = append(complaints, fmt.Sprintf("group %s: of %d inputs none was %s, some were to be", x.Group, o.Inputs, what))
		case want == "none" && got > 0:
			complaints = append(complaints, fmt.Sprintf("group %s: of %d inputs %d were %s, none was to be: %s outputs", x.Group, o.Inputs, got, what, o.Example))
		}
	}
	check("skipped", x.Skipped, o.Skipped)
	check("repeated", x.Repeated, o.Repeated)
	return complaints
}
