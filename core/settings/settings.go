// Package settings is the table of all that may be set while a cluster runs:
// names, meanings, ranges, and how values are written. The controller checks
// requests by it, every node reads its own settings through it, and nobody else
// knows a name.
//
// Settings of a topic become its message.TopicConfig. Settings of nodes are kept
// in the metadata as they were written, for one node or for all of them; what
// holds on a node is Resolve of those over what it was started with.
package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Key is one setting of a node.
type Key uint8

// The settings of a node. All are spans of time.
const (
	HeartbeatInterval Key = iota
	SessionTimeout
	ReplicaLag
	FetchWait
	GroupSession
	GroupHeartbeat
	OffsetsRetention
	TransactionsMaxTimeout
	TransactionsExpiration
	keys
)

// Node is what holds on one node, by Key, in nanoseconds. A zero value means
// the default.
type Node [keys]int64

// Duration is one setting.
func (n *Node) Duration(k Key) message.Duration { return message.Duration(n[k]) }

// row describes one setting of a node.
type row struct {
	name        string
	prose       string
	normal      message.Duration
	least, most message.Duration
	everywhere  bool // the controller goes by it, so it is the same on all nodes
}

var table = [keys]row{
	HeartbeatInterval: {"heartbeat-interval", "time between two heartbeats of a node to the controller; at most half of the session",
		500 * message.Millisecond, 10 * message.Millisecond, message.Minute, false},
	SessionTimeout: {"session-timeout", "silence after which the controller moves a node's leaderships to others; for all nodes only",
		3 * message.Second, 100 * message.Millisecond, 10 * message.Minute, true},
	ReplicaLag: {"replica-lag", "time that a replica may lag behind before it leaves the in-sync set",
		3 * message.Second, 100 * message.Millisecond, message.Hour, false},
	FetchWait: {"fetch-wait", "longest wait of a replica's fetch when there is nothing new",
		500 * message.Millisecond, message.Millisecond, message.Minute, false},
	GroupSession: {"group-session-timeout", "silence after which a group gives a member's partitions to others, for members that ask for none",
		10 * message.Second, message.Second, 30 * message.Minute, false},
	GroupHeartbeat: {"group-heartbeat-interval", "time between two heartbeats that group members are told; at most a third of their session",
		message.Second, 10 * message.Millisecond, 10 * message.Minute, false},
	OffsetsRetention: {"offsets-retention", "time that the offsets of a group without members are kept",
		7 * 24 * message.Hour, message.Second, 10 * 365 * 24 * message.Hour, false},
	TransactionsMaxTimeout: {"transactions-max-timeout", "longest time that a producer may ask for its transactions to stay open; open ones keep the time that they have",
		15 * message.Minute, 100 * message.Millisecond, 30 * 24 * message.Hour, false},
	TransactionsExpiration: {"transactions-expiration", "time after which a transactional id that nobody uses is forgotten",
		7 * 24 * message.Hour, message.Second, 10 * 365 * 24 * message.Hour, false},
}

// Complete fills what is 0 with the defaults.
func (n *Node) Complete() {
	for k := range n {
		n[k] = cmp.Or(n[k], int64(table[k].normal))
	}
}

func find(name string) (Key, bool) {
	for k := range table {
		if table[k].name == name {
			return Key(k), true
		}
	}
	return 0, false
}

// names lists what there is, for those who asked for something else.
func names() string {
	list := make([]string, 0, keys)
	for k := range table {
		list = append(list, table[k].name)
	}
	return strings.Join(list, ", ")
}

// Alter gives what is set in one scope after a request: present, in the order
// of keys, with set and unset carried out. node is message.NoNode for the scope
// of all nodes. An error says what is wrong and what would be right.
func Alter(present []message.Setting, node message.NodeID, set []message.Setting, unset []string) ([]message.Setting, error) {
	next := slices.Clone(present)
	seen := map[string]bool{}
	once := func(name string) (Key, error) {
		k, ok := find(name)
		switch {
		case !ok:
			return k, fmt.Errorf("there is no setting %q of nodes; there are: %s", name, names())
		case seen[name]:
			return k, fmt.Errorf("setting %q is named twice", name)
		case table[k].everywhere && node != message.NoNode:
			return k, fmt.Errorf("setting %q is the same on all nodes: set it without naming a node", name)
		}
		seen[name] = true
		return k, nil
	}
	for _, s := range set {
		k, err := once(s.Key)
		if err != nil {
			return nil, err
		}
		d, err := parse(k, s.Value)
		if err != nil {
			return nil, err
		}
		next = slices.DeleteFunc(next, func(o message.Setting) bool { return o.Key == s.Key })
		next = append(next, message.Setting{Key: s.Key, Value: FormatDuration(d)})
	}
	for _, name := range unset {
		if _, err := once(name); err != nil {
			return nil, err
		}
		next = slices.DeleteFunc(next, func(o message.Setting) bool { return o.Key == name })
	}
	slices.SortFunc(next, func(a, b message.Setting) int { return cmp.Compare(a.Key, b.Key) })
	return next, nil
}

func parse(k Key, text string) (message.Duration, error) {
	r := &table[k]
	d, err := ParseDuration(text)
	if err == nil && (d < r.least || d > r.most) {
		err = fmt.Errorf("it may be %s to %s", FormatDuration(r.least), FormatDuration(r.most))
	}
	if err != nil {
		return 0, fmt.Errorf("setting %q cannot be %q: %w", r.name, text, err)
	}
	return d, nil
}

// Resolve is what holds on a node: what is set for it, else for all, else start.
// What does not fit together is bent, so that no order of changes, and no
// difference between the nodes' files, can make a node miss its own session.
func Resolve(start Node, cluster, own []message.Setting) Node {
	n := start
	n.Complete()
	for _, scope := range [][]message.Setting{cluster, own} {
		for _, s := range scope {
			if k, ok := find(s.Key); ok { // else of a newer release
				if d, err := parse(k, s.Value); err == nil {
					n[k] = int64(d)
				}
			}
		}
	}
	n[HeartbeatInterval] = min(n[HeartbeatInterval], n[SessionTimeout]/2)
	return n
}

// Check says whether a scope's settings fit together with those of all nodes
// and with what nodes were started with (start, of the node that decides).
func Check(start Node, cluster, own []message.Setting) error {
	n := start
	n.Complete()
	heartbeat, session := n[HeartbeatInterval], n[SessionTimeout]
	said := false
	for _, scope := range [][]message.Setting{cluster, own} {
		for _, s := range scope {
			k, ok := find(s.Key)
			if !ok {
				continue // of a newer release
			}
			d, err := parse(k, s.Value)
			switch {
			case err != nil:
				return err
			case k == HeartbeatInterval:
				heartbeat, said = int64(d), true
			case k == SessionTimeout:
				session, said = int64(d), true
			}
		}
	}
	if said && 2*heartbeat > session {
		return fmt.Errorf("a session of %s must outlive two heartbeats of %s: set both at once",
			FormatDuration(message.Duration(session)), FormatDuration(message.Duration(heartbeat)))
	}
	return nil
}

// Describe lists all settings of a node with their values and where they come
// from.
func Describe(start Node, cluster, own []message.Setting) []message.SettingInfo {
	began := start
	began.Complete()
	holds := Resolve(start, cluster, own)
	list := make([]message.SettingInfo, 0, keys)
	for k := range table {
		info := message.SettingInfo{
			Key: table[k].name, Value: FormatDuration(message.Duration(holds[k])), Prose: table[k].prose,
		}
		if began[k] != int64(table[k].normal) {
			info.Source = message.FromStart
		}
		if has(cluster, info.Key) {
			info.Source = message.FromCluster
		}
		if has(own, info.Key) {
			info.Source = message.FromNode
		}
		list = append(list, info)
	}
	return list
}

func has(list []message.Setting, key string) bool {
	return slices.ContainsFunc(list, func(s message.Setting) bool { return s.Key == key })
}
