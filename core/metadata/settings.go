package metadata

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// Settings is what is set while running for one node, or, for NoNode, for all.
func (m *Image) Settings(of message.NodeID) []message.Setting {
	if at, ok := m.findSettings(of); ok {
		return m.settings[at].Settings
	}
	return nil
}

// SettingsOf are all scopes for which something is set, by rising node id: the
// one of all nodes comes first.
func (m *Image) SettingsOf() []*message.SettingsChange { return m.settings }

func (m *Image) findSettings(of message.NodeID) (int, bool) {
	return slices.BinarySearchFunc(m.settings, of, func(c *message.SettingsChange, id message.NodeID) int {
		return int(c.Node) - int(id)
	})
}

// Controllers are the nodes that hold the controller's log; nil before the
// cluster has begun.
func (m *Image) Controllers() *message.ControllersChange { return m.controllers }

func (m *Image) applySettings(c *message.SettingsChange) error {
	if c.Node < 0 {
		return fmt.Errorf("metadata: settings of node %d", c.Node)
	}
	for i := range c.Settings {
		if i > 0 && c.Settings[i].Key <= c.Settings[i-1].Key {
			return errors.New("metadata: settings are not in the order of their keys")
		}
	}
	at, known := m.findSettings(c.Node)
	switch {
	case len(c.Settings) == 0 && known:
		m.settings = slices.Delete(m.settings, at, at+1)
	case len(c.Settings) == 0:
	case known:
		m.settings[at] = c
	default:
		m.settings = slices.Insert(m.settings, at, c)
	}
	return nil
}

// applyControllers holds what is true of every set of voters: there is one, and
// after another it differs by one node (INV-42).
func (m *Image) applyControllers(c *message.ControllersChange) error {
	if len(c.Voters) == 0 {
		return errors.New("metadata: a cluster without voters")
	}
	for _, n := range c.Learners {
		if slices.Contains(c.Voters, n) {
			return fmt.Errorf("metadata: controller %d is a voter and a learner", n)
		}
	}
	if old := m.controllers; old != nil && missing(old.Voters, c.Voters)+missing(c.Voters, old.Voters) > 1 {
		return fmt.Errorf("metadata: voters go from %v to %v in one step", old.Voters, c.Voters)
	}
	m.controllers = c
	return nil
}

// missing counts the members of a that are not in b.
func missing(a, b []message.NodeID) (n int) {
	for _, id := range a {
		if !slices.Contains(b, id) {
			n++
		}
	}
	return n
}

// otherSettings adds the settings and controllers that a later image has
// otherwise than this one.
func (m *Image) otherSettings(later *Image, changes []message.Change) []message.Change {
	if c := later.controllers; c != nil && (m.controllers == nil ||
		!slices.Equal(c.Voters, m.controllers.Voters) || !slices.Equal(c.Learners, m.controllers.Learners)) {
		changes = append(changes, message.Change{Controllers: c})
	}
	for _, c := range m.settings {
		if _, still := later.findSettings(c.Node); !still {
			changes = append(changes, message.Change{Settings: &message.SettingsChange{Node: c.Node}})
		}
	}
	for _, c := range later.settings {
		if !slices.Equal(c.Settings, m.Settings(c.Node)) {
			changes = append(changes, message.Change{Settings: c})
		}
	}
	return changes
}

func encodeSettings(to []byte, c *message.SettingsChange) []byte {
	to = pack.Int(to, int64(c.Node))
	to = pack.Uint(to, uint64(len(c.Settings)))
	for _, s := range c.Settings {
		to = pack.String(pack.String(to, s.Key), s.Value)
	}
	return to
}

func decodeSettings(r *pack.Reader) *message.SettingsChange {
	c := &message.SettingsChange{Node: message.NodeID(r.Int32())}
	for range r.Count(2) {
		c.Settings = append(c.Settings, message.Setting{Key: r.String(), Value: r.String()})
	}
	return c
}

func encodeControllers(to []byte, c *message.ControllersChange) []byte {
	return encodeNodes(encodeNodes(to, c.Voters), c.Learners)
}

func decodeControllers(r *pack.Reader) *message.ControllersChange {
	return &message.ControllersChange{Voters: decodeNodes(r), Learners: decodeNodes(r)}
}
