package settings

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tamarack-mq/tamarack/core/message"
)

// topicRow describes one setting of a topic. A zero value in the configuration
// means the default.
type topicRow struct {
	name  string
	prose string
	set   func(c *message.TopicConfig, text string) error
	get   func(c *message.TopicConfig) (value string, isSet bool)
	unset func(c *message.TopicConfig)
}

const none = "none"

var topicTable = []topicRow{
	{"min-insync", "replicas that must be in sync for acks=all; default 2, or as many as there are if less",
		func(c *message.TopicConfig, text string) error { return whole(text, 1, 1<<15-1, &c.MinInsync) },
		func(c *message.TopicConfig) (string, bool) {
			return fmt.Sprint(cmp.Or(c.MinInsync, message.DefaultMinInsync)), c.MinInsync != 0
		},
		func(c *message.TopicConfig) { c.MinInsync = 0 }},
	{"segment-bytes", "size of a log file before the next one is begun, from the next one on; default: the node's",
		func(c *message.TopicConfig, text string) error { return size(text, 1<<10, 1<<31-1, &c.SegmentBytes) },
		func(c *message.TopicConfig) (string, bool) {
			if c.SegmentBytes == 0 {
				return "the node's", false
			}
			return FormatBytes(int64(c.SegmentBytes)), true
		},
		func(c *message.TopicConfig) { c.SegmentBytes = 0 }},
	{"retention-bytes", "size of a partition beyond which old records may go, or none for no limit; default none",
		func(c *message.TopicConfig, text string) error {
			if text == none {
				c.RetentionBytes = -1
				return nil
			}
			return size(text, 1, 1<<62, &c.RetentionBytes)
		},
		func(c *message.TopicConfig) (string, bool) {
			if c.RetentionBytes <= 0 {
				return none, c.RetentionBytes < 0
			}
			return FormatBytes(c.RetentionBytes), true
		},
		func(c *message.TopicConfig) { c.RetentionBytes = 0 }},
	{"retention", "age at which records may go, or none for never; default 168h",
		func(c *message.TopicConfig, text string) error {
			if text == none {
				c.RetentionTime = -1
				return nil
			}
			d, err := ParseDuration(text)
			if err != nil || d < message.Millisecond {
				return fmt.Errorf("give 1ms or more, as in 36h, or %s", none)
			}
			c.RetentionTime = d
			return nil
		},
		func(c *message.TopicConfig) (string, bool) {
			switch {
			case c.RetentionTime < 0:
				return none, true
			case c.RetentionTime == 0:
				return "168h", false
			}
			return FormatDuration(c.RetentionTime), true
		},
		func(c *message.TopicConfig) { c.RetentionTime = 0 }},
	{"max-batch-bytes", "largest batch of records; default 1MiB",
		func(c *message.TopicConfig, text string) error {
			return size(text, 1<<10, message.LargestBatch, &c.MaxBatchBytes)
		},
		func(c *message.TopicConfig) (string, bool) {
			if c.MaxBatchBytes == 0 {
				return "1MiB", false
			}
			return FormatBytes(int64(c.MaxBatchBytes)), true
		},
		func(c *message.TopicConfig) { c.MaxBatchBytes = 0 }},
}

func whole(text string, least, most int64, to *int32) error {
	n, err := number(text)
	if err != nil || n < least || n > most {
		return fmt.Errorf("give a whole number from %d to %d", least, most)
	}
	*to = int32(n)
	return nil
}

func size[T int32 | int64](text string, least, most int64, to *T) error {
	n, err := ParseBytes(text)
	if err != nil || n < least || n > most {
		return fmt.Errorf("give a size from %s to %s", FormatBytes(least), FormatBytes(most))
	}
	*to = T(n)
	return nil
}

// AlterTopic carries out a request on a topic's settings, or says what is wrong
// and what would be right. Whether they fit the topic is not looked at.
func AlterTopic(c message.TopicConfig, set []message.Setting, unset []string) (message.TopicConfig, error) {
	before := c
	seen := map[string]bool{}
	find := func(name string) (*topicRow, error) {
		if seen[name] {
			return nil, fmt.Errorf("setting %q is named twice", name)
		}
		seen[name] = true
		list := make([]string, 0, len(topicTable))
		for i := range topicTable {
			if topicTable[i].name == name {
				return &topicTable[i], nil
			}
			list = append(list, topicTable[i].name)
		}
		return nil, fmt.Errorf("there is no setting %q of topics; there are: %s", name, strings.Join(list, ", "))
	}
	for _, s := range set {
		row, err := find(s.Key)
		if err != nil {
			return before, err
		}
		if err := row.set(&c, s.Value); err != nil {
			return before, fmt.Errorf("setting %q cannot be %q: %w", s.Key, s.Value, err)
		}
	}
	for _, name := range unset {
		row, err := find(name)
		if err != nil {
			return before, err
		}
		row.unset(&c)
	}
	return c, nil
}

// DescribeTopic lists all settings of a topic.
func DescribeTopic(c message.TopicConfig) []message.SettingInfo {
	list := make([]message.SettingInfo, 0, len(topicTable))
	for i := range topicTable {
		row := &topicTable[i]
		info := message.SettingInfo{Key: row.name, Prose: row.prose}
		isSet := false
		if info.Value, isSet = row.get(&c); isSet {
			info.Source = message.FromTopic
		}
		list = append(list, info)
	}
	return list
}
