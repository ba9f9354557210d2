// Package topology reads the configuration by which newcomers are taught such
// queues: one topic, what its producer uses as the key, and the groups that
// consume it. `node dev --with FILE` runs it on real nodes, `simrun scenario
// FILE` under faults.
package topology

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// Topology is one such file.
type Topology struct {
	Topic             string   `yaml:"topic"`
	Partitions        int      `yaml:"partitions"`
	ReplicationFactor int      `yaml:"replicationFactor"`
	Producer          Producer `yaml:"producer"`
	ConsumerGroups    []Group  `yaml:"consumerGroups"`
}

// Producer says how records are made. PartitionKey is the field of the JSON
// record whose value is its key: all records of one key go to one partition.
type Producer struct {
	PartitionKey string `yaml:"partitionKey"`
}

// Group is one consumer group with a number of members.
type Group struct {
	Name              string   `yaml:"name"`
	Instances         int      `yaml:"instances"`
	OffsetCommit      Commit   `yaml:"offsetCommit"`
	DeliverySemantics Delivery `yaml:"deliverySemantics"`
}

// Commit is when a member commits, seen from its processing.
type Commit string

// Values of Commit.
const (
	AfterProcessing  Commit = "afterProcessing"
	BeforeProcessing Commit = "beforeProcessing"
)

// Delivery is what a group is promised.
type Delivery string

// Values of Delivery. ExactlyOnce is understood and refused: a group that this file
// describes only reads, and what it does with a record is not part of a transaction.
const (
	AtLeastOnce Delivery = "at-least-once"
	AtMostOnce  Delivery = "at-most-once"
	ExactlyOnce Delivery = "exactly-once"
)

// Load reads and checks a file.
func Load(path string) (*Topology, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Read reads and checks a configuration. What was left out gets its default:
// one partition, three replicas (or fewer on a smaller cluster), one instance,
// at-least-once. Unknown fields are refused, so that a misspelt one is seen.
func Read(r io.Reader) (*Topology, error) {
	var t Topology
	if err := yaml.NewDecoder(r, yaml.DisallowUnknownField()).Decode(&t); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty: name at least a topic")
		}
		return nil, err
	}
	t.fill()
	if err := t.validate(); err != nil {
		return nil, err
	}
	return &t, nil
}

func (t *Topology) fill() {
	if t.Partitions == 0 {
		t.Partitions = 1
	}
	if t.ReplicationFactor == 0 {
		t.ReplicationFactor = 3
	}
	for i := range t.ConsumerGroups {
		t.ConsumerGroups[i].fill()
	}
}

// fill derives the half of the pair that was left out from the other.
func (g *Group) fill() {
	if g.Instances == 0 {
		g.Instances = 1
	}
	switch {
	case g.OffsetCommit == "" && g.DeliverySemantics == AtMostOnce:
		g.OffsetCommit = BeforeProcessing
	case g.OffsetCommit == "":
		g.OffsetCommit = AfterProcessing
	}
	switch {
	case g.DeliverySemantics == "" && g.OffsetCommit == BeforeProcessing:
		g.DeliverySemantics = AtMostOnce
	case g.DeliverySemantics == "":
		g.DeliverySemantics = AtLeastOnce
	}
}

func (t *Topology) validate() error {
	switch {
	case t.Topic == "":
		return errors.New("no topic: name it, as in `topic: order-events`")
	case strings.HasPrefix(t.Topic, "__"):
		return fmt.Errorf("topic %q: names that begin with two underscores belong to the cluster", t.Topic)
	case t.Partitions < 1:
		return fmt.Errorf("partitions: %d: a topic has at least one", t.Partitions)
	case t.ReplicationFactor < 1:
		return fmt.Errorf("replicationFactor: %d: a partition has at least one replica", t.ReplicationFactor)
	}
	seen := map[string]bool{}
	for i := range t.ConsumerGroups {
		g := &t.ConsumerGroups[i]
		if g.Name == "" {
			return fmt.Errorf("consumer group %d has no name", i+1)
		}
		if seen[g.Name] {
			return fmt.Errorf("consumer group %q stands there twice: raise its instances instead", g.Name)
		}
		seen[g.Name] = true
		if err := g.validate(); err != nil {
			return fmt.Errorf("consumer group %q: %w", g.Name, err)
		}
	}
	return nil
}

func (g *Group) validate() error {
	if g.Instances < 1 {
		return fmt.Errorf("instances: %d: a group has at least one", g.Instances)
	}
	switch g.OffsetCommit {
	case AfterProcessing, BeforeProcessing:
	default:
		return fmt.Errorf("offsetCommit: %q: it is afterProcessing or beforeProcessing", g.OffsetCommit)
	}
	switch g.DeliverySemantics {
	case AtLeastOnce:
		if g.OffsetCommit == BeforeProcessing {
			return errors.New("offsetCommit beforeProcessing contradicts at-least-once: a crash after the commit skips what was not processed; use afterProcessing, or at-most-once")
		}
	case AtMostOnce:
		if g.OffsetCommit == AfterProcessing {
			return errors.New("offsetCommit afterProcessing contradicts at-most-once: a crash before the commit repeats what was processed; use beforeProcessing, or at-least-once")
		}
	case ExactlyOnce:
		return errors.New("exactly-once holds for what is written in a transaction (see client.Transact), and groups of this file only read; use at-least-once and make processing idempotent")
	default:
		return fmt.Errorf("deliverySemantics: %q: it is at-least-once or at-most-once", g.DeliverySemantics)
	}
	return nil
}
