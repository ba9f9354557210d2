package group

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// KAFKA-16147: a record of one member never erases another one's hold.
func TestTheHoldOfAnotherMemberIsNotErased(t *testing.T) {
	s := newState()
	p := parts(5, 0)
	member := func(id string, v memberValue) {
		s.apply(change{key{kind: kindMember, group: "g", member: id}, v})
	}
	member("a", memberValue{epoch: 1, assigned: p})
	member("z", memberValue{epoch: 2, revoking: p})
	require.Equal(t, `group "g": partition 5/0 goes to member "z" while "a" holds it (INV-21)`, s.fault)
	member("a", memberValue{epoch: 3})
	require.Equal(t, "z", s.groups["g"].holders[p[0]])
	s.reindex([]string{"g"})
	require.Empty(t, s.fault, "it was a state that records pass through")
}

func TestRemovingWhatIsNotThereChangesNothing(t *testing.T) {
	s := newState()
	for _, c := range samples() {
		s.apply(change{c.key, nil})
	}
	require.Equal(t, newState(), s)
}

func TestWhatIsRemovedLeavesNothing(t *testing.T) {
	s := newState()
	for _, c := range samples() {
		s.apply(c)
	}
	require.Equal(t, 4, s.keys, "floor, group, target and fence")
	for _, c := range samples() {
		s.apply(change{c.key, nil})
	}
	require.Equal(t, newState(), s)
}
