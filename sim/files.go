package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/topology"
)

// Save writes a plan as JSON that a person can read and edit.
func (p *Plan) Save(path string) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Copy returns a plan that shares nothing with this one but what it expects.
func (p *Plan) Copy() *Plan {
	c := *p
	c.Phases.Broken = slices.Clone(p.Phases.Broken)
	c.Topics, c.Faults, c.Clients = slices.Clone(p.Topics), slices.Clone(p.Faults), slices.Clone(p.Clients)
	if p.Script != nil {
		c.Script = &Script{slices.Clone(p.Script.Decisions)}
	}
	for i := range c.Faults {
		f := &c.Faults[i]
		f.Groups = slices.Clone(f.Groups)
		for k := range f.Groups {
			f.Groups[k] = slices.Clone(f.Groups[k])
		}
	}
	for i := range c.Clients {
		c.Clients[i].Topics, c.Clients[i].Ops = slices.Clone(c.Clients[i].Topics), slices.Clone(c.Clients[i].Ops)
	}
	return &c
}

// ParsePlan reads a plan. Fields that it does not know are an error: a plan
// must not promise what nobody plays.
func ParsePlan(b []byte) (*Plan, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("not a plan, which is JSON as simrun plan SEED prints it: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("not a plan: something follows behind its end")
	}
	return p, p.Validate()
}

// LoadPlan reads a plan from a file (*.yaml: the configuration of a topic with
// its producer and consumer groups, see TopologyPlan), or expands a seed: a number, or a commit
// hash (see ParseSeed). Errors name the file.
func LoadPlan(seedOrFile string) (*Plan, error) {
	if ext := filepath.Ext(seedOrFile); ext == ".yaml" || ext == ".yml" {
		t, err := topology.Load(seedOrFile)
		if err != nil {
			return nil, err
		}
		return TopologyPlan(t), nil
	}
	b, unread := os.ReadFile(seedOrFile)
	if unread == nil {
		p, err := ParsePlan(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", seedOrFile, err)
		}
		return p, nil
	}
	family, number, named := strings.Cut(seedOrFile, ":")
	if !named {
		family, number = "", seedOrFile
	}
	plan, err := PlansOf(family)
	if err != nil {
		return nil, err
	}
	seed, err := ParseSeed(number)
	if err != nil {
		return nil, fmt.Errorf("%q is no seed (a number, or a whole commit hash), and as the file of a plan it cannot be read: %w", seedOrFile, unread)
	}
	return plan(seed), nil
}

// PlansOf is how a family of plans expands seeds: "" is NewPlan, "beyond" is
// BeyondPlan, "transactions" is TransactionPlan, "five" is FiveBrokers. "five:40" names a plan of one, for LoadPlan.
func PlansOf(family string) (func(seed uint64) *Plan, error) {
	switch family {
	case "":
		return NewPlan, nil
	case "beyond":
		return BeyondPlan, nil
	case "transactions":
		return TransactionPlan, nil
	case "five":
		return FiveBrokers, nil
	}
	return nil, fmt.Errorf("there are no plans called %q: it is beyond, transactions or five", family)
}

// Validate says what is wrong with a plan and what to do about it.
func (p *Plan) Validate() error {
	c := &p.Cluster
	switch {
	case c.Nodes < 1 || c.Nodes > 30:
		return fmt.Errorf("cluster.nodes is %d: between 1 and 30", c.Nodes)
	case c.Voters < 1 || c.Voters > c.Nodes:
		return fmt.Errorf("cluster.voters is %d: between 1 and the number of nodes", c.Voters)
	case c.Absent < 0 || c.Absent > c.Nodes-c.Voters:
		return fmt.Errorf("cluster.absent is %d: at most the nodes that are no voters", c.Absent)
	case p.Phases.Rest <= 0:
		return fmt.Errorf("phases.rest is needed: how long the cluster may take to come to rest")
	case len(p.Topics) == 0:
		return fmt.Errorf("topics: at least one is needed")
	}
	for _, id := range append(slices.Clone(p.Phases.Broken), p.Phases.CutOff...) {
		if id < 1 || id > c.Nodes {
			return fmt.Errorf("phases.broken, phases.cutOff: there is no node %d", id)
		}
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		if t.Partitions < 1 || t.Replication < 1 || t.Replication > c.Nodes {
			return fmt.Errorf("topic %q: needs partitions, and a replication between 1 and the number of nodes", t.Name)
		}
	}
	if err := p.inBounds(); err != nil {
		return err
	}
	ids := map[int]bool{}
	for i := range p.Clients {
		cl := &p.Clients[i]
		if cl.ID < 1 || cl.ID >= operatorID || ids[cl.ID] {
			return fmt.Errorf("client %d: ids are unique and between 1 and %d", cl.ID, operatorID-1)
		}
		ids[cl.ID] = true
		if err := cl.validateWords(); err != nil {
			return err
		}
		if cl.Role == MemberOf && (cl.Group == "" || len(cl.Topics) == 0) {
			return fmt.Errorf("client %d: a member needs a group and topics", cl.ID)
		}
		if cl.Role.publishes() && len(cl.Topics) == 0 {
			return fmt.Errorf("client %d: a %s needs topics", cl.ID, cl.Role)
		}
		if cl.Role.transacts() && cl.Transactional == "" {
			return fmt.Errorf("client %d: a %s needs a transactional id", cl.ID, cl.Role)
		}
		if (cl.Role == Worker || cl.Role == Processor) && (cl.Group == "" || len(cl.Into) == 0) {
			return fmt.Errorf("client %d: a %s needs a group, and topics to write into", cl.ID, cl.Role)
		}
		if err := cl.validateOps(); err != nil {
			return err
		}
	}
	if p.Script != nil {
		if err := p.Script.validate(); err != nil {
			return err
		}
	}
	for i := range p.Exact {
		if err := p.Exact[i].validate(c); err != nil {
			return fmt.Errorf("exact crash %d: %w", i, err)
		}
	}
	for i := range p.Faults {
		if _, ok := faultProse[p.Faults[i].Kind]; !ok {
			return fmt.Errorf("fault %d: there is no kind %q", i, p.Faults[i].Kind)
		}
		if what, _, _ := strings.Cut(p.Faults[i].Target, " "); !slices.Contains(targets, what) {
			return fmt.Errorf("fault %d: nobody is a %q: a target begins with one of %s", i, what, strings.Join(targets[1:], ", "))
		}
	}
	return p.Expect.validate()
}

// validateWords says which word of a client nobody knows.
func (c *ClientPlan) validateWords() error {
	switch {
	case !slices.Contains(roles, c.Role):
		return fmt.Errorf("client %d: there is no role %q", c.ID, c.Role)
	case !slices.Contains(styles, c.Style):
		return fmt.Errorf("client %d: style is %q: one of %s", c.ID, c.Style, strings.Join(styles[1:], ", "))
	case !slices.Contains(resets, c.Reset):
		return fmt.Errorf("client %d: reset is %q: one of %s", c.ID, c.Reset, strings.Join(resets[1:], ", "))
	}
	return nil
}

// validateOps says what is wrong with the operations that a client lists.
func (c *ClientPlan) validateOps() error {
	for i := range c.Ops {
		op := &c.Ops[i]
		switch {
		case !slices.Contains(doings[c.Role], op.Do):
			return fmt.Errorf("client %d: a %s does not know %q: it knows %s", c.ID, c.Role, op.Do, strings.Join(doings[c.Role], ", "))
		case i > 0 && op.At < c.Ops[i-1].At:
			return fmt.Errorf("client %d: its operations must be in the order of their times, %s comes too late", c.ID, op.At)
		}
		for _, from := range op.From {
			if _, err := parseStart(from); err != nil {
				return fmt.Errorf("client %d: %w", c.ID, err)
			}
		}
	}
	return nil
}
