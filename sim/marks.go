package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/order"
)

// mark names a rare state that the code under test or the harness reached.
type mark int

const (
	markCrashed mark = iota
	markPowerLost
	markCrashedInWrite
	markAppendedWhileFlushing
	markCrashedInRecovery
	markCleanShutdown
	markHaltedOnDisk
	markDiskFailed
	markDiskFull
	markDiskSwapped
	markDamaged
	markDamageFound
	markDamagedReadRefused
	markTornTail
	markTruncated
	markTruncatedOnDivergence
	markReset
	markTrimmed
	markLeaderElected
	markElectedFromEligible
	markElectedUnclean
	markPartitionOffline
	markISRShrunk
	markISRGrown
	markBelowMinInsync
	markEligibleSet
	markControllerChanged
	markSnapshotPushed
	markQuorumSnapshot
	markBrokerFenced
	markDuplicateAnswered
	markOutOfOrderSequence
	markNotEnoughReplicas
	markNotEnoughAfterAppend
	markFencedLeaderEpoch
	markUnknownLeaderEpoch
	markStaleBrokerEpoch
	markOffsetOutOfRange
	markReaderTruncated
	markMemberFenced
	markStaleCommitRefused
	markUnknownMemberRefused
	markRebalanced
	markHoarded
	markPositionsExpired
	markCoordinatorMoved
	markTopicDeleted
	markTopicRecreated
	markPartitionsAdded
	markSessionLost
	markLeftBroken
	markMoveBegun
	markMoveFinished
	markMoveCalledOff
	markMoveReplaced
	markCancelRefused
	markAddedInSync
	markLeaderLeft
	markReplicaReturned
	markCopyHeldBack
	markBrokerDrained
	markBrokerRemoved
	markBrokerReturned
	markBrokerAdded
	markTopicAltered
	markNodesAltered
	markMinInsyncRaised
	markMinInsyncLowered
	markEligibleReleased
	markOtherSettings
	markLearnerAdded
	markVoterPromoted
	markVoterRemoved
	markLeaderRemoved
	markVoterForgot
	markLeftCutOff
	markRetuned
	markDamagedBeside
	markJournalDamaged
	markVoterMute
	markWriteFailed
	markShutdownCutOff
	markQueueOverflown
	markLateBytes
	markHalfOpen
	markConceded
	markForsaken
	markGivenUp
	markQuorumSnapshotJudged
	markShardSnapshotJudged
	markSought
	markSoughtBack
	markHeld
	markSpoilt
	markSoughtExactly
	markStartInBatch
	markProducerForgotten
	markProducerUnknown
	markOwnHeartbeat
	markCrossedEmpty
	markCrossedOngoing
	markCrossedPrepareCommit
	markCrossedPrepareAbort
	markCrossedCompleteCommit
	markCrossedCompleteAbort
	markLeaderCrashedOpen
	markDiedBeginning
	markDiedOpen
	markDiedCommitting
	markTriedAgain
	markCommittedAgain
	markLeft
	markQuit
	markSifted
	markDiedAborting
	markProducerFenced
	markOutlivedLimit
	markIDExpired
	markMarkerAgain
	markOldCoordinatorRefused
	markHeldForEnd
	markLateRecordRefused
	markPositionPending
	markStableBehind
	markAbortedSkipped
	markTransactionsMoved
	markOpFailed
	markRootDamaged
	markStray
	markCopySpoilt
	markPendingKept
	marksEnd
)

var markNames = [marksEnd]string{
	markCrashed:               "a process crashed",
	markPowerLost:             "a machine lost power",
	markCrashedInWrite:        "crashed inside a file operation",
	markAppendedWhileFlushing: "appended to a log while it was flushed",
	markCrashedInRecovery:     "crashed while recovering",
	markCleanShutdown:         "shut down in good order",
	markHaltedOnDisk:          "halted on a failed disk",
	markDiskFailed:            "a disk operation failed",
	markDiskFull:              "a disk ran full",
	markDiskSwapped:           "a disk was swapped for an empty one",
	markDamaged:               "flushed data was damaged",
	markDamageFound:           "damage was found by recovery",
	markDamagedReadRefused:    "damage was found by a read",
	markTornTail:              "a torn tail was cut",
	markTruncated:             "a log was truncated",
	markTruncatedOnDivergence: "truncated records that another leader never had",
	markReset:                 "a log was reset",
	markTrimmed:               "records were retired",
	markLeaderElected:         "a leader was elected",
	markElectedFromEligible:   "elected from the eligible replicas",
	markElectedUnclean:        "elected uncleanly",
	markPartitionOffline:      "a partition went offline",
	markISRShrunk:             "an in-sync set shrank",
	markISRGrown:              "an in-sync set grew",
	markBelowMinInsync:        "an in-sync set fell below the minimum",
	markEligibleSet:           "replicas became eligible outside the in-sync set",
	markControllerChanged:     "another controller took over",
	markSnapshotPushed:        "a broker was sent a whole image",
	markQuorumSnapshot:        "the quorum journal was replaced by a snapshot",
	markBrokerFenced:          "a broker was fenced",
	markDuplicateAnswered:     "a repeated batch was answered from memory",
	markOutOfOrderSequence:    "a gap in sequences was refused",
	markNotEnoughReplicas:     "a produce was refused for lack of replicas",
	markNotEnoughAfterAppend:  "replicas were lost after the append",
	markFencedLeaderEpoch:     "an old leader epoch was refused",
	markUnknownLeaderEpoch:    "a future leader epoch was met",
	markStaleBrokerEpoch:      "a request of an earlier broker run was refused",
	markOffsetOutOfRange:      "a fetch beyond the log was refused",
	markReaderTruncated:       "a reader was told of a truncation",
	markMemberFenced:          "a group member was fenced",
	markStaleCommitRefused:    "a stale commit was refused",
	markUnknownMemberRefused:  "an unknown member was refused",
	markRebalanced:            "partitions moved between members",
	markHoarded:               "a member kept what it was to give up",
	markPositionsExpired:      "committed positions of an empty group expired",
	markCoordinatorMoved:      "a group moved to another coordinator",
	markTopicDeleted:          "a topic was deleted",
	markTopicRecreated:        "a topic was made again under its name",
	markPartitionsAdded:       "partitions were added",
	markSessionLost:           "a fetch session was lost",
	markLeftBroken:            "a node was left broken for good",
	markMoveBegun:             "a move of replicas began",
	markMoveFinished:          "a move of replicas ended",
	markMoveCalledOff:         "a move of replicas was called off",
	markMoveReplaced:          "a move of replicas was replaced by another",
	markCancelRefused:         "calling a move off was refused: records would go with it",
	markAddedInSync:           "an added replica came into sync during its move",
	markLeaderLeft:            "a leadership left a replica that was about to go",
	markReplicaReturned:       "a replica came back to a broker that it had left",
	markCopyHeldBack:          "an added replica was held back by the throttle",
	markBrokerDrained:         "a broker was drained",
	markBrokerRemoved:         "a broker was removed",
	markBrokerReturned:        "a removed broker came back as a new one",
	markBrokerAdded:           "a broker was added to a running cluster",
	markTopicAltered:          "settings of a topic were changed",
	markNodesAltered:          "settings of nodes were changed",
	markMinInsyncRaised:       "min.insync rose above an in-sync set",
	markMinInsyncLowered:      "min.insync fell to the size of an in-sync set",
	markEligibleReleased:      "eligible replicas were released by a lower min.insync",
	markOtherSettings:         "a node was started with other settings",
	markLearnerAdded:          "a controller was added and began to learn",
	markVoterPromoted:         "a controller that had caught up began to vote",
	markVoterRemoved:          "a controller was removed",
	markLeaderRemoved:         "the active controller was removed",
	markVoterForgot:           "a controller lost its disk and came back as one that had voted",
	markLeftCutOff:            "a running node was left out of reach for good",
	markRetuned:               "a node was started with other timeouts or bounds",
	markDamagedBeside:         "what stands beside the records was damaged",
	markJournalDamaged:        "the journal of a voter was damaged",
	markVoterMute:             "a voter with a damaged journal took no part",
	markWriteFailed:           "a write failed half way",
	markShutdownCutOff:        "a clean shutdown was cut off inside a file operation",
	markQueueOverflown:        "a queue of the network overflowed",
	markLateBytes:             "bytes outlived their connection",
	markHalfOpen:              "a connection was left half open",
	markConceded:              "the last copy that counts was hit, beyond the promise",
	markForsaken:              "a partition stayed offline rather than hide a loss",
	markGivenUp:               "committed records were given up by an operator",
	markQuorumSnapshotJudged:  "a snapshot of the controllers was held against the image",
	markShardSnapshotJudged:   "a log of groups was cut and replayed",
	markSought:                "a reader went on elsewhere",
	markSoughtBack:            "a reader went back to an offset",
	markHeld:                  "a reader left a partition alone for a while",
	markSpoilt:                "records reached a client spoilt",
	markSoughtExactly:         "the time of a record was looked for",
	markStartInBatch:          "a log was made to start inside a batch",
	markProducerForgotten:     "a silent producer was forgotten",
	markProducerUnknown:       "a producer that was forgotten was told so",
	markOwnHeartbeat:          "a node got a heartbeat of its own",
	markCrossedEmpty:          "a coordinator died: a transaction was Empty",
	markCrossedOngoing:        "a coordinator died: a transaction was Ongoing",
	markCrossedPrepareCommit:  "a coordinator died: a transaction was PrepareCommit",
	markCrossedPrepareAbort:   "a coordinator died: a transaction was PrepareAbort",
	markCrossedCompleteCommit: "a coordinator died: a transaction was CompleteCommit",
	markCrossedCompleteAbort:  "a coordinator died: a transaction was CompleteAbort",
	markLeaderCrashedOpen:     "a leader died with a transaction open in its log",
	markDiedBeginning:         "a client died while its transaction began",
	markDiedOpen:              "a client died while its transaction was open",
	markTriedAgain:            "an aborted transaction was tried again",
	markCommittedAgain:        "a transaction that was tried again was committed",
	markLeft:                  "a transaction was left before its begin or its commit was answered",
	markQuit:                  "a client was closed while its commit was not answered",
	markSifted:                "a worker that had gone back worked on one partition alone",
	markDiedCommitting:        "a client died while its transaction was being committed",
	markDiedAborting:          "a client died while its transaction was being aborted",
	markProducerFenced:        "a producer was told that another has its transactional id",
	markOutlivedLimit:         "a transaction outlived its time limit",
	markIDExpired:             "a producer was told that its transactional id expired",
	markMarkerAgain:           "a marker was asked for again",
	markOldCoordinatorRefused: "a marker of an old coordinator was refused",
	markHeldForEnd:            "a record waited for the end of the transaction before",
	markLateRecordRefused:     "a record was refused by the coordinator of its transaction",
	markPositionPending:       "a position was not told as a transaction had it pending",
	markStableBehind:          "a reader was held back by an open transaction",
	markAbortedSkipped:        "aborted records were passed over by a reader",
	markTransactionsMoved:     "transactions moved to another coordinator",
	markOpFailed:              "a failure of a file operation was spoken of",
	markRootDamaged:           "what a node keeps of itself was damaged",
	markStray:                 "a message came that was not for its receiver",
	markCopySpoilt:            "records reached a follower spoilt",
	markPendingKept:           "a position was not deleted as a transaction had one pending",
}

// mark counts that a rare state was reached.
func (w *World) mark(m mark) {
	w.marks[m]++
	if w.witness != nil {
		w.witness.mark(markNames[m])
	}
}

// MarkNames are all marks, in the order of their table, and one for each kind of
// fault.
func MarkNames() []string {
	names := slices.Clone(markNames[:])
	kinds, _ := Faults()
	for _, k := range kinds {
		names = append(names, struckBy(FaultKind(k)))
	}
	return names
}

// struckBy is the mark of a kind of fault.
func struckBy(k FaultKind) string { return "fault: " + string(k) }

// marked lists the marks of a run that were reached.
func (w *World) marked() []Mark {
	var out []Mark
	for m, count := range w.marks {
		if count > 0 {
			out = append(out, Mark{markNames[m], count})
		}
	}
	for _, k := range order.Keys(w.struck) {
		out = append(out, Mark{struckBy(k), w.struck[k]})
	}
	return out
}
