package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// identity tells whose a data folder is. It is kept twice, so that one bad
// sector does not make a folder nobody's.
type identity struct {
	cluster string
	node    message.NodeID
	disk    uint64
}

const identityKind, cleanKind = "TMID", "TMCL"

func (i identity) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, i.disk)
	b = binary.BigEndian.AppendUint32(b, uint32(i.node))
	return seal(identityKind, append(b, i.cluster...))
}

func decodeIdentity(b []byte) (identity, bool) {
	p, ok := unseal(identityKind, b)
	if !ok || len(p) < 12 {
		return identity{}, false
	}
	return identity{
		disk:    binary.BigEndian.Uint64(p),
		node:    message.NodeID(binary.BigEndian.Uint32(p[8:])),
		cluster: string(p[12:]),
	}, true
}

// check holds a folder against who wants to open it.
func (i identity) check(opts Options) error {
	if opts.NodeID != message.NoNode && i.node != opts.NodeID {
		return fmt.Errorf("%w: it is node %v's, this is node %v; point the node at its own folder", ErrWrongNode, i.node, opts.NodeID)
	}
	if opts.ClusterID != "" && i.cluster != "" && i.cluster != opts.ClusterID {
		return fmt.Errorf("%w: it is of cluster %q, this node belongs to %q; point the node at its own folder", ErrWrongCluster, i.cluster, opts.ClusterID)
	}
	return nil
}

// readIdentity finds out whose the folder is. fresh: nobody's yet.
func readIdentity(d vfs.FS) (found identity, fresh bool, err error) {
	present := false
	for _, name := range []string{identityName, identityCopy} {
		b, err := readFile(d, name)
		if err != nil {
			return identity{}, false, err
		}
		if i, ok := decodeIdentity(b); ok {
			return i, false, nil
		}
		present = present || b != nil
	}
	empty, err := holdsNothing(d)
	if err != nil {
		return identity{}, false, err
	}
	if present || !empty {
		return identity{}, false, ErrIdentityLost
	}
	return identity{}, true, nil
}

// holdsNothing tells whether a folder is empty, or as empty as a start leaves
// it that was cut off before it gave the folder an identity.
func holdsNothing(d vfs.FS) (bool, error) {
	list, err := d.ReadDir("")
	if err != nil {
		return false, err
	}
	for _, e := range list {
		switch e.Name {
		case lockName, marksName, identityName + tmpSuffix, quorumName + tmpSuffix, marksName + tmpSuffix:
		case quorumName:
			b, err := readFile(d, quorumName)
			if err != nil {
				return false, err
			}
			if j := decodeJournal(b); !j.headed || len(j.frames) > 0 || j.damaged != "" {
				return false, nil
			}
		default:
			if _, isLog := parseFolder(e.Name); isLog || e.Name == cleanName {
				return false, nil
			}
		}
	}
	return true, nil
}

// writeIdentity gives the folder its identity, or repairs the copy that is not
// as it should be.
func writeIdentity(d vfs.FS, i identity) error {
	for _, name := range []string{identityName, identityCopy} {
		b, err := readFile(d, name)
		if err != nil {
			return err
		}
		if have, ok := decodeIdentity(b); ok && have == i {
			continue
		}
		if err := replaceFile(d, "", name, i.encode()); err != nil {
			return err
		}
	}
	return nil
}

// takeClean tells whether the last run ended in good order, and durably takes
// the mark of it away. That comes before anything is opened: a crash while logs
// are being opened must not look like a clean end to the next start
// (KAFKA-10471).
func takeClean(d vfs.FS, disk uint64) (bool, error) {
	b, err := readFile(d, cleanName)
	if b == nil || err != nil {
		return false, err
	}
	if err := d.Remove(cleanName); err != nil {
		return false, err
	}
	p, ok := unseal(cleanKind, b)
	ok = ok && len(p) == 8 && binary.BigEndian.Uint64(p) == disk
	return ok, d.SyncDir("")
}

func writeClean(d vfs.FS, disk uint64) error {
	return replaceFile(d, "", cleanName, seal(cleanKind, binary.BigEndian.AppendUint64(nil, disk)))
}

func lockFolder(d vfs.FS) (interface{ Close() error }, error) {
	l, err := d.Lock(lockName)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%w: is the node running already?", ErrInUse)
	}
	return l, err
}
