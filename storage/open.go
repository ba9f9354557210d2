package storage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Open locks and opens a data folder, recovers what is in it, and tells what it
// found. A folder that is empty becomes the folder of the node and cluster in
// opts, with diskID as the name of this disk.
//
// A crash during Open loses nothing: opening again finds the same.
func Open(d vfs.FS, opts Options, diskID uint64) (*Store, effect.Recovered, error) {
	lock, err := lockFolder(d)
	if err != nil {
		return nil, effect.Recovered{}, err
	}
	opts = opts.withDefaults()
	s := &Store{
		fs: d, opts: opts, lock: lock,
		tail:    &tail{budget: opts.CacheBytes},
		handles: &handles{fs: d, most: opts.OpenFiles},
		logs:    map[record.PartitionID]*partition{},
	}
	found, err := s.open(diskID)
	if err != nil {
		s.abandon()
		return nil, effect.Recovered{}, err
	}
	return s, found, nil
}

// abandon closes what a start that failed has opened.
func (s *Store) abandon() {
	s.handles.closeAll()
	if s.journal != nil {
		_ = s.journal.close()
	}
	if s.marks != nil {
		_ = s.marks.file.Close()
	}
	_ = s.lock.Close()
}

func (s *Store) open(diskID uint64) (found effect.Recovered, err error) {
	who, fresh, err := readIdentity(s.fs)
	if err != nil {
		return found, err
	}
	if fresh {
		who = identity{s.opts.ClusterID, s.opts.NodeID, diskID}
		if err := s.initialise(who); err != nil {
			return found, fmt.Errorf("storage: preparing a new data folder: %w", err)
		}
	}
	if err := who.check(s.opts); err != nil {
		return found, err
	}
	s.disk = who.disk
	found.DiskID, found.Fresh = who.disk, fresh
	if found.Clean, err = takeClean(s.fs, who.disk); err != nil {
		return found, err
	}
	if who.cluster == "" {
		who.cluster = s.opts.ClusterID
	}
	if err := writeIdentity(s.fs, who); err != nil && !errors.Is(err, ErrNoRoom) {
		return found, err
	}
	return found, s.recover(&found)
}

// initialise makes an empty data folder. The identity comes last: with it, the
// other files must be there.
func (s *Store) initialise(who identity) error {
	if err := replaceFile(s.fs, "", quorumName, newJournal(1, nil)); err != nil {
		return err
	}
	first := slot{version: 1, mark: mark{live: true, start: 1}}
	if err := replaceFile(s.fs, "", marksName, encodeMarks([]slot{first})); err != nil {
		return err
	}
	return writeIdentity(s.fs, who)
}

// recover opens the marks, the journal and all logs.
func (s *Store) recover(found *effect.Recovered) error {
	b, err := readFile(s.fs, marksName)
	if err != nil {
		return err
	}
	slots, broken := decodeMarks(b)
	missing := len(slots) == 0
	if missing {
		slots = make([]slot, 1)
	}
	if !slots[journalSlot].live {
		slots[journalSlot].mark = mark{live: true, end: noMark}
	}
	folders, err := s.tidy(slots)
	if err != nil {
		return err
	}
	journal, problem, frames, err := recoverJournal(s.fs, slots[journalSlot].mark, s.opts.JournalReserve)
	if err != nil {
		return err
	}
	s.journal = journal
	found.Journal, found.JournalDamaged = frames, problem
	if !journal.damaged {
		m := &slots[journalSlot].mark
		m.start, m.end = record.Offset(journal.generation), record.Offset(journal.frames)
	}
	slots[journalSlot].at = place{record.Offset(journal.generation), journal.end}
	slots[journalSlot].version++

	slots, dead, err := s.recoverLogs(found, folders, slots, broken || missing)
	if err != nil {
		return err
	}
	if s.marks, err = openMarks(s.fs, slots, missing, broken); err != nil {
		return err
	}
	// Only now are the starts durable below which these lie.
	for _, seg := range dead {
		if err := s.removeSegment(seg); err != nil {
			return err
		}
	}
	return nil
}

// tidy finishes or takes back what a crash has cut off, and lists the folders
// of logs.
func (s *Store) tidy(slots []slot) ([]record.PartitionID, error) {
	list, err := s.fs.ReadDir("")
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, e := range list {
		there[e.Name] = true
	}
	if err := s.fs.SyncDir(""); err != nil { // what is acted upon must not be undone
		return nil, err
	}
	var logs []record.PartitionID
	for _, e := range list {
		if !e.Dir {
			if strings.HasSuffix(e.Name, tmpSuffix) {
				err = s.fs.Remove(e.Name)
			}
		} else if id, ok := parseFolder(e.Name); ok {
			logs = append(logs, id)
		} else if name, ok := strings.CutSuffix(e.Name, deletedSuffix); ok && isFolder(name) {
			err = removeAll(s.fs, e.Name)
		} else if name, ok := strings.CutSuffix(e.Name, newSuffix); ok && isFolder(name) && there[name] {
			if id, _ := parseFolder(name); begunAnew(slots, id) {
				err = s.replaceLog(name)
			} else {
				err = removeAll(s.fs, e.Name)
			}
		} else if id, isLog := parseFolder(name); ok && isLog { // a reset had taken the old log away
			logs = append(logs, id)
			if err = s.fs.Rename(e.Name, name); err == nil {
				err = s.fs.SyncDir("")
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// begunAnew says whether a log was being replaced by an empty one, so far that its
// mark says so, and nothing else of it any more: see startAnew. What is left of it may be
// less than it looks like.
func begunAnew(slots []slot, id record.PartitionID) bool {
	for n := journalSlot + 1; n < len(slots); n++ {
		if m := &slots[n].mark; m.live && m.id == id {
			return m.anew
		}
	}
	return false
}

// replaceLog puts the folder that was made for a log in the place of the one that it
// has, durably. The mark that says so comes first.
func (s *Store) replaceLog(name string) error {
	if err := writeAgain(s.fs, marksName); err != nil {
		return err
	}
	if err := s.fs.Rename(name, name+deletedSuffix); err != nil {
		return err
	}
	if err := s.fs.SyncDir(""); err != nil {
		return err
	}
	if err := s.fs.Rename(name+newSuffix, name); err != nil {
		return err
	}
	if err := s.fs.SyncDir(""); err != nil {
		return err
	}
	return removeAll(s.fs, name+deletedSuffix)
}

func isFolder(name string) bool {
	_, ok := parseFolder(name)
	return ok
}

// recoverLogs opens the logs of all folders, and finds those that should have
// one. It gives each log a slot, and fills the slot in. doubt says that a log
// without a slot may have lost it.
func (s *Store) recoverLogs(found *effect.Recovered, folders []record.PartitionID, slots []slot, doubt bool) (_ []slot, dead []*segment, _ error) {
	slotOf := map[record.PartitionID]int{}
	present := map[record.PartitionID]bool{}
	for _, id := range folders {
		present[id] = true
	}
	for n := journalSlot + 1; n < len(slots); n++ {
		switch m := &slots[n].mark; {
		case !m.live:
		case present[m.id]:
			slotOf[m.id], m.leaving = n, false
		case m.leaving:
			*m = mark{}
			slots[n].version++
		default:
			slotOf[m.id] = n
			folders = append(folders, m.id) // reported as missing
		}
	}
	free := 0
	nextFree := func() int {
		for free++; free < len(slots); free++ {
			if !slots[free].live {
				return free
			}
		}
		slots = append(slots, slot{})
		return free
	}
	for _, id := range folders {
		n, known := slotOf[id]
		was := mark{id: id, start: noMark, end: noMark, suspect: doubt}
		if known {
			was = slots[n].mark
		}
		r, err := s.recoverLog(was, known, found.Clean)
		if err != nil {
			return nil, nil, err
		}
		p := r.p
		if p == nil {
			continue // it never was
		}
		dead = append(dead, r.dead...)
		if !known {
			n = nextFree()
		}
		p.slot = n
		slots[n].mark, slots[n].at = p.recovered(was), place{}
		slots[n].version++
		if p.damage == nil {
			slots[n].at = p.place()
		}
		s.logs[id] = p
		found.Logs = append(found.Logs, r.log)
	}
	sortLogs(found.Logs)
	if found.Clean {
		return slots, dead, nil
	}
	return slots, dead, s.fs.SyncDir("")
}

// recoverJournal opens the quorum journal. Its intact bytes are written again:
// they may be in the page cache only.
func recoverJournal(d vfs.FS, was mark, reserve int64) (j *journal, problem string, frames [][]byte, err error) {
	b, err := readFile(d, quorumName)
	if err != nil {
		return nil, "", nil, err
	}
	old, err := readFile(d, quorumDamaged)
	if err != nil {
		return nil, "", nil, err
	}
	found := decodeJournal(b)
	j = &journal{fs: d, reserve: reserve, aside: old != nil, generation: max(found.generation, uint64(max(was.start, 0)))}
	switch {
	case b == nil && old != nil:
		found = decodeJournal(old)
		problem = "it was found damaged before, and was not replaced since"
	case b == nil:
		problem = "the file is missing"
	case !found.headed:
		problem = "its header cannot be read"
	case found.damaged != "":
		problem = found.damaged
	case found.generation < uint64(max(was.start, 0)):
		problem = fmt.Sprintf("it is generation %d, and generation %d was durable", found.generation, was.start)
	case found.generation == uint64(was.start) && len(found.frames) < int(was.end):
		problem = fmt.Sprintf("it holds %d frames, and %d were durable", len(found.frames), was.end)
	}
	if problem != "" {
		j.damaged, j.kept, j.end = true, found.frames, found.end
		return j, "the quorum journal is damaged: " + problem, found.frames, nil
	}
	if j.aside {
		problem = "the quorum journal was found damaged before, and was not replaced since"
	}
	if err := j.open(found.generation, len(found.frames), found.end); err != nil {
		return nil, "", nil, err
	}
	err = writeFull(j.file, b[:found.end], 0)
	if err == nil {
		err = j.file.Truncate(found.end)
	}
	if err == nil {
		err = j.file.Sync()
	}
	return j, problem, found.frames, err
}
