package witness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
)

// ParseRecord reads "orders/0@22" or "11/0@22"; an offset of None: there is none.
func (r *Run) ParseRecord(s string) (id record.PartitionID, offset int64, err error) {
	bad := fmt.Errorf("%q is no record of this run: give it as orders/0@22, or orders/0 for the partition", s)
	place, at, exact := strings.Cut(s, "@")
	topic, index, ok := strings.Cut(place, "/")
	n, err := strconv.ParseInt(index, 10, 32)
	if !ok || err != nil {
		return id, 0, bad
	}
	id.Index = int32(n)
	if number, err := strconv.ParseUint(topic, 10, 64); err == nil {
		id.Topic = record.TopicID(number)
	}
	for t, name := range r.Topics {
		if name == topic {
			id.Topic = max(id.Topic, t) // a topic made again: the newest
		}
	}
	if r.Topics[id.Topic] == "" {
		return id, 0, fmt.Errorf("%q is no record of this run: there is no topic %s; it has %s", s, topic, r.topicNames())
	}
	offset = None
	if exact {
		if offset, err = strconv.ParseInt(at, 10, 64); err != nil {
			return id, 0, bad
		}
	}
	return id, offset, nil
}

// topicNames lists the topics that there ever were.
func (r *Run) topicNames() string {
	names := slices.Sorted(maps.Values(r.Topics))
	return strings.Join(slices.Compact(names), ", ")
}

// KnowsTransactional refuses a transactional id that nobody names in this run, and says
// which there are.
func (r *Run) KnowsTransactional(id string) error {
	ids := map[string]bool{}
	for i := range r.Rows {
		ids[r.Rows[i].Transactional] = true
	}
	delete(ids, "")
	switch {
	case ids[id]:
		return nil
	case len(ids) == 0:
		return fmt.Errorf("there is no transactional id %s in this run: it has none", id)
	}
	return fmt.Errorf("there is no transactional id %s in this run; it has %s", id, strings.Join(slices.Sorted(maps.Keys(ids)), ", "))
}

// KnowsGroup refuses a group that nobody names in this run, and says which there are.
func (r *Run) KnowsGroup(group string) error {
	groups := map[string]bool{}
	for i := range r.Clients {
		groups[r.Clients[i].Group] = true
	}
	for i := range r.Rows {
		groups[r.Rows[i].Group] = true
	}
	delete(groups, "")
	switch {
	case groups[group]:
		return nil
	case len(groups) == 0:
		return fmt.Errorf("there is no group %s in this run: it has none", group)
	}
	return fmt.Errorf("there is no group %s in this run; it has %s", group, strings.Join(slices.Sorted(maps.Keys(groups)), ", "))
}
