package message

import "github.com/tamarack-mq/tamarack/core/record"

// FindCoordinator asks which broker coordinates a group or, when that is set, a
// transactional id.
type FindCoordinator struct {
	Group           string
	TransactionalID string
}

// FindCoordinatorReply names the coordinator.
type FindCoordinatorReply struct {
	Code Code
	Node NodeID
}

// GroupHeartbeat joins, keeps, changes and leaves a membership (KIP-848's
// ConsumerGroupHeartbeat). MemberEpoch JoinEpoch joins. Owned nil means that
// nothing changed since the last heartbeat; a full heartbeat has Full set and
// all fields filled.
type GroupHeartbeat struct {
	Group            string
	Member           string // made up by the member, unique for ever
	MemberEpoch      MemberEpoch
	Instance         string // static member's name; empty: dynamic
	Full             bool
	SessionTimeout   Duration // 0: the broker's default
	RebalanceTimeout Duration // how long the member may take to give a partition up
	Topics           []string // subscription
	Owned            []record.PartitionID
}

// GroupHeartbeatReply tells a member its epoch and, when Assigned is true, all
// the partitions that it may own now. What it owns beyond that it must give up
// and then say so with its next heartbeat.
type GroupHeartbeatReply struct {
	Code        Code
	Detail      string
	Member      string
	MemberEpoch MemberEpoch
	Interval    Duration
	Assigned    bool
	Assignment  []record.PartitionID
}

// CommitOffsets stores positions of a group. Member empty and MemberEpoch -1
// commit from outside, which is refused while the group has members.
//
// A member counts its commits from 1 in Number; every attempt of one carries the
// same. An attempt that was given up may still be on its way when the next
// commit is answered: by its lower number the coordinator knows it, and refuses
// it with OutOfOrderSequence. 0 is not counted, and not protected.
type CommitOffsets struct {
	Group       string
	Member      string
	MemberEpoch MemberEpoch
	Offsets     []GroupOffset
	Number      uint64
}

// GroupOffset is the position in one partition: the offset of the next record
// to be processed.
type GroupOffset struct {
	ID          record.PartitionID
	Offset      record.Offset
	LeaderEpoch record.LeaderEpoch
	Note        string
}

// CommitOffsetsReply has one entry for each offset. UnknownLeaderEpoch is that of a
// position whose leader epoch the coordinator does not know of: it is news to it, or
// never was.
type CommitOffsetsReply struct {
	Code    Code
	Offsets []CommittedOffset
}

// CommittedOffset is one outcome.
type CommittedOffset struct {
	ID   record.PartitionID
	Code Code
}

// FetchOffsets asks for committed positions. IDs nil means all. With Member
// set, the epoch is checked first.
type FetchOffsets struct {
	Group       string
	Member      string
	MemberEpoch MemberEpoch
	IDs         []record.PartitionID
	// Stable refuses, with UnstableOffsetCommit, to tell positions while a
	// transaction that has not ended may change one of them (KIP-447).
	Stable bool
}

// FetchOffsetsReply tells the positions; NoOffset where there is none.
type FetchOffsetsReply struct {
	Code    Code
	Offsets []GroupOffset
}

// NoOffset stands for "nothing committed".
const NoOffset record.Offset = -1

// ListGroups asks one broker for the groups that it coordinates. It is answered once
// every shard has confirmed that the broker led it when the question came; as long as
// one cannot be written to, CoordinatorLoadInProgress.
type ListGroups struct{}

// ListGroupsReply answers ListGroups.
type ListGroupsReply struct {
	Code   Code
	Groups []GroupListing
}

// GroupListing is one group.
type GroupListing struct {
	Group   string
	State   string // Empty, Assigning, Reconciling, Stable, Dead
	Members int32
}

// DescribeGroup asks the coordinator for everything about a group.
type DescribeGroup struct{ Group string }

// DescribeGroupReply is the state of a group.
type DescribeGroupReply struct {
	Code    Code
	Group   string
	State   string
	Epoch   int32
	Members []MemberInfo
	Offsets []GroupOffset
}

// MemberInfo is one member. Assigned is what it may own now, Target what it is
// meant to own in the end.
type MemberInfo struct {
	Member   string
	Instance string
	Epoch    MemberEpoch
	Topics   []string
	Assigned []record.PartitionID
	Target   []record.PartitionID
}

// DeleteGroup removes an empty group and its offsets.
type DeleteGroup struct{ Group string }

// DeleteGroupReply answers DeleteGroup.
type DeleteGroupReply struct{ Code Code }

// DeleteOffsets removes positions of topics that the group does not read.
type DeleteOffsets struct {
	Group string
	IDs   []record.PartitionID
}

// DeleteOffsetsReply answers DeleteOffsets.
type DeleteOffsetsReply struct {
	Code    Code
	Offsets []CommittedOffset
}
